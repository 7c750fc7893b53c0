//! The signals of Unix.

use arc::io::{Async, Direction};
use signal_hook::SigId;
use signal_hook::consts::{self, FORBIDDEN};
use signal_hook::low_level::{pipe, unregister};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::net::UnixStream;
use std::task::{Context, Poll, ready};

/// Which signal.
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
    /// The signal with this number.
    pub const fn from_raw(number: i32) -> Self {
        Self(number)
    }

    /// Its number.
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
    /// SIGALRM: a timer of the system's.
    alarm = SIGALRM;
    /// SIGCHLD: a child process has ended or stopped.
    child = SIGCHLD;
    /// SIGHUP: the terminal is gone; to a server: read the configuration again.
    hangup = SIGHUP;
    /// SIGINT: ctrl-c.
    interrupt = SIGINT;
    /// SIGIO: a descriptor is ready.
    io = SIGIO;
    /// SIGPIPE: a pipe was written that nobody reads.
    pipe = SIGPIPE;
    /// SIGQUIT: ctrl-\.
    quit = SIGQUIT;
    /// SIGTERM: the process shall end.
    terminate = SIGTERM;
    /// SIGUSR1: what the program makes of it.
    user_defined1 = SIGUSR1;
    /// SIGUSR2: what the program makes of it.
    user_defined2 = SIGUSR2;
    /// SIGWINCH: the terminal has another size.
    window_change = SIGWINCH;
}

/// Begins to listen for a signal.
///
/// # Errors
///
/// When programs cannot listen for it (SIGKILL, SIGSTOP, SIGSEGV, SIGFPE, SIGILL), when
/// there is no such signal, when the system has no descriptors left, or when the runtime
/// has ended.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Examples
///
/// See [`Signal`].
#[track_caller]
pub fn signal(kind: SignalKind) -> Result<Signal> {
    if FORBIDDEN.contains(&kind.0) {
        let what = format!("programs cannot listen for signal {}", kind.0);
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    let (ours, handlers) = UnixStream::pair()?;
    let ours = Async::new(ours)?;
    let id = pipe::register(kind.0, handlers)?;
    Ok(Signal { pipe: ours, id })
}

/// Listens for a signal; from [`signal`].
///
/// Signals of one kind that come before they are received count as one: that is so in
/// the system, too. Each `Signal` hears all signals of its kind.
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
    /// The handler writes a byte to the other end, unless it is full.
    pipe: Async<UnixStream>,
    id: SigId,
}

impl Signal {
    /// Waits for the signal. None: the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no signal is lost.
    pub async fn recv(&mut self) -> Option<()> {
        self.pipe.read_with(drain).await.ok()
    }

    /// What [`recv`](Self::recv) does, for futures written by hand.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<()>> {
        let drained = |pipe: &_| drain(pipe).map(|()| 0);
        let received = ready!(self.pipe.poll_transfer(Direction::Read, context, 0, drained));
        Poll::Ready(received.ok().map(drop))
    }
}

/// Takes out all bytes: the signals that came count as one. It fails only if there was
/// none.
fn drain(mut pipe: &UnixStream) -> Result<()> {
    let mut bytes = [0; 64];
    let mut read = pipe.read(&mut bytes)?;
    while read == bytes.len() {
        read = pipe.read(&mut bytes).unwrap_or(0);
    }
    Ok(())
}

/// The handler stays, and does nothing.
impl Drop for Signal {
    fn drop(&mut self) {
        unregister(self.id);
    }
}
