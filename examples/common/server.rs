//! A listener whose connections are tasks, and which ends on ctrl-c: accepts no
//! more, lets every connection finish what it has begun, for some seconds, and goes. It
//! says whom it waits for, and how many it had to cut off.

use super::{Failure, Options, complain, say};
use arc::net::{SocketAddr, TcpListener, TcpStream};
use arc::time::timeout;
use async_channel::{Receiver, Sender};
use futures_util::future::{AbortHandle, Abortable, Either, abortable, select};
use slab::Slab;
use std::convert::Infallible;
use std::fmt::Display;
use std::future::{Future, Pending, pending};
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Who takes longer than this to finish is worth a line.
const TELL_AFTER: Duration = Duration::from_millis(500);

/// How often the same complaint is printed at most.
const COMPLAINT_EVERY: Duration = Duration::from_secs(1);

pub struct Server {
    listener: TcpListener,
    interrupt: Interrupt,
    connections: Connections,
    complaint: Complaint,
    grace: Duration,
    verbose: bool,
}

impl Server {
    /// Listens, and says so on one line; `scheme` is what the address begins with.
    pub async fn bind(options: &Options, scheme: &str) -> Result<Self, Failure> {
        let interrupt = Interrupt::new()?;
        print_tasks_on_quit()?;
        let listener = TcpListener::bind(&*options.address).await;
        let listener = listener.map_err(|error| cannot_listen(&options.address, &error))?;
        let (address, workers) = (listener.local_addr()?, options.workers);
        let plural = if workers == 1 { "" } else { "s" };
        say(format_args!("listening on {scheme}://{address} with {workers} worker{plural}"));
        Ok(Self {
            listener,
            interrupt,
            connections: Connections::new(),
            complaint: Complaint::default(),
            grace: options.grace,
            verbose: options.verbose,
        })
    }

    pub fn address(&self) -> SocketAddr {
        // It was asked before, in `bind`.
        self.listener.local_addr().expect("a socket that listens")
    }

    /// The next connection; None after ctrl-c.
    pub async fn accept(&mut self) -> Option<TcpStream> {
        loop {
            // The interrupt comes first: clients must not keep the server from ending.
            let (interrupt, connection) = (self.interrupt.wait(), self.listener.accept());
            match select(pin!(interrupt), pin!(connection)).await {
                Either::Left(_) => return None,
                Either::Right((Ok((stream, _)), _)) => {
                    // It fails only if the client is gone, as reading will tell.
                    let _ = stream.set_nodelay(true);
                    return Some(stream);
                }
                // No descriptors are left, say. `accept` has paused for a moment;
                // some may have been closed meanwhile.
                Either::Right((Err(error), _)) => self.complaint.print(&error),
            }
        }
    }

    /// Runs a connection as a task. What it fails with concerns its client alone.
    pub fn spawn<F, E>(&self, connection: impl FnOnce(Stop) -> F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let (connection, verbose) = (connection(self.connections.enter()), self.verbose);
        drop(arc::spawn(async move {
            match connection.await {
                Err(error) if verbose => complain(format_args!("connection: {error}")),
                _ => {}
            }
        }));
    }

    /// Closes the listener, tells the connections, and waits until they have ended.
    ///
    /// It is an error if some had to be cut off, because their time was over.
    pub async fn finish(self) -> Result<(), Failure> {
        drop(self.listener);
        say("stopping");
        let cut_off = self.connections.finish(self.grace).await;
        if cut_off > 0 {
            let (those, time) = (connections(cut_off), self.grace);
            return Err(format!("cut off {those}, not finished within {time:?}").into());
        }
        say("stopped");
        Ok(())
    }
}

/// What `main` returns if the address cannot be had.
fn cannot_listen(address: &str, error: &io::Error) -> Failure {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => "; --addr chooses another address",
        _ => "",
    };
    format!("cannot listen on {address}: {error}{advice}").into()
}

/// How many connections, in words.
fn connections(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} connection{plural}")
}

/// The connections there are.
struct Connections {
    handles: Arc<Mutex<Slab<AbortHandle>>>,
    /// Held by every connection and never sent on: when all are dropped the
    /// receiver wakes.
    alive: Sender<Infallible>,
    ended: Receiver<Infallible>,
}

impl Connections {
    fn new() -> Self {
        let (alive, ended) = async_channel::bounded(1);
        Self { handles: Arc::default(), alive, ended }
    }

    fn enter(&self) -> Stop {
        let (signal, handle) = abortable(pending());
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        Stop {
            signal,
            key: handles.insert(handle),
            handles: self.handles.clone(),
            _alive: self.alive.clone(),
        }
    }

    /// Tells all connections, and waits. Gives how many have not ended in time.
    async fn finish(self, grace: Duration) -> usize {
        // Taken out, so that nobody is woken while the lock is held.
        let handles: Vec<_> = {
            let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
            handles.iter().map(|(_, handle)| handle.clone()).collect()
        };
        handles.iter().for_each(AbortHandle::abort);
        drop(self.alive);

        // An error is what it gives when the last connection has ended.
        let start = Instant::now();
        if timeout(grace.min(TELL_AFTER), self.ended.recv()).await.is_ok() {
            return 0;
        }
        let left = grace.saturating_sub(start.elapsed());
        if !left.is_zero() {
            let those = connections(count(&self.handles));
            complain(format_args!(
                "waiting for {those} to finish, for {grace:?} at most; ctrl-c ends at once"
            ));
        }
        match timeout(left, self.ended.recv()).await {
            Ok(_) => 0,
            Err(_) => count(&self.handles),
        }
    }
}

fn count(handles: &Mutex<Slab<AbortHandle>>) -> usize {
    handles.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Tells a connection that the server is to end. Each has its own, so that they
/// share no lock while they run.
pub struct Stop {
    signal: Abortable<Pending<()>>,
    key: usize,
    handles: Arc<Mutex<Slab<AbortHandle>>>,
    _alive: Sender<Infallible>,
}

impl Stop {
    /// Awaits a future, but gives it up when the server is to end: None then. One
    /// that is ready wins.
    pub async fn or<F: Future>(&mut self, future: F) -> Option<F::Output> {
        match select(pin!(future), &mut self.signal).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        drop(handles.remove(self.key));
    }
}

/// Prints an error, but not twice within a second.
#[derive(Default)]
struct Complaint {
    last: Option<Instant>,
}

impl Complaint {
    fn print(&mut self, error: &io::Error) {
        let now = Instant::now();
        if self.last.is_none_or(|last| now - last >= COMPLAINT_EVERY) {
            complain(format_args!("cannot accept connections for now: {error}"));
            self.last = Some(now);
        }
    }
}

/// Ctrl-c, or SIGTERM. A second one ends the process at once.
#[cfg(unix)]
struct Interrupt {
    /// The signal handler writes a byte to the other end.
    pipe: arc::io::Async<std::os::unix::net::UnixStream>,
}

#[cfg(unix)]
impl Interrupt {
    fn new() -> io::Result<Self> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let (receiver, sender) = std::os::unix::net::UnixStream::pair()?;
        let again = Arc::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag not yet set.
            signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&again))?;
            signal_hook::flag::register(signal, Arc::clone(&again))?;
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
        }
        let pipe = arc::io::Async::new(receiver)?;
        Ok(Self { pipe })
    }

    async fn wait(&self) {
        use arc::io::AsyncReadExt;
        // An error means that the runtime has ended: a reason to end, too.
        let _ = (&self.pipe).read(&mut [0]).await;
    }
}

/// On ctrl-\ (SIGQUIT), prints every task, and what it does: for a server that seems to hang.
#[cfg(unix)]
fn print_tasks_on_quit() -> io::Result<()> {
    use arc::runtime::{Handle, HandleExt};
    use arc::signal::unix::SignalKind;
    Handle::current().dump_on_signal(SignalKind::quit())
}

#[cfg(not(unix))]
fn print_tasks_on_quit() -> io::Result<()> {
    Ok(())
}

/// Elsewhere the system ends the process, as it does by default.
#[cfg(not(unix))]
struct Interrupt;

#[cfg(not(unix))]
impl Interrupt {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn wait(&self) {
        pending().await
    }
}
