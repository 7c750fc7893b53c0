//! The examples that are HTTP servers, as a client meets them.

#![cfg(unix)]

mod common;

use common::{Client, Example, example};
use std::process::Command;

const GET: &str = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const HELLO: &str = "Hello, World!";
const JSON: &str = "{\"message\":\"Hello, World!\"}";
const NOT_FOUND: &str = "there are /plaintext and /json\n";

#[test]
fn http_servers_answer() {
    for (name, requests) in [
        ("hyper_hello", &[("GET /", 200, "Hello World!")][..]),
        ("http", &[("GET /", 200, HELLO)]),
        (
            "http_echo",
            &[
                ("GET /", 200, "Try POST /echo"),
                ("GET /echo", 200, "Try POST /echo"),
                ("GET /other", 404, ""),
                ("POST /", 404, ""),
                ("PUT /echo", 404, ""),
                ("POST /echo", 200, ""),
            ],
        ),
        (
            "tinyhttp",
            &[
                ("GET /plaintext", 200, HELLO),
                ("GET /json?query", 200, JSON),
                ("GET /json?/plaintext", 200, JSON),
                ("GET /", 404, NOT_FOUND),
            ],
        ),
    ] {
        let server = match name {
            "hyper_hello" => Example::run(example(name).arg("127.0.0.1:0")),
            name => Example::start(name),
        };
        let mut client = server.connect();
        for (request, status, body) in requests {
            client.send(format!("{request} HTTP/1.1\r\nHost: a\r\n\r\n"));
            let head = client.expect(*status, body);
            assert!(!head.contains("connection: close"), "{head}");
        }
        // Pipelined, and torn apart at odd places.
        let writing = client.send_meanwhile(
            (0..1000)
                .map(|index| {
                    let (request, ..) = requests[index % requests.len()];
                    format!("{request} HTTP/1.1\r\nHost: a\r\n\r\n")
                })
                .collect(),
        );
        for index in 0..1000 {
            let (_, status, body) = requests[index % requests.len()];
            client.expect(status, body);
        }
        writing.join().expect("it writes");

        let mut garbage = server.connect();
        garbage.send("\x16\x03\x01 this is not HTTP\r\n\r\n");
        assert!(garbage.rest().starts_with("HTTP/1.1 400 "));
        if name == "hyper_hello" {
            assert!(server.line().starts_with("Error serving connection: "));
        } else {
            server.end();
            assert_eq!(client.rest(), "");
        }
    }
}

#[test]
fn http_echo_sends_back_what_is_posted() {
    let http_echo = Example::start("http_echo");
    let mut client = http_echo.connect();
    let body = "0123456789abcdef".repeat(1 << 14);
    let head = format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}", body.len());
    let writing = client.send_meanwhile(format!("{head}\r\n\r\n{body}"));
    client.expect(200, &body);
    writing.join().expect("it writes");

    // A part of a body comes back before the rest is there.
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    while client.line() != "\r\n" {}
    assert_eq!(client.exactly(8), "3\r\none\r\n");
    http_echo.interrupt();
    client.send("3\r\ntwo\r\n0\r\n\r\n");
    assert_eq!(client.rest(), "3\r\ntwo\r\n0\r\n\r\n");
    http_echo.has_ended();
}

#[test]
fn http_survives_bad_clients() {
    let http = Example::start("http");
    let mut partial = http.connect();
    partial.send("GET / HTTP/1.1\r\nHo");
    // Dropped with an answer unread, a socket resets its connection.
    for _ in 0..20 {
        let mut reset = http.connect();
        reset.send(GET.repeat(100));
        reset.line();
    }
    drop(partial);
    let mut client = http.connect();
    client.send(GET);
    client.expect(200, HELLO);
    http.error("connection: ");
    http.end();
}

/// A server in the midst of a request, and whoever has sent it.
fn with_half_a_request(name: &str, grace: &str) -> (Example, Client) {
    let arguments = ["--addr", "127.0.0.1:0", "--workers", "2", "--grace", grace];
    let server = Example::run(example(name).args(arguments));
    let (mut begun, mut answered) = (server.connect(), server.connect());
    begun.send(&GET[..20]);
    // The server knows the other one: it was accepted before this, which is between requests.
    answered.send(GET);
    answered.response();
    server.interrupt();
    assert_eq!(answered.rest(), "");
    (server, begun)
}

#[test]
fn servers_answer_what_has_begun_and_cut_off_what_never_ends() {
    for name in ["http", "tinyhttp"] {
        let (server, mut begun) = with_half_a_request(name, "1000");
        begun.send(&GET[20..]);
        begun.response();
        assert_eq!(begun.rest(), "");
        server.has_ended();

        let (mut server, mut begun) = with_half_a_request(name, "1");
        assert_eq!(server.error("Error"), "Error: cut off 1 connection(s), not finished in 1s");
        assert_eq!((server.status(), &*begun.rest()), (Some(1), ""));

        // A second ctrl-c ends it at once.
        let (mut server, mut begun) = with_half_a_request(name, "1000");
        server.signal("-INT");
        assert_eq!((server.status(), &*begun.rest()), (Some(1), ""));
    }
}

/// RFC 9112, section 3.2.
#[test]
fn http_servers_refuse_requests_without_one_right_host() {
    let right =
        ["localhost", "", "a.example:80", "a:", "[::1]:80", "[v7.a:b]", "%41~b,c", "1.2.3.4"];
    let wrong = ["a b", "a/b", "a@b", "a:b", "a:80:80", "[::1", "[::1]a", "[a]", "%4", "\u{e4}"];
    let host = |hosts: &[&str]| hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
    let mut cases: Vec<(String, &str, bool)> = vec![
        (String::new(), "1.1", false),
        (String::new(), "1.0", true),
        (host(&["a", "a"]), "1.1", false),
        (host(&["a", "b"]), "1.0", false),
        (host(&["a b"]), "1.0", false),
    ];
    cases.extend(right.map(|it| (host(&[it]), "1.1", true)));
    cases.extend(wrong.map(|it| (host(&[it]), "1.1", false)));

    for (name, path) in [("http", "/"), ("http_echo", "/"), ("tinyhttp", "/json")] {
        let server = Example::start(name);
        for (hosts, version, is_right) in &cases {
            let mut client = server.connect();
            client.send(format!("GET {path} HTTP/{version}\r\n{hosts}\r\n"));
            let (head, _) = client.response();
            let expected = if *is_right { "200" } else { "400" };
            let status = head.split(' ').nth(1);
            assert_eq!(status, Some(expected), "{name}, HTTP/{version}, {hosts:?}");
            if !is_right {
                assert!(head.contains("connection: close\r\n"), "{head}");
                assert_eq!(client.rest(), "");
            }
        }
        server.end();
    }
}

#[test]
fn http_without_free_descriptors_says_so_and_goes_on() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 64; exec \"$0\" --addr 127.0.0.1:0"]);
    let http = Example::run(shell.arg(example("http").get_program()));
    let mut clients: Vec<_> = (0..100).map(|_| http.connect()).collect();
    let complaint = http.error("cannot accept connections for now: ");
    assert!(complaint.to_lowercase().contains("too many open files"), "{complaint}");
    // Those that were accepted are served.
    clients[0].send(GET);
    clients[0].expect(200, HELLO);
    // Those that were not, as soon as others leave.
    let mut waiting = clients.split_off(60);
    drop(clients);
    for client in &mut waiting {
        client.send(GET);
        client.expect(200, HELLO);
    }
    http.end();
}

#[test]
fn tinyhttp_closes_when_it_is_told_to_and_after_what_it_does_not_understand() {
    let tinyhttp = Example::start("tinyhttp");
    let long = "x".repeat(100_000);
    let many = "X: x\r\n".repeat(100);
    for (request, status) in [
        ("GET /json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200),
        ("GET /json HTTP/1.1\r\nHost: a\r\nconnection: x , CLOSE\r\n\r\n", 200),
        ("GET /json HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200),
        ("this is not HTTP\r\n\r\n", 400),
        ("GET / HTTP/3.0\r\n\r\n", 400),
        ("POST /json HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("HEAD /json HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 413),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        (&format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}"), 431),
        (&format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"), 431),
    ] {
        let mut client = tinyhttp.connect();
        // What came before is answered, and what comes after is not.
        client.send("GET /json HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        client.send(format!("{request}GET /json HTTP/1.1\r\nHost: a\r\n\r\n"));
        client.expect(200, JSON);
        let (head, _) = client.response();
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{request} {head}");
        assert!(head.contains("connection: close\r\n"), "{head}");
        assert_eq!(client.rest(), "");
    }
    tinyhttp.end();
}
