//! Chapter 20: nothing takes for ever.

mod common;

use common::{Scratch, Server, bytes_of};
use growing::client::{Client, Retry};
use growing::step20::{Patience, serve};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(60);

fn start(scratch: &Scratch, patience: Patience) -> Server {
    let file = scratch.path().to_owned();
    Server::start(move |listener| serve(listener, file, patience))
}

#[test]
fn silent_client_is_sent_away_and_a_slow_one_is_not() {
    let scratch = Scratch::new();
    let server = start(&scratch, Patience { idle: SHORT, write: LONG });
    let mut silent = server.connect();
    // Half a request, and then nothing.
    silent.stream.write_all(b"*2\r\n$4\r\nEC").unwrap();
    assert_eq!(silent.reply(), None);

    // It never waits for as long as the limit, and its request is not lost at any of them.
    let server = start(&scratch, Patience { idle: LONG, write: LONG });
    let mut slow = server.connect();
    for byte in bytes_of("ECHO hi") {
        slow.stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(slow.reply().as_deref(), Some("$2 hi"));
}

#[test]
fn deaf_client_is_sent_away() {
    let scratch = Scratch::new();
    let server = start(&scratch, Patience { idle: LONG, write: SHORT });
    let mut deaf = server.connect();
    assert_eq!(deaf.ask(&format!("SET key {}", "v".repeat(100_000))), "+OK");
    // Until the server has given it up.
    let requests = bytes_of("GET key").repeat(1000);
    while deaf.stream.write_all(&requests).is_ok() {}
    server.has_tasks(2);
}

/// Somebody who answers each connection by what the next of these functions does.
fn peer(acts: Vec<fn(&mut std::net::TcpStream)>) -> (std::net::SocketAddr, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = thread::spawn(move || {
        let mut streams = Vec::new();
        for act in acts {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(common::DEADLINE)).unwrap();
            assert!(stream.read(&mut [0; 1024]).unwrap() > 0, "a request");
            act(&mut stream);
            // It stays open: the client does not hear of an end.
            streams.push(stream);
        }
    });
    (address, peer)
}

#[arc::test]
async fn call_is_tried_again_over_another_connection() {
    let (address, peer) =
        peer(vec![|_| {}, |stream| stream.shutdown(std::net::Shutdown::Both).unwrap(), |stream| {
            stream.write_all(b"+PONG\r\n").unwrap()
        }]);
    let mut client = Client::new(address);
    let retry = Retry { limit: SHORT, tries: 3, pause: Duration::from_millis(1) };
    assert_eq!(client.call_again(&["PING"], retry).await.unwrap(), "+PONG");
    peer.join().unwrap();
}

#[arc::test]
async fn late_reply_is_not_taken_for_that_of_the_next_call() {
    let (address, peer) = peer(vec![
        |stream| {
            // Later than the client waits.
            thread::sleep(3 * SHORT);
            let _ = stream.write_all(b"$3\r\nold\r\n");
        },
        |stream| stream.write_all(b"$3\r\nnew\r\n").unwrap(),
    ]);
    let mut client = Client::new(address);
    assert!(arc::time::timeout(SHORT, client.call(&["GET", "a"])).await.is_err());
    assert_eq!(client.call(&["GET", "b"]).await.unwrap(), "$3\r\nnew");
    peer.join().unwrap();
}

#[arc::test]
async fn last_error_is_given() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let retry = Retry { tries: 2, pause: Duration::from_millis(1), ..Retry::default() };
    let error = Client::new(nobody).call_again(&["PING"], retry).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn redis_tools_are_content() {
    let scratch = Scratch::new();
    start(&scratch, Patience::default()).serves_redis_tools("ping,set,get,incr", 2);
}
