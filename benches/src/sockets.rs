//! The workloads over TCP on the loopback interface, client and server in one
//! runtime.

use crate::Runtime;
use std::future::Future;
use std::io;
use std::time::{Duration, Instant};

const LOOPBACK: &str = "127.0.0.1:0";

/// The bytes of a message.
const MESSAGE: [u8; 64] = [b'm'; 64];

async fn read_message<R: Runtime>(stream: &mut R::Stream) -> io::Result<bool> {
    let (mut buffer, mut filled) = ([0; MESSAGE.len()], 0);
    while filled < buffer.len() {
        match R::read(stream, &mut buffer[filled..]).await? {
            0 => return Ok(false),
            length => filled += length,
        }
    }
    assert_eq!(buffer, MESSAGE);
    Ok(true)
}

async fn echo<R: Runtime>(mut stream: R::Stream) -> io::Result<()> {
    while read_message::<R>(&mut stream).await? {
        R::write_all(&mut stream, &MESSAGE).await?;
    }
    Ok(())
}

/// Messages to the server and back.
async fn ask<R: Runtime>(mut stream: R::Stream, count: usize) -> io::Result<()> {
    for _ in 0..count {
        R::write_all(&mut stream, &MESSAGE).await?;
        assert!(read_message::<R>(&mut stream).await?, "the server hung up");
    }
    Ok(())
}

/// Runs a workload as a task.
fn run<R: Runtime, T: Send + 'static>(
    runtime: &R,
    work: impl Future<Output = io::Result<T>> + Send + 'static,
) -> T {
    let done = runtime.block_on(async { R::spawn(work).await });
    done.expect("loopback works")
}

/// Messages to an echo server and back, over so many connections at once.
pub fn echo_messages<R: Runtime>(runtime: &R, count: usize, connections: usize) -> Duration {
    run(runtime, async move {
        let (listener, address) = R::listen(LOOPBACK).await?;
        let mut pairs = Vec::new();
        for _ in 0..connections {
            let client = R::connect(address).await?;
            pairs.push((client, R::accept(&listener).await?));
        }
        let start = Instant::now();
        let mut tasks = Vec::new();
        for (client, server) in pairs {
            tasks.push(R::spawn(echo::<R>(server)));
            tasks.push(R::spawn(ask::<R>(client, count / connections)));
        }
        for task in tasks {
            task.await?;
        }
        Ok(start.elapsed())
    })
}

/// Connections made, accepted and closed, one after the other.
pub fn accept_close<R: Runtime>(runtime: &R, count: usize) -> Duration {
    run(runtime, async move {
        let (listener, address) = R::listen(LOOPBACK).await?;
        let start = Instant::now();
        let server = R::spawn(async move {
            for _ in 0..count {
                drop(R::accept(&listener).await?);
            }
            io::Result::Ok(())
        });
        for _ in 0..count {
            let mut client = R::connect(address).await?;
            // The server has closed it when this ends; with a reset or without.
            let _ = R::read(&mut client, &mut [0]).await;
        }
        server.await?;
        Ok(start.elapsed())
    })
}
