//! `Async<T>` around whatever the kernel reports readiness for: pipes, Unix
//! socket pairs, datagrams, sockets whose reads stop at the end of a message.

#![cfg(unix)]

use crate::common::timeout;
use crate::net_common::*;
use arc::io::{Async, AsyncReadExt, AsyncWriteExt, Direction};
use arc::runtime::Builder;
use arc::time::sleep;
use socket2::{Domain, MsgHdr, Socket, Type};
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Read, Result, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

fn unix_pair() -> (Async<UnixStream>, Async<UnixStream>) {
    let (left, right) = UnixStream::pair().unwrap();
    (Async::new(left).unwrap(), Async::new(right).unwrap())
}

#[test]
fn pipe_carries_bytes_and_its_end() {
    run_each(|| async {
        let (reader, writer) = std::io::pipe().unwrap();
        let (mut reader, mut writer) = (Async::new(reader).unwrap(), Async::new(writer).unwrap());
        let sender = arc::spawn(async move {
            let mut pattern = Pattern::new(1);
            for _ in 0..500 {
                writer.write_all(&pattern.next(2_000)).await.unwrap();
            }
        });
        let mut all = Vec::new();
        reader.read_to_end(&mut all).await.unwrap();
        assert!(all == Pattern::new(1).next(1_000_000));
        sender.await.unwrap();
    });
}

#[test]
fn closed_pipe_wakes_the_other_end() {
    run_each(|| async {
        for _ in 0..20 {
            // A pipe whose writer goes away tells of it by a hang-up alone.
            let (reader, writer) = std::io::pipe().unwrap();
            let reader = Async::new(reader).unwrap();
            let task = begun(async move { (&reader).read(&mut [0; 16]).await.unwrap() }).await;
            drop(writer);
            assert_eq!(task.await.unwrap(), 0);

            // One whose reader goes away, by an error.
            let (reader, writer) = std::io::pipe().unwrap();
            let writer = Async::new(writer).unwrap();
            let task =
                begun(async move { (&writer).write_all(&vec![7; 1 << 20]).await.unwrap_err() })
                    .await;
            drop(reader);
            assert_eq!(task.await.unwrap().kind(), ErrorKind::BrokenPipe);
        }
    });
}

#[test]
fn unix_pair_talks_in_both_directions() {
    run_each(|| async {
        let (left, right) = unix_pair();
        let echo = arc::spawn(async move {
            let (mut reader, mut writer) = (&right, &right);
            futures_util::io::copy(&mut reader, &mut writer).await.unwrap();
        });
        let left = Arc::new(left);
        let sender = arc::spawn({
            let left = left.clone();
            async move {
                for number in 0..20_000_u32 {
                    (&*left).write_all(&number.to_le_bytes()).await.unwrap();
                }
                left.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
            }
        });
        let mut all = Vec::new();
        (&*left).read_to_end(&mut all).await.unwrap();
        assert!(all.into_iter().eq((0..20_000_u32).flat_map(u32::to_le_bytes)));
        sender.await.unwrap();
        echo.await.unwrap();
    });
}

#[test]
fn descriptor_is_registered_only_once() {
    run_each(|| async {
        let (left, mut right) = unix_pair();
        // The second attempt fails, and does not take the first one with it.
        for _ in 0..10 {
            let error = Async::new(left.get_ref().as_fd()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        }
        let reader = begun(async move { (&left).read(&mut [0; 16]).await.unwrap() }).await;
        right.write_all(b"hello").await.unwrap();
        assert_eq!(reader.await.unwrap(), 5);
    });
}

/// A socket that is known to have nothing to read, and its peer.
async fn drained<T: AsFd>(kind: Type, into: fn(Socket) -> T) -> (Socket, Async<T>)
where
    for<'io> &'io T: Read,
{
    let (peer, socket) = Socket::pair(Domain::UNIX, kind, None).unwrap();
    let socket = Async::new(into(socket)).unwrap();
    let none = socket.try_with(Direction::Read, |mut io| io.read(&mut [0; 8]));
    assert_eq!(none.unwrap_err().kind(), ErrorKind::WouldBlock);
    (peer, socket)
}

#[test]
fn one_message_per_read_does_not_stall_at_the_second() {
    // Each read is short, though more is left: there is an event for the first
    // message only, or one event for all.
    run_each(|| async {
        for _ in 0..10 {
            let (peer, mut socket) = drained(Type::SEQPACKET, |socket| socket).await;
            for message in [&b"one"[..], b"two", b"three"] {
                peer.send(message).unwrap();
            }
            // All have come, and all their events been told.
            sleep(millis(2)).await;
            let mut buffer = [0; 64];
            for message in [&b"one"[..], b"two", b"three"] {
                let read = socket.read(&mut buffer).await.unwrap();
                assert_eq!(&buffer[..read], message);
            }
        }
    });
}

#[test]
fn bytes_behind_a_passed_descriptor_are_read() {
    // A Unix stream's read stops at data that a descriptor was passed with.
    run_each(|| async {
        for _ in 0..10 {
            let (peer, mut socket) = drained(Type::STREAM, UnixStream::from).await;
            let data = [IoSlice::new(b"with")];
            let control = pass_descriptor(peer.as_raw_fd());
            let message = MsgHdr::new().with_buffers(&data).with_control(&control);
            peer.sendmsg(&message, 0).unwrap();
            peer.send(b"behind").unwrap();
            sleep(millis(2)).await;
            let mut text = [0; 10];
            socket.read_exact(&mut text).await.unwrap();
            assert_eq!(&text, b"withbehind");
        }
    });
}

/// A control message that passes one descriptor: `struct cmsghdr` and its data.
fn pass_descriptor(descriptor: i32) -> Vec<u8> {
    const SOL_SOCKET: i32 = 1;
    const SCM_RIGHTS: i32 = 1;
    let header = size_of::<usize>() + 2 * size_of::<i32>();
    let mut bytes = Vec::new();
    bytes.extend((header + size_of::<i32>()).to_ne_bytes());
    bytes.extend(SOL_SOCKET.to_ne_bytes());
    bytes.extend(SCM_RIGHTS.to_ne_bytes());
    bytes.extend(descriptor.to_ne_bytes());
    bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
    bytes
}

#[test]
fn any_operation_can_be_awaited() {
    run_each(|| async {
        let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let (left, right) = (Async::new(bind()).unwrap(), Async::new(bind()).unwrap());
        let to = right.get_ref().local_addr().unwrap();
        let from = left.get_ref().local_addr().unwrap();
        let receiver = arc::spawn(async move {
            let mut sum = 0;
            for _ in 0..100 {
                let mut buffer = [0; 16];
                let received = right.read_with(|socket| socket.recv_from(&mut buffer)).await;
                assert_eq!(received.unwrap(), (1, from));
                sum += u32::from(buffer[0]);
            }
            sum
        });
        for number in 0..100_u8 {
            let sent = left.write_with(|socket| socket.send_to(&[number], to)).await;
            assert_eq!(sent.unwrap(), 1);
        }
        assert_eq!(receiver.await.unwrap(), (0..100).sum::<u32>());
    });
}

#[test]
fn operation_is_tried_until_it_does_not_block() {
    run_each(|| async {
        let (left, right) = unix_pair();
        let mut attempts = 0;
        let outcome = right
            .read_with(|_| {
                attempts += 1;
                match attempts {
                    1 => Err(ErrorKind::Interrupted.into()),
                    2 => Err(std::io::Error::other("mine")),
                    _ => Ok(attempts),
                }
            })
            .await;
        assert_eq!(outcome.unwrap_err().to_string(), "mine");
        // One that blocks for ever is not tried again without an event.
        let attempts = Counter::new();
        let blocked = right.read_with(|_| -> std::io::Result<()> {
            attempts.add();
            Err(ErrorKind::WouldBlock.into())
        });
        assert!(timeout(millis(50), blocked).await.is_err());
        assert!(attempts.get() <= 3, "{} attempts", attempts.get());
        drop(left);
    });
}

#[test]
fn attempt_without_waiting_is_made_once() {
    run_each(|| async {
        let (left, right) = unix_pair();
        let read = |mut socket: &UnixStream| socket.read(&mut [0; 8]);
        assert_eq!(
            right.try_with(Direction::Read, read).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        // Known not to be ready: it is not even tried.
        let tried = right.try_with(Direction::Read, |_| -> std::io::Result<()> { panic!("tried") });
        assert_eq!(tried.unwrap_err().kind(), ErrorKind::WouldBlock);
        let write = |mut socket: &UnixStream| socket.write(b"hello");
        assert_eq!(left.try_with(Direction::Write, write).unwrap(), 5);
        right.readable().await.unwrap();
        assert_eq!(right.try_with(Direction::Read, read).unwrap(), 5);
    });
}

/// Also in the other direction, and where an event comes only when it is asked for.
#[test]
fn attempts_that_nobody_waits_between_find_what_has_come() {
    run_each(|| async {
        let (left, right) = unix_pair();
        let read = |mut socket: &UnixStream| socket.read(&mut [0; 8]);
        let write = |mut socket: &UnixStream| socket.write(&[0; 8]);
        assert!(right.try_with(Direction::Read, read).is_err());
        while right.try_with(Direction::Write, write).is_ok() {}
        assert_eq!(left.try_with(Direction::Write, write).unwrap(), 8);
        while left.try_with(Direction::Read, read).is_ok() {}
        let found = async {
            while right.try_with(Direction::Read, read).is_err() {
                sleep(millis(1)).await;
            }
            while right.try_with(Direction::Write, write).is_err() {
                sleep(millis(1)).await;
            }
        };
        timeout(LIMIT, found).await.expect("both are found");
    });
}

#[test]
fn a_write_takes_several_buffers_and_a_read_fills_the_first() {
    run_each(|| async {
        let (mut left, mut right) = unix_pair();
        let slices = [IoSlice::new(b"one "), IoSlice::new(b"two")];
        assert_eq!(left.write_vectored(&slices).await.unwrap(), 7);
        let (mut one, mut two) = ([0; 4], [0; 8]);
        let mut slices = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        assert_eq!(right.read_vectored(&mut slices).await.unwrap(), 4);
        assert_eq!(right.read(&mut two).await.unwrap(), 3);
        assert_eq!((&one, &two[..3]), (b"one ", &b"two"[..]));
        left.flush().await.unwrap();
    });
}

#[test]
fn inner_value_is_taken_out_and_put_back() {
    run_each(|| async {
        let (left, mut right) = unix_pair();
        for round in 0..100_u8 {
            let std = right.into_inner().unwrap();
            (&left).write_all(&[round]).await.unwrap();
            right = Async::new(std).unwrap();
            let mut byte = [0];
            right.read_exact(&mut byte).await.unwrap();
            assert_eq!(byte[0], round);
        }
        assert!(format!("{right:?}").contains("UnixStream"));
    });
}

/// Forwards to a socket, with an outcome of its own for the next flush.
struct Buffered(UnixStream, Mutex<Option<Error>>);

impl AsFd for Buffered {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Write for &Buffered {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        (&self.0).write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.1.lock().unwrap().take().map_or(Ok(()), Err)
    }
}

#[test]
fn flushing_waits_where_it_would_block_and_tells_what_went_wrong() {
    run_each(|| async {
        let (_peer, socket) = UnixStream::pair().unwrap();
        let mut writer = Async::new(Buffered(socket, Mutex::default())).unwrap();
        for again in [ErrorKind::WouldBlock, ErrorKind::Interrupted] {
            *writer.get_ref().1.lock().unwrap() = Some(again.into());
            timeout(LIMIT, writer.flush()).await.unwrap().unwrap();
        }
        let loses = || {
            *writer.get_ref().1.lock().unwrap() = Some(Error::other("the disk is full"));
        };
        loses();
        assert_eq!((&writer).flush().await.unwrap_err().to_string(), "the disk is full");
        loses();
        assert_eq!((&writer).close().await.unwrap_err().to_string(), "the disk is full");
    });
}

/// Gives its own descriptor, until it is told to give another one that is registered as well.
struct Liar {
    own: UnixStream,
    another: Arc<UnixStream>,
    lies: AtomicBool,
}

impl AsFd for Liar {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let lies = self.lies.load(Ordering::SeqCst);
        if lies { self.another.as_fd() } else { self.own.as_fd() }
    }
}

#[test]
fn type_that_gives_another_descriptor_later_does_not_stop_the_readers_of_that_one() {
    run_each(|| async {
        for round in 0..3 {
            let (near, far) = UnixStream::pair().unwrap();
            let (another, lies) = (Arc::new(near), AtomicBool::new(false));
            let victim = Async::new(another.clone()).unwrap();
            let (own, mut peer) = UnixStream::pair().unwrap();
            let liar = Async::new(Liar { own, another, lies }).unwrap();

            let reader = begun(async move {
                let mut buffer = [0; 8];
                let read = victim.read_with(|socket| (&**socket).read(&mut buffer)).await;
                read.map(|length| buffer[..length].to_vec())
            })
            .await;

            // Each asks for the descriptor: to wait for it, to take it out, to drop it.
            liar.get_ref().lies.store(true, Ordering::SeqCst);
            match round {
                0 => {
                    let never = |_: &Liar| -> Result<()> { Err(ErrorKind::WouldBlock.into()) };
                    assert!(liar.read_with(never).await.is_err());
                }
                1 => assert!(liar.into_inner().is_err()),
                _ => drop(liar),
            }
            (&far).write_all(b"hello").unwrap();
            assert_eq!(reader.await.unwrap().unwrap(), b"hello");

            // What was registered stays open: the kernel may watch it as long as the runtime lives.
            if round > 0 {
                peer.write_all(b"still there").unwrap();
            }
        }
    });
}

/// The flag belongs to the open file, which other descriptors and processes have, too.
#[cfg(unix)]
#[test]
fn only_what_could_be_registered_is_made_non_blocking() {
    use std::os::unix::net::UnixStream;
    run_each(|| async {
        for was_nonblocking in [false, true] {
            let (near, _far) = UnixStream::pair().unwrap();
            let same = near.try_clone().unwrap();
            let same = socket2::SockRef::from(&same);
            same.set_nonblocking(was_nonblocking).unwrap();

            // What is only asked for its readiness is left alone.
            let near = Async::new_nonblocking(near).unwrap();
            assert_eq!(same.nonblocking().unwrap(), was_nonblocking);
            let near = near.into_inner().unwrap();
            assert_eq!(same.nonblocking().unwrap(), was_nonblocking);

            // It stays as it was made when it is taken out.
            let near = Async::new(near).unwrap();
            assert!(same.nonblocking().unwrap());
            drop(near.into_inner().unwrap());
            assert!(same.nonblocking().unwrap());

            // A runtime that has ended registers nothing, and leaves it as it was.
            let (near, _far) = UnixStream::pair().unwrap();
            let same = near.try_clone().unwrap();
            let same = socket2::SockRef::from(&same);
            same.set_nonblocking(was_nonblocking).unwrap();
            let ended = Builder::new_current_thread().build().unwrap();
            let handle = ended.handle().clone();
            ended.shutdown_background();
            let _entered = handle.enter();
            drop(Async::new(near).map(drop).unwrap_err());
            assert_eq!(same.nonblocking().unwrap(), was_nonblocking);
        }
    });
}

/// A new one counts as ready until an attempt says otherwise.
#[cfg(unix)]
#[test]
fn a_blocking_descriptor_is_waited_for() {
    use std::io::{Read, Write};
    run_each(|| async {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let reader = Async::new_nonblocking(reader).unwrap();
        let would_block = |_: &_| std::io::Result::<()>::Err(ErrorKind::WouldBlock.into());
        reader.try_with(arc::io::Direction::Read, would_block).unwrap_err();
        let mut readable = std::pin::pin!(reader.readable());
        assert!(poll_once(&mut readable, std::task::Waker::noop()).is_pending());
        writer.write_all(b"x").unwrap();
        readable.await.unwrap();
        let mut byte = [0];
        assert_eq!(reader.get_ref().read(&mut byte).unwrap(), 1);
    });
}
