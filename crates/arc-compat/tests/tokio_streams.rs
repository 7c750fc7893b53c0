//! arc's streams with tokio's IO traits, and tokio's with those of futures-io.

use crate::common::{LARGE_BYTES, Result, listen, pattern, soon, tcp_pair};
use arc_compat::tokio::{Compat, enter};
use arc_util::net::TcpStream;
use std::future::poll_fn;
use std::io::IoSlice;
use std::pin::Pin;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn an_arc_socket_is_read_and_written_by_tokios_traits() -> Result {
    let (client, server) = tcp_pair().await?;
    let echo = arc::spawn(async move {
        let mut stream = Compat::vectored(&server);
        let mut other = Compat::vectored(&server);
        let count = tokio::io::copy(&mut stream, &mut other).await?;
        other.shutdown().await?;
        std::io::Result::Ok(count)
    });
    let (mut read, mut write) = tokio::io::split(Compat::new(client));
    let send = arc::spawn(async move {
        write.write_all(&pattern()).await?;
        write.shutdown().await
    });
    let mut got = Vec::new();
    soon(read.read_to_end(&mut got)).await?;
    assert!(got == pattern(), "{} bytes came back", got.len());
    soon(send).await??;
    assert_eq!(soon(echo).await??, LARGE_BYTES as u64);
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn several_buffers_are_written_by_one_call() -> Result {
    let (client, server) = tcp_pair().await?;
    let mut stream = Compat::vectored(client);
    assert!(stream.is_write_vectored() && !Compat::new(&server).is_write_vectored());
    let buffers = [&b"to "[..], b"and ", b"fro\n"].map(IoSlice::new);
    assert_eq!(soon(stream.write_vectored(&buffers)).await?, 11);
    // And so through both directions of the bridge.
    let mut twice = Compat::vectored(Compat::new(&mut stream));
    let written = poll_fn(|context| Pin::new(&mut twice).poll_write_vectored(context, &buffers));
    assert_eq!(soon(written).await?, 11);
    let mut lines = BufReader::new(Compat::new(server)).lines();
    assert_eq!(soon(lines.next_line()).await?.as_deref(), Some("to and fro"));
    assert_eq!(soon(lines.next_line()).await?.as_deref(), Some("to and fro"));
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_buffered_reader_of_arcs_is_one_of_tokios() -> Result {
    let (client, server) = tcp_pair().await?;
    soon(Compat::new(client).write_all(b"one\ntwo\n")).await?;
    let reader = arc::io::BufReader::new(server);
    let mut lines = AsyncBufReadExt::lines(Compat::new(reader));
    assert_eq!(soon(lines.next_line()).await?.as_deref(), Some("one"));
    assert_eq!(soon(lines.next_line()).await?.as_deref(), Some("two"));
    assert_eq!(soon(lines.next_line()).await?, None);
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_tokio_socket_is_read_and_written_by_arcs_traits() -> Result {
    use arc::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

    let (listener, address) = listen().await?;
    let client = arc::spawn(enter(async move {
        let mut stream = Compat::new(tokio::net::TcpStream::connect(address).await?);
        stream.write_all(b"a line\n").await?;
        stream.write_all(&pattern()).await?;
        stream.close().await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    }));
    let (server, _) = soon(listener.accept()).await?;
    let mut reader = BufReader::new(&server);
    let (mut line, mut rest) = (String::new(), Vec::new());
    soon(reader.read_line(&mut line)).await?;
    soon(reader.read_to_end(&mut rest)).await?;
    assert_eq!(line, "a line\n");
    assert!(rest == pattern(), "{} bytes came", rest.len());
    soon(AsyncWriteExt::write_all(&mut &server, b"received")).await?;
    drop(server);
    assert_eq!(soon(client).await??, "received");
    Ok(())
}

#[arc::test]
async fn what_is_lent_is_given_back() -> Result {
    let (client, server) = tcp_pair().await?;
    let address = client.local_addr()?;
    let mut compat = Compat::new(client);
    assert_eq!(compat.get_ref().local_addr()?, address);
    assert_eq!(compat.get_mut().local_addr()?, address);
    let stream: TcpStream = compat.into_inner();
    assert_eq!(stream.local_addr()?, server.peer_addr()?);
    Ok(())
}
