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
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::result::Result;
use std::sync::Arc;
use std::time::Duration;

/// Who takes longer than this to be told what it has asked for is worth a line when the server
/// ends.
const TELL_AFTER: Duration = Duration::from_millis(500);

/// How long a client for which there is no place may take to read that.
const REFUSAL: Duration = Duration::from_millis(500);

/// For how long accepting pauses when no descriptors are left.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until SIGINT, SIGTERM or the command SHUTDOWN. Prints what goes wrong, and gives what
/// the process is to exit with: a failure also if a client was cut off at the end.
pub async fn run(options: &Options) -> ExitCode {
    match accept_all(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("Error: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn accept_all(options: &Options) -> Result<(), String> {
    let no_signals = |error| format!("cannot wait for signals: {error}");
    let mut interrupted = signal(SignalKind::interrupt()).map_err(no_signals)?;
    let mut terminated = signal(SignalKind::terminate()).map_err(no_signals)?;
    let listener = listen(options).await?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
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
    finish(&tasks, options.grace).await?;
    say("stopped");
    Ok(())
}

async fn listen(options: &Options) -> Result<TcpListener, String> {
    let Options { host, port, .. } = options;
    TcpListener::bind((&**host, *port)).await.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => "; --port chooses another port",
            _ => "",
        };
        format!("cannot listen on {host}:{port}: {error}{advice}")
    })
}

/// Waits until all clients have been told what they have asked for, but not for ever. It is an
/// error if some are left.
async fn finish(tasks: &TaskTracker, grace: Duration) -> Result<(), String> {
    let soon = grace.min(TELL_AFTER);
    if timeout(soon, tasks.wait()).await.is_ok() {
        return Ok(());
    }
    if grace > soon {
        let count = tasks.len();
        complain(&format!("waiting for {count} client(s) to read, for {grace:?} at most"));
        if timeout(grace - soon, tasks.wait()).await.is_ok() {
            return Ok(());
        }
    }
    match tasks.len() {
        0 => Ok(()),
        count => Err(format!("cut off {count} client(s), who had not read within {grace:?}")),
    }
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
    let _ = timeout(REFUSAL, stream.write_all(&reply.bytes)).await;
}

/// Prints a line. A server goes on without its terminal.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints a line to standard error, as [`say`].
fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
