//! Accepts clients, and ends.

use super::connection::Connection;
use super::options::Options;
use super::shared::Shared;
use crate::rt::net::*;
use crate::rt::select;
use crate::rt::signal::unix::{SignalKind, signal};
use crate::rt::task::TaskTracker;
use crate::rt::time::{sleep, timeout};
use std::io::Write;
use std::process::ExitCode;
use std::result::Result;
use std::sync::Arc;
use std::time::Duration;

/// For how long accepting pauses when no descriptors are left.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until SIGINT, SIGTERM or the command SHUTDOWN. Prints what goes wrong, and gives what
/// the process is to exit with: a failure also if a client was cut off at the end.
pub async fn run(options: &Options) -> ExitCode {
    match accept_all(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "Error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn accept_all(options: &Options) -> Result<(), String> {
    let no_signals = |error| format!("cannot wait for signals: {error}");
    let mut interrupted = signal(SignalKind::interrupt()).map_err(no_signals)?;
    let mut terminated = signal(SignalKind::terminate()).map_err(no_signals)?;

    let Options { host, port, workers, grace } = options;
    let not_here = |error| format!("cannot listen on {host}:{port}: {error}");
    let listener = TcpListener::bind((&**host, *port)).await.map_err(not_here)?;
    let address = listener.local_addr().map_err(not_here)?;

    let shared = Arc::new(Shared::default());
    let tasks = TaskTracker::new();
    let clock = shared.clone();
    let stop = shared.stop.clone();
    drop(tasks.spawn(async move { stop.run_until_cancelled(clock.clock()).await }));
    say(&format!("listening on redis://{address} with {workers} workers"));

    loop {
        select! {
            biased;
            _ = interrupted.recv() => break,
            _ = terminated.recv() => break,
            () = shared.stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(tasks.spawn(serve(stream, shared.clone()))),
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
    // All clients are told what they have asked for, but not for ever.
    if timeout(*grace, tasks.wait()).await.is_err() && !tasks.is_empty() {
        let count = tasks.len();
        return Err(format!("cut off {count} client(s), who had not read within {grace:?}"));
    }
    say("stopped");
    Ok(())
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // It fails only if the client is gone, as reading will tell.
    let _ = stream.set_nodelay(true);
    // What a connection ends by concerns its client alone.
    let _ = Connection::new(stream, shared).run().await;
}

/// Prints a line. A server goes on without its terminal.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
