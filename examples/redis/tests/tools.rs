//! redis's own client and benchmark with the servers: Debian's package redis-tools.

#![cfg(unix)]

mod common;
#[path = "../../../tests/this_program/mod.rs"]
mod this_program;

use common::{DEADLINE, Server};
use std::process::{Command, Stdio};

/// Whether the tools are there. On CI's Linux machines they have to be.
fn has_tools() -> bool {
    let mut command = Command::new("redis-cli");
    let is_there = command.arg("--version").stdout(Stdio::null()).status().is_ok();
    let must_be = cfg!(target_os = "linux") && std::env::var_os("CI").is_some();
    assert!(is_there || !must_be, "redis-cli is not on the PATH: apt-get install redis-tools");
    if !is_there {
        eprintln!("SKIPPED: redis-cli is not on the PATH (Debian's package redis-tools has it)");
    }
    is_there
}

/// What a tool prints when it is told which server; it has to succeed.
fn output(tool: &str, server: &Server, arguments: &[&str]) -> String {
    let mut command = Command::new(tool);
    command.args(["-h", "127.0.0.1", "-p", &server.port()]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = this_program::output(command.spawn().expect("the tool starts"), 3 * DEADLINE);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {arguments:?}: {} {errors}", output.status);
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn redis_cli_prints_what_it_should(program: &str) {
    if !has_tools() {
        return;
    }
    let server = Server::start(program);
    for (line, printed) in [
        ("PING", "PONG\n"),
        ("SET greeting hello", "OK\n"),
        ("GET greeting", "\"hello\"\n"),
        ("GET none", "(nil)\n"),
        ("INCR count", "(integer) 1\n"),
        ("INCR greeting", "(error) ERR value is not an integer or out of range\n"),
        ("RPUSH list a b c", "(integer) 3\n"),
        ("LRANGE list 0 -1", "1) \"a\"\n2) \"b\"\n3) \"c\"\n"),
        ("LRANGE none 0 -1", "(empty array)\n"),
        ("GET list", "(error) WRONGTYPE Operation against a key holding the wrong kind of value\n"),
        ("HSET hash field value", "(integer) 1\n"),
        ("HGETALL hash", "1) \"field\"\n2) \"value\"\n"),
        ("ZADD zset 1.5 member", "(integer) 1\n"),
        ("ZPOPMIN zset", "1) \"member\"\n2) \"1.5\"\n"),
        ("BLPOP none 0.01", "(nil)\n"),
        ("EXPIRE greeting 100", "(integer) 1\n"),
        ("TTL greeting", "(integer) 100\n"),
        ("TYPE list", "list\n"),
        ("DBSIZE", "(integer) 4\n"),
        ("SCAN 0 COUNT 100 TYPE hash", "1) \"0\"\n2) 1) \"hash\"\n"),
        ("SELECT 1", "(error) ERR DB index is out of range\n"),
        ("NOPE", "(error) ERR unknown command 'NOPE', with args beginning with: \n"),
        ("FLUSHALL", "OK\n"),
    ] {
        let mut arguments = vec!["--no-raw"];
        arguments.extend(line.split(' '));
        let found = output("redis-cli", &server, &arguments);
        assert_eq!(found.trim_end(), printed.trim_end(), "{line}");
    }
}

fn redis_benchmark_runs_its_tests(program: &str) {
    if !has_tools() {
        return;
    }
    const TESTS: &str = "ping,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,\
                         lrange_100,mset";
    let server = Server::start(program);
    let arguments = ["-n", "20000", "-P", "16", "-q", "-t", TESTS];
    let printed = output("redis-benchmark", &server, &arguments);
    // Each test's line is written anew until it is done.
    let lines: Vec<_> = printed.split(['\r', '\n']).collect();
    for test in [
        "PING_INLINE",
        "PING_MBULK",
        "SET",
        "GET",
        "INCR",
        "LPUSH",
        "RPUSH",
        "LPOP",
        "RPOP",
        "SADD",
        "HSET",
        "SPOP",
        "ZADD",
        "ZPOPMIN",
        "LPUSH (needed to benchmark LRANGE)",
        "LRANGE_100 (first 100 elements)",
        "MSET (10 keys)",
    ] {
        let start = format!("{test}: ");
        let done = lines
            .iter()
            .filter(|line| line.starts_with(&start) && line.contains(" requests per second, p50="));
        assert_eq!(done.count(), 1, "{test} in {printed}");
    }
    assert!(!printed.contains("rror"), "{printed}");
    server.connect().check(&[("PING", "+PONG"), ("INFO nothing", "")]);
}

on_both! {
    redis_cli_prints_what_it_should
    redis_benchmark_runs_its_tests
}
