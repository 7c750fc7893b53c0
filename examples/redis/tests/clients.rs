//! Clients that wait for each other, that hear each other, that are too many, and that
//! the server leaves, on both runtimes.

#![cfg(unix)]

mod common;

#[path = "../src/redis/lines.rs"]
mod lines;

use common::{Client, Server, encoded, wait_until};
use lines::Lines;
use std::cell::Cell;
use std::cmp::Ordering;
use std::iter::repeat_n;
use std::thread;

/// A client that waits in BLPOP; `waiting` is how many do then.
fn blocked(server: &Server, line: &str, waiting: usize) -> Client {
    let mut client = server.connect();
    client.request(line);
    server.connect().wait_for_info(&format!("blocked_clients:{waiting}"));
    client
}

fn who_has_waited_longest_gets_the_first_element(program: &str) {
    let server = Server::start(program);
    let mut other = server.connect();
    other.check(&[("RPUSH b x", ":1"), ("BLPOP a b 0", "[b x]"), ("EXISTS b", ":0")]);
    let mut first = blocked(&server, "BLPOP a b 0", 1);
    let mut second = blocked(&server, "BLPOP b 0", 2);
    let mut third = blocked(&server, "BLPOP a a 0", 3);
    // The one list has an element for the first and one for the second.
    other.check(&[("RPUSH b 1 2 3", ":3")]);
    assert_eq!((first.text(), second.text()), ("[b 1]".to_owned(), "[b 2]".to_owned()));
    other.check(&[("LRANGE b 0 -1", "[3]"), ("LPUSH a 4", ":1"), ("EXISTS a", ":0")]);
    assert_eq!(third.text(), "[a 4]");
    other.wait_for_info("blocked_clients:0");
    // None of them is in any line any more.
    other.check(&[("RPUSH a 5", ":1"), ("LLEN a", ":1")]);
    first.check(&[("PING", "+PONG")]);
    // Of two lists in one transaction, the one that was added to first counts.
    let mut both = blocked(&server, "BLPOP c d 0", 1);
    other.check(&[("MULTI", "+OK"), ("RPUSH d 6", "+QUEUED"), ("RPUSH c 7", "+QUEUED")]);
    other.call("EXEC");
    assert_eq!(both.text(), "[d 6]");
}

/// Whoever sends megabytes ahead while it waits is still seen to leave.
fn who_sends_ahead_and_leaves_is_in_no_line(program: &str) {
    let server = Server::start(program);
    let mut ahead = blocked(&server, "BLPOP a 0", 1);
    ahead.send(&encoded(&["ECHO", &"x".repeat(3 << 20)]));
    drop(ahead);
    let mut other = server.connect();
    other.wait_for_info("blocked_clients:0");
    other.check(&[("RPUSH a 1", ":1"), ("LLEN a", ":1")]);
}

/// Its place in one line would be looked for as often as it names the key.
fn who_names_a_key_often_waits_for_it_once(program: &str) {
    let server = Server::start(program);
    let keys = repeat_n("k", 100_000);
    let often: Vec<_> = ["BLPOP"].into_iter().chain(keys).chain(["0"]).collect();
    let mut clients = [server.connect(), server.connect()];
    let mut other = server.connect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(&encoded(&often));
        other.wait_for_info(&format!("blocked_clients:{}", number + 1));
    }
    let [first, mut second] = clients;
    drop(first);
    other.wait_for_info("blocked_clients:1");
    other.check(&[("RPUSH k 1 2", ":2"), ("LLEN k", ":1")]);
    assert_eq!(second.text(), "[k 1]");
}

thread_local! {
    static COMPARISONS: Cell<usize> = const { Cell::new(0) };
}

/// A number that counts how often it is compared.
#[derive(Clone, Copy, Debug)]
struct Counted(u32);

impl Ord for Counted {
    fn cmp(&self, other: &Self) -> Ordering {
        COMPARISONS.set(COMPARISONS.get() + 1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Counted {}

/// A walk along the line would be thousands of comparisons, each time.
#[test]
fn who_leaves_a_line_is_not_looked_for_in_it() {
    const LENGTH: u32 = 10_000;
    let mut lines = Lines::default();
    (0..LENGTH).for_each(|number| lines.enter(b"a", Counted(number), number));
    lines.enter(b"b", Counted(7), 7);
    COMPARISONS.set(0);
    // Some give up, from the midst; the others are served, from the front.
    let (give_up, stay): (Vec<_>, Vec<_>) = (0..LENGTH).partition(|number| number % 3 == 1);
    assert!(give_up.iter().all(|number| lines.leave(b"a", &Counted(*number))));
    assert!(!lines.leave(b"a", &Counted(1)), "it left twice");
    for number in stay {
        assert_eq!(lines.first(b"a"), Some(&number));
        assert!(lines.leave(b"a", &Counted(number)));
    }
    let each = COMPARISONS.get() / LENGTH as usize;
    assert!(each < 100, "{each} comparisons for one to leave");
    assert!(!lines.contains(b"a") && lines.contains(b"b"));
    assert!(!lines.leave(b"a", &Counted(0)) && lines.first(b"a").is_none());
}

fn many_in_many_lines_are_served_in_their_order(program: &str) {
    const CLIENTS: usize = 60;
    let server = Server::start(program);
    let mut other = server.connect();
    let keys: Vec<_> = (0..200).map(|number| format!("k{number}")).collect();
    let line = format!("BLPOP {} 0", keys.join(" "));
    let clients = (1..=CLIENTS).map(|number| blocked(&server, &line, number));
    let mut clients: Vec<_> = clients.collect();
    for leaving in [40, 17, 0] {
        drop(clients.remove(leaving));
        other.wait_for_info(&format!("blocked_clients:{}", clients.len()));
    }
    let elements: Vec<_> = (0..CLIENTS).map(|number| number.to_string()).collect();
    other.call(&format!("RPUSH k100 {}", elements.join(" ")));
    for (client, element) in clients.iter_mut().zip(&elements) {
        assert_eq!(client.text(), format!("[k100 {element}]"));
    }
    // Nobody is in any line any more.
    other.wait_for_info("blocked_clients:0");
    other.check(&[("LRANGE k100 0 -1", "[57 58 59]"), ("RPUSH k0 1", ":1"), ("LLEN k0", ":1")]);
}

fn waiting_ends_by_itself(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    client.check(&[
        ("BLPOP a 0.02", "nil[]"),
        ("BLPOP a -1", "-ERR timeout is negative"),
        ("BLPOP a x", "-ERR timeout is not a float or out of range"),
        ("BLPOP a inf", "-ERR timeout is not a float or out of range"),
        ("BLPOP a 1e300", "-ERR timeout is out of range"),
        ("RPUSH a 1", ":1"),
        ("LLEN a", ":1"),
    ]);
    // What was sent ahead is answered after it, in its order.
    client.send(&[encoded(&["BLPOP", "b", "0.02"]), encoded(&["PING"])].concat());
    assert_eq!((client.text(), client.text()), ("nil[]".to_owned(), "+PONG".to_owned()));
    let mut waits = blocked(&server, "BLPOP b 0", 1);
    waits.request("ECHO later");
    client.call("RPUSH b 2");
    assert_eq!((waits.text(), waits.text()), ("[b 2]".to_owned(), "later".to_owned()));
}

fn who_leaves_takes_nothing_with_it(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    drop(blocked(&server, "BLPOP a 0", 1));
    client.wait_for_info("blocked_clients:0");
    client.check(&[("RPUSH a 1", ":1"), ("LPOP a", "1")]);
    // Whoever comes at the same moment either has the element, or it is still there.
    for round in 0..30 {
        let leaves = blocked(&server, "BLPOP a 0", 1);
        let mut stays = blocked(&server, "BLPOP a 0", 2);
        let leaving = thread::spawn(move || drop(leaves));
        client.request(&format!("RPUSH a {round}"));
        client.request(&format!("RPUSH a {round}"));
        assert!(matches!(&*client.text(), ":1" | ":2"));
        assert!(matches!(&*client.text(), ":1" | ":2"));
        assert_eq!(stays.text(), format!("[a {round}]"));
        leaving.join().expect("it leaves");
        // What the other has taken along, or given back, is not for the next round.
        client.wait_for_info("connected_clients:2");
        client.call("DEL a");
    }
}

fn transactions(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    client.check(&[
        ("EXEC", "-ERR EXEC without MULTI"),
        ("DISCARD", "-ERR DISCARD without MULTI"),
        ("MULTI", "+OK"),
        ("MULTI", "-ERR MULTI calls can not be nested"),
        ("SET a 1", "+QUEUED"),
        ("LPUSH a x", "+QUEUED"),
        ("INCR a", "+QUEUED"),
        ("BLPOP none 0", "+QUEUED"),
    ]);
    server.connect().check(&[("EXISTS a", ":0")]);
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    client.check(&[
        ("EXEC", &format!("[+OK {wrong_type} :2 nil[]]")),
        ("MULTI", "+OK"),
        ("INCR a", "+QUEUED"),
        ("NOPE", "-ERR unknown command 'NOPE', with args beginning with: "),
        ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
        ("MULTI", "+OK"),
        ("INCR a", "+QUEUED"),
        ("DISCARD", "+OK"),
        ("GET a", "2"),
        ("MULTI", "+OK"),
        ("SUBSCRIBE x", "-ERR Command not allowed inside a transaction"),
        ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
        ("MULTI", "+OK"),
        ("EXEC", "[]"),
    ]);
}

/// Transfers between two accounts, and readers that must see no money on the way.
fn nobody_comes_between(program: &str) {
    const ROUNDS: usize = 300;
    let server = Server::start(program);
    server.connect().check(&[("MSET a 1000 b 0", "+OK")]);
    thread::scope(|scope| {
        for _ in 0..3 {
            let mut client = server.connect();
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    client.check(&[("MULTI", "+OK"), ("DECR a", "+QUEUED"), ("INCR b", "+QUEUED")]);
                    client.call("EXEC");
                    client.call("INCR count");
                }
            });
        }
        let mut client = server.connect();
        scope.spawn(move || {
            for _ in 0..ROUNDS {
                let sums = client.call("MGET a b");
                let sums = sums.trim_matches(['[', ']']).split(' ');
                assert_eq!(sums.map(|it| it.parse::<i64>().expect("a number")).sum::<i64>(), 1000);
            }
        });
    });
    let expected = format!("[{} {} {}]", 1000 - 3 * ROUNDS, 3 * ROUNDS, 3 * ROUNDS);
    server.connect().check(&[("MGET a b count", &expected)]);
}

fn subscribers_hear_what_is_published(program: &str) {
    let server = Server::start(program);
    let (mut one, mut both, mut speaker) = (server.connect(), server.connect(), server.connect());
    speaker.check(&[("PUBLISH a nobody", ":0")]);
    one.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
    both.request("SUBSCRIBE a b");
    assert_eq!(both.text(), "[subscribe a :1]");
    assert_eq!(both.text(), "[subscribe b :2]");
    speaker.check(&[("PUBLISH a hello", ":2"), ("PUBLISH b there", ":1")]);
    assert_eq!(one.text(), "[message a hello]");
    assert_eq!(both.text(), "[message a hello]");
    assert_eq!(both.text(), "[message b there]");
    one.check(&[
        (
            "GET a",
            "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / \
                   QUIT / RESET are allowed in this context",
        ),
        ("PING", "[pong ]"),
        ("PING x", "[pong x]"),
        ("UNSUBSCRIBE none", "[unsubscribe none :1]"),
        ("UNSUBSCRIBE a", "[unsubscribe a :0]"),
        ("UNSUBSCRIBE", "[unsubscribe nil :0]"),
        ("GET a", "nil"),
    ]);
    speaker.check(&[("PUBLISH a again", ":1")]);
    assert_eq!(both.text(), "[message a again]");
    both.request("UNSUBSCRIBE");
    assert_eq!(both.text(), "[unsubscribe a :1]");
    assert_eq!(both.text(), "[unsubscribe b :0]");
    // Many, in their order.
    one.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
    for number in 0..500 {
        speaker.check(&[(&format!("PUBLISH a {number}"), ":1")]);
    }
    for number in 0..500 {
        assert_eq!(one.text(), format!("[message a {number}]"));
    }
    drop(one);
    speaker.wait_for_info("pubsub_channels:0");
}

/// How many messages a subscriber is behind.
const MESSAGES: usize = 200;

/// A subscriber to which more was published than the sockets take, so that some of it waits
/// in the server; who published it; and the message.
fn behind(server: &Server) -> (Client, Client, String) {
    let (mut hears, mut speaker) = (server.connect(), server.connect());
    hears.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
    let message = "x".repeat(100_000);
    for _ in 0..MESSAGES {
        speaker.check(&[(&format!("PUBLISH a {message}"), ":1")]);
    }
    (hears, speaker, message)
}

fn what_was_published_before_unsubscribing_comes_before_its_answer(program: &str) {
    let server = Server::start(program);
    let (mut hears, mut speaker, message) = behind(&server);
    hears.send(&[encoded(&["UNSUBSCRIBE", "a"]), encoded(&["GET", "b"])].concat());
    for _ in 0..MESSAGES {
        assert_eq!(hears.text(), format!("[message a {message}]"));
    }
    assert_eq!((hears.text(), hears.text()), ("[unsubscribe a :0]".to_owned(), "nil".to_owned()));
    hears.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
    speaker.check(&[("PUBLISH a again", ":1")]);
    assert_eq!(hears.text(), "[message a again]");
}

/// As before UNSUBSCRIBE; and then it hears no more.
fn what_was_published_before_quitting_comes_before_its_answer(program: &str) {
    let server = Server::start(program);
    let (mut hears, mut speaker, message) = behind(&server);
    hears.request("QUIT");
    for _ in 0..MESSAGES {
        assert_eq!(hears.text(), format!("[message a {message}]"));
    }
    assert_eq!(hears.text(), "+OK");
    assert!(hears.is_closed());
    // Its end is still open, and the server waits for a moment.
    speaker.check(&[("PUBLISH a late", ":0")]);
}

fn a_subscriber_that_does_not_read_has_to_leave(program: &str) {
    let server = Server::start(program);
    let (mut slow, mut fast, mut speaker) = (server.connect(), server.connect(), server.connect());
    slow.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
    fast.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
    let message = "x".repeat(100_000);
    let publish = format!("PUBLISH a {message}");
    // However much the kernel holds for it, this has to come.
    wait_until("the end of the slow one", || {
        let count = speaker.call(&publish);
        assert_eq!(fast.text(), format!("[message a {message}]"));
        count == ":1"
    });
    speaker.wait_for_info("connected_clients:2");
    // To its end: what the kernel had taken comes, but not all of it.
    slow.rest();
    speaker.check(&[("PUBLISH a end", ":1")]);
    assert_eq!(fast.text(), "[message a end]");
}

fn clients_beyond_the_limit_are_told_so(program: &str) {
    let server = Server::start_with(program, &["--maxclients", "2"]);
    let (mut one, mut two) = (server.connect(), server.connect());
    one.check(&[("PING", "+PONG")]);
    two.check(&[("PING", "+PONG")]);
    let mut three = server.connect();
    assert_eq!(three.text(), "-ERR max number of clients reached");
    assert!(three.is_closed());
    drop(one);
    two.wait_for_info("connected_clients:1");
    server.connect().check(&[("PING", "+PONG")]);
}

fn the_server_ends_when_it_is_told_to(program: &str) {
    for how in ["INT", "TERM", "SHUTDOWN"] {
        let server = Server::start(program);
        let mut waits = blocked(&server, "BLPOP a 0", 1);
        let (mut idle, mut hears, mut other) =
            (server.connect(), server.connect(), server.connect());
        idle.check(&[("PING", "+PONG")]);
        hears.check(&[("SUBSCRIBE a", "[subscribe a :1]")]);
        match how {
            "SHUTDOWN" => other.request("SHUTDOWN"),
            signal => server.signal(signal),
        }
        let status = server.ended();
        assert!(status.success(), "{how}: {status}");
        for client in [&mut waits, &mut idle, &mut hears, &mut other] {
            assert!(client.is_closed(), "{how}");
        }
    }
}

fn a_port_in_use_is_one_line_and_code_1(program: &str) {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let output =
        std::process::Command::new(program).args(["--port", &port]).output().expect("it starts");
    let errors = String::from_utf8(output.stderr).expect("UTF-8");
    let start = format!("Error: cannot listen on 127.0.0.1:{port}: ");
    assert!(errors.starts_with(&start) && errors.contains("in use"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert_eq!((output.status.code(), output.stdout), (Some(1), vec![]));
}

/// It has asked for more than the sockets keep, and does not read it.
fn who_does_not_read_at_the_end_is_cut_off_and_told(program: &str) {
    let server = Server::start_with(program, &["--grace", "1"]);
    let mut client = server.connect();
    let value = "x".repeat(1 << 20);
    client.check(&[(&format!("SET a {value}"), "+OK")]);
    client.send("GET a\r\n".repeat(100).as_bytes());
    // The server has read all of them at once, and is about to answer.
    assert_eq!(client.line(), format!("${}", value.len()));
    server.signal("INT");
    assert_eq!(server.error(), "waiting for 1 client(s) to read, for 1s at most");
    assert_eq!(server.error(), "Error: cut off 1 client(s), who had not read within 1s");
    assert_eq!(server.ended_saying(&["stopping"]).code(), Some(1));
}

fn mistakes_on_the_command_line_are_one_line(program: &str) {
    for (arguments, mistake) in [
        (&["--what"][..], "unknown option \"--what\""),
        (&["--port"], "--port needs a value"),
        (&["--port", "65536"], "\"65536\" is not a port"),
        (&["--workers", "0"], "--workers takes a number from 1 to 64, not \"0\""),
    ] {
        let output = std::process::Command::new(program).args(arguments).output();
        let output = output.expect("it starts");
        assert_eq!(output.status.code(), Some(2));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(errors, format!("Error: {mistake}; --help lists the options\n"));
    }
}

on_both! {
    who_has_waited_longest_gets_the_first_element
    waiting_ends_by_itself
    who_sends_ahead_and_leaves_is_in_no_line
    who_names_a_key_often_waits_for_it_once
    many_in_many_lines_are_served_in_their_order
    who_leaves_takes_nothing_with_it
    transactions
    nobody_comes_between
    subscribers_hear_what_is_published
    what_was_published_before_unsubscribing_comes_before_its_answer
    what_was_published_before_quitting_comes_before_its_answer
    a_subscriber_that_does_not_read_has_to_leave
    clients_beyond_the_limit_are_told_so
    the_server_ends_when_it_is_told_to
    mistakes_on_the_command_line_are_one_line
    a_port_in_use_is_one_line_and_code_1
    who_does_not_read_at_the_end_is_cut_off_and_told
}
