//! A listener whose connections are tasks, and which ends on ctrl-c: accepts no more, lets every
//! connection finish what it has begun, for some seconds, and goes. It says how many it had to cut
//! off.

use super::{Failure, Options, complain, say};
use arc::net::{SocketAddr, TcpListener, TcpStream};
use arc::select;
use arc::sync::{CancellationToken, WaitForCancellationFutureOwned};
use arc::task::TaskTracker;
use arc::time::timeout;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// A listener that accepts connections until ctrl-c, and then finishes what has begun.
pub struct Server {
    listener: TcpListener,
    /// Cancelled by ctrl-c.
    stop: CancellationToken,
    connections: TaskTracker,
    /// The last attempt to accept has failed, and that was told.
    is_refusing: bool,
    grace: Duration,
    verbose: bool,
}

impl Server {
    /// Listens, and says so on one line; `scheme` is what the address begins with.
    pub async fn bind(options: &Options, scheme: &str) -> Result<Self, Failure> {
        let stop = CancellationToken::new();
        signals::listen(&stop)?;

        let address = &*options.address;
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| format!("cannot listen on {address}: {error}"))?;
        let (address, workers) = (listener.local_addr()?, options.workers);
        let plural = if workers == 1 { "" } else { "s" };
        say(format_args!("listening on {scheme}://{address} with {workers} worker{plural}"));
        Ok(Self {
            listener,
            stop,
            connections: TaskTracker::new(),
            is_refusing: false,
            grace: options.grace,
            verbose: options.verbose,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        // It was asked before, in `bind`.
        self.listener.local_addr().expect("a socket that listens")
    }

    /// The next connection; None after ctrl-c.
    pub async fn accept(&mut self) -> Option<TcpStream> {
        loop {
            let accepted = select! {
                // Ctrl-c comes first: clients must not keep the server from ending.
                biased;
                () = self.stop.cancelled() => return None,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    self.is_refusing = false;
                    // It fails only if the client is gone, as reading will tell.
                    let _ = stream.set_nodelay(true);
                    return Some(stream);
                }
                // No descriptors are left, say. `accept` has paused for a moment; some may have
                // been closed meanwhile.
                Err(error) if !self.is_refusing => {
                    self.is_refusing = true;
                    complain(format_args!("cannot accept connections for now: {error}"));
                }
                Err(_) => {}
            }
        }
    }

    /// Runs a connection as a task. What it fails with concerns its client alone.
    pub fn spawn<F, E>(&self, connection: impl FnOnce(Stop) -> F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let stop = Stop(Box::pin(self.stop.clone().cancelled_owned()));
        let (connection, verbose) = (connection(stop), self.verbose);
        drop(self.connections.spawn(async move {
            match connection.await {
                Err(error) if verbose => complain(format_args!("connection: {error}")),
                _ => {}
            }
        }));
    }

    /// Closes the listener, and waits until all connections have ended, which were told by the
    /// token.
    ///
    /// It is an error if some had to be cut off, because their time was over.
    pub async fn finish(self) -> Result<(), Failure> {
        drop(self.listener);
        say("stopping");
        self.connections.close();
        if timeout(self.grace, self.connections.wait()).await.is_err() {
            let (count, grace) = (self.connections.len(), self.grace);
            return Err(format!("cut off {count} connection(s), not finished in {grace:?}").into());
        }
        say("stopped");
        Ok(())
    }
}

/// Tells a connection that the server is to end. It is one future for all that the connection
/// awaits: so it enters the token's list once, and not at every read.
pub struct Stop(Pin<Box<WaitForCancellationFutureOwned>>);

impl Stop {
    /// Awaits a future, but gives it up when the server is to end: None then. One that is ready
    /// wins.
    pub async fn or<F: Future>(&mut self, future: F) -> Option<F::Output> {
        select! {
            biased;
            output = future => Some(output),
            () = &mut self.0 => None,
        }
    }
}

#[cfg(unix)]
mod signals {
    use super::{CancellationToken, select};
    use arc::runtime::Handle;
    use arc::signal::unix::{SignalKind, signal};
    use std::io;

    /// Ctrl-c or SIGTERM cancels the token. A second one ends the process at once. Ctrl-\
    /// (SIGQUIT) prints every task, and what it does: for a server that seems to hang.
    pub fn listen(stop: &CancellationToken) -> io::Result<()> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let stop = stop.clone();
        drop(arc::spawn(async move {
            loop {
                select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if stop.is_cancelled() {
                    std::process::exit(1);
                }
                stop.cancel();
            }
        }));
        Handle::current().dump_on_signal(SignalKind::quit())
    }
}

/// Elsewhere ctrl-c ends the process, as it does by default.
#[cfg(not(unix))]
mod signals {
    pub fn listen(_: &super::CancellationToken) -> std::io::Result<()> {
        Ok(())
    }
}
