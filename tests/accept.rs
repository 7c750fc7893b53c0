//! Accepting: no connection is lost, whoever waits is woken, and running out of
//! descriptors ends no server.

use crate::common::timeout;
use crate::net_common::*;
use arc::io::AsyncWriteExt;
#[cfg(unix)]
use arc::net::TcpListener;
use arc::net::{SocketAddr, TcpStream};
use arc::task::{JoinHandle, spawn_blocking};

use std::collections::BTreeSet;
use std::sync::Arc;

#[test]
fn connections_that_came_before_are_accepted_in_order() {
    run_each(|| async {
        let (listener, address) = listen().await;
        let mut clients = vec![];
        for _ in 0..100 {
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        for client in &clients {
            let (server, from) = listener.accept().await.unwrap();
            assert_eq!(from, client.get_ref().local_addr().unwrap());
            assert_eq!(server.get_ref().peer_addr().unwrap(), from);
        }
    });
}

/// Connects so often, on another thread, and gives the clients' addresses.
fn connects(address: SocketAddr, count: usize) -> JoinHandle<BTreeSet<SocketAddr>> {
    let connect = move |_| std::net::TcpStream::connect(address).unwrap().local_addr().unwrap();
    spawn_blocking(move || (0..count).map(connect).collect())
}

#[test]
fn all_tasks_that_accept_on_one_listener_are_woken() {
    run_each(|| async {
        let (listener, address) = listen().await;
        let listener = Arc::new(listener);
        for _ in 0..50 {
            let mut acceptors = vec![];
            for _ in 0..5 {
                let listener = listener.clone();
                acceptors.push(begun(async move { listener.accept().await.unwrap().1 }).await);
            }
            let clients = connects(address, 5).await.unwrap();
            assert_eq!(BTreeSet::from_iter(join(acceptors).await), clients);
        }
    });
}

#[test]
fn acceptors_that_are_given_up_lose_no_connection() {
    run_each(|| async {
        let (listener, address) = listen().await;
        let clients = connects(address, 300);
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
fn connections_that_were_reset_before_they_were_accepted_do_not_end_the_server() {
    run_each(|| async {
        let (listener, address) = listen().await;
        for _ in 0..20 {
            let client = TcpStream::connect(address).await.unwrap();
            resets_when_dropped(&client);
        }
        let mut last = TcpStream::connect(address).await.unwrap();
        last.write_all(b"x").await.unwrap();
        let from = last.get_ref().local_addr().unwrap();
        // The broken ones are passed over, or fail when they are used.
        while listener.accept().await.unwrap().1 != from {}
    });
}

// Windows has no limit of descriptors.
#[cfg(unix)]
mod limited {
    use super::*;
    use std::fs::File;

    #[test]
    fn want_of_descriptors_is_an_error_that_loses_no_connection() {
        in_child(
            "accept::limited::want_of_descriptors_is_an_error_that_loses_no_connection",
            "ulimit -n 64",
            || {
                for workers in [1, 2] {
                    runtime(workers).block_on(starve());
                }
            },
        );
    }

    async fn starve() {
        let listener = Arc::new(TcpListener::bind(([127, 0, 0, 1], 0)).await.unwrap());
        let address = listener.get_ref().local_addr().unwrap();
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

        // The listener stays ready: each attempt fails at once.
        for _ in 0..6 {
            let refused = listener.accept().await.unwrap_err();
            assert_eq!(refused.raw_os_error(), error.raw_os_error());
        }

        // With room again, every connection that waited is served, by either of two servers.
        drop(hoard);
        let server = |listener: Arc<TcpListener>| async move {
            for _ in 0..3 {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.write_all(b"x").await.unwrap();
            }
        };
        join([(); 2].map(|()| arc::spawn(server(listener.clone())))).await;
        for mut client in clients {
            std::io::Read::read_exact(&mut client, &mut [0]).unwrap();
        }
        // And connections that come later, too.
        connect_to(&listener).await;
    }
}
