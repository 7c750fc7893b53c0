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
    command.args(["-h", "127.0.0.1", "-p", &server.port]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = this_program::output(command.spawn().expect("the tool starts"), 3 * DEADLINE);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {arguments:?}: {} {errors}", output.status);
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn redis_cli_and_benchmark_work_with_it(program: &str) {
    const TESTS: &str = "ping,set,get,incr,lpush,rpush,lpop,rpop,lrange_100";
    if !has_tools() {
        return;
    }
    let server = Server::start(program);
    for (line, printed) in [
        ("SET greeting hello", "OK"),
        ("GET greeting", "\"hello\""),
        ("GET none", "(nil)"),
        ("INCR greeting", "(error) ERR value is not an integer or out of range"),
        ("RPUSH list a b", "(integer) 2"),
        ("LRANGE list 0 -1", "1) \"a\"\n2) \"b\""),
        ("LRANGE none 0 -1", "(empty array)"),
        ("BLPOP none 0.01", "(nil)"),
        ("NOPE", "(error) ERR unknown command 'NOPE'"),
    ] {
        let mut arguments = vec!["--no-raw"];
        arguments.extend(line.split(' '));
        assert_eq!(output("redis-cli", &server, &arguments).trim_end(), printed, "{line}");
    }

    let arguments = ["-n", "20000", "-P", "16", "-q", "-t", TESTS];
    let printed = output("redis-benchmark", &server, &arguments);
    assert!(!printed.contains("rror"), "{printed}");
    for test in TESTS.split(',') {
        // Each test's line is written anew until it is done.
        let done = printed.split(['\r', '\n']).any(|line| {
            line.starts_with(&test.to_uppercase()) && line.contains(" requests per second, p50=")
        });
        assert!(done, "{test} in {printed}");
    }
}

on_both! {
    redis_cli_and_benchmark_work_with_it
}
