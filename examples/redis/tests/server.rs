//! What each command replies, and clients that wait for each other, hear each other, and leave: on
//! both runtimes.

#![cfg(unix)]

mod common;

use common::{Client, Server, encoded, wait_until};
use std::io::Write;
use std::process::Command;
use std::{net, thread};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_INTEGER: &str = "-ERR value is not an integer or out of range";
const SYNTAX: &str = "-ERR syntax error";

const COMMANDS: &[(&str, &str)] = &[
    ("PING", "+PONG"),
    ("ping hello", "hello"),
    ("GET", "-ERR wrong number of arguments for 'get' command"),
    ("no\r\npe a", "-ERR unknown command 'no  pe'"),
    ("CONFIG GET save", "[save ]"),
    ("CONFIG SET save x", SYNTAX),
    // Strings.
    ("GET a", "nil"),
    ("SET a 1", "+OK"),
    ("SET a 3 EX 100", "+OK"),
    ("INCR a", ":4"),
    ("TTL a", ":100"),
    ("SET a 5 EX", SYNTAX),
    ("SET a 5 EX x", NOT_INTEGER),
    ("SET a 5 EX 0", "-ERR invalid expire time in 'set' command"),
    ("SET a 5 EX 9223372036854775807", "-ERR invalid expire time in 'set' command"),
    ("SET a 11", "+OK"),
    ("SET b 20", "+OK"),
    ("GET b", "20"),
    ("INCR n", ":1"),
    ("SET n 9223372036854775807", "+OK"),
    ("INCR n", NOT_INTEGER),
    // Lists.
    ("RPUSH l c d", ":2"),
    ("LPUSH l b a", ":4"),
    ("LRANGE l 0 -1", "[a b c d]"),
    ("LRANGE l -2 100", "[c d]"),
    ("LRANGE l 3 1", "[]"),
    ("LRANGE l 9223372036854775807 -9223372036854775808", "[]"),
    ("LRANGE none 0 -1", "[]"),
    ("BLPOP none l 0", "[l a]"),
    ("RPOP l", "d"),
    ("LPOP l", "b"),
    ("LLEN l", ":1"),
    ("LPOP l", "c"),
    ("LPOP l", "nil"),
    ("BLPOP l 0.02", "nil"),
    ("BLPOP l 1e300", "-ERR timeout is not a float or out of range"),
    ("BLPOP l -1", "-ERR timeout is not a float or out of range"),
    // Keys, and their types.
    ("RPUSH list x", ":1"),
    ("GET list", WRONG_TYPE),
    ("INCR list", WRONG_TYPE),
    ("LPUSH a x", WRONG_TYPE),
    ("DBSIZE", ":4"),
    ("DEL a list none", ":2"),
    ("TTL a", ":-2"),
    ("EXPIRE a 10", ":0"),
    ("TTL b", ":-1"),
    ("EXPIRE b 100", ":1"),
    ("TTL b", ":100"),
    ("SET b z", "+OK"),
    ("TTL b", ":-1"),
    ("EXPIRE n 9223372036854775807", "-ERR invalid expire time in 'expire' command"),
    ("FLUSHALL", "+OK"),
    ("DBSIZE", ":0"),
];

fn every_command_replies_what_it_should(program: &str) {
    Server::start(program).connect().check(COMMANDS);
}

fn replies_are_the_same_however_requests_are_cut(program: &str) {
    let server = Server::start(program);
    let requests: String = COMMANDS.iter().map(|(request, _)| encoded(request)).collect();
    for length in [1, 7, 100, requests.len()] {
        let mut client = server.connect();
        for part in requests.as_bytes().chunks(length) {
            client.send(part);
        }
        for (request, expected) in COMMANDS {
            assert_eq!(client.reply(), *expected, "{request}, in parts of {length}");
        }
    }
}

fn keys_go_when_they_expire(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    client.check(&[("SET long x EX 1000", "+OK"), ("SET short x PX 30", "+OK")]);
    // One that is given a later end lives.
    client.check(&[("SET later x PX 20", "+OK"), ("EXPIRE later 100", ":1")]);
    // DBSIZE looks at no key: it is the timer that removes them, also those that end before what it
    // waited for.
    wait_until("the timer", || client.call("DBSIZE") == ":2");
    client.check(&[("GET long", "x"), ("GET short", "nil"), ("GET later", "x")]);
}

fn mistakes_and_browsers_end_the_connection(program: &str) {
    let server = Server::start(program);
    server.connect().check(&[("SET a 1", "+OK")]);
    for (sent, replies) in [
        ("PING\r\n*x\r\n", "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n"),
        ("*65537\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
        ("*1\r\n:4\r\n", "-ERR Protocol error: expected '$'\r\n"),
        ("*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        ("*1\r\n$536870912\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        ("*0\r\n\r\n  ping  a \n*1\r\n$4\r\nQUIT\r\n", "$1\r\na\r\n+OK\r\n"),
        (&*"x".repeat(70_000), "-ERR Protocol error: a line is too long\r\n"),
        ("POST / HTTP/1.1\r\n", ""),
        ("ping\r\nhOST: x\r\n", "+PONG\r\n"),
        ("QUIT\r\n", "+OK\r\n"),
    ] {
        let mut client = server.connect();
        client.send(format!("{sent}FLUSHALL\r\n").as_bytes());
        assert_eq!(client.rest(), replies);
    }
    // What came before the end is answered.
    let mut client = server.connect();
    client.send(b"SET b 1\r\nGET b\r\nGET");
    client.stream.get_ref().shutdown(net::Shutdown::Write).expect("connected");
    assert_eq!(client.rest(), "+OK\r\n$1\r\n1\r\n");
    server.connect().check(&[("GET a", "1")]);
}

fn large_values_and_long_pipelines_come_through(program: &str) {
    const COUNT: usize = 20_000;
    let server = Server::start(program);
    let large: String = (0..500_000).map(|number| format!("{number:09}")).collect();
    let mut reads = server.connect();
    reads.check(&[(&format!("SET large {large}"), "+OK"), ("GET large", &large)]);

    // What goes out does not fit into what the kernel holds, while more comes in.
    let text = |number: usize| number.to_string().repeat(100);
    let requests: String = (0..COUNT).map(|it| encoded(&format!("PING {}", text(it)))).collect();
    let mut stream = reads.stream.get_ref().try_clone().expect("a copy");
    thread::scope(|scope| {
        scope.spawn(move || stream.write_all(requests.as_bytes()));
        for number in 0..COUNT {
            assert_eq!(reads.reply(), text(number));
        }
    });
}

/// A client that waits in BLPOP; `waiting` is how many do then.
fn blocked(server: &Server, request: &str, waiting: usize) -> Client {
    let mut client = server.connect();
    client.send(encoded(request).as_bytes());
    server.connect().wait_for_info(&format!("blocked_clients:{waiting}"));
    client
}

fn who_has_waited_longest_gets_the_first_element(program: &str) {
    let server = Server::start(program);
    let mut other = server.connect();
    let mut first = blocked(&server, "BLPOP a b 0", 1);
    let mut second = blocked(&server, "BLPOP b 0", 2);
    let mut third = blocked(&server, "BLPOP a a 0", 3);
    // What is sent ahead is answered afterwards.
    first.send(encoded("PING later").as_bytes());
    other.check(&[("RPUSH b 1 2 3", ":3"), ("LRANGE b 0 -1", "[3]"), ("LPUSH a 4", ":1")]);
    assert_eq!([first.reply(), first.reply(), second.reply()], ["[b 1]", "later", "[b 2]"]);
    assert_eq!(third.reply(), "[a 4]");
    // None of them is in any line any more.
    other.wait_for_info("blocked_clients:0");
    other.check(&[("RPUSH a 5", ":1"), ("LLEN a", ":1")]);
}

fn who_leaves_is_in_no_line(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    // Whoever sends megabytes ahead while it waits is still seen to leave.
    let mut ahead = blocked(&server, "BLPOP a 0", 1);
    ahead.send(encoded(&format!("PING {}", "x".repeat(3 << 20))).as_bytes());
    drop(ahead);
    client.wait_for_info("blocked_clients:0");
    client.check(&[("RPUSH a 1", ":1"), ("LPOP a", "1")]);
}

fn subscribers_hear_what_is_published(program: &str) {
    let server = Server::start(program);
    let (mut one, mut both, mut speaker) = (server.connect(), server.connect(), server.connect());
    one.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
    both.check(&[("SUBSCRIBE a", "[subscribe a :1]"), ("SUBSCRIBE b", "[subscribe b :2]")]);
    speaker.check(&[("PUBLISH a 1", ":2"), ("PUBLISH b 2", ":1"), ("PUBLISH c 3", ":0")]);
    assert_eq!([one.reply(), both.reply()], ["[message a 1]", "[message a 1]"]);
    assert_eq!(both.reply(), "[message b 2]");
    assert!(one.call("GET a").starts_with("-ERR Can't execute 'get': only"));
    one.check(&[
        ("PING x", "[pong x]"),
        ("UNSUBSCRIBE none", "[unsubscribe none :1]"),
        ("UNSUBSCRIBE", "[unsubscribe a :0]"),
        ("GET a", "nil"),
    ]);
    drop(both);
    speaker.wait_for_info("pubsub_channels:0");

    // What is published before an answer comes before it, although the sockets cannot take it all.
    let message = "x".repeat(100_000);
    for (request, reply) in [("UNSUBSCRIBE a", "[unsubscribe a :0]"), ("QUIT", "+OK")] {
        let mut behind = server.connect();
        behind.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
        for _ in 0..200 {
            speaker.check(&[(&format!("PUBLISH a {message}"), ":1")]);
        }
        behind.send(encoded(request).as_bytes());
        for _ in 0..200 {
            assert_eq!(behind.reply(), format!("[message a {message}]"));
        }
        assert_eq!(behind.reply(), reply);
    }
}

fn a_subscriber_that_does_not_read_has_to_leave(program: &str) {
    let server = Server::start(program);
    let (mut slow, mut fast, mut speaker) = (server.connect(), server.connect(), server.connect());
    slow.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
    fast.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
    let message = "x".repeat(100_000);
    // However much the kernel holds for it, this has to come.
    wait_until("the end of the slow one", || {
        let count = speaker.call(&format!("PUBLISH a {message}"));
        assert_eq!(fast.reply(), format!("[message a {message}]"));
        count == ":1"
    });
    // What was published before comes, and then the end.
    slow.rest();
    speaker.wait_for_info("connected_clients:2");
}

fn the_server_ends_when_it_is_told_to(program: &str) {
    for how in ["INT", "TERM", "SHUTDOWN"] {
        let server = Server::start(program);
        let mut waits = blocked(&server, "BLPOP a 0", 1);
        let (mut idle, mut hears) = (server.connect(), server.connect());
        idle.check(&[("PING", "+PONG")]);
        hears.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
        match how {
            "SHUTDOWN" => idle.send(b"SHUTDOWN\r\n"),
            signal => server.signal(signal),
        }
        let (status, errors) = server.ended(&["stopping", "stopped"]);
        assert!(status.success(), "{how}: {status} {errors}");
        for client in [&mut waits, &mut idle, &mut hears] {
            assert_eq!(client.rest(), "", "{how}");
        }
    }

    // Who has asked for more than the sockets keep, and does not read it, is cut off.
    let server = Server::start_with(program, &["--grace", "1"]);
    let mut client = server.connect();
    client.check(&[(&format!("SET a {}", "x".repeat(1 << 20)), "+OK")]);
    client.send("GET a\r\n".repeat(100).as_bytes());
    client.reply();
    server.signal("INT");
    let (status, errors) = server.ended(&["stopping"]);
    assert_eq!(status.code(), Some(1));
    assert!(
        errors.contains("Error: cut off 1 client(s), who had not read within 1s\n"),
        "{errors}"
    );
}

fn mistakes_on_the_command_line_are_one_line(program: &str) {
    let taken = net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    for (arguments, code, mistake) in [
        (["--what", "1"], 2, "not understood: --what 1 (--help".to_owned()),
        (["--workers", "0"], 2, "not understood: --workers 0 (--help".to_owned()),
        (["--port", &port], 1, format!("cannot listen on 127.0.0.1:{port}: ")),
    ] {
        let output = Command::new(program).args(arguments).output().expect("it starts");
        let errors = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(errors.starts_with(&format!("Error: {mistake}")), "{errors}");
        assert_eq!((errors.lines().count(), output.status.code()), (1, Some(code)), "{errors}");
    }
}

on_both! {
    every_command_replies_what_it_should
    replies_are_the_same_however_requests_are_cut
    keys_go_when_they_expire
    mistakes_and_browsers_end_the_connection
    large_values_and_long_pipelines_come_through
    who_has_waited_longest_gets_the_first_element
    who_leaves_is_in_no_line
    subscribers_hear_what_is_published
    a_subscriber_that_does_not_read_has_to_leave
    the_server_ends_when_it_is_told_to
    mistakes_on_the_command_line_are_one_line
}
