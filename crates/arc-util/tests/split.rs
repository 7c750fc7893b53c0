//! What TCP and Unix streams have in common: owned halves, and attempts that do not wait.

use crate::common::{all_text, kind, soon, tcp_pair};
use arc_util::io::{AsyncReadExt, AsyncWriteExt};
use arc_util::net::tcp;
use std::io::{ErrorKind, IoSlice, IoSliceMut};

/// Makes each function a test that gets the two ends of a connection, of both kinds.
macro_rules! on_both_kinds {
    ($(async fn $name:ident($left:ident, $right:ident) $body:block)*) => {
        mod tcp_streams {
            use super::*;
            $(
                #[arc::test(flavor = "multi_thread", workers = 2)]
                async fn $name() {
                    let ($left, $right) = tcp_pair().await;
                    soon(async move { $body }).await;
                }
            )*
        }

        #[cfg(unix)]
        mod unix_streams {
            use super::*;
            $(
                #[arc::test(flavor = "multi_thread", workers = 2)]
                async fn $name() {
                    let ($left, $right) = arc_util::net::UnixStream::pair().unwrap();
                    soon(async move { $body }).await;
                }
            )*
        }
    };
}

on_both_kinds! {
    async fn dropped_write_half_ends_the_stream_and_the_read_half_goes_on(left, right) {
        let mut right = right;
        let (mut reader, mut writer) = left.into_split();
        writer.write_all(b"last words").await.unwrap();
        drop(writer);
        let mut text = String::new();
        right.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "last words");
        right.write_all(b"answer").await.unwrap();
        drop(right);
        assert_eq!(all_text(&mut reader).await, "answer");
    }

    async fn forgotten_write_half_leaves_the_stream_open(left, right) {
        let (reader, writer) = left.into_split();
        writer.forget();
        // The read half is the stream, too.
        (&mut &*reader).write_all(b"!").await.unwrap();
        let mut byte = [0];
        (&mut &right).read_exact(&mut byte).await.unwrap();
        drop(reader);
        assert_eq!((&mut &right).read(&mut byte).await.unwrap(), 0);
    }

    async fn closed_write_half_ends_the_stream_before_it_is_dropped(left, right) {
        let mut right = right;
        let (_reader, mut writer) = left.into_split();
        writer.write_all(b"all").await.unwrap();
        writer.flush().await.unwrap();
        writer.shutdown().await.unwrap();
        let mut text = String::new();
        right.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "all");
        assert!(writer.write_all(b"more").await.is_err());
    }

    async fn halves_come_together_again_if_they_are_of_one_stream(left, right) {
        let (left_read, left_write) = left.into_split();
        let (right_read, right_write) = right.into_split();
        let error = left_read.reunite(right_write).unwrap_err();
        assert!(error.to_string().contains("not of one stream"));
        let (left_read, right_write) = (error.0, error.1);
        let mut left = left_read.reunite(left_write).unwrap();
        let mut right = right_write.reunite(right_read).unwrap();
        // Reuniting has shut nothing down.
        left.write_all(b"to the right").await.unwrap();
        right.write_all(b"to the left").await.unwrap();
        let mut text = [0; 12];
        right.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"to the right");
        left.read_exact(&mut text[..11]).await.unwrap();
        assert_eq!(&text[..11], b"to the left");
    }

    async fn halves_work_in_tasks_of_their_own(left, right) {
        let (mut left_read, mut left_write) = left.into_split();
        let (mut right_read, mut right_write) = right.into_split();
        let echo = arc::spawn(async move {
            let copied = arc_util::io::copy(&mut right_read, &mut right_write).await;
            copied.unwrap()
        });
        let mut random = fastrand::Rng::with_seed(1);
        let sent: Vec<u8> = (0..1_000_000).map(|_| random.u8(..)).collect();
        let sender = arc::spawn({
            let sent = sent.clone();
            async move {
                for piece in sent.chunks(999) {
                    left_write.write_all(piece).await.unwrap();
                }
            }
        });
        let mut all = Vec::new();
        left_read.read_to_end(&mut all).await.unwrap();
        assert!(all == sent);
        assert_eq!(echo.await.unwrap(), 1_000_000);
        sender.await.unwrap();
    }

    async fn attempts_without_waiting_say_would_block(left, right) {
        let (mut one, mut two) = ([0; 1], [0; 8]);
        assert_eq!(kind(right.try_read(&mut two)), ErrorKind::WouldBlock);
        assert_eq!(left.try_write(b"one").unwrap(), 3);
        right.readable().await.unwrap();
        assert_eq!(right.try_read(&mut two).unwrap(), 3);
        assert_eq!(&two[..3], b"one");

        // And so do those with several buffers.
        let mut slices = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        assert_eq!(kind(right.try_read_vectored(&mut slices)), ErrorKind::WouldBlock);
        let parts = [IoSlice::new(b"tw"), IoSlice::new(b"o parts")];
        assert_eq!(left.try_write_vectored(&parts).unwrap(), 9);
        right.readable().await.unwrap();
        assert_eq!(right.try_read_vectored(&mut slices).unwrap(), 9);
        assert_eq!((&one, &two), (b"t", b"wo parts"));
        assert!(right.take_error().unwrap().is_none());
    }

    async fn several_buffers_are_written_at_once_and_one_is_read(left, right) {
        let (_left_read, mut left_write) = left.into_split();
        let (mut right_read, _right_write) = right.into_split();
        let parts = [IoSlice::new(b"ab"), IoSlice::new(b"cdef")];
        assert_eq!(left_write.write_vectored(&parts).await.unwrap(), 6);
        let (mut one, mut two) = ([0; 3], [0; 9]);
        let mut parts = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        assert_eq!(futures_util::AsyncReadExt::read_vectored(&mut right_read, &mut parts).await.unwrap(), 3);
        assert_eq!(right_read.read(&mut two).await.unwrap(), 3);
        assert_eq!((&one, &two[..3]), (b"abc", &b"def"[..]));
    }
}

#[arc::test]
async fn halves_are_the_stream() {
    let (left, _right) = tcp_pair().await;
    let address = left.local_addr().unwrap();
    let (reader, writer): (tcp::OwnedReadHalf, tcp::OwnedWriteHalf) = left.into_split();
    assert_eq!(reader.local_addr().unwrap(), address);
    writer.set_nodelay(true).unwrap();
    assert!(reader.as_ref().nodelay().unwrap());
    assert!(format!("{reader:?} {writer:?}").contains("OwnedWriteHalf(TcpStream"));
}
