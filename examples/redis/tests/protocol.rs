//! The protocol: requests are the same however their bytes are cut, and mistakes are
//! told before the connection is closed.

#![cfg(unix)]

mod common;

#[path = "../src/redis/glob.rs"]
mod glob;
#[allow(dead_code, reason = "what writes replies is used by the server alone")]
#[path = "../src/redis/resp.rs"]
mod resp;

use common::{ARC, Server, TOKIO, encoded};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use resp::Parser;

/// What a parser makes of bytes: requests, and perhaps a mistake that ends them.
type Parsed = (Vec<Vec<Vec<u8>>>, Option<String>);

/// Feeds a parser with the bytes in parts, of these lengths and then the rest.
fn parsed(bytes: &[u8], lengths: &[usize]) -> Parsed {
    let (mut parser, mut input, mut requests) = (Parser::default(), Vec::new(), Vec::new());
    let mut rest = bytes;
    for length in lengths.iter().copied().chain([usize::MAX]) {
        let (part, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        input.extend_from_slice(part);
        loop {
            match parser.parse(&input) {
                Err(mistake) => return (requests, Some(mistake)),
                Ok(None) => break,
                Ok(Some(length)) => {
                    let request = parser.request(&input);
                    requests.push(request.from(0).map(<[u8]>::to_vec).collect());
                    parser.finish();
                    input.drain(..length);
                }
            }
        }
    }
    (requests, None)
}

fn words(text: &str) -> Vec<Vec<u8>> {
    text.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

#[test]
fn requests_are_read() {
    for (bytes, requests, mistake) in [
        ("PING\r\n", vec![words("PING")], None),
        ("  set  a\tb \nGET a\r\n", vec![words("set a b"), words("GET a")], None),
        (
            "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
            vec![words("PING"), words("GET a")],
            None,
        ),
        ("*0\r\n*-1\r\n\r\nPING\r\n", vec![vec![], vec![], vec![], words("PING")], None),
        ("*1\r\n$0\r\n\r\nPING\r\n", vec![words(""), words("PING")], None),
        ("*1\r\n$5\r\na\r\nb\0\r\n", vec![vec![b"a\r\nb\0".to_vec()]], None),
        (
            "echo \"a b\" 'c \"d'\r\n",
            vec![vec![b"echo".to_vec(), b"a b".to_vec(), b"c \"d".to_vec()]],
            None,
        ),
        (
            "echo \"\\x41\\n\\\"\\q\" 'it\\'s' ''\r\n",
            vec![vec![b"echo".to_vec(), b"A\n\"q".to_vec(), b"it's".to_vec(), b"".to_vec()]],
            None,
        ),
        ("echo \"a\r\n", vec![], Some("unbalanced quotes in request")),
        ("echo \"a\"b\r\n", vec![], Some("unbalanced quotes in request")),
        ("*1\r\n$4\r\nPING\r\n*1\r\nPING\r\n", vec![words("PING")], Some("expected '$', got 'P'")),
        ("*x\r\n", vec![], Some("invalid multibulk length")),
        ("*1048577\r\n", vec![], Some("invalid multibulk length")),
        ("*+1\r\n", vec![], Some("invalid multibulk length")),
        ("*1\r\n$-1\r\n", vec![], Some("invalid bulk length")),
        ("*1\r\n$536870913\r\n", vec![], Some("invalid bulk length")),
        ("*1\r\n$536870912\r\nnot all", vec![], None),
        ("*1\r\n$9999999999999999999\r\n", vec![], Some("invalid bulk length")),
        ("*1\r\n$", vec![], None),
        ("PING", vec![], None),
    ] {
        let expected = (requests, mistake.map(str::to_owned));
        assert_eq!(parsed(bytes.as_bytes(), &[]), expected, "{bytes:?}");
        assert_eq!(parsed(bytes.as_bytes(), &vec![1; bytes.len()]), expected, "{bytes:?}");
    }
}

#[test]
fn lines_without_end_are_refused() {
    const LINE_BYTES_MAX: usize = 64 << 10;
    for (start, mistake) in [
        ("x", "too big inline request"),
        ("*", "too big mbulk count string"),
        ("*1\r\n$", "too big bulk count string"),
    ] {
        let fits = format!("{start}{}", "1".repeat(LINE_BYTES_MAX - 2));
        assert_eq!(parsed(fits.as_bytes(), &[]), (vec![], None), "{start}");
        let long = format!("{fits}11");
        assert_eq!(parsed(long.as_bytes(), &[100]).1.as_deref(), Some(mistake));
    }
}

#[test]
fn patterns_match_as_in_redis() {
    for (pattern, name, expected) in [
        ("", "", true),
        ("", "a", false),
        ("a", "", false),
        ("*", "", true),
        ("**", "abc", true),
        ("a*c", "abbbc", true),
        ("a*c", "abbbd", false),
        ("*a*b*", "xxaxxbxx", true),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("?", "", false),
        ("[abc]", "b", true),
        ("[abc]", "d", false),
        ("[^abc]", "d", true),
        ("[^abc]", "a", false),
        ("[a-c]x", "bx", true),
        ("[c-a]", "b", true),
        ("[a-]", "^", true),
        ("[a-", "a", true),
        ("[\\]]", "]", true),
        ("[\\-x]", "-", true),
        ("[", "[", false),
        ("[]", "a", false),
        ("\\*", "*", true),
        ("\\*", "a", false),
        ("a\\", "a\\", true),
        ("*[b]*", "abc", true),
    ] {
        assert_eq!(
            glob::matches(pattern.as_bytes(), name.as_bytes()),
            expected,
            "{pattern} {name}"
        );
    }
    // It would take ages to try all ways.
    let (pattern, name) = ("a*".repeat(50) + "b", "a".repeat(5000));
    assert!(!glob::matches(pattern.as_bytes(), name.as_bytes()));
}

/// Bytes of which some are requests.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let argument = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..12),
        prop::sample::select(&["GET", "a", "*1\r\n", "$3\r\n", "\r\n"][..])
            .prop_map(|it| it.into()),
    ];
    let request = prop::collection::vec(argument, 0..5).prop_map(|it| encoded(&it));
    let inline = "[a-z \"'\\\\]{0,12}\r?\n".prop_map(String::into_bytes);
    let garbage = "[*$0-9\r\n-]{0,6}".prop_map(String::into_bytes);
    let part = prop_oneof![6 => request, 3 => inline, 1 => garbage];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn requests_are_the_same_however_they_are_cut(
        bytes in noise(),
        lengths in prop::collection::vec(0_usize..20, 0..40),
    ) {
        let whole = parsed(&bytes, &[]);
        prop_assert_eq!(&parsed(&bytes, &lengths), &whole);
        prop_assert_eq!(&parsed(&bytes, &vec![1; bytes.len()]), &whole);
    }

    #[test]
    fn what_is_encoded_is_read(
        requests in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..6), 0..6),
    ) {
        let bytes: Vec<u8> = requests.iter().flat_map(|request| encoded(request)).collect();
        prop_assert_eq!(parsed(&bytes, &[]), (requests, None));
    }

    #[test]
    fn numbers_are_read_as_they_are_written(number in any::<i64>()) {
        prop_assert_eq!(resp::integer(number.to_string().as_bytes()), Some(number));
        let wrong = [format!("0{number}"), format!("+{number}"), format!(" {number}")];
        for wrong in wrong {
            prop_assert_eq!(resp::integer(wrong.as_bytes()), None);
        }
    }
}

/// Commands whose replies do not depend on chance or time.
fn commands() -> impl Strategy<Value = Vec<Vec<String>>> {
    let command = prop::sample::select(
        &[
            "SET K V",
            "SET K V NX GET",
            "GET K",
            "INCR K",
            "APPEND K V",
            "STRLEN K",
            "DEL K",
            "TYPE K",
            "MSET K V K V",
            "MGET K K",
            "KEYS *",
            "DBSIZE",
            "LPUSH K V V",
            "RPUSH K V",
            "LPOP K",
            "RPOP K 2",
            "LRANGE K 0 -1",
            "SADD K V V",
            "SREM K V",
            "SMEMBERS K",
            "HSET K V V",
            "HGETALL K",
            "HDEL K V",
            "ZADD K 1 V",
            "ZADD K 2 V",
            "ZRANGE K 0 -1 WITHSCORES",
            "ZPOPMIN K",
            "MULTI",
            "EXEC",
            "DISCARD",
            "PING",
            "ECHO V",
            "NOPE K",
            "GET",
            "EXPIRE K 1000",
            "TTL K",
        ][..],
    );
    let filled =
        (command, prop::collection::vec((0..3_u8, 0..4_u8), 4)).prop_map(|(line, picks)| {
            let mut picks = picks.into_iter().cycle();
            let fill = |word: &str| match word {
                "K" => format!("key{}", picks.next().map_or(0, |it| it.0)),
                "V" => format!("value{}", picks.next().map_or(0, |it| it.1)),
                word => word.to_owned(),
            };
            line.split(' ').map(fill).collect()
        });
    prop::collection::vec(filled, 1..40)
}

/// All that a server replies, with nothing in it at first.
fn replies(server: &Server, parts: &[&[u8]]) -> Vec<u8> {
    server.connect().check(&[("FLUSHALL", "+OK")]);
    let mut client = server.connect();
    parts.iter().for_each(|part| client.send(part));
    client.send(b"QUIT\r\n");
    client.rest()
}

#[test]
fn replies_are_the_same_however_requests_are_cut_on_either_runtime() {
    let servers = [Server::start(ARC), Server::start(TOKIO)];
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    let lengths = prop::collection::vec(1_usize..40, 1..60);
    let property = |(commands, lengths): (Vec<Vec<String>>, Vec<usize>)| {
        let bytes: Vec<u8> = commands.iter().flat_map(|command| encoded(command)).collect();
        let (mut parts, mut rest) = (Vec::new(), &*bytes);
        for length in lengths {
            let (part, after) = rest.split_at(length.min(rest.len()));
            parts.push(part);
            rest = after;
        }
        parts.push(rest);
        let whole = replies(&servers[0], &[&bytes]);
        prop_assert!(whole.ends_with(b"+OK\r\n"), "{}", String::from_utf8_lossy(&whole));
        for server in &servers {
            prop_assert_eq!(&replies(server, &parts), &whole);
        }
        prop_assert_eq!(&replies(&servers[1], &[&bytes]), &whole);
        Ok(())
    };
    if let Err(failure) = TestRunner::new(config).run(&(commands(), lengths), property) {
        panic!("{failure}");
    }
}

fn mistakes_are_told_and_end_the_connection(program: &str) {
    let server = Server::start(program);
    for (bytes, mistake) in [
        (&b"*x\r\n"[..], "invalid multibulk length"),
        (b"*1\r\n:4\r\n", "expected '$', got ':'"),
        (b"*1\r\n\x01", "expected '$', got '\\u{1}'"),
        (b"*1\r\n$-5\r\n", "invalid bulk length"),
        (b"*1\r\n$536870913\r\n", "invalid bulk length"),
        (b"get \"a\r\n", "unbalanced quotes in request"),
        (&[b'x'; 70_000], "too big inline request"),
    ] {
        let mut client = server.connect();
        client.send(b"PING\r\n");
        client.send(bytes);
        assert_eq!(client.text(), "+PONG");
        assert_eq!(client.text(), format!("-ERR Protocol error: {mistake}"));
        client.finish_sending();
        assert!(client.is_closed());
    }
    server.connect().check(&[("PING", "+PONG")]);
}

fn requests_that_came_before_the_end_are_answered(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    client.send(b"SET a 1\r\nGET a\r\nGET");
    client.finish_sending();
    assert_eq!(client.rest(), b"+OK\r\n$1\r\n1\r\n");
    let mut quits = server.connect();
    quits.send(b"QUIT\r\nSET a 2\r\n");
    assert_eq!(quits.rest(), b"+OK\r\n");
    server.connect().check(&[("GET a", "1")]);
}

fn http_ends_the_connection(program: &str) {
    let server = Server::start(program);
    let mut other = server.connect();
    other.check(&[("SET a 1", "+OK")]);
    let post = encoded(&["POST", "/"]);
    for (bytes, replies) in [
        (&b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"[..], ""),
        (
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "-ERR wrong number of arguments for 'get' command\r\n",
        ),
        (b"post\r\n", ""),
        (b"hOST: x\r\n", ""),
        (&post, ""),
        (b"MULTI\r\nDEL a\r\nPost /\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n"),
        (b"SUBSCRIBE b\r\nhost: x\r\nRESET\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:1\r\n"),
    ] {
        let mut client = server.connect();
        client.send(&[bytes, b"FLUSHALL\r\n"].concat());
        assert_eq!(String::from_utf8_lossy(&client.rest()), replies);
        other.check(&[("EXISTS a", ":1")]);
    }
    // Only as the name of a command.
    other.check(&[("SET post host:", "+OK"), ("GET post", "host:")]);
}

fn large_values_and_long_pipelines_come_through(program: &str) {
    let server = Server::start(program);
    let mut client = server.connect();
    let large: Vec<u8> = (0..5_000_000_u32).map(|number| (number % 251) as u8).collect();
    client.send(&encoded(&[b"SET", &b"large"[..], &large]));
    assert_eq!(client.text(), "+OK");
    client.send(&encoded(&["GET", "large"]));
    let common::Reply::Bulk(bytes) = client.reply() else {
        panic!("a bulk");
    };
    assert!(bytes == large, "it is not what was set");
    // What goes out does not fit into what the kernel holds, while more comes in.
    std::thread::scope(|scope| {
        const COUNT: usize = 20_000;
        // No two alike, so that a byte in a wrong place is seen.
        let text = |number: usize| number.to_string().repeat(100);
        let mut reads = server.connect();
        let mut writes = reads.another();
        scope.spawn(move || {
            (0..COUNT).for_each(|number| writes.send(&encoded(&["ECHO", &text(number)])));
        });
        for number in 0..COUNT {
            assert_eq!(reads.text(), text(number));
        }
    });
    client.check(&[("PING", "+PONG")]);
}

on_both! {
    mistakes_are_told_and_end_the_connection
    requests_that_came_before_the_end_are_answered
    http_ends_the_connection
    large_values_and_long_pipelines_come_through
}
