//! [`arc::runtime`], and the names that tokio has beyond it, as traits to import.

pub use arc::runtime::*;

use std::time::Duration;

/// tokio's names for what a [`Builder`] can be told.
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
    /// As [`Builder::workers`].
    ///
    /// # Panics
    ///
    /// When it is 0 or more than 64.
    #[must_use]
    fn worker_threads(self, workers: usize) -> Self;

    /// Does nothing: IO and timers are always there.
    #[must_use]
    fn enable_all(self) -> Self {
        self
    }

    /// Does nothing: IO is always there.
    #[must_use]
    fn enable_io(self) -> Self {
        self
    }

    /// Does nothing: timers are always there.
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

/// tokio's names for what can be done to a [`Runtime`].
pub trait RuntimeExt {
    /// As [`Runtime::shutdown`], without its report.
    ///
    /// # Panics
    ///
    /// Inside a task or `block_on`.
    fn shutdown_timeout(self, limit: Duration);
}

impl RuntimeExt for Runtime {
    fn shutdown_timeout(self, limit: Duration) {
        self.shutdown(limit);
    }
}
