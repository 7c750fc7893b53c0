//! Chapter 21: an end that loses nothing, and a start that reads the journal.

mod common;

use arc::net::TcpListener;
use arc::runtime::Runtime;
use arc::sync::CancellationToken;
use common::{Client, Scratch, Server, until};
use growing::step20::Patience;
use growing::step21::serve;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

/// Runs a server until the function returns, and then to its end.
fn run(file: &Path, during: impl FnOnce(SocketAddr, &CancellationToken)) {
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let server = serve(listener, file.to_owned(), Patience::default(), stop.clone());
    let server = runtime.spawn(server);
    during(address, &stop);
    stop.cancel();
    runtime.block_on(server).unwrap().unwrap();
    until("no task outlives the server", || runtime.tasks().is_empty());
}

#[test]
fn what_was_answered_is_there_after_the_next_start() {
    let scratch = Scratch::new();
    let mut total = 0;
    for _ in 0..5 {
        // Clients count as fast as they can, and are interrupted by the end.
        let answered = AtomicI64::new(0);
        thread::scope(|scope| {
            run(scratch.path(), |address, stop| {
                let mut first = Client::new(address);
                let expected = if total == 0 { "$-1".to_owned() } else { bulk(total) };
                assert_eq!(first.ask("GET n"), expected, "what was answered before");
                for _ in 0..8 {
                    let answered = &answered;
                    let mut client = Client::new(address);
                    scope.spawn(move || {
                        loop {
                            // The server may be gone.
                            if client.stream.write_all(&common::bytes_of("INCR n")).is_err() {
                                return;
                            }
                            let Some(reply) = client.reply() else { return };
                            assert!(reply.starts_with(':'), "{reply}");
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
                until("they count", || answered.load(Ordering::Relaxed) > 200);
                stop.cancel();
            });
        });
        let answered = answered.load(Ordering::Relaxed);
        // A reply may be lost on its way, and its change is there. The other way round it is not.
        run(scratch.path(), |address, _| {
            let there = Client::new(address).ask("GET n");
            let there: i64 = there.split(' ').nth(1).unwrap().parse().unwrap();
            assert!(there >= total + answered, "{there}, and {} were answered", total + answered);
            assert!(there <= total + answered + 8, "{there} of {}", total + answered);
            total = there;
        });
    }
}

fn bulk(number: i64) -> String {
    let text = number.to_string();
    format!("${} {text}", text.len())
}

#[test]
fn what_was_read_is_answered_and_who_is_silent_holds_nobody_up() {
    let scratch = Scratch::new();
    let mut silent = None;
    let mut client = None;
    run(scratch.path(), |address, _| {
        let mut half = Client::new(address);
        assert_eq!(half.ask("PING"), "+PONG");
        half.stream.write_all(b"*1\r\n$4\r\nPI").unwrap();
        silent = Some(half);
        let mut busy = Client::new(address);
        assert_eq!(busy.ask("SET a b"), "+OK");
        client = Some(busy);
    });
    assert_eq!(silent.unwrap().reply(), None);
    assert_eq!(client.unwrap().reply(), None);
}

#[test]
fn half_a_record_of_a_crash_is_cut_off() {
    let scratch = Scratch::new();
    run(scratch.path(), |address, _| {
        assert_eq!(Client::new(address).ask("SET a 1"), "+OK");
    });
    let mut file = std::fs::OpenOptions::new().append(true).open(scratch.path()).unwrap();
    file.write_all(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\nha").unwrap();
    drop(file);
    for _ in 0..2 {
        run(scratch.path(), |address, _| {
            let mut client = Client::new(address);
            assert!(client.ask("GET a").starts_with("$1 "));
            assert_eq!(client.ask("SET a 2"), "+OK");
            assert_eq!(client.ask("GET a"), "$1 2");
        });
    }
}

#[cfg(unix)]
#[test]
fn program_ends_by_sigterm() {
    let scratch = Scratch::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_21_end"));
    let mut server =
        command.arg("0").arg(scratch.path()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.strip_prefix("listening on ").unwrap().parse().unwrap();
    assert_eq!(Client::new(address).ask("SET a b"), "+OK");
    let kill = Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(kill.success());
    assert_eq!(lines.next().unwrap().unwrap(), "nothing is lost");
    assert!(server.wait().unwrap().success());
    assert_eq!(std::fs::read(scratch.path()).unwrap(), common::bytes_of("SET a b"));
}

#[test]
fn redis_tools_are_content() {
    let scratch = Scratch::new();
    let file = scratch.path().to_owned();
    let stop = CancellationToken::new();
    let server = Server::start(|listener| serve(listener, file, Patience::default(), stop));
    server.serves_redis_tools("ping,set,get,incr", 2);
}
