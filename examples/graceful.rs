//! A graceful shutdown: a server that sends lines back. On ctrl-c or SIGTERM it lets its clients
//! finish the lines that they have begun, for at most five seconds.
//!
//! ```text
//! $ cargo run --release --example graceful -- 127.0.0.1:8080
//! listening on 127.0.0.1:8080
//! ```
//!
//! In another terminal, type `nc 127.0.0.1 8080` and then some lines: each comes back. Then press
//! ctrl-c in the first terminal:
//!
//! ```text
//! ^Cstopping, with 1 client(s)
//! stopped
//! ```

#[path = "common/address.rs"]
mod address;

use arc::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use arc::net::{TcpListener, TcpStream};
use arc::select;
use arc::sync::CancellationToken;
use arc::task::TaskTracker;
use std::io;
use std::time::Duration;

/// How long clients may take to finish.
const FAREWELL: Duration = Duration::from_secs(5);

#[arc::main]
async fn main() -> io::Result<()> {
    let address = address::address("127.0.0.1:8080");
    let listener = TcpListener::bind(&*address).await.unwrap_or_else(|error| {
        eprintln!("cannot listen on {address}: {error}");
        std::process::exit(1);
    });
    // From here on, no signal ends the process by itself. Only then does anybody hear of it.
    let mut stopped = std::pin::pin!(stop_signal()?);
    println!("listening on {}", listener.local_addr()?);

    let (token, clients) = (CancellationToken::new(), TaskTracker::new());
    loop {
        select! {
            // Polled in order: after the signal, no client is accepted.
            biased;
            () = &mut stopped => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(clients.spawn(serve(stream, token.clone()))),
                Err(error) => eprintln!("accepting: {error}"),
            }
        }
    }
    println!("stopping, with {} client(s)", clients.len());
    drop(listener);
    token.cancel();
    clients.close();
    match arc::time::timeout(FAREWELL, clients.wait()).await {
        Ok(()) => println!("stopped"),
        Err(_) => println!("stopped; {} client(s) cut off", clients.len()),
    }
    Ok(())
}

/// Waits for ctrl-c, or for SIGTERM, which a service manager sends.
#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use arc::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}

/// Sends lines back. Once the token is cancelled, it ends as soon as the client is between two
/// lines.
async fn serve(stream: TcpStream, token: CancellationToken) -> io::Result<()> {
    let (mut read, mut write) = (BufReader::new(&stream), &stream);
    let mut line = Vec::new();
    loop {
        // Cancel safe: `line` keeps the part that was read.
        let arrived = token.run_until_cancelled(read.read_until(b'\n', &mut line));
        let arrived = match arrived.await {
            Some(arrived) => arrived,
            None if line.is_empty() && read.buffer().is_empty() => break,
            None => read.read_until(b'\n', &mut line).await,
        };
        if arrived? == 0 && line.is_empty() {
            break;
        }
        write.write_all(&line).await?;
        line.clear();
    }
    Ok(())
}
