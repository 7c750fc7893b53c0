//! A TCP server that sends back what it gets.
//!
//! The same as may's `echo` (with its options `-t THREADS` and `-p PORT`; but it listens
//! on 127.0.0.1, on all interfaces with `--addr 0.0.0.0:8080`), mioco's `echo` and coio's
//! `tcp-echo-server`. `echo_client` loads it.
//!
//! ```text
//! $ cargo run --release --example echo -- --workers 2
//! listening on tcp://127.0.0.1:8080 with 2 workers
//! try: nc 127.0.0.1 8080
//! ```
//!
//! In another terminal, type `nc 127.0.0.1 8080` and then some lines: each comes
//! back. Ctrl-c ends the server, after everything that it has read is sent back:
//!
//! ```text
//! ^Cstopping
//! stopped
//! ```
//!
//! A client that does not read it within 10 s (`--grace SECONDS`) is cut off. The server says so,
//! and ends with exit status 1. A second ctrl-c ends it at once.

mod common;

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::TcpStream;
use common::{Failure, Options, Server, Stop, say};
use std::io;

const BUFFER_BYTES: usize = 16 * 1024;

#[arc::main(workers = Options::parse().workers)]
async fn main() -> Result<(), Failure> {
    let mut server = Server::bind(&Options::parse(), "tcp").await?;
    let address = server.address();
    say(format_args!("try: nc {} {}", address.ip(), address.port()));
    while let Some(stream) = server.accept().await {
        server.spawn(|stop| echo(stream, stop));
    }
    server.finish().await
}

async fn echo(mut stream: TcpStream, mut stop: Stop) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    // Told to stop, it ends as soon as there is nothing to be read.
    while let Some(count) = stop.or(stream.read(&mut buffer)).await {
        match count? {
            0 => break,
            count => stream.write_all(&buffer[..count]).await?,
        }
    }
    Ok(())
}
