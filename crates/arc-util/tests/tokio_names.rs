//! What ported programs call by tokio's names: numbers, joined and buffered streams, readiness,
//! owned notifications, sockets that are not connected yet.

use crate::common::{Woken, all_text, exactly, kind, soon, tcp_pair, waiting, waits};
use arc_util::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, BufStream, Interest, duplex, join,
    simplex,
};
use arc_util::sync::{Notify, Semaphore};
use arc_util::task::{LocalSet, spawn_local};
use arc_util::time::{Duration, timeout};
use std::cell::Cell;
#[cfg(unix)]
use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::task::Context;
#[cfg(unix)]
use std::task::Waker;

#[arc::test]
async fn numbers_of_each_type_are_read_as_they_were_written() {
    let mut written = Vec::new();
    written.write_u8(0x01).await.unwrap();
    written.write_i8(-2).await.unwrap();
    written.write_u16(0x0102).await.unwrap();
    written.write_u16_le(0x0102).await.unwrap();
    written.write_i32(-3).await.unwrap();
    written.write_u64_le(4).await.unwrap();
    written.write_i128_le(-5).await.unwrap();
    written.write_f64(0.5).await.unwrap();
    written.write_f32_le(1.5).await.unwrap();
    assert_eq!(written[..6], [1, 0xfe, 1, 2, 2, 1]);

    // In a task: the futures can be sent, also where the reader's type is not known.
    async fn read_all<R: arc_util::io::AsyncRead + Unpin + Send>(mut reader: R) {
        assert_eq!(reader.read_u8().await.unwrap(), 1);
        assert_eq!(reader.read_i8().await.unwrap(), -2);
        assert_eq!(reader.read_u16().await.unwrap(), 0x0102);
        assert_eq!(reader.read_u16_le().await.unwrap(), 0x0102);
        assert_eq!(reader.read_i32().await.unwrap(), -3);
        assert_eq!(reader.read_u64_le().await.unwrap(), 4);
        assert_eq!(reader.read_i128_le().await.unwrap(), -5);
        assert_eq!(reader.read_f64().await.unwrap(), 0.5);
        assert_eq!(reader.read_f32_le().await.unwrap(), 1.5);
        assert_eq!(kind(reader.read_u32().await), ErrorKind::UnexpectedEof);
    }
    let (mut near, far) = duplex(3);
    let reading = arc::spawn(read_all(far));
    soon(near.write_all(&written)).await.unwrap();
    drop(near);
    soon(reading).await.unwrap();
}

#[arc::test]
async fn a_line_that_was_read_in_part_is_kept_for_the_next_call() {
    let (mut near, far) = duplex(64);
    let mut lines = BufReader::new(far).lines();
    soon(near.write_all(b"one li")).await.unwrap();
    assert!(waits(lines.next_line()));
    soon(near.write_all(b"ne\n\xff\n")).await.unwrap();
    assert_eq!(soon(lines.next_line()).await.unwrap().as_deref(), Some("one line"));
    assert_eq!(soon(lines.next_line()).await.unwrap_err().kind(), ErrorKind::InvalidData);
    drop(near);
    assert_eq!(soon(lines.next_line()).await.unwrap(), None);
}

#[arc::test]
async fn a_buffered_stream_holds_bytes_back_until_it_is_flushed() {
    let (near, mut far) = duplex(64);
    let mut near = BufStream::with_capacity(4, 16, near);
    soon(near.write_all(b"held back")).await.unwrap();
    let mut text = [0; 9];
    assert!(waits(far.read(&mut text)));
    soon(near.flush()).await.unwrap();
    soon(far.read_exact(&mut text)).await.unwrap();
    assert_eq!(&text, b"held back");

    soon(far.write_all(b"line\nrest")).await.unwrap();
    let mut line = String::new();
    soon(near.read_line(&mut line)).await.unwrap();
    assert_eq!(line, "line\n");
    let mut inner = near.into_inner();
    assert_eq!(soon(inner.read(&mut text)).await.unwrap(), 1, "the buffer had the rest but one");
}

#[arc::test]
async fn a_joined_stream_reads_from_one_and_writes_to_the_other() {
    let (reader, mut source) = duplex(8);
    let (writer, mut sink) = duplex(8);
    let mut joined = join(reader, writer);
    soon(source.write_all(b"in")).await.unwrap();
    soon(joined.write_all(b"out")).await.unwrap();
    soon(joined.shutdown()).await.unwrap();
    assert_eq!(all_text(&mut sink).await, "out");

    assert_eq!(&exactly(&mut joined).await, b"in");
    assert!(format!("{:?}", joined.writer()).contains("DuplexStream"));
}

#[arc::test]
async fn a_simplex_pipe_makes_its_writer_wait_and_ends_when_it_is_closed() {
    let (mut reader, mut writer) = simplex(4);
    soon(writer.write_all(b"full")).await.unwrap();
    assert!(waits(writer.write_all(b"!")));
    let mut bytes = [0; 4];
    soon(reader.read_exact(&mut bytes)).await.unwrap();
    assert!(waits(reader.read(&mut bytes)), "it was cancelled");
    soon(writer.shutdown()).await.unwrap();
    assert_eq!(soon(reader.read(&mut bytes)).await.unwrap(), 0);
    assert_eq!(soon(writer.write(b"!")).await.unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[arc::test]
async fn a_socket_is_ready_for_what_it_can_do() {
    let (near, mut far) = tcp_pair().await;
    let both = Interest::READABLE | Interest::WRITABLE;
    let read = |byte: &mut [u8]| near.try_io(Interest::READABLE, || near.get_ref().read(byte));

    // Until the first attempt, a socket counts as ready for both.
    let mut byte = [0];
    assert_eq!(read(&mut byte).unwrap_err().kind(), ErrorKind::WouldBlock);
    let ready = soon(near.ready(both)).await.unwrap();
    assert!(ready.is_writable() && !ready.is_readable());
    assert!(waits(near.ready(Interest::READABLE)));

    soon(far.write_all(b"x")).await.unwrap();
    let ready = soon(near.ready(Interest::READABLE)).await.unwrap();
    assert!(ready.is_readable() && !ready.is_writable());
    assert_eq!(read(&mut byte).unwrap(), 1);

    // The attempt that would block makes it not ready.
    assert_eq!(read(&mut byte).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(waits(near.ready(Interest::READABLE)));

    // An attempt in either direction, while one of them is ready. Then neither counts as ready, and
    // nothing is tried.
    let tries = Cell::new(0);
    let try_both = |result: std::io::Result<()>| {
        near.try_io(both, || {
            tries.set(tries.get() + 1);
            result
        })
    };
    try_both(Ok(())).unwrap();
    assert_eq!(kind(try_both(Err(ErrorKind::WouldBlock.into()))), ErrorKind::WouldBlock);
    assert_eq!(tries.get(), 2);
    assert!(waits(near.ready(both)));
    assert_eq!(kind(try_both(Ok(()))), ErrorKind::WouldBlock);
    assert_eq!(tries.get(), 2);

    // Ready to be read alone.
    soon(far.write_all(b"x")).await.unwrap();
    soon(near.ready(Interest::READABLE)).await.unwrap();
    try_both(Ok(())).unwrap();
    assert_eq!(tries.get(), 3);
}

/// What comes during an attempt in either direction is not taken for what was there before.
#[arc::test]
async fn no_event_is_lost_by_an_attempt_in_both_directions() {
    let both = Interest::READABLE | Interest::WRITABLE;
    for _ in 0..20 {
        let (near, far) = tcp_pair().await;
        let mut tries = 0;
        let read = near.async_io(both, || {
            tries += 1;
            let result = near.get_ref().read(&mut [0; 8]);
            if tries == 1 {
                // It comes after the attempt, and before anybody knows that it was in vain.
                far.get_ref().write_all(b"late").unwrap();
            }
            result
        });
        assert_eq!(soon(read).await.unwrap(), 4);
    }
}

#[arc::test]
async fn an_operation_of_ones_own_waits_for_its_socket() {
    let (near, mut far) = tcp_pair().await;
    let (woken, waker) = Woken::new();
    let mut context = Context::from_waker(&waker);
    let read = || near.get_ref().read(&mut [0; 8]);
    let reading = waiting(near.async_io(Interest::READABLE, read));
    assert!(near.poll_read_ready(&mut context).is_pending());
    assert!(near.poll_write_ready(&mut context).is_ready());

    far.write_all(b"hello").await.unwrap();
    assert_eq!(soon(reading).await.unwrap(), 5);
    assert!(woken.count() > 0);
    let written = near.async_io(Interest::WRITABLE, || near.get_ref().write(b"x")).await;
    assert_eq!(written.unwrap(), 1);

    // A loop of attempts in both directions lets others run.
    let both = Interest::READABLE | Interest::WRITABLE;
    let endless = async { while near.async_io(both, || Ok(())).await.is_ok() {} };
    assert!(timeout(Duration::from_millis(1), endless).await.is_err());
}

#[test]
fn an_owned_notification_that_nobody_saw_goes_to_the_next_in_line() {
    let notify = Arc::new(Notify::new());
    let mut first = Box::pin(notify.clone().notified_owned());
    assert!(!first.as_mut().enable());
    let mut second = waiting(notify.clone().notified_owned());

    notify.notify_one();
    assert_eq!(second.wakes(), 0, "the first one was notified");
    drop(first);
    assert_eq!(second.wakes(), 1);
    second.ready();
    assert_eq!(Arc::strong_count(&notify), 2, "the second one has its share still");
}

#[arc::test]
async fn a_set_that_was_entered_gets_the_tasks_until_the_guard_is_dropped() {
    let (outer, inner) = (LocalSet::new(), LocalSet::new());
    let outside = outer.enter();
    let entered = inner.enter();
    let task = spawn_local(async { "inner" });
    drop(entered);
    let other = spawn_local(async { "outer" });
    drop(outside);
    assert!(std::panic::catch_unwind(|| spawn_local(async {})).is_err(), "none is entered");

    soon(inner.run_until(async { assert_eq!(task.await.unwrap(), "inner") })).await;
    assert!(!other.is_finished());
    assert_eq!(soon(outer.run_until(other)).await.unwrap(), "outer");
}

#[cfg(unix)]
#[arc::test]
async fn a_unix_socket_becomes_what_it_was_made_for() {
    use arc_util::net::{UnixDatagram, UnixSocket};

    let folder = crate::common::Folder::new("unix-socket");
    let path = folder.0.join("datagrams");
    let socket = UnixSocket::new_datagram().unwrap();
    socket.bind(&path).unwrap();
    let receiver = socket.datagram().unwrap();
    let sender = UnixDatagram::unbound().unwrap();
    soon(sender.send_to(b"hello", &path)).await.unwrap();
    let mut bytes = [0; 16];
    assert_eq!(soon(receiver.recv_from(&mut bytes)).await.unwrap().0, 5);

    let (datagram, stream) = (UnixSocket::new_datagram, UnixSocket::new_stream);
    let missing = folder.0.join("missing");
    for (error, kind) in [
        (datagram().unwrap().listen(1).unwrap_err(), ErrorKind::InvalidInput),
        (soon(datagram().unwrap().connect(&path)).await.unwrap_err(), ErrorKind::InvalidInput),
        (stream().unwrap().datagram().unwrap_err(), ErrorKind::InvalidInput),
        (soon(stream().unwrap().connect(&missing)).await.unwrap_err(), ErrorKind::NotFound),
    ] {
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[cfg(unix)]
#[arc::test]
async fn a_pipe_with_a_path_connects_its_ends() {
    use arc_util::net::unix::pipe::{OpenOptions, Receiver, Sender, pipe};
    use std::fs::File;

    let folder = crate::common::Folder::new("pipe");
    let path = folder.0.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    assert!(OpenOptions::new().open_sender(&path).is_err(), "nobody receives");

    let mut receiver = OpenOptions::new().open_receiver(&path).unwrap();
    let mut bytes = [0; 5];
    // What the kernel gives to a read now is the end of the stream, and it has not even begun.
    assert!(waits(receiver.read(&mut bytes)), "nobody has opened it to send");
    assert!(waits(receiver.readable()), "nobody has opened it to send");
    let mut sender = OpenOptions::new().open_sender(&path).unwrap();
    assert_eq!(receiver.try_read(&mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(waits(receiver.read(&mut bytes)));
    soon(sender.write_all(b"hello")).await.unwrap();
    soon(receiver.read_exact(&mut bytes)).await.unwrap();
    assert_eq!(&bytes, b"hello");

    // More than a pipe holds: the sender waits for the receiver.
    let writing = arc::spawn(async move { sender.write_all(&[1; 1 << 20]).await });
    let mut all = Vec::new();
    soon(receiver.read_to_end(&mut all)).await.unwrap();
    assert_eq!(all.len(), 1 << 20);
    soon(writing).await.unwrap().unwrap();

    let regular = folder.0.join("regular");
    File::create(&regular).unwrap();
    let error = OpenOptions::new().open_receiver(&regular).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let (sender, receiver) = pipe().unwrap();
    let error = Sender::from_owned_fd(receiver.into_nonblocking_fd().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(sender.try_write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    let error = Receiver::from_owned_fd(sender.into_blocking_fd().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// An `AsyncFd` leaves the flag to the program.
#[cfg(unix)]
fn nonblocking_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    socket2::SockRef::from(&reader).set_nonblocking(true).unwrap();
    (reader, writer)
}

#[cfg(unix)]
#[arc::test]
async fn a_guard_of_a_descriptor_waits_for_the_next_event_after_an_attempt_that_blocks() {
    use arc_util::io::unix::AsyncFd;
    use std::io::Write;

    let (reader, mut writer) = nonblocking_pipe();
    let reader = AsyncFd::new(reader).unwrap();
    let mut byte = [0];
    // Its readiness may be the news: nothing counts as ready before the kernel says so.
    assert!(waits(reader.readable()));
    writer.write_all(b"x").unwrap();
    let mut guard = soon(reader.readable()).await.unwrap();
    assert!(guard.try_io(|reader| reader.get_ref().read(&mut byte)).is_ok());
    assert!(guard.try_io(|reader| reader.get_ref().read(&mut byte)).is_err(), "it is empty");
    assert!(waits(reader.readable()));

    writer.write_all(b"x").unwrap();
    let mut guard = soon(reader.ready(Interest::READABLE)).await.unwrap();
    assert!(guard.ready().is_readable());
    assert_eq!(guard.try_io(|reader| reader.get_ref().read(&mut byte)).unwrap().unwrap(), 1);
    // Nothing says that the pipe is empty: it counts as ready.
    let mut guard = soon(reader.readable()).await.unwrap();
    guard.clear_ready();
    assert!(waits(reader.readable()));

    drop(writer);
    let mut guard = soon(reader.readable()).await.unwrap();
    assert_eq!(guard.try_io(|reader| reader.get_ref().read(&mut byte)).unwrap().unwrap(), 0);
}

#[cfg(unix)]
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn an_event_that_comes_during_an_attempt_is_not_forgotten() {
    use arc_util::io::unix::AsyncFd;
    use std::io::Write;

    let (reader, mut writer) = std::io::pipe().unwrap();
    let reader = AsyncFd::new(reader).unwrap();
    let (other, mut other_writer) = std::io::pipe().unwrap();
    let other = AsyncFd::new(other).unwrap();
    let (sender, seen) = std::sync::mpsc::channel();
    arc::spawn(async move { sender.send(other.readable().await.is_ok()) });

    writer.write_all(b"x").unwrap();
    let mut guard = soon(reader.readable()).await.unwrap();
    assert_eq!(reader.get_ref().read(&mut [0]).unwrap(), 1);
    let attempt = guard.try_io(|_| {
        // The pipe was empty, and is not any more. The event of the other pipe comes later, so
        // that this one's has been seen when it is.
        writer.write_all(b"x").unwrap();
        other_writer.write_all(b"x").unwrap();
        assert!(seen.recv_timeout(crate::common::DEADLINE).unwrap());
        std::io::Result::<()>::Err(ErrorKind::WouldBlock.into())
    });
    assert!(attempt.is_err());
    drop(soon(reader.readable()).await.unwrap());
}

#[cfg(unix)]
#[arc::test]
async fn a_descriptor_lends_its_value_mutably_and_comes_back_from_a_failure() {
    use arc_util::io::unix::AsyncFd;

    let (reader, mut writer) = nonblocking_pipe();
    let mut reader = AsyncFd::new(reader).unwrap();
    let mut bytes = [0; 8];
    let mut read = |reader: &mut AsyncFd<std::io::PipeReader>| reader.get_mut().read(&mut bytes);
    assert!(waits(reader.readable_mut()));
    writer.write_all(b"x").unwrap();
    let mut guard = soon(reader.readable_mut()).await.unwrap();
    assert_eq!(guard.try_io(&mut read).unwrap().unwrap(), 1);
    assert!(guard.try_io(&mut read).is_err(), "it is empty");
    assert!(waits(reader.readable_mut()));
    assert!(reader.poll_read_ready(&mut Context::from_waker(Waker::noop())).is_pending());
    let error = reader.try_io_mut(Interest::READABLE, |it| it.read(&mut [0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);

    let context = &mut Context::from_waker(Waker::noop());
    assert!(reader.poll_read_ready_mut(context).is_pending());
    assert!(reader.poll_write_ready_mut(context).is_pending(), "it is never written");
    writer.write_all(b"x").unwrap();
    let polled =
        poll_fn(|context| reader.poll_read_ready_mut(context).map_ok(|guard| guard.ready()));
    assert!(soon(polled).await.unwrap().is_readable());
    assert_eq!(reader.try_io_mut(Interest::READABLE, |it| it.read(&mut [0])).unwrap(), 1);
    assert!(reader.try_io_mut(Interest::READABLE, |it| it.read(&mut [0])).is_err(), "empty again");

    writer.write_all(b"hello").unwrap();
    let mut guard = soon(reader.ready_mut(Interest::READABLE)).await.unwrap();
    assert_eq!(guard.get_inner_mut().read(&mut [0]).unwrap(), 1);
    assert_eq!(guard.try_io(&mut read).unwrap().unwrap(), 4);
    writer.write_all(b"more").unwrap();
    let all = reader.async_io_mut(Interest::READABLE, |reader| reader.read(&mut bytes));
    assert_eq!(soon(all).await.unwrap(), 4);

    // The other end is closed, however that is asked.
    let (closed, writer_of_it) = nonblocking_pipe();
    let mut closed = AsyncFd::new(closed).unwrap();
    drop(writer_of_it);
    while !soon(closed.readable()).await.unwrap().ready().is_read_closed() {
        arc::task::yield_now().await; // a process that another test starts has a copy of the end
    }
    let polled = soon(poll_fn(|context| closed.poll_read_ready(context))).await.unwrap().ready();
    assert!(polled.is_read_closed() && !polled.is_write_closed());
    let polled = poll_fn(|context| closed.poll_read_ready_mut(context).map_ok(|it| it.ready()));
    assert!(soon(polled).await.unwrap().is_read_closed());

    // Its registration goes with it: nothing holds the pipe open.
    drop(reader.into_inner());
    // A process that another test starts has a copy of the other end for a moment.
    let error = loop {
        if let Err(error) = writer.write(b"x") {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);

    let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    let refused = AsyncFd::try_new(file);
    let (file, error) = refused.unwrap_err().into_parts();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(file.metadata().is_ok());
}

#[arc::test]
async fn what_limits_a_future_lends_it_and_gives_it_back() {
    let mut limited = timeout(Duration::from_secs(60), std::future::ready(7));
    assert_eq!((limited.get_ref().clone().await, limited.get_mut().await), (7, 7));
    let limited = timeout(Duration::from_secs(60), std::future::ready(8));
    assert_eq!(limited.into_inner().await, 8);

    let semaphore = Semaphore::new(1);
    let permit = semaphore.acquire().await.unwrap();
    assert!(std::ptr::eq(permit.semaphore(), &semaphore));
}

/// A socket that is not registered is its descriptor, and nothing more.
#[cfg(unix)]
#[arc::test]
async fn a_socket_that_is_not_registered_becomes_a_descriptor_and_comes_back() {
    use arc_util::net::{TcpSocket, TcpStream, UnixSocket, UnixStream};
    use std::net::SocketAddr;
    use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

    fn peer(stream: &impl AsRef<TcpStream>) -> SocketAddr {
        stream.as_ref().peer_addr().unwrap()
    }

    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    let number = socket.as_raw_fd();
    let socket = TcpSocket::from(OwnedFd::from(socket));
    assert_eq!((socket.as_raw_fd(), socket.local_addr().unwrap()), (number, address));
    let listener = socket.listen(1).unwrap();
    let stream = TcpSocket::new_v4().unwrap().connect(address).await.unwrap();
    assert_eq!(peer(&stream), listener.local_addr().unwrap());
    assert_eq!(peer(&stream.into_split().0), address);

    let socket = UnixSocket::from(OwnedFd::from(UnixSocket::new_datagram().unwrap()));
    drop(socket.datagram().unwrap());
    let (near, _far) = UnixStream::pair().unwrap();
    assert!(std::ptr::eq(AsRef::<UnixStream>::as_ref(&near), &near));

    // Nobody closes it after that: the next one gets another number.
    let number = || UnixSocket::new_stream().unwrap().into_raw_fd();
    assert_ne!(number(), number());
    assert_ne!(TcpSocket::new_v4().unwrap().into_raw_fd(), number());
}

#[test]
fn what_holds_a_group_or_a_builder_may_derive_and_cross_a_panic() {
    fn crosses_a_panic<T: UnwindSafe + RefUnwindSafe>() {}

    crosses_a_panic::<arc_util::task::JoinSet<u8>>();
    crosses_a_panic::<arc_util::runtime::LocalRuntime>();
    let builder = arc_util::runtime::Builder::new_multi_thread();
    assert_eq!(format!("{builder:?}"), "Builder { .. }");
}
