//! The timelines of servers that do nothing wrong: nothing in them may look like a mistake.

#![cfg(all(unix, feature = "trace"))]

mod common;
#[path = "common/timeline.rs"]
mod timeline;

use common::{Client, Example, example};
use std::path::PathBuf;
use std::{env, process, thread};
use timeline::nothing_waits_in_vain;

/// An example that writes what stands out into a file, and the file.
fn start(name: &str) -> (Example, PathBuf) {
    let path = env::temp_dir().join(format!("arc-{name}-{}.txt", process::id()));
    let arguments = ["--addr", "127.0.0.1:0", "--workers", "2"];
    (Example::run(example(name).args(arguments).env("ARC_TRACE", &path)), path)
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
