//! Chapter 18: all clients share a map.

mod common;

use common::{Client, Server, has_tools};
use growing::step18::serve;
use std::thread;

#[test]
fn clients_see_what_others_have_set() {
    let server = Server::start(serve);
    let (mut one, mut other) = (server.connect(), server.connect());
    for (request, expected) in [
        ("SET key value", "+OK"),
        ("GET key", "$5 value"),
        ("GET none", "$-1"),
        ("INCR key", "-ERR value is not an integer or out of range"),
        ("INCR n", ":1"),
        ("DBSIZE", ":2"),
        ("DEL key", ":1"),
        ("DEL key", ":0"),
        ("SET n 9223372036854775807", "+OK"),
        ("INCR n", "-ERR value is not an integer or out of range"),
    ] {
        assert_eq!(one.ask(request), expected, "{request}");
    }
    assert_eq!(other.ask("GET n"), "$19 9223372036854775807");
}

#[test]
fn no_increment_is_lost() {
    let server = Server::start(serve);
    let count = |mut client: Client| (0..500).for_each(|_| drop(client.ask("INCR n")));
    thread::scope(|scope| {
        (0..8).for_each(|_| {
            let client = server.connect();
            scope.spawn(move || count(client));
        });
    });
    assert_eq!(server.connect().ask("GET n"), "$4 4000");
}

#[test]
fn redis_tools_are_content() {
    let server = Server::start(serve);
    server.serves_redis_tools("ping,set,get,incr", 1);
    if has_tools() {
        assert_eq!(server.redis_cli("SET greeting hello"), "OK");
        assert_eq!(server.redis_cli("GET greeting"), "\"hello\"");
        assert_eq!(server.redis_cli("GET none"), "(nil)");
    }
}
