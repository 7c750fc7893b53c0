//! Connecting: what refuses, and what never answers.

use crate::common::timeout;
use crate::net_common::*;
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

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
fn connection_to_a_full_backlog_times_out_and_goes_through_later() {
    let full_backlog = || async {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        socket.bind(&any.into()).unwrap();
        socket.listen(0).unwrap();
        let listener = TcpListener::new(socket.into()).unwrap();
        let address = listener.get_ref().local_addr().unwrap();
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
        assert_eq!(from, late.get_ref().local_addr().unwrap());
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
