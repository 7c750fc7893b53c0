//! What the traits of `net::tcp` add to arc's TCP sockets.

use crate::common::{soon, tcp_pair};
use arc_util::net::TcpListener;
use futures_util::StreamExt;
use std::collections::BTreeSet;
use std::time::Duration;

#[arc::test]
async fn options_are_those_that_were_set() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.set_ttl(77).unwrap();
    assert_eq!(listener.ttl().unwrap(), 77);
    let (client, _server) = tcp_pair().await;
    client.set_ttl(42).unwrap();
    assert_eq!(client.ttl().unwrap(), 42);
    for linger in [Some(Duration::from_secs(3)), None] {
        client.set_linger(linger).unwrap();
        assert_eq!(client.linger().unwrap(), linger);
    }
}

#[arc::test(flavor = "multi_thread")]
async fn every_connection_comes_out_of_the_stream() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let clients = (0..20).map(|_| arc_util::net::TcpStream::connect(address));
    let clients = soon(futures_util::future::join_all(clients)).await;
    let expected: BTreeSet<_> =
        clients.iter().map(|client| client.as_ref().unwrap().local_addr().unwrap()).collect();
    let mut incoming = std::pin::pin!(listener.incoming());
    let mut seen = BTreeSet::new();
    for _ in 0..20 {
        let stream = soon(incoming.next()).await.unwrap().unwrap();
        seen.insert(stream.peer_addr().unwrap());
    }
    assert_eq!(seen, expected);
}

#[arc::test(flavor = "multi_thread")]
async fn peeks_leave_what_they_read_and_the_stream_becomes_one_of_std() {
    let (left, right) = tcp_pair().await;
    let mut buffer = [0; 16];
    assert_eq!(left.try_write(b"hello").unwrap(), 5);
    for _ in 0..2 {
        assert_eq!(soon(right.peek(&mut buffer)).await.unwrap(), 5);
    }
    assert_eq!(right.try_read(&mut buffer).unwrap(), 5);
    assert_eq!(&buffer[..5], b"hello");
    let right: std::net::TcpStream = right.into_std().unwrap();
    assert_eq!(right.peer_addr().unwrap(), left.local_addr().unwrap());
}

/// A server that does other things in between gets to know of the error as well: it is told before
/// the pause, which nobody need wait for.
#[cfg(unix)]
#[arc::test]
async fn an_error_of_accept_comes_before_its_pause() {
    use crate::common::{at_once, waits};
    use socket2::{Domain, Socket, Type};

    // Each attempt fails, as it does not listen.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let listener = TcpListener::from_std(socket.into()).unwrap();
    at_once(listener.accept()).unwrap_err();
    for _ in 0..3 {
        assert!(waits(listener.accept()) && waits(listener.accept()), "it pauses");
        let error = soon(listener.accept()).await.unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
    }
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = other.local_addr().unwrap();
    let _client = soon(arc_util::net::TcpStream::connect(address)).await.unwrap();
    at_once(other.accept()).unwrap();
}
