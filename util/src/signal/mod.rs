//! Signals of the system. Names are tokio's.
//!
//! From when a signal is first asked for, it does not do any more what it did by
//! default, such as ending the process: also when nobody waits for it, to the end of the
//! process.
//!
//! Only on Unix so far.

pub mod unix;

use std::io;
use unix::{SignalKind, signal};

/// Waits for ctrl-c: SIGINT. Only what comes after the first poll counts.
///
/// # Errors
///
/// When the system has no descriptors left, or the runtime has ended.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancellation
///
/// A signal that comes when nobody waits is lost: in a loop keep the future, or use
/// [`signal`].
///
/// # Examples
///
/// ```no_run
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let server = arc::spawn(async { /* accept and serve */ });
/// arc_util::signal::ctrl_c().await?;
/// server.abort();
/// # Ok(())
/// # }
/// ```
pub async fn ctrl_c() -> io::Result<()> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let heard = interrupts.recv().await;
    heard.ok_or_else(|| io::Error::other("the runtime has ended"))
}
