//! Accepts clients, limits how many there are, and ends.

use super::connection::Connection;
use super::options::Options;
use super::resp::Reply;
use super::shared::Shared;
use crate::rt::io::*;
use crate::rt::net::*;
use crate::rt::select;
use crate::rt::signal::unix::{SignalKind, signal};
use crate::rt::sync::OwnedSemaphorePermit;
use crate::rt::task::TaskTracker;
use crate::rt::time::{sleep, timeout};
use std::io::{Result, Write};
use std::sync::Arc;
use std::time::Duration;

/// For how long clients may be told what they have asked for when the server ends.
const GRACE: Duration = Duration::from_millis(500);

/// For how long accepting pauses when no descriptors are left.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until SIGINT, SIGTERM or the command SHUTDOWN.
///
/// # Errors
/// The address cannot be had, or signals cannot.
pub async fn run(options: &Options) -> Result<()> {
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind((&*options.host, options.port)).await?;
    let address = listener.local_addr()?;
    let shared = Arc::new(Shared::new(options, address.port()));
    let tasks = TaskTracker::new();
    let clock = shared.clone();
    let stop = shared.stop.clone();
    drop(tasks.spawn(async move { stop.run_until_cancelled(clock.clock()).await }));
    say(&format!("listening on redis://{address} with {} workers", options.workers));
    loop {
        select! {
            biased;
            _ = interrupted.recv() => break,
            _ = terminated.recv() => break,
            () = shared.stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => enter(stream, &shared, &tasks),
                Err(error) => {
                    say(&format!("cannot accept clients for now: {error}"));
                    sleep(PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    say("stopping");
    shared.stop.cancel();
    tasks.close();
    // Those that are left are given up.
    let _ = timeout(GRACE, tasks.wait()).await;
    say("stopped");
    Ok(())
}

/// Takes a client in if there is a place for it.
fn enter(stream: TcpStream, shared: &Arc<Shared>, tasks: &TaskTracker) {
    match shared.places.clone().try_acquire_owned() {
        Ok(place) => drop(tasks.spawn(serve(stream, shared.clone(), place))),
        Err(_) => drop(tasks.spawn(refuse(stream))),
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>, _place: OwnedSemaphorePermit) {
    // It fails only if the client is gone, as reading will tell.
    let _ = stream.set_nodelay(true);
    // What a connection ends by concerns its client alone.
    let _ = Connection::new(stream, shared).run().await;
}

async fn refuse(mut stream: TcpStream) {
    let mut reply = Reply::default();
    reply.error("ERR max number of clients reached");
    // It is refused whether it hears of it or not.
    let _ = timeout(GRACE, stream.write_all(&reply.bytes)).await;
}

/// Prints a line. A server goes on without its terminal.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
