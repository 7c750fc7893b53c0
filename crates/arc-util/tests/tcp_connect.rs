//! `TcpSocket`, and connecting to several addresses at once.

use crate::common::{all_text, kind, soon};
#[cfg(target_os = "linux")]
use arc_util::io::AsyncReadExt;
use arc_util::io::AsyncWriteExt;
use arc_util::net::{SocketAddr, TcpListener, TcpSocket, connect};
use socket2::SockRef;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// An address that refuses connections: a socket is bound to it, so that no other process can
/// listen there, and does not listen.
fn refusing() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(any()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn sockets_with_options_listen_and_connect() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    assert!(socket.reuseaddr().unwrap());
    socket.set_recv_buffer_size(1 << 15).unwrap();
    assert!(socket.recv_buffer_size().unwrap() >= 1 << 15);
    socket.bind(any()).unwrap();
    let listener = socket.listen(8).unwrap();
    let address = listener.local_addr().unwrap();

    let socket = TcpSocket::new_v4().unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_keepalive(true).unwrap();
    socket.set_linger(Some(Duration::from_secs(1))).unwrap();
    socket.set_send_buffer_size(1 << 15).unwrap();
    assert!(socket.send_buffer_size().unwrap() >= 1 << 15);
    assert!(socket.nodelay().unwrap() && socket.keepalive().unwrap());
    assert_eq!(socket.linger().unwrap(), Some(Duration::from_secs(1)));
    assert!(socket.take_error().unwrap().is_none());
    socket.bind(any()).unwrap();
    let from = socket.local_addr().unwrap();
    let mut client = soon(socket.connect(address)).await.unwrap();
    assert!(client.nodelay().unwrap() && SockRef::from(&client).keepalive().unwrap());
    let (mut server, accepted) = soon(listener.accept()).await.unwrap();
    assert_eq!(accepted, from);
    server.write_all(b"hello").await.unwrap();
    drop(server);
    assert_eq!(all_text(&mut client).await, "hello");
}

#[cfg(target_os = "linux")]
#[arc::test]
async fn one_address_is_listened_on_by_several_that_say_so() {
    let bound = |address, reuse| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseport(reuse).unwrap();
        assert_eq!(socket.reuseport().unwrap(), reuse);
        socket.bind(address).map(|()| socket)
    };
    let first = bound(any(), true).unwrap();
    let address = first.local_addr().unwrap();
    let _first = first.listen(8).unwrap();
    bound(address, true).unwrap().listen(8).unwrap();
    assert_eq!(kind(bound(address, false)), ErrorKind::AddrInUse);
}

#[arc::test(flavor = "multi_thread")]
async fn refused_connections_are_errors() {
    let (_socket, address) = refusing();
    let connecting = TcpSocket::new_v4().unwrap().connect(address);
    let error = soon(connecting).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    let error = soon(connect(address)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert!(error.raw_os_error().is_some(), "{error}");
    let none: &[SocketAddr] = &[];
    assert_eq!(kind(soon(connect(none)).await), ErrorKind::InvalidInput);
}

#[arc::test]
async fn a_socket_of_std_can_be_connected() {
    let listener = TcpListener::bind(any()).await.unwrap();
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = TcpSocket::from_std_stream(socket.unwrap().into());
    let address = listener.local_addr().unwrap();
    let stream = soon(socket.connect(address)).await.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), address);
}

#[arc::test]
async fn sockets_for_ipv6_connect_where_there_is_ipv6() {
    let any = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    let Ok(socket) = TcpSocket::new_v6() else {
        return;
    };
    assert!(socket.bind((Ipv4Addr::LOCALHOST, 0).into()).is_err());
    if socket.bind(any).is_err() {
        return;
    }
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let client = TcpSocket::new_v6().unwrap().connect(address);
    assert_eq!(soon(client).await.unwrap().peer_addr().unwrap(), address);
}

/// With 250 ms for each attempt, this would take ten seconds.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn after_a_failure_the_next_attempt_begins_at_once() {
    let refusing: Vec<_> = (0..40).map(|_| refusing()).collect();
    let listener = TcpListener::bind(any()).await.unwrap();
    let good = listener.local_addr().unwrap();
    let mut addresses: Vec<_> = refusing.iter().map(|(_, address)| *address).collect();
    addresses.push(good);
    let start = Instant::now();
    let stream = soon(connect(&addresses[..])).await.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), good);
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// On Linux a listener whose queue is full does not answer.
#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use crate::common::{DEADLINE, until, waiting};
    use arc_util::net::{TcpStream, connect_timeout};
    use nix::sys::socket::setsockopt;
    use nix::{libc, setsockopt_impl, sockopt_impl};

    sockopt_impl! {
        FastOpenConnect, SetOnly, libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, bool
    }
    sockopt_impl! {
        NoCookie, SetOnly, libc::IPPROTO_TCP, libc::TCP_FASTOPEN_NO_COOKIE, bool
    }

    /// With TCP Fast Open, and without need of a cookie, connecting succeeds before anything is
    /// sent: there is no peer and no event until the first write.
    #[arc::test(flavor = "multi_thread", workers = 2)]
    async fn connecting_that_succeeds_at_once_waits_for_no_event() {
        let listener = TcpListener::bind(any()).await.unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        setsockopt(&socket, FastOpenConnect, &true).unwrap();
        setsockopt(&socket, NoCookie, &true).unwrap();
        let mut client = soon(socket.connect(listener.local_addr().unwrap())).await.unwrap();
        let error = client.peer_addr().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
        soon(client.write_all(b"hello")).await.unwrap();
        let (mut server, from) = soon(listener.accept()).await.unwrap();
        assert_eq!(from, client.local_addr().unwrap());
        let mut text = [0; 5];
        soon(server.read_exact(&mut text)).await.unwrap();
        assert_eq!(&text, b"hello");
        soon(server.write_all(b"world")).await.unwrap();
        soon(client.read_exact(&mut text)).await.unwrap();
        assert_eq!(&text, b"world");
    }

    /// A listener that does not answer, and the streams that fill its queue.
    async fn silent() -> (TcpListener, Vec<TcpStream>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(any()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let mut streams = vec![];
        loop {
            assert!(streams.len() < 10, "the queue never fills up");
            let attempt = TcpStream::connect(address);
            match arc::time::timeout(Duration::from_millis(100), attempt).await {
                Ok(stream) => streams.push(stream.unwrap()),
                Err(_) => return (listener, streams),
            }
        }
    }

    #[arc::test(flavor = "multi_thread", workers = 2)]
    async fn an_address_that_does_not_answer_is_overtaken() {
        let (silent, _streams) = silent().await;
        let listener = TcpListener::bind(any()).await.unwrap();
        let good = listener.local_addr().unwrap();
        let addresses = [silent.local_addr().unwrap(), good];
        let start = Instant::now();
        let stream = soon(connect(&addresses[..])).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        let elapsed = start.elapsed();
        assert!(elapsed >= Duration::from_millis(250), "too early");
    }

    #[arc::test(flavor = "multi_thread", workers = 2)]
    async fn an_attempt_that_was_overtaken_may_still_win() {
        let (silent, streams) = silent().await;
        let (_socket, bad) = refusing();
        let slow = silent.local_addr().unwrap();
        let addresses = [slow, bad];
        let mut connecting = waiting(connect(&addresses[..]));
        // The second attempt begins, and fails.
        until(|| connecting.wakes() > 0).await;
        assert!(connecting.waits());
        for _ in &streams {
            soon(silent.accept()).await.unwrap();
        }
        let stream = soon(connecting).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), slow);
    }

    #[arc::test(flavor = "multi_thread", workers = 2)]
    async fn connecting_ends_when_its_time_is_over() {
        let (silent, _streams) = silent().await;
        let address = silent.local_addr().unwrap();
        let limit = Duration::from_millis(20);
        let error = soon(connect_timeout(address, limit)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let listener = TcpListener::bind(any()).await.unwrap();
        let good = listener.local_addr().unwrap();
        connect_timeout(good, DEADLINE).await.unwrap();
        let (_socket, bad) = refusing();
        assert_eq!(kind(connect_timeout(bad, DEADLINE).await), ErrorKind::ConnectionRefused);
    }
}
