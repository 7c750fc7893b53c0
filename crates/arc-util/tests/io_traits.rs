//! tokio's methods of readers and writers, over arc's streams.

use crate::common::{all_text, soon, tcp_pair};
use arc_util::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
    duplex, split,
};
use std::io::Result;
use std::pin::pin;

/// Each method is called where the type of the stream is not known, and the future is sent.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn generic_code_can_send_the_futures() {
    async fn talk<S: AsyncRead + AsyncWrite + Unpin + Send>(mut stream: S) -> Result<u16> {
        stream.write_all(b"line\nmore").await?;
        stream.write_u16(7).await?;
        stream.flush().await?;
        stream.shutdown().await?;
        let mut buffer = [0; 2];
        stream.read_exact(&mut buffer).await?;
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await?;
        Ok(u16::from_be_bytes(buffer))
    }
    async fn lines<R: AsyncBufRead + Unpin + Send>(mut reader: R) -> Result<String> {
        let mut line = String::new();
        reader.read_line(&mut line).await?;
        let mut rest = reader.lines();
        while let Some(next) = rest.next_line().await? {
            line.push_str(&next);
        }
        Ok(line)
    }

    let (near, far) = duplex(1024);
    let (reader, mut writer) = split(far);
    let talking = arc::spawn(talk(near));
    let reading = arc::spawn(lines(BufReader::new(reader)));
    writer.write_u16(9).await.unwrap();
    writer.shutdown().await.unwrap();
    assert_eq!(soon(talking).await.unwrap().unwrap(), 9);
    assert_eq!(soon(reading).await.unwrap().unwrap(), "line\nmore\0\u{7}");
}

/// As with tokio's: the buffer is free as soon as the future is ready, although it still exists.
#[arc::test]
async fn a_future_that_is_ready_lends_its_buffer_no_longer() {
    let (mut near, mut far) = duplex(64);
    far.write_all(b"hello").await.unwrap();
    let mut buffer = [0; 8];
    let mut reading = pin!(near.read(&mut buffer));
    let count = soon(reading.as_mut()).await.unwrap();
    assert_eq!(&buffer[..count], b"hello");
}

#[arc::test]
async fn a_socket_is_split_for_one_task_or_for_two() {
    let (mut near, mut far) = tcp_pair().await;
    let (mut read, mut write) = near.split();
    write.write_all(b"ping").await.unwrap();
    assert_eq!(far.read_u32().await.unwrap(), u32::from_be_bytes(*b"ping"));
    far.write_all(b"pong").await.unwrap();
    soon(read.read_exact(&mut [0; 4])).await.unwrap();

    // Both halves are gone: the stream is whole.
    near.write_u8(b'.').await.unwrap();
    let (mut read, write) = near.into_split();
    far.write_u8(b'!').await.unwrap();
    assert_eq!(soon(read.read_u8()).await.unwrap(), b'!');
    drop(write);
    assert_eq!(all_text(&mut far).await, ".");

    // A function that has borrowed the stream can split it, too.
    async fn echo(stream: &mut arc_util::net::TcpStream) -> Result<u8> {
        let (mut read, mut write) = stream.split();
        write.write_u8(1).await?;
        read.read_u8().await
    }
    let (mut near, mut far) = tcp_pair().await;
    far.write_u8(2).await.unwrap();
    assert_eq!(soon(echo(&mut near)).await.unwrap(), 2);
    // With both traits in scope, `split` of a vector and of a slice is std's.
    let fields = b"a,b".to_vec();
    assert_eq!(fields.split(|byte| *byte == b',').count(), 2);
    assert_eq!(fields[..].split(|byte| *byte == b',').count(), 2);
}
