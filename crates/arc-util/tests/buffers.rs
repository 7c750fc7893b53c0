//! Reading into growing buffers, and writing from buffers.

use crate::common::{soon, waits};
use arc_util::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use bytes::BytesMut;
use std::io::Result;

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
        writer.shutdown().await
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
