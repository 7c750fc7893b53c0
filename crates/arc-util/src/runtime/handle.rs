//! What can be asked of a runtime.

use super::dump::Dump;
use super::metrics::RuntimeMetrics;
#[cfg(unix)]
use crate::signal::unix::SignalKind;
use arc::runtime::Handle;
#[cfg(unix)]
use std::io;

/// Adds what can be asked of a runtime to its [`Handle`].
pub trait HandleExt {
    /// Returns a view of the runtime's numbers.
    fn metrics(&self) -> RuntimeMetrics;

    /// Describes every unfinished task, for a report of a program that hangs. Unlike tokio's, it
    /// does not wait for the tasks, and has no traces of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::runtime::{Handle, HandleExt};
    /// # #[arc::main]
    /// # async fn main() {
    /// let task = arc::task::spawn_named("waiter", std::future::pending::<()>());
    /// let dump = Handle::current().dump();
    /// assert!(dump.to_string().contains("\"waiter\", spawned at "));
    /// # task.abort();
    /// # }
    /// ```
    fn dump(&self) -> Dump;

    /// Prints a [`dump`](Self::dump) to standard error whenever the process receives a signal. From
    /// the second one on, the report says since when at least each task has not been polled.
    ///
    /// A thread of its own prints, so that it does so even when all workers hang. The thread, and
    /// the handler of the signal, stay until the process ends: call this once. The system's default
    /// action of the signal is replaced. SIGQUIT, which ctrl-\\ sends, is meant for this.
    ///
    /// # Errors
    ///
    /// Fails when programs cannot listen for the signal, when there is no such signal, and when no
    /// descriptors or threads are left.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::runtime::{Handle, HandleExt};
    /// use arc_util::signal::unix::SignalKind;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// Handle::current().dump_on_signal(SignalKind::quit())?;
    /// // kill -QUIT
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(unix)]
    fn dump_on_signal(&self, kind: SignalKind) -> io::Result<()>;
}

impl HandleExt for Handle {
    fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.clone())
    }

    fn dump(&self) -> Dump {
        Dump::take(self)
    }

    #[cfg(unix)]
    fn dump_on_signal(&self, kind: SignalKind) -> io::Result<()> {
        super::dump::on_signal::start(self.clone(), kind)
    }
}
