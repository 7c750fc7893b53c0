//! tokio's reading into growing buffers, writing from buffers, and reading up to a separator.

use crate::common::{soon, waits};
use crate::script::{Bytes, Fails, Script};
use arc_util::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, duplex,
};
use bytes::{Buf, BufMut, BytesMut};
use std::io::{ErrorKind, Result};

#[arc::test]
async fn what_is_read_goes_to_the_end_of_the_buffer() {
    let (mut near, mut far) = duplex(64 << 10);
    let mut buffer = BytesMut::from(&b"begin "[..]);
    assert!(waits(near.read_buf(&mut buffer)));
    far.write_all(b"hello").await.unwrap();
    assert_eq!(soon(near.read_buf(&mut buffer)).await.unwrap(), 5);
    assert_eq!(&buffer[..], b"begin hello");

    far.write_all(&[7; 20_000]).await.unwrap();
    drop(far);
    let mut all = Vec::new();
    while soon(near.read_buf(&mut all)).await.unwrap() > 0 {}
    assert!(all == [7; 20_000]);
}

#[arc::test]
async fn a_buffer_that_cannot_grow_takes_what_it_has_room_for() {
    let mut reader = &b"hello"[..];
    let mut room = [0; 4];
    let mut buffer = &mut room[..];
    assert_eq!(reader.read_buf(&mut buffer).await.unwrap(), 4);
    assert_eq!((buffer.remaining_mut(), reader), (0, &b"o"[..]));
    assert_eq!(reader.read_buf(&mut buffer).await.unwrap(), 0);
    assert_eq!((&room, reader), (b"hell", &b"o"[..]));
}

#[arc::test]
async fn a_buffer_is_written_to_its_end_in_one_call_or_in_several() {
    let mut writer = Script::new([]).each(4);
    writer.room = 11;
    let mut buffer = Buf::chain(&b"one "[..], &b"and two"[..]);
    assert_eq!(writer.write_buf(&mut buffer).await.unwrap(), 4);
    assert_eq!((&writer.taken[..], buffer.remaining()), (&b"one "[..], 7));
    writer.write_all_buf(&mut buffer).await.unwrap();
    assert_eq!((&writer.taken[..], buffer.has_remaining()), (&b"one and two"[..], false));
    assert_eq!(writer.write_buf(&mut buffer).await.unwrap(), 0);

    writer.room = 14;
    let mut buffer = &b"three"[..];
    let error = writer.write_all_buf(&mut buffer).await.unwrap_err();
    assert_eq!((error.kind(), buffer), (ErrorKind::WriteZero, &b"ee"[..]));
}

/// In a task: the futures can be sent, also where the stream's type is not known.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn buffers_are_read_and_written_in_tasks() {
    async fn copy<R, W>(mut reader: R, mut writer: W) -> Result<()>
    where
        R: AsyncRead + Unpin + Send,
        W: AsyncWrite + Unpin + Send,
    {
        let mut buffer = BytesMut::new();
        while reader.read_buf(&mut buffer).await? > 0 {
            writer.write_all_buf(&mut buffer).await?;
        }
        writer.close().await
    }

    let (reader, mut input) = duplex(5);
    let (mut output, writer) = duplex(3);
    let copying = arc::spawn(copy(reader, writer));
    let writing = arc::spawn(async move { input.write_all(&[1; 1000]).await });
    let mut all = Vec::new();
    while soon(output.read_buf(&mut all)).await.unwrap() > 0 {}
    assert!(all == [1; 1000]);
    soon(writing).await.unwrap().unwrap();
    soon(copying).await.unwrap().unwrap();
}

#[arc::test]
async fn segments_end_at_the_separator_or_at_the_end_of_the_input() {
    let mut segments = BufReader::with_capacity(3, &b"first,,third"[..]).split(b',');
    let mut all = Vec::new();
    while let Some(segment) = segments.next_segment().await.unwrap() {
        all.push(String::from_utf8(segment).unwrap());
    }
    assert_eq!(all, ["first", "", "third"]);

    let mut ended = BufReader::new(&b"one,"[..]).split(b',');
    assert_eq!(ended.next_segment().await.unwrap().as_deref(), Some(&b"one"[..]));
    assert_eq!(ended.next_segment().await.unwrap(), None);
}

#[arc::test]
async fn what_was_read_of_a_segment_is_kept_after_a_failure_and_a_cancelled_wait() {
    let fails = Script::new([Bytes(b"part"), Fails(ErrorKind::TimedOut), Bytes(b"rest")]);
    let mut fails = BufReader::new(fails).split(b',');
    assert_eq!(fails.next_segment().await.unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(fails.next_segment().await.unwrap().as_deref(), Some(&b"partrest"[..]));

    let (near, mut far) = duplex(64);
    let mut segments = BufReader::new(near).split(b';');
    far.write_all(b"be").await.unwrap();
    assert!(waits(segments.next_segment()));
    far.write_all(b"gin;").await.unwrap();
    assert_eq!(soon(segments.next_segment()).await.unwrap().as_deref(), Some(&b"begin"[..]));
}
