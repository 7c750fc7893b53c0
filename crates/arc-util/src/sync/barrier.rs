//! tokio's `Barrier`. With the feature `trace` it tells who waits there.

use super::told::{Told, What};
use std::future::Future;
use std::panic::Location;
use tokio::sync as tokio;

/// Where tasks wait for each other: tokio's `Barrier`. With the feature `trace` it also tells the
/// timeline and the dump of itself.
#[derive(Debug)]
pub struct Barrier {
    told: Told,
    tasks: usize,
    barrier: tokio::Barrier,
}

impl Barrier {
    /// Creates one for so many tasks.
    #[track_caller]
    pub fn new(tasks: usize) -> Self {
        let told = Told::with_size(What::Barrier, tasks);
        Self { told, tasks, barrier: tokio::Barrier::new(tasks) }
    }

    /// Waits until as many tasks wait as the barrier is for.
    ///
    /// # Cancellation
    ///
    /// Not cancel safe: the task counts as one that has come.
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = tokio::BarrierWaitResult> + Send + '_ {
        let line = Some(Location::caller());
        async move {
            self.told.comes_to(self.tasks);
            self.told.telling(line, self.barrier.wait()).await
        }
    }
}
