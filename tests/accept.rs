//! Accepting: no connection is lost, whoever waits is woken, and running out of
//! descriptors neither spins nor ends the server.

use crate::net_common::*;
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};
use arc::time::timeout;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

#[test]
fn connections_that_came_before_are_accepted_in_order() {
    run_each(|| async {
        let (listener, _) = listen().await;
        let mut clients = vec![];
        for _ in 0..100 {
            let address = listener.local_addr().unwrap();
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        for client in &clients {
            let (server, from) = listener.accept().await.unwrap();
            assert_eq!(from, client.local_addr().unwrap());
            assert_eq!(server.peer_addr().unwrap(), from);
        }
    });
}

#[test]
fn all_tasks_that_accept_on_one_listener_are_woken() {
    run_each(|| async {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = listener.local_addr().unwrap();
        for _ in 0..50 {
            let waiting = Counter::new();
            let acceptors: Vec<_> = (0..5)
                .map(|_| {
                    let listener = listener.clone();
                    let accepting = async move { listener.accept().await.unwrap().1 };
                    arc::spawn(waiting.polls_of(accepting))
                })
                .collect();
            waiting.reaches(5).await;
            let clients = arc::task::spawn_blocking(move || {
                let connect = |_| std::net::TcpStream::connect(address).unwrap();
                (0..5).map(connect).collect::<Vec<_>>()
            });
            let clients = clients.await.unwrap();
            let mut accepted = BTreeSet::new();
            for acceptor in acceptors {
                accepted.insert(acceptor.await.unwrap());
            }
            let local = |client: &std::net::TcpStream| client.local_addr().unwrap();
            assert_eq!(accepted, clients.iter().map(local).collect());
        }
    });
}

#[test]
fn acceptors_that_are_given_up_lose_no_connection() {
    run_each(|| async {
        let (listener, address) = listen().await;
        let clients = arc::task::spawn_blocking(move || {
            let connect = |_| {
                let stream = std::net::TcpStream::connect(address).unwrap();
                stream.local_addr().unwrap()
            };
            (0..300).map(connect).collect::<BTreeSet<SocketAddr>>()
        });
        let (mut accepted, mut given_up) = (BTreeSet::new(), 0);
        while accepted.len() < 300 {
            match timeout(micros(fastrand::u64(0..100)), listener.accept()).await {
                Ok(connection) => assert!(accepted.insert(connection.unwrap().1)),
                Err(_) => given_up += 1,
            }
            assert!(given_up < 1_000_000, "only {} of 300", accepted.len());
        }
        assert_eq!(accepted, clients.await.unwrap());
    });
}

#[test]
fn incoming_gives_every_connection() {
    run_each(|| async {
        let (listener, address) = listen().await;
        let clients: Vec<_> = (0..20_u8)
            .map(|number| {
                arc::spawn(async move {
                    let mut stream = TcpStream::connect(address).await.unwrap();
                    stream.write_all(&[number]).await.unwrap();
                })
            })
            .collect();
        let mut seen = BTreeSet::new();
        for _ in 0..20 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut byte = [0];
            stream.read_exact(&mut byte).await.unwrap();
            seen.insert(byte[0]);
        }
        assert_eq!(seen, (0..20).collect());
        join(clients).await;
    });
}

#[test]
fn connections_that_were_reset_before_they_were_accepted_do_not_end_the_server() {
    run_each(|| async {
        let (listener, address) = listen().await;
        for _ in 0..20 {
            let client = TcpStream::connect(address).await.unwrap();
            resets_when_dropped(&client);
        }
        let mut last = TcpStream::connect(address).await.unwrap();
        last.write_all(b"x").await.unwrap();
        let from = last.local_addr().unwrap();
        // The broken ones are passed over, or fail when they are used.
        while listener.accept().await.unwrap().1 != from {}
    });
}

// Windows has no limit of descriptors.
#[cfg(unix)]
mod limited {
    use super::*;
    use std::fs::File;
    use std::time::Instant;

    #[test]
    fn want_of_descriptors_is_an_error_that_does_not_spin() {
        in_child(
            "accept::limited::want_of_descriptors_is_an_error_that_does_not_spin",
            "ulimit -n 64",
            || {
                for workers in [1, 2] {
                    runtime(workers).block_on(starve());
                }
            },
        );
    }

    async fn starve() {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = listener.local_addr().unwrap();
        // They wait in the kernel, which has accepted them already.
        let mut clients = vec![];
        for _ in 0..6 {
            clients.push(std::net::TcpStream::connect(address).unwrap());
        }
        let mut hoard = vec![];
        let error = loop {
            match File::open("/dev/null") {
                Ok(file) => hoard.push(file),
                Err(error) => break error,
            }
        };

        // Two servers that report errors and go on, as servers do.
        let errors = Counter::new();
        let polls = Counter::new();
        let served = Counter::new();
        let start = Instant::now();
        let servers: Vec<_> = (0..2)
            .map(|_| {
                let listener = listener.clone();
                let code = error.raw_os_error();
                let serving = async move {
                    for _ in 0..3 {
                        let mut stream = loop {
                            match listener.accept().await {
                                Ok((stream, _)) => break stream,
                                Err(error) => assert_eq!(error.raw_os_error(), code),
                            }
                            errors.add();
                        };
                        served.add();
                        stream.write_all(b"x").await.unwrap();
                    }
                };
                arc::spawn(polls.polls_of(serving))
            })
            .collect();
        errors.reaches(6).await;
        let (elapsed, polls) = (start.elapsed(), polls.get());
        assert_eq!(served.get(), 0);
        // A pause is 50 ms, and no timer is early: so many at the most fit in. Each
        // costs a server two polls or three.
        let pauses = (elapsed.as_millis() / 50 + 1) as usize;
        assert!(errors.get() <= 2 * pauses, "{} errors in {elapsed:?}", errors.get());
        assert!(polls <= 10 * pauses, "{polls} polls in {elapsed:?}");

        // With room again, every connection that waited is served by one of them.
        drop(hoard);
        join(servers).await;
        for mut client in clients {
            std::io::Read::read_exact(&mut client, &mut [0]).unwrap();
        }
        // And connections that come later, too.
        connect_to(&listener).await;
    }
}
