//! Counts of what one thread does.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count that one thread writes, and that all may read. Nothing depends on when they see it, so
/// the models leave it out: the atomic is std's.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Only the one thread may call it: so no step is lost between the load and the store, and no
    /// core waits for another one.
    #[inline]
    pub fn add(&self, more: usize) {
        self.0.store(self.0.load(Ordering::Relaxed) + more as u64, Ordering::Relaxed);
    }

    /// What it has come to.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
