//! What users expect of `TcpListener` and `TcpStream`: big transfers byte for
//! byte, the directions apart, attempts without waiting, options, and the way
//! to std and back.

use crate::net_common::*;
use arc::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, Direction};
use arc::net::{TcpListener, TcpStream};
use socket2::SockRef;
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// From one byte to 64 KiB, each order of magnitude as often.
fn random_size(random: &mut fastrand::Rng) -> usize {
    let magnitude = random.u32(0..17);
    1 + random.usize(..1 << magnitude)
}

/// Reads in pieces of random sizes, to the end of the stream.
async fn expect_pattern(stream: &TcpStream, seed: u64, bytes: usize) {
    let (mut pattern, mut sizes) = (Pattern::new(seed), fastrand::Rng::with_seed(seed + 100));
    let mut buffer = vec![0; 1 << 16];
    let mut total = 0;
    loop {
        let wanted = random_size(&mut sizes).min(buffer.len());
        let read = (&mut &*stream).read(&mut buffer[..wanted]).await.unwrap();
        if read == 0 {
            break;
        }
        assert!(buffer[..read] == pattern.next(read), "wrong bytes at {total}");
        total += read;
    }
    assert_eq!(total, bytes);
}

async fn send_pattern(stream: &TcpStream, seed: u64, bytes: usize) {
    let (mut pattern, mut sizes) = (Pattern::new(seed), fastrand::Rng::with_seed(seed + 200));
    let mut left = bytes;
    while left > 0 {
        let size = random_size(&mut sizes).min(left);
        (&mut &*stream).write_all(&pattern.next(size)).await.unwrap();
        left -= size;
    }
    stream.get_ref().shutdown(Shutdown::Write).unwrap();
}

#[test]
fn big_transfers_in_both_directions_at_once_are_whole() {
    const BYTES: usize = 3 << 20;
    run_each(|| async {
        let mut tasks = vec![];
        for buffers in [None, Some(1 << 15)] {
            let (left, right) = pair().await;
            if let Some(bytes) = buffers {
                for stream in [&left, &right] {
                    stream.get_ref().set_nodelay(true).unwrap();
                    SockRef::from(stream).set_send_buffer_size(bytes).unwrap();
                }
            }
            let (left, right) = (Arc::new(left), Arc::new(right));
            for (stream, seed) in [(&left, 1), (&right, 2)] {
                let sender = stream.clone();
                tasks.push(arc::spawn(async move { send_pattern(&sender, seed, BYTES).await }));
                let receiver = stream.clone();
                tasks.push(arc::spawn(async move {
                    expect_pattern(&receiver, 3 - seed, BYTES).await;
                }));
            }
        }
        join(tasks).await;
    });
}

/// Sends back what comes, to its end.
async fn echo(stream: TcpStream) {
    let (mut reader, mut writer) = (&stream, &stream);
    futures_util::io::copy(&mut reader, &mut writer).await.unwrap();
    writer.close().await.unwrap();
}

#[test]
fn both_directions_work_at_once_in_one_task() {
    run_each(|| async {
        let (left, right) = pair().await;
        let echo = arc::spawn(echo(right));
        let (mut reader, mut writer) = left.split();
        let expected: Vec<u8> = (0..10_000_u32).flat_map(u32::to_le_bytes).collect();
        let sending = async {
            for number in expected.chunks(4) {
                writer.write_all(number).await.unwrap();
            }
            writer.close().await.unwrap();
        };
        let mut all = Vec::new();
        let receiving = reader.read_to_end(&mut all);
        futures_util::future::join(sending, receiving).await.1.unwrap();
        assert!(all == expected);
        echo.await.unwrap();
    });
}

/// Both ways to end it: of the IO traits, and of std's socket.
#[test]
fn closing_ends_what_is_sent_and_reading_goes_on() {
    run_each(|| async {
        for by_std in [false, true] {
            let (mut left, mut right) = pair().await;
            left.write_all(b"question").await.unwrap();
            if by_std {
                left.get_ref().shutdown(Shutdown::Write).unwrap();
            } else {
                left.close().await.unwrap();
            }
            let error = left.write(b"more").await.unwrap_err();
            // Windows has an error of its own for it, WSAESHUTDOWN; std has no kind for that.
            let expected = error.kind() == ErrorKind::BrokenPipe;
            assert!(expected || cfg!(windows) && error.raw_os_error() == Some(10058), "{error:?}");
            let (mut question, mut answer) = (String::new(), String::new());
            right.read_to_string(&mut question).await.unwrap();
            right.write_all(b"answer").await.unwrap();
            drop(right);
            left.read_to_string(&mut answer).await.unwrap();
            assert_eq!((&question[..], &answer[..]), ("question", "answer"));
        }
    });
}

#[test]
fn two_tasks_share_a_stream() {
    run_each(|| async {
        let (left, right) = pair().await;
        let echo = arc::spawn(echo(right));
        let left = Arc::new(left);
        let writer = left.clone();
        let sender = arc::spawn(async move {
            let mut pattern = Pattern::new(1);
            for _ in 0..1_000 {
                (&*writer).write_all(&pattern.next(1_000)).await.unwrap();
            }
            (&*writer).close().await.unwrap();
        });
        let mut all = Vec::new();
        (&*left).read_to_end(&mut all).await.unwrap();
        assert!(all == Pattern::new(1).next(1_000_000));
        join([echo, sender]).await;
    });
}

#[test]
fn peeked_bytes_are_read_again() {
    run_each(|| async {
        let (mut left, mut right) = pair().await;
        let peeked = begun(async move {
            let mut buffer = [0; 16];
            let first = right.read_with(|right| right.peek(&mut buffer)).await.unwrap();
            let second = right.read_with(|right| right.peek(&mut buffer)).await.unwrap();
            assert_eq!((first, second), (5, 5));
            let read = right.read(&mut buffer).await.unwrap();
            buffer[..read].to_vec()
        })
        .await;
        left.write_all(b"hello").await.unwrap();
        assert_eq!(peeked.await.unwrap(), b"hello");
    });
}

#[test]
fn attempts_without_waiting_say_would_block() {
    run_each(|| async {
        let (left, mut right) = pair().await;
        let mut buffer = [0; 16];
        let error = try_read(&right, &mut buffer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        // Connected, it is writable at once.
        left.writable().await.unwrap();
        assert_eq!(try_write(&left, b"hello").unwrap(), 5);
        right.readable().await.unwrap();
        assert_eq!(try_read(&right, &mut buffer[..2]).unwrap(), 2);
        assert_eq!(try_read(&right, &mut buffer[2..]).unwrap(), 3);
        assert_eq!(&buffer[..5], b"hello");

        let sent = fill(&left).await;
        assert_eq!(try_write(&left, b"x").unwrap_err().kind(), ErrorKind::WouldBlock);
        right.read_exact(&mut vec![0; sent]).await.unwrap();
        left.writable().await.unwrap();
        assert_eq!(try_write(&left, b"x").unwrap(), 1);
        drop(left);
        right.read_exact(&mut [0]).await.unwrap();
        assert_eq!(right.read(&mut buffer).await.unwrap(), 0);
        assert_eq!(try_read(&right, &mut buffer).unwrap(), 0);
    });
}

#[test]
fn vectored_reads_and_writes_keep_the_order() {
    run_each(|| async {
        let (mut left, mut right) = pair().await;
        let sender = arc::spawn(async move {
            let mut pattern = Pattern::new(5);
            for round in 0..500 {
                let parts = [pattern.next(round), pattern.next(1), pattern.next(2 * round)];
                let all = parts.concat();
                let slices = parts.each_ref().map(|part| IoSlice::new(part));
                let written = left.write_vectored(&slices).await.unwrap();
                left.write_all(&all[written..]).await.unwrap();
            }
            left.close().await.unwrap();
            left
        });
        let (mut pattern, mut total) = (Pattern::new(5), 0);
        loop {
            let (mut one, mut two) = ([0; 7], vec![0; 1_000]);
            let mut slices = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
            let read = right.read_vectored(&mut slices).await.unwrap();
            if read == 0 {
                break;
            }
            let all = [&one[..], &two].concat();
            assert_eq!(all[..read], pattern.next(read));
            total += read;
        }
        assert_eq!(total, (0..500).map(|round| 3 * round + 1).sum::<usize>());
        sender.await.unwrap();
    });
}

/// The kernel takes 1,024 buffers at once: a call that moves less than all of them did
/// not find the socket full, or empty.
#[test]
fn more_buffers_than_the_kernel_takes_do_not_stall() {
    const BYTES: usize = 3_000;
    run_each(|| async {
        let (mut left, mut right) = pair().await;
        let writer = arc::spawn(async move {
            let bytes: Vec<u8> = (0..BYTES).map(|index| index as u8).collect();
            let mut written = 0;
            while written < BYTES {
                let slices: Vec<_> = bytes[written..].chunks(1).map(IoSlice::new).collect();
                written += left.write_vectored(&slices).await.unwrap();
            }
            // Nothing else comes that would tell of an event.
            left
        });
        // The whole is there before the first read, so that none comes while it is read.
        let _left = writer.await.unwrap();
        let mut read = 0;
        while read < BYTES {
            let mut bytes = [0; 2_000];
            let mut slices: Vec<_> = bytes.chunks_mut(1).map(IoSliceMut::new).collect();
            let count = right.read_vectored(&mut slices).await.unwrap();
            assert!(count > 0);
            for &byte in &bytes[..count] {
                assert_eq!(byte, read as u8);
                read += 1;
            }
        }
    });
}

#[test]
fn uninitialized_memory_can_be_read_into() {
    run_each(|| async {
        let (mut left, right) = pair().await;
        left.write_all(b"hello").await.unwrap();
        drop(left);
        let mut buffer = [MaybeUninit::new(b'-'); 8];
        let mut read = async || {
            std::future::poll_fn(|context| {
                let receive = |stream: &_| SockRef::from(stream).recv(&mut buffer);
                right.poll_transfer(Direction::Read, context, 8, receive)
            })
            .await
        };
        assert_eq!(read().await.unwrap(), 5);
        assert_eq!(read().await.unwrap(), 0);
    });
}

#[test]
fn closing_twice_or_after_the_peer_is_no_error() {
    run_each(|| async {
        let (mut left, mut right) = pair().await;
        left.close().await.unwrap();
        left.close().await.unwrap();
        right.close().await.unwrap();
        drop(left);
        assert_eq!(right.read(&mut [0]).await.unwrap(), 0);
        right.close().await.unwrap();
    });
}

/// Nobody reads, and what could not be written has been given up.
#[test]
fn flushing_and_closing_wait_for_no_room() {
    run_each(|| async {
        let (mut left, mut right) = pair().await;
        let block = vec![7; 1 << 20];
        let mut sent = 0;
        while let Poll::Ready(written) =
            poll_once(Pin::new(&mut left), |it, context| it.poll_write(context, &block))
        {
            sent += written.unwrap();
        }
        for _ in 0..2 {
            let flushed = poll_once(Pin::new(&mut left), |it, context| it.poll_flush(context));
            assert!(matches!(flushed, Poll::Ready(Ok(()))), "{flushed:?}");
            let closed = poll_once(Pin::new(&mut left), |it, context| it.poll_close(context));
            assert!(matches!(closed, Poll::Ready(Ok(()))), "{closed:?}");
        }
        let mut received = Vec::new();
        right.read_to_end(&mut received).await.unwrap();
        assert_eq!(received.len(), sent);
    });
}

fn poll_once<T, R>(it: T, poll: impl FnOnce(T, &mut Context<'_>) -> R) -> R {
    poll(it, &mut Context::from_waker(Waker::noop()))
}

#[test]
fn options_are_those_that_were_set() {
    run_each(|| async {
        let (listener, _) = listen().await;
        let (client, server) = connect_to(&listener).await;
        assert_eq!(client.get_ref().peer_addr().unwrap(), listener.get_ref().local_addr().unwrap());
        assert_eq!(server.get_ref().peer_addr().unwrap(), client.get_ref().local_addr().unwrap());
        for nodelay in [true, false] {
            client.get_ref().set_nodelay(nodelay).unwrap();
            assert_eq!(client.get_ref().nodelay().unwrap(), nodelay);
        }
        // Any other option, by way of socket2.
        assert!(!SockRef::from(&client).keepalive().unwrap());
        assert!(client.get_ref().take_error().unwrap().is_none());
        assert!(format!("{client:?}{listener:?}").contains("127.0.0.1"));
    });
}

#[test]
fn linger_of_zero_resets_the_connection() {
    run_each(|| async {
        let (left, right) = pair().await;
        resets_when_dropped(&left);
        drop(left);
        let error = (&right).read(&mut [0]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn stream_goes_to_std_and_back() {
    run_each(|| async {
        let (left, mut right) = pair().await;
        let std = left.into_inner().unwrap();
        // It blocks again, and is made non-blocking once more.
        let left = TcpStream::from_std(std).unwrap();
        let reader = begun(async move {
            let mut text = [0; 5];
            (&left).read_exact(&mut text).await.unwrap();
            text
        })
        .await;
        right.write_all(b"hello").await.unwrap();
        assert_eq!(&reader.await.unwrap(), b"hello");
    });
}

#[test]
fn listener_goes_to_std_and_back() {
    run_each(|| async {
        let std = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = TcpListener::new(std).unwrap();
        connect_to(&listener).await;
        let std = listener.into_inner().unwrap();
        std.set_nonblocking(false).unwrap();
        let address = std.local_addr().unwrap();
        let client = std::thread::spawn(move || std::net::TcpStream::connect(address));
        std.accept().unwrap();
        client.join().unwrap().unwrap();
        connect_to(&TcpListener::new(std).unwrap()).await;
    });
}

#[test]
fn stream_of_another_runtime_is_used_by_this_one() {
    within_limit(|| {
        let (first, second) = (runtime(1), runtime(2));
        let (mut left, mut right) = first.block_on(pair());
        second.block_on(async {
            arc::spawn(async move {
                left.write_all(b"hello").await.unwrap();
            })
            .await
            .unwrap();
            let mut text = String::new();
            right.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "hello");
        });
    });
}

#[test]
fn executors_that_are_no_workers_use_sockets() {
    // On threads of their own, one of them blocked while nobody is in block_on.
    on_each([1, 2], |runtime| {
        let listener = {
            let _guard = runtime.enter();
            foreign_block_on(TcpListener::bind(([127, 0, 0, 1], 0))).unwrap()
        };
        let address = listener.get_ref().local_addr().unwrap();
        for round in 0..50_u8 {
            let handle = runtime.handle().clone();
            let client = std::thread::spawn(move || {
                let _guard = handle.enter();
                foreign_block_on(async {
                    let mut stream = TcpStream::connect(address).await.unwrap();
                    let mut byte = [0];
                    stream.read_exact(&mut byte).await.unwrap();
                    stream.write_all(&[byte[0] + 1]).await.unwrap();
                });
            });
            let _guard = runtime.enter();
            foreign_block_on(async {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.write_all(&[round]).await.unwrap();
                let mut byte = [0];
                stream.read_exact(&mut byte).await.unwrap();
                assert_eq!(byte[0], round + 1);
            });
            client.join().unwrap();
        }
    });
}

#[test]
fn connections_by_the_hundred_are_served_at_once() {
    run_each(|| async {
        let (listener, address) = listen().await;
        let server = arc::spawn(async move {
            for _ in 0..500 {
                drop(arc::spawn(echo(listener.accept().await.unwrap().0)));
            }
        });
        join_each(0..500_u32, |number| async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            for round in 0..5 {
                let sent = (number * 5 + round).to_le_bytes();
                stream.write_all(&sent).await.unwrap();
                let mut received = [0; 4];
                stream.read_exact(&mut received).await.unwrap();
                assert_eq!(received, sent);
            }
        })
        .await;
        server.await.unwrap();
    });
}
