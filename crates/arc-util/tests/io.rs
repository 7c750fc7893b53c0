//! In-memory pipes, and copying in one direction and in both.

use crate::common::{at_once, kind, soon, tcp_pair, until, waiting, waits};
use crate::script::{Bytes, Fails, Script, WaitsForEver};
use arc::task::consume_budget;
use arc_util::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf, copy,
    copy_bidirectional, copy_bidirectional_with_sizes, copy_buf, duplex, split,
};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Result};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

fn random(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..bytes).map(|_| random.u8(..)).collect()
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn what_goes_into_a_duplex_comes_out_whole_both_ways() {
    for capacity in [1, 7, 1000] {
        let (left, right) = duplex(capacity);
        let mut tasks = vec![];
        for (stream, seed) in [(left, 1), (right, 2)] {
            tasks.push(arc::spawn(async move {
                let (mut reader, mut writer) = split(stream);
                let sending = async {
                    for piece in random(2_000, seed).chunks(333) {
                        writer.write_all(piece).await.unwrap();
                    }
                    writer.shutdown().await.unwrap();
                };
                let mut all = Vec::new();
                let receiving = reader.read_to_end(&mut all);
                let ((), read) = arc_util::join!(sending, receiving);
                assert_eq!(read.unwrap(), 2_000);
                assert!(all == random(2_000, 3 - seed));
            }));
        }
        for task in tasks {
            soon(task).await.unwrap();
        }
    }
}

#[test]
fn a_full_duplex_waits_for_the_reader_and_an_empty_one_for_the_writer() {
    let (mut left, mut right) = duplex(4);
    let mut buffer = [0; 8];
    let read = waiting(right.read(&mut buffer));
    assert_eq!(at_once(left.write(b"hello")).unwrap(), 4, "it takes what there is room for");
    assert_eq!(read.wakes(), 1);
    drop(read);
    let mut write = waiting(left.write(b"o"));
    assert_eq!(at_once(right.read(&mut buffer)).unwrap(), 4, "it has what was written");
    assert_eq!(write.wakes(), 1);
    assert_eq!(write.ready().unwrap(), 1);
}

#[test]
fn the_ends_of_a_duplex_tell_that_the_other_is_gone() {
    let (mut left, mut right) = duplex(4);
    let mut buffer = [0; 8];
    // One end is closed: the opposite direction goes on.
    let mut read = waiting(right.read(&mut buffer));
    at_once(left.shutdown()).unwrap();
    assert_eq!(read.wakes(), 1);
    assert_eq!(read.ready().unwrap(), 0);
    drop(read);
    assert_eq!(kind(at_once(left.write(b"x"))), ErrorKind::BrokenPipe);
    at_once(right.write_all(b"full")).unwrap();
    // One end is dropped: a writer that waits for room is woken.
    let mut write = waiting(right.write(b"!"));
    drop(left);
    assert_eq!(write.wakes(), 1);
    assert_eq!(write.ready().unwrap_err().kind(), ErrorKind::BrokenPipe, "nobody reads it");
}

#[test]
fn a_dropped_duplex_leaves_what_it_has_written() {
    let (mut left, mut right) = duplex(8);
    at_once(left.write_all(b"will")).unwrap();
    assert!(format!("{left:?}").contains("4 written, of 8"));
    drop(left);
    let mut text = String::new();
    at_once(right.read_to_string(&mut text)).unwrap();
    assert_eq!(text, "will");
}

#[test]
fn a_duplex_reads_and_writes_around_the_edge_of_its_buffer() {
    let (mut left, mut right) = duplex(5);
    let mut buffer = [0; 5];
    // One byte always stays in the pipe, so that the ring buffer never starts again at its front.
    let sent = random(79, 1);
    at_once(left.write_all(&sent[..1])).unwrap();
    for at in (0..78).step_by(3) {
        at_once(left.write_all(&sent[at + 1..at + 4])).unwrap();
        assert_eq!(at_once(right.read(&mut buffer[..3])).unwrap(), 3, "at once, not in two");
        assert_eq!(buffer[..3], sent[at..at + 3]);
    }
    at_once(right.read_exact(&mut buffer[..1])).unwrap();
    let parts = [IoSlice::new(b""), IoSlice::new(b"abc")];
    assert_eq!(at_once(left.write_vectored(&parts)).unwrap(), 3);
    let mut parts = [IoSliceMut::new(&mut buffer)];
    let read = futures_util::AsyncReadExt::read_vectored(&mut right, &mut parts);
    assert_eq!(at_once(read).unwrap(), 3);
}

#[test]
fn a_duplex_takes_from_several_buffers_at_once() {
    let (mut left, mut right) = duplex(8);
    let mut text = String::new();
    let mut read = waiting(right.read_to_string(&mut text));
    let parts = [b"one" as &[u8], b"", b"two", b"three"].map(IoSlice::new);
    assert_eq!(at_once(left.write_vectored(&parts)).unwrap(), 8, "there is room for no more");
    assert_eq!(read.wakes(), 1);
    assert!(waits(left.write_vectored(&parts)));
    let nothing = at_once(left.write_vectored(&[IoSlice::new(b"")]));
    assert_eq!(nothing.unwrap(), 0, "nothing needs no room");
    drop(left);
    read.ready().unwrap();
    drop(read);
    assert_eq!(text, "onetwoth");
}

/// A client and a server, over TCP, with a proxy between them.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_proxy_copies_both_ways_until_both_have_ended() {
    let ((client, mut near), (mut far, server)) = (tcp_pair().await, tcp_pair().await);
    let proxy = arc::spawn(async move { copy_bidirectional(&mut near, &mut far).await });
    let server = arc::spawn(async move {
        let (mut reader, mut writer) = (&server, &server);
        let copied = arc_util::io::copy(&mut reader, &mut writer).await;
        writer.write_all(b"that was all").await.unwrap();
        copied.unwrap()
    });
    let sent = random(3_000_000, 1);
    let sending = async {
        (&mut &client).write_all(&sent).await.unwrap();
        (&mut &client).shutdown().await.unwrap();
    };
    let mut all = Vec::new();
    let mut reader = &client;
    let receiving = reader.read_to_end(&mut all);
    let ((), read) = soon(async { arc_util::join!(sending, receiving) }).await;
    read.unwrap();
    assert!(all[..3_000_000] == sent && &all[3_000_000..] == b"that was all");
    assert_eq!(soon(server).await.unwrap(), 3_000_000);
    assert_eq!(soon(proxy).await.unwrap().unwrap(), (3_000_000, 3_000_012));
}

#[test]
fn what_was_copied_is_flushed_when_nothing_more_comes() {
    let mut left = Script::new([Bytes(b"forth"), WaitsForEver]);
    let mut right = Script::new([WaitsForEver]);
    let mut copying = waiting(copy_bidirectional_with_sizes(&mut left, &mut right, 2, 2));
    assert!(copying.waits() && copying.waits());
    drop(copying);
    assert_eq!((&right.taken[..], right.flushes), (&b"forth"[..], 1));
    assert_eq!((left.taken.len(), left.flushes), (0, 0));
}

#[arc::test]
async fn a_writer_is_flushed_before_its_close_and_not_again() {
    let (mut left, mut right) = (Script::new([Bytes(b"forth")]), Script::new([]));
    let copied = soon(copy_bidirectional(&mut left, &mut right)).await.unwrap();
    assert_eq!(copied, (5, 0));
    assert_eq!((left.flushes, right.flushes), (1, 1));
}

/// An echo: gives only the bytes that were written and flushed.
#[derive(Default)]
struct Echo {
    written: Vec<u8>,
    flushed: VecDeque<u8>,
    waits: Option<Waker>,
}

/// One of two ends of an echo.
#[derive(Clone, Default)]
struct EchoEnd(Arc<Mutex<Echo>>);

impl AsyncRead for EchoEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let mut echo = self.0.lock().unwrap();
        if echo.flushed.is_empty() {
            echo.waits = Some(context.waker().clone());
            return Poll::Pending;
        }
        while buffer.remaining() > 0
            && let Some(byte) = echo.flushed.pop_front()
        {
            buffer.put_slice(&[byte]);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for EchoEnd {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        self.0.lock().unwrap().written.extend(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        let mut echo = self.0.lock().unwrap();
        let written = std::mem::take(&mut echo.written);
        echo.flushed.extend(written);
        let waits = echo.waits.take();
        drop(echo);
        waits.into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.poll_flush(context)
    }
}

/// The reader gives the answer to what was written only after the writer was flushed.
#[arc::test]
async fn copying_flushes_while_its_reader_waits() {
    let mut end = EchoEnd::default();
    end.write_all(b"x").await.unwrap();
    end.flush().await.unwrap();
    let (mut reader, mut writer) = (end.clone().take(1000), end.clone());
    assert_eq!(soon(copy(&mut reader, &mut writer)).await.unwrap(), 1000);

    let mut reader = BufReader::with_capacity(7, end.clone().take(1000));
    assert_eq!(soon(copy_buf(&mut reader, &mut writer)).await.unwrap(), 1000);
}

#[arc::test]
async fn copying_tries_again_after_an_interruption() {
    let gives = |bytes| Script::new([Bytes(bytes)]).each(1).interrupted().flushed_at_once();
    let (mut reader, mut writer) = (gives(b"hello"), gives(b""));
    assert_eq!(soon(copy(&mut reader, &mut writer)).await.unwrap(), 5);
    assert_eq!((&writer.taken[..], writer.flushes), (&b"hello"[..], 1));

    let mut reader = BufReader::with_capacity(2, gives(b"hello"));
    assert_eq!(soon(copy_buf(&mut reader, &mut writer)).await.unwrap(), 5);
    assert_eq!(writer.taken, b"hellohello");

    let (mut left, mut right) = (gives(b"forth"), gives(b"back"));
    let copied = soon(copy_bidirectional(&mut left, &mut right)).await.unwrap();
    assert_eq!(copied, (5, 4));
    assert_eq!((&left.taken[..], &right.taken[..]), (&b"back!"[..], &b"forth!"[..]));
}

/// A writer that takes nothing more is an error, and no endless loop.
#[arc::test]
async fn copying_into_what_is_full_is_an_error() {
    let mut room = [0; 3];
    let mut writer = std::io::Cursor::new(&mut room[..]);
    let error = soon(copy(&mut &b"hello"[..], &mut writer)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
    assert_eq!(kind(soon(copy_buf(&mut &b"hello"[..], &mut writer)).await), ErrorKind::WriteZero);
    assert_eq!(&room, b"hel");
}

#[test]
fn an_error_ends_the_copying() {
    let mut left = Script::new([Bytes(b"forth"), WaitsForEver]);
    let mut right = Script::new([Fails(ErrorKind::ConnectionReset)]);
    let error = at_once(copy_bidirectional(&mut left, &mut right)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(right.taken, b"forth");
}

/// Reads and writes bytes without end, each call for one unit of the task's budget. Counts the
/// bytes that were written.
struct Endless(Arc<AtomicUsize>);

impl AsyncRead for Endless {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        ready!(pin!(consume_budget()).poll(context));
        buffer.put_slice(&vec![0; buffer.remaining()]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Endless {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        ready!(pin!(consume_budget()).poll(context));
        self.0.fetch_add(bytes.len(), Ordering::SeqCst);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The copies take turns in being polled with a fresh budget.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn copies_in_one_task_do_not_starve_each_other() {
    let taken = [(); 4].map(|()| Arc::new(AtomicUsize::new(0)));
    let [mut first, mut second, mut third, mut fourth] = taken.clone().map(Endless);
    let proxies = arc::spawn(async move {
        let one = pin!(copy_bidirectional(&mut first, &mut second));
        let other = pin!(copy_bidirectional(&mut third, &mut fourth));
        let mut copies = [one, other];
        poll_fn(|context| {
            copies.reverse();
            let [one, other] = copies.each_mut().map(|copy| copy.as_mut().poll(context));
            if one.is_ready() && other.is_ready() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await
    });
    until(|| taken.iter().all(|it| it.load(Ordering::SeqCst) > 0)).await;
    proxies.abort();
    assert!(soon(proxies).await.unwrap_err().is_cancelled());
}

/// Each side of the echo waits for the other one as soon as nobody has room: the copying has to
/// make room while it waits.
#[arc::test]
async fn copying_reads_on_while_the_writer_waits() {
    for size in [64, 256, 4096, 8192] {
        let ((mut client, server), sent) = (duplex(64), random(size, 7));
        let echo = arc::spawn(async move {
            let (mut reader, mut writer) = split(server);
            copy(&mut reader, &mut writer).await
        });
        soon(client.write_all(&sent)).await.unwrap();
        let mut received = vec![0; size];
        soon(client.read_exact(&mut received)).await.unwrap();
        assert_eq!(received, sent);
        drop(client);
        let _ = soon(echo).await.unwrap();

        // The same with a proxy in between.
        let ((mut client, mut near), (mut far, server)) = (duplex(64), duplex(64));
        let proxy = arc::spawn(async move { copy_bidirectional(&mut near, &mut far).await });
        let echo = arc::spawn(async move {
            let (mut reader, mut writer) = split(server);
            copy(&mut reader, &mut writer).await?;
            writer.shutdown().await
        });
        soon(client.write_all(&sent)).await.unwrap();
        soon(client.shutdown()).await.unwrap();
        received.clear();
        soon(client.read_to_end(&mut received)).await.unwrap();
        assert_eq!(received, sent);
        soon(echo).await.unwrap().unwrap();
        assert_eq!(soon(proxy).await.unwrap().unwrap(), (size as u64, size as u64));
    }
}

/// What came before an error of the reader arrives, also if it was read while the writer waited.
#[test]
fn copying_writes_what_it_has_read_before_it_tells_of_an_error() {
    let parts = || {
        let fails = Fails(ErrorKind::ConnectionReset);
        Script::new([Bytes(b"some"), Bytes(b"thing "), Bytes(b"more"), fails])
    };
    let (mut near, mut far) = duplex(64);
    assert_eq!(kind(at_once(copy(&mut parts(), &mut near))), ErrorKind::ConnectionReset);
    drop(near);
    let mut received = Vec::new();
    at_once(far.read_to_end(&mut received)).unwrap();
    assert_eq!(received, b"something more");

    // A writer that waits may do so for ever.
    let (mut near, mut far) = duplex(4);
    assert_eq!(kind(at_once(copy(&mut parts(), &mut near))), ErrorKind::ConnectionReset);
    drop(near);
    received.clear();
    at_once(far.read_to_end(&mut received)).unwrap();
    assert_eq!(received, b"some");
}

/// A proxy whose client has gone leaves its server, also one that does not read.
#[arc::test]
async fn copying_both_ways_ends_by_a_reset_while_the_other_side_waits() {
    let (mut near, mut far) =
        (Script::new([Bytes(b"ask"), Fails(ErrorKind::ConnectionReset)]), duplex(2));
    let copying = copy_bidirectional(&mut near, &mut far.0);
    assert_eq!(kind(soon(copying).await), ErrorKind::ConnectionReset);
}
