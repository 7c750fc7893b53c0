//! Signals of Unix.

use crate::sync::told::Named;
use arc::io::{Async, Direction};
use signal_hook::SigId;
use signal_hook::consts::{self, FORBIDDEN};
use signal_hook::low_level::{pipe, signal_name, unregister};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::net::UnixStream;
use std::task::{Context, Poll, ready};

/// A kind of signal.
///
/// # Examples
///
/// ```
/// use arc_util::signal::unix::SignalKind;
/// assert_eq!(SignalKind::from_raw(15), SignalKind::terminate());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SignalKind(i32);

impl SignalKind {
    /// Creates the kind of signal that has this number.
    pub const fn from_raw(number: i32) -> Self {
        Self(number)
    }

    /// Returns the number of the signal.
    pub const fn as_raw_value(&self) -> i32 {
        self.0
    }
}

impl From<i32> for SignalKind {
    fn from(number: i32) -> Self {
        Self(number)
    }
}

impl From<SignalKind> for i32 {
    fn from(kind: SignalKind) -> Self {
        kind.0
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:ident;)*) => {
        /// Signals by name.
        impl SignalKind {$(
            $(#[$doc])*
            pub const fn $name() -> Self {
                Self(consts::$number)
            }
        )*}
    };
}

kinds! {
    /// SIGALRM: a timer of the system has expired.
    alarm = SIGALRM;
    /// SIGCHLD: a child process has ended or stopped.
    child = SIGCHLD;
    /// SIGHUP: the terminal was closed. Servers take it as a request to read their configuration
    /// again.
    hangup = SIGHUP;
    /// SIGINT: ctrl-c.
    interrupt = SIGINT;
    /// SIGIO: a descriptor is ready.
    io = SIGIO;
    /// SIGPIPE: a write to a pipe that no one reads.
    pipe = SIGPIPE;
    /// SIGQUIT: ctrl-\.
    quit = SIGQUIT;
    /// SIGTERM: a request to end the process.
    terminate = SIGTERM;
    /// SIGUSR1: each program defines its meaning.
    user_defined1 = SIGUSR1;
    /// SIGUSR2: each program defines its meaning.
    user_defined2 = SIGUSR2;
    /// SIGWINCH: the size of the terminal has changed.
    window_change = SIGWINCH;
}

/// Begins to listen for a signal.
///
/// The default action of the signal, such as ending the process, is replaced from then on. It stays
/// replaced until the process ends, also when nobody listens any more.
///
/// # Errors
///
/// Fails when programs cannot listen for the signal (SIGKILL, SIGSTOP, SIGSEGV, SIGFPE,
/// SIGILL), when there is no such signal, when the process or the system has no descriptors
/// left, and when the runtime has ended.
///
/// # Panics
///
/// Panics outside a runtime.
///
/// # Examples
///
/// See [`Signal`].
#[track_caller]
pub fn signal(kind: SignalKind) -> Result<Signal> {
    // The signal handler wakes the task by a write, which is one of the few things that a signal
    // handler may do.
    let (ours, handlers) = UnixStream::pair()?;
    let ours = Async::new(ours)?;
    let id = register(kind, handlers)?;

    // Not every signal has a name: those of real time have numbers alone.
    let name = || match signal_name(kind.0) {
        Some(name) => format!("the signal {name}"),
        None => format!("the signal {}", kind.0),
    };
    Ok(Signal { _named: Named::new(&ours, name), pipe: ours, id })
}

/// Has the signal handler write a byte to the pipe for each signal.
pub(crate) fn register(kind: SignalKind, handlers: UnixStream) -> Result<SigId> {
    if FORBIDDEN.contains(&kind.0) {
        let what = format!("programs cannot listen for signal {}", kind.0);
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    pipe::register(kind.0, handlers)
}

/// Listens for a signal; made by [`signal`].
///
/// Each `Signal` receives all signals of its kind. Signals of one kind that arrive before they
/// are received count as one, as they do in the system.
///
/// # Examples
///
/// ```
/// use arc_util::signal::unix::{SignalKind, signal};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut hangups = signal(SignalKind::hangup())?;
/// # signal_hook::low_level::raise(SignalKind::hangup().as_raw_value())?;
/// // kill -HUP
/// hangups.recv().await;
/// println!("read the configuration again");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "it listens as long as it lives"]
pub struct Signal {
    /// Dropped first.
    _named: Named,
    /// The signal handler writes a byte to the other end of this pipe, unless it is full.
    pipe: Async<UnixStream>,
    id: SigId,
}

impl Signal {
    /// Waits for the signal. Returns `None` when the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no signal is lost.
    pub async fn recv(&mut self) -> Option<()> {
        self.pipe.read_with(drain).await.ok()
    }

    /// Tries `attempt` each time that the signal has come, and once before, until it returns
    /// something other than `WouldBlock`.
    pub(crate) fn poll_with(
        &self,
        context: &mut Context<'_>,
        mut attempt: impl FnMut() -> Result<usize>,
    ) -> Poll<Result<usize>> {
        self.pipe.poll_transfer(Direction::Read, context, 0, |pipe| {
            // First: what comes after the attempt must not be thrown away.
            let _ = drain(pipe);
            attempt()
        })
    }

    /// Polls for the signal, for futures written by hand. See [`recv`](Self::recv).
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<()>> {
        let drained = |pipe: &_| drain(pipe).map(|()| 0);
        let received = ready!(self.pipe.poll_transfer(Direction::Read, context, 0, drained));
        Poll::Ready(received.ok().map(drop))
    }
}

/// Reads all bytes: the signals that have arrived count as one. Fails only if there is no byte.
fn drain(mut pipe: &UnixStream) -> Result<()> {
    let mut bytes = [0; 64];
    let mut read = pipe.read(&mut bytes)?;
    // Fewer than asked for: it is empty.
    while read == bytes.len() {
        read = pipe.read(&mut bytes).unwrap_or(0);
    }
    Ok(())
}

/// Unregisters this listener. The system's handler of the signal stays installed, and does
/// nothing without listeners.
impl Drop for Signal {
    fn drop(&mut self) {
        unregister(self.id);
    }
}
