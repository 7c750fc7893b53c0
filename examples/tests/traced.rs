//! The timelines of servers that do nothing wrong: nothing in them may look like a mistake.

#![cfg(all(unix, feature = "trace"))]

mod common;

use common::{Client, Example, example};
use std::path::PathBuf;
use std::{env, fs, process, thread};

/// An example that writes what stands out into a file, and the file.
fn start(name: &str) -> (Example, PathBuf) {
    let path = env::temp_dir().join(format!("arc-{name}-{}.txt", process::id()));
    let arguments = ["--addr", "127.0.0.1:0", "--workers", "2"];
    (Example::run(example(name).args(arguments).env("ARC_TRACE", &path)), path)
}

/// Of what stands out only delays may be there, which are a busy machine's fault.
#[track_caller]
fn nothing_waits_in_vain(path: PathBuf) {
    let text = fs::read_to_string(&path).expect("the example has written its timeline");
    fs::remove_file(path).expect("it is there");
    let findings = text.split("\n\n").nth(1).expect("a list of findings");
    assert!(findings.starts_with("What stands out\n"), "{text}");
    let delays = ["late: ", "late timer: ", "long poll: ", "worker ", "wake-ups that did nothing"];
    for finding in findings.lines().skip(1).filter(|line| *line != "  nothing") {
        let (_, finding) = finding.split_once(" ms: ").expect("a time");
        assert!(delays.iter().any(|kind| finding.starts_with(kind)), "{finding}\n{text}");
    }
}

#[test]
fn timeline_of_http_under_load_finds_no_mistake() {
    let (http, path) = start("http");
    thread::scope(|scope| {
        for _ in 0..8 {
            let mut client = http.connect();
            scope.spawn(move || {
                for _ in 0..200 {
                    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
                    client.expect(200, "Hello, World!");
                }
            });
        }
    });
    http.end();
    nothing_waits_in_vain(path);
}

#[test]
fn timeline_of_a_chat_finds_no_mistake() {
    let (chat, path) = start("chat");
    let join = |number| {
        let mut client = chat.connect();
        assert_eq!(client.line(), "* what is your name?\n");
        client.ask(&format!("client{number}\n"), &format!("* welcome, client{number}\n"));
        client
    };
    let mut clients: Vec<Client> = (0..8).map(join).collect();
    // Each has seen those join who came after it.
    for (number, client) in clients.iter_mut().enumerate() {
        (number + 1..8).for_each(|_| drop(client.line()));
    }
    for message in 0..50 {
        clients[message % 8].send(format!("message {message}\n"));
        for other in (0..8).filter(|other| *other != message % 8) {
            assert!(clients[other].line().ends_with(&format!(": message {message}\n")));
        }
    }
    chat.end();
    nothing_waits_in_vain(path);
}
