//! Signals of the system, on Unix only so far. Names are tokio's.
//!
//! The first listener for a signal replaces the default action of that signal, such as ending
//! the process. The default action does not return when no one listens any more: it stays
//! replaced until the process ends.

pub mod unix;

use std::io;
use unix::{SignalKind, signal};

/// Waits for ctrl-c (SIGINT). Only signals that arrive after the first poll count.
///
/// From the first poll on, ctrl-c no longer ends the process by itself, also when nobody waits for
/// it any more. If the end of a program may hang, wait for a second ctrl-c beside it.
///
/// # Errors
///
/// Fails when the process or the system has no descriptors left, and when the runtime has
/// ended.
///
/// # Panics
///
/// Panics outside a runtime.
///
/// # Cancellation
///
/// A signal that arrives after the future was dropped is lost. In a loop, keep the future, or
/// use [`signal`].
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
    let received = interrupts.recv().await;
    received.ok_or_else(|| io::Error::other("the runtime has ended"))
}
