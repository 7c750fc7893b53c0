//! Chapter 17: requests are cut out of a stream of bytes.

mod common;

use common::{Server, bytes_of};
use growing::frame::REQUEST_BYTES_MAX;
use growing::step17::serve;
use std::io::Write;

#[test]
fn requests_are_answered_wherever_they_are_cut() {
    let server = Server::start(serve);
    let bytes = [bytes_of("ECHO hello"), bytes_of("PING"), b"echo typed\r\n".to_vec()].concat();
    for cut in 1..bytes.len() {
        let mut client = server.connect();
        client.stream.set_nodelay(true).unwrap();
        for part in [&bytes[..cut], &bytes[cut..]] {
            client.stream.write_all(part).unwrap();
        }
        for expected in ["$5 hello", "+PONG", "$5 typed"] {
            assert_eq!(client.reply().as_deref(), Some(expected), "cut after {cut} bytes");
        }
    }
}

#[test]
fn many_requests_in_one_write_are_answered_in_their_order() {
    let server = Server::start(serve);
    let mut client = server.connect();
    let requests: Vec<u8> = (0..1000).flat_map(|it| bytes_of(&format!("ECHO {it}"))).collect();
    client.stream.write_all(&requests).unwrap();
    for number in 0..1000 {
        let text = number.to_string();
        assert_eq!(client.reply(), Some(format!("${} {text}", text.len())));
    }
}

#[test]
fn what_is_no_request_ends_its_connection_alone() {
    let server = Server::start(serve);
    let mut other = server.connect();
    let mut client = server.connect();
    client.stream.write_all(b"*1\r\nPING\r\n").unwrap();
    assert_eq!(client.reply().as_deref(), Some("-ERR how long?"));
    assert_eq!(client.reply(), None);
    assert_eq!(other.ask("PING"), "+PONG");
    assert_eq!(other.ask("NOPE"), "-ERR no such command, or other arguments");
}

#[test]
fn request_without_an_end_does_not_fill_the_memory() {
    let server = Server::start(serve);
    let string = format!("$110000\r\n{}\r\n", "a".repeat(110_000));
    for (first, more) in [("", "a".repeat(4096)), ("*1024\r\n", string)] {
        let mut client = server.connect();
        client.stream.write_all(first.as_bytes()).unwrap();
        let mut sent = 0;
        // The server goes away at some time. Then a write fails.
        while client.stream.write_all(more.as_bytes()).is_ok() {
            sent += more.len();
            assert!(sent < 100 * REQUEST_BYTES_MAX, "it reads for ever");
        }
    }
    server.has_tasks(1);
}

#[test]
fn redis_tools_are_content() {
    Server::start(serve).serves_redis_tools("ping", 1);
}
