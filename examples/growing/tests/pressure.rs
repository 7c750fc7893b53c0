//! Chapter 19: nothing grows without limit.

mod common;

use common::{Client, Scratch, Server, bytes_of, until};
use growing::journal::Journal;
use growing::step19::{CLIENTS_MAX, serve};
use std::fs;
use std::io::Write;
use std::time::Duration;

fn start(scratch: &Scratch) -> Server {
    let file = scratch.path().to_owned();
    Server::start(|listener| serve(listener, file))
}

#[test]
fn one_client_more_than_there_may_be_waits_until_one_goes() {
    let scratch = Scratch::new();
    let server = start(&scratch);
    let mut clients: Vec<Client> = (0..CLIENTS_MAX).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.ask("PING"), "+PONG"));

    // The kernel takes it in, and nobody reads what it sends.
    let mut late = server.connect();
    late.send("PING");
    late.stream.set_nonblocking(true).unwrap();
    assert_eq!(late.stream.peek(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    // As many tasks as clients, the journal, and the one that accepts. Others are served meanwhile,
    // so that it had time to accept one more.
    for _ in 0..200 {
        assert_eq!(clients[0].ask("PING"), "+PONG");
        assert_eq!(server.runtime.tasks().len(), CLIENTS_MAX + 2);
    }

    late.stream.set_nonblocking(false).unwrap();
    clients.pop();
    assert_eq!(late.reply().as_deref(), Some("+PONG"));
}

#[test]
fn client_that_does_not_read_is_not_read_any_more() {
    let scratch = Scratch::new();
    let server = start(&scratch);
    let mut client = server.connect();
    let value = "v".repeat(100_000);
    assert_eq!(client.ask(&format!("SET key {value}")), "+OK");

    // Each request of a few bytes asks for much. Written without end, they fill the sockets.
    client.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let requests = bytes_of("GET key").repeat(1000);
    let mut sent = 0;
    while client.stream.write_all(&requests).is_ok() {
        sent += requests.len();
        assert!(sent < 1 << 30, "it reads for ever");
    }
    // Others are served meanwhile.
    assert_eq!(server.connect().ask("PING"), "+PONG");
}

#[test]
fn changes_are_in_the_journal_in_their_order() {
    let scratch = Scratch::new();
    let server = start(&scratch);
    let mut client = server.connect();
    for request in ["SET a 1", "GET a", "INCR a", "PING", "DEL b"] {
        client.ask(request);
    }
    let expected = [bytes_of("SET a 1"), bytes_of("INCR a"), bytes_of("DEL b")].concat();
    until("it is written", || fs::read(scratch.path()).is_ok_and(|it| it == expected));
}

#[arc::test]
async fn room_that_is_given_up_is_free_again() {
    let (journal, mut receiver) = Journal::with_room(1);
    let room = journal.reserve().await.unwrap();
    let waiting = arc::time::timeout(Duration::from_millis(1), journal.reserve());
    assert!(waiting.await.is_err(), "there is room for one");
    drop(room);
    journal.reserve().await.unwrap().record(vec![b"PING".to_vec()]);
    assert_eq!(receiver.recv().await, Some(vec![b"PING".to_vec()]));
    drop(receiver);
    assert!(journal.reserve().await.is_err(), "nobody writes any more");
}

#[test]
fn redis_tools_are_content() {
    let scratch = Scratch::new();
    start(&scratch).serves_redis_tools("ping,set,get,incr", 2);
}
