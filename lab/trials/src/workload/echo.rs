//! The connections of the workload: a server that sends back what it gets, and clients
//! that compare it.

use super::ledger::LEDGER;
use super::options::Options;
use crate::bytes;
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::task::spawn_blocking;
use arc_util::net::{TcpListener, TcpStream};
use arc_util::time::{sleep, timeout};
use futures_lite::future::try_zip;
use std::io;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const PIECE: usize = 16 * 1024;

/// Accepts until it is aborted. Errors are counted, and it goes on: arc pauses.
pub async fn serve(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(arc::spawn(async move {
                if session(stream).await.is_err() {
                    LEDGER.session_errors.add(1);
                }
            })),
            Err(error) => LEDGER.error(&LEDGER.accept_errors, "accept", &error),
        }
    }
}

async fn session(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return stream.close().await;
        }
        stream.write_all(&buffer[..count]).await?;
    }
}

/// What is to be done when the first connection has sent half.
pub static AT_HALF: Mutex<Option<String>> = Mutex::new(None);

/// One connection, tried again when it ends early, if that is wanted.
pub async fn client(address: String, seed: u64, options: &Options) {
    for tried in 0..options.tries {
        if tried > 0 {
            LEDGER.retried.add(1);
            sleep(Duration::from_millis(5)).await;
        }
        match timeout(options.patience, attempt(&address, seed, options.bytes)).await {
            Ok(Ok(())) => return LEDGER.whole.add(1),
            Ok(Err(error)) => LEDGER.error(&LEDGER.broken, "a connection", &error),
            Err(_) => LEDGER.timeouts.add(1),
        }
    }
    LEDGER.given_up.add(1);
}

async fn attempt(address: &str, seed: u64, length: u64) -> io::Result<()> {
    let stream = TcpStream::connect(address).await?;
    let send = async {
        let mut sent = 0;
        while sent < length {
            if sent >= length / 2 {
                at_half().await?;
            }
            let mut piece = vec![0; (length - sent).min(PIECE as u64) as usize];
            bytes::fill(seed, sent, &mut piece);
            (&stream).write_all(&piece).await?;
            sent += piece.len() as u64;
        }
        (&stream).close().await
    };
    let receive = async {
        let mut buffer = vec![0; PIECE];
        let mut received = 0;
        loop {
            let count = (&stream).read(&mut buffer).await?;
            if bytes::differs(seed, received, &buffer[..count]).is_some() {
                LEDGER.wrong.add(1);
            }
            received += count as u64;
            LEDGER.bytes.add(count as u64);
            if count == 0 {
                return Ok(received);
            }
        }
    };
    let ((), received) = try_zip(send, receive).await?;
    match received == length {
        true => Ok(()),
        // The other end has closed it early, in order.
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

async fn at_half() -> io::Result<()> {
    let take = || AT_HALF.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(command) = take() else { return Ok(()) };
    let run = move || Command::new("sh").args(["-c", &command]).status();
    match spawn_blocking(run).await?? {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(format!("the command at half: {status}"))),
    }
}
