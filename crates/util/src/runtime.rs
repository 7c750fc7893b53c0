//! [`arc::runtime`], re-exported, and extension traits with the names that only tokio has.

pub use arc::runtime::*;

use std::time::Duration;

/// Adds tokio's names for the settings of a [`Builder`].
///
/// # Examples
///
/// ```
/// use arc_util::runtime::{Builder, BuilderExt};
/// let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # std::io::Result::Ok(())
/// ```
pub trait BuilderExt: Sized {
    /// Sets the number of workers, like [`Builder::workers`].
    ///
    /// # Panics
    ///
    /// Panics when `workers` is 0 or more than 64.
    #[must_use]
    fn worker_threads(self, workers: usize) -> Self;

    /// Does nothing: IO and timers are always enabled.
    #[must_use]
    fn enable_all(self) -> Self {
        self
    }

    /// Does nothing: IO is always enabled.
    #[must_use]
    fn enable_io(self) -> Self {
        self
    }

    /// Does nothing: timers are always enabled.
    #[must_use]
    fn enable_time(self) -> Self {
        self
    }
}

impl BuilderExt for Builder {
    fn worker_threads(self, workers: usize) -> Self {
        self.workers(workers)
    }
}

/// Adds tokio's names for the methods of a [`Runtime`].
pub trait RuntimeExt {
    /// Shuts the runtime down, like [`Runtime::shutdown`], and drops the list of unfinished
    /// tasks.
    ///
    /// # Panics
    ///
    /// Panics inside a task or `block_on`.
    fn shutdown_timeout(self, limit: Duration);
}

impl RuntimeExt for Runtime {
    fn shutdown_timeout(self, limit: Duration) {
        self.shutdown(limit);
    }
}
