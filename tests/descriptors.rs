//! Descriptors: the same number again with events in flight, duplicates, what a
//! failed registration leaves behind, close-on-exec, SIGPIPE, and sockets that
//! outlive their runtime.

#![cfg(target_os = "linux")]

use crate::net_common::*;
use arc::io::{Async, AsyncReadExt, AsyncWriteExt, Direction};
use arc::net::TcpStream;
use arc::time::sleep;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::io::Read as _;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The descriptors of this process.
fn descriptors() -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc/self/fd").unwrap();
    let numbers: BTreeSet<u32> = entries
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap())
        .collect();
    // But not the one that the directory was read by.
    let open = |number: &u32| fs::exists(format!("/proc/self/fd/{number}")).unwrap();
    numbers.into_iter().filter(open).collect()
}

#[test]
fn number_that_is_used_again_gets_no_events_of_the_last_tenant() {
    run_each(|| async {
        // Every socket has data, an end, or a reset on its way when it is closed,
        // and its number goes to the next one at once.
        join_each(0..4_u32, |task| async move {
            let (listener, _) = listen().await;
            for round in 0..400_u32 {
                let (mut client, mut server) = connect_to(&listener).await;
                let id = (task * 1_000_000 + round).to_le_bytes();
                client.write_all(&id).await.unwrap();
                let mut received = [0; 4];
                server.read_exact(&mut received).await.unwrap();
                assert_eq!(received, id);
                match round % 4 {
                    0 => client.write_all(b"never read").await.unwrap(),
                    1 => client.get_ref().shutdown(Shutdown::Both).unwrap(),
                    2 => resets_when_dropped(&client),
                    _ => {}
                }
                if round % 3 == 0 {
                    drop(server);
                    drop(client);
                }
            }
        })
        .await;
    });
}

#[test]
fn wait_for_a_new_socket_is_not_ended_by_the_last_tenant() {
    // In a process of its own, where nobody else takes the number.
    in_child("descriptors::wait_for_a_new_socket_is_not_ended_by_the_last_tenant", "", || {
        for workers in [1, 2] {
            runtime(workers).block_on(take_numbers_over());
        }
    });
}

async fn take_numbers_over() {
    let (quiet, _peer) = std_pair();
    let (listener, _) = listen().await;
    for _ in 0..300 {
        let (old, mut peer) = connect_to(&listener).await;
        peer.write_all(b"for the old one").await.unwrap();
        let number = old.number();
        drop(old);
        let new = TcpStream::from_std(quiet.try_clone().unwrap()).unwrap();
        assert_eq!(new.number(), number, "the lowest free number is taken");
        let (wakes, waker) = Wakes::new();
        // An event of the old one may be on its way. Then the new one is tried in vain, once.
        let mut in_vain = 0;
        let _wait = loop {
            let read = new.try_with(Direction::Read, |mut io| io.read(&mut [0; 8]));
            assert_eq!(read.unwrap_err().kind(), ErrorKind::WouldBlock);
            let mut wait = Box::pin(new.readable());
            if poll_once(&mut wait, &waker).is_pending() {
                break wait;
            }
            in_vain += 1;
        };
        arc::task::yield_now().await;
        drop(peer);
        sleep(micros(50)).await;
        assert!(in_vain + wakes.count() <= 1);
    }
}

trait Number {
    fn number(&self) -> i32;
}

impl Number for TcpStream {
    fn number(&self) -> i32 {
        use std::os::fd::AsFd;
        self.as_fd().as_raw_fd()
    }
}

#[test]
fn duplicates_are_sockets_of_their_own() {
    run_each(|| async {
        let (left, right) = std_pair();
        let duplicate = right.try_clone().unwrap();
        let mut left = TcpStream::from_std(left).unwrap();
        let first = TcpStream::from_std(right).unwrap();
        let second = TcpStream::from_std(duplicate).unwrap();
        let mut text = [0; 4];
        for round in 0..100 {
            let reader = if round % 2 == 0 { &first } else { &second };
            left.write_all(b"ping").await.unwrap();
            (&mut &*reader).read_exact(&mut text).await.unwrap();
        }
        // Without the first, the second goes on.
        drop(first);
        let reader = begun(async move {
            (&second).read_exact(&mut text).await.unwrap();
            second
        })
        .await;
        left.write_all(b"ping").await.unwrap();
        drop(reader.await.unwrap());
        assert_eq!(left.read(&mut [0]).await.unwrap(), 0);
    });
}

// poll(2) takes regular files, and tells of hang-ups that nobody asked for.
#[cfg_attr(polling_test_poll_backend, allow(dead_code))]
#[cfg_attr(not(polling_test_poll_backend), test)]
fn nothing_is_left_open() {
    in_child("descriptors::nothing_is_left_open", "", || {
        let before = descriptors();
        for workers in [1, 2] {
            let runtime = runtime(workers);
            let bare = runtime.block_on(async { descriptors() });
            runtime.block_on(async {
                let this = std::env::current_exe().unwrap();
                for _ in 0..50 {
                    let (client, server) = pair().await;
                    drop((server.into_inner().unwrap(), client));
                    for refused in [this.as_path(), this.parent().unwrap()] {
                        Async::new(File::open(refused).unwrap()).unwrap_err();
                    }
                    TcpStream::connect(([127, 0, 0, 1], 1)).await.unwrap_err();
                }
                // Afterwards everything works.
                let (mut left, mut right) = pair().await;
                left.write_all(b"x").await.unwrap();
                right.read_exact(&mut [0]).await.unwrap();
            });
            assert_eq!(runtime.block_on(async { descriptors() }), bare);
            drop(runtime);
            assert_eq!(descriptors(), before);
        }
    });
}

#[test]
fn descriptors_are_closed_on_exec() {
    in_child("descriptors::descriptors_are_closed_on_exec", "", || {
        let before = descriptors();
        let runtime = runtime(2);
        runtime.block_on(async {
            let (listener, _) = listen().await;
            let (client, server) = connect_to(&listener).await;
            let mine: Vec<u32> = descriptors().difference(&before).copied().collect();
            // The reactor's, the listener, and both ends of the connection.
            assert!(mine.len() >= 5, "{mine:?}");
            for number in mine {
                let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap();
                let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
                let flags = u32::from_str_radix(flags.unwrap().trim(), 8).unwrap();
                let what = fs::read_link(format!("/proc/self/fd/{number}")).unwrap();
                assert!(flags & 0o2_000_000 != 0, "{number} is {what:?}");
            }
            drop((client, server));
        });
    });
}

#[test]
fn write_to_a_closed_peer_is_an_error_and_no_signal() {
    // Another test of this process may raise it on purpose.
    in_child("descriptors::write_to_a_closed_peer_is_an_error_and_no_signal", "", || {
        const SIGPIPE: i32 = 13;
        let signalled = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGPIPE, signalled.clone()).unwrap();
        write_to_a_closed_peer();
        assert!(!signalled.load(Ordering::SeqCst), "SIGPIPE was raised");
    });
}

fn write_to_a_closed_peer() {
    run_each(|| async {
        let (mut left, right) = pair().await;
        resets_when_dropped(&right);
        drop(right);
        // The first may still be taken, before the reset has come.
        let error = loop {
            if let Err(error) = left.write_all(b"hello").await {
                break error;
            }
        };
        let kinds = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        assert!(kinds.contains(&error.kind()), "{error:?}");
        // Also when the end is known.
        let error = left.write(b"hello").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert!(try_write(&left, b"hello").is_err());
    });
}
