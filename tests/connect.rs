//! Connecting: what refuses, what never answers, several addresses, names, and
//! that looking names up does not stand in a worker's way.

use crate::common::timeout;
use crate::net_common::*;
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream, ToSocketAddrs, lookup_host};
use arc::time::sleep;
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::mpsc::channel;
use std::thread;

/// Where nobody listens, and nobody else begins to: it is bound, not listening.
fn refusing() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    socket.bind(&any.into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// That the operation fails, and with the error of std's.
#[track_caller]
fn fails_as_std<T, S>(result: Result<T>, of_std: Result<S>) -> ErrorKind {
    let (error, of_std) = (result.err().expect("it fails"), of_std.err().expect("std's fails"));
    assert_eq!(error.raw_os_error().unwrap(), of_std.raw_os_error().unwrap());
    error.kind()
}

#[test]
fn refused_connection_is_an_error_with_the_number_of_the_system() {
    run_each(|| async {
        let (_socket, address) = refusing();
        for _ in 0..200 {
            let of_std = std::net::TcpStream::connect(address);
            let kind = fails_as_std(TcpStream::connect(address).await, of_std);
            assert_eq!(kind, ErrorKind::ConnectionRefused);
        }
        // By the hundred they all come back.
        let attempts: Vec<_> = (0..300).map(|_| arc::spawn(TcpStream::connect(address))).collect();
        for result in join(attempts).await {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        }
    });
}

#[test]
fn addresses_are_tried_one_after_the_other() {
    run_each(|| async {
        let ((_one, first), (_two, second)) = (refusing(), refusing());
        let (listener, _) = listen().await;
        let good = listener.local_addr().unwrap();
        let stream = TcpStream::connect(&[first, second, good][..]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        let error = TcpStream::connect(&[first, second][..]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);

        // The error is the last one's.
        let nobodys = SocketAddr::from(([255, 255, 255, 255], 80));
        let error = TcpStream::connect(&[nobodys, first][..]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let of_std = std::net::TcpStream::connect(nobodys);
        fails_as_std(TcpStream::connect(&[first, nobodys][..]).await, of_std);
    });
}

#[test]
fn connection_to_a_full_backlog_times_out_and_goes_through_later() {
    let full_backlog = || async {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        socket.bind(&any.into()).unwrap();
        socket.listen(0).unwrap();
        let listener = TcpListener::from_std(socket.into()).unwrap();
        let address = listener.local_addr().unwrap();
        // The kernel takes one or two, and lets the others wait.
        let mut connected = vec![];
        let waiting = loop {
            assert!(connected.len() < 10, "the backlog never fills up");
            let mut attempt = Box::pin(TcpStream::connect(address));
            match timeout(millis(100), &mut attempt).await {
                Ok(stream) => connected.push(stream.unwrap()),
                Err(_) => break attempt,
            }
        };
        // Another one that is given up leaves nothing in the way.
        let given_up = timeout(millis(20), TcpStream::connect(address)).await;
        assert!(given_up.is_err());
        for _ in 0..connected.len() {
            listener.accept().await.unwrap();
        }
        let late = waiting.await.unwrap();
        let (mut accepted, from) = listener.accept().await.unwrap();
        assert_eq!(from, late.local_addr().unwrap());
        accepted.write_all(b"!").await.unwrap();
        (&late).read_exact(&mut [0]).await.unwrap();
    };
    // All at once: each waits for the second after which TCP tries again.
    thread::scope(|scope| {
        for workers in [1, 2, 4] {
            scope.spawn(move || run(workers, full_backlog));
        }
        scope.spawn(|| {
            within_limit(move || crate::common::current_thread().block_on(full_backlog()))
        });
    });
}

#[test]
fn connection_that_is_dropped_half_way_harms_nobody() {
    run_each(|| async {
        let (listener, address) = listen().await;
        for _ in 0..200 {
            let mut attempt = Box::pin(TcpStream::connect(address));
            let (_, waker) = Wakes::new();
            // Connected at once or not; dropped in either case.
            let _ = poll_once(&mut attempt, &waker);
            drop(attempt);
        }
        for _ in 0..200 {
            let (mut stream, _) = listener.accept().await.unwrap();
            // It was closed, or reset while it was on its way.
            let read = stream.read(&mut [0]).await;
            assert!(!matches!(read, Ok(1..)), "{read:?}");
        }
        connect_to(&listener).await;
    });
}

#[test]
fn listening_on_an_address_in_use_is_an_error_with_the_number_of_the_system() {
    run_each(|| async {
        let (_listener, address) = listen().await;
        let of_std = std::net::TcpListener::bind(address);
        let kind = fails_as_std(TcpListener::bind(address).await, of_std);
        assert_eq!(kind, ErrorKind::AddrInUse);
        // One of several is enough.
        let other = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let second = TcpListener::bind(&[address, other][..]).await.unwrap();
        assert_ne!(second.local_addr().unwrap(), address);
    });
}

/// Any of the tries is enough. While another test starts a program, the child has a copy of all
/// sockets for a moment, so an address may still be in use when its listener is gone.
#[test]
fn address_can_be_listened_on_again_at_once() {
    run_each(|| async {
        for _ in 0..100 {
            let (listener, address) = listen().await;
            let (client, server) = connect_to(&listener).await;
            // The server's end closes first, and goes to TIME_WAIT.
            drop((server, listener));
            assert_eq!((&client).read(&mut [0]).await.unwrap(), 0);
            drop(client);
            match TcpListener::bind(address).await {
                Ok(_) => return,
                Err(error) => assert_eq!(error.kind(), ErrorKind::AddrInUse),
            }
        }
        panic!("the address was in use each time");
    });
}

#[test]
fn whatever_names_an_address_can_be_looked_up() {
    async fn found(host: impl ToSocketAddrs) -> Vec<SocketAddr> {
        lookup_host(host).await.unwrap().collect()
    }
    run_each(|| async {
        let v4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 80);
        let v6 = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 80, 0, 0);
        assert_eq!(found(v4).await, [v4.into()]);
        assert_eq!(found(v6).await, [v6.into()]);
        assert_eq!(found(SocketAddr::V4(v4)).await, [v4.into()]);
        assert_eq!(found((Ipv4Addr::LOCALHOST, 80)).await, [v4.into()]);
        assert_eq!(found((Ipv6Addr::LOCALHOST, 80)).await, [v6.into()]);
        assert_eq!(found((IpAddr::from([127, 0, 0, 1]), 80)).await, [v4.into()]);
        assert_eq!(found("127.0.0.1:80").await, [v4.into()]);
        assert_eq!(found("[::1]:80").await, [v6.into()]);
        assert_eq!(found(("127.0.0.1", 80)).await, [v4.into()]);
        assert_eq!(found(("::1", 80)).await, [v6.into()]);
        assert_eq!(found(String::from("127.0.0.1:80")).await, [v4.into()]);
        assert_eq!(found((String::from("127.0.0.1"), 80)).await, [v4.into()]);
        let both = [SocketAddr::V4(v4), SocketAddr::V6(v6)];
        assert_eq!(found(&both[..]).await, both);
        for names in [found("localhost:80").await, found(("localhost", 80)).await] {
            assert!(names.iter().all(|address| address.ip().is_loopback()));
            assert!(names.iter().all(|address| address.port() == 80));
            assert!(!names.is_empty());
        }
    });
}

#[test]
fn text_that_is_no_address_is_an_error() {
    run_each(|| async {
        for text in ["", "localhost", "127.0.0.1", "127.0.0.1:", "localhost:http:1", ":::"] {
            assert!(lookup_host(text).await.is_err(), "{text}");
            assert!(TcpStream::connect(text).await.is_err(), "{text}");
        }
        for text in ["127.0.0.1:65536", "localhost:-1", "localhost:port"] {
            let outcome = lookup_host(text).await.map(Vec::from_iter);
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::InvalidInput, "{text}");
        }
    });
}

#[test]
fn name_is_connected_to() {
    run_each(|| async {
        let listener = TcpListener::bind(("localhost", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = TcpStream::connect(("localhost", port)).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap().port(), port);
        TcpStream::connect(format!("localhost:{port}")).await.unwrap();
    });
}

#[test]
fn name_lookup_does_not_block_the_only_worker() {
    // The pool of threads that block has one, which is busy: the lookup waits for
    // it, and tasks and timers of the only worker go on.
    within_limit(|| {
        let (open, gate) = channel::<()>();
        let runtime = crate::common::builder(1).max_blocking_threads(1).build().unwrap();
        let job = runtime.spawn_blocking(move || gate.recv().is_ok());
        runtime.block_on(async {
            let lookup = arc::spawn(async {
                let found = lookup_host("localhost:80").await;
                found.unwrap().count()
            });
            for _ in 0..20 {
                sleep(millis(1)).await;
                arc::spawn(async {}).await.unwrap();
            }
            assert!(!lookup.is_finished(), "the name was looked up on a worker");
            open.send(()).unwrap();
            assert!(lookup.await.unwrap() > 0);
            assert!(job.await.unwrap());
        });
    });
}
