//! The wait for the kernel: the crate polling's.
//!
//! Stages 07 to 09 take it from here, so that the checking command can swap it: with the feature
//! `shuttle` the sockets are asked without waiting, again and again (`shuttled.rs`).

pub use polling::{Event, Events};

#[cfg(feature = "shuttle")]
pub use crate::shuttled::Poller;

/// polling's own, which can be made by default.
#[cfg(not(feature = "shuttle"))]
pub struct Poller(polling::Poller);

#[cfg(not(feature = "shuttle"))]
impl Default for Poller {
    /// # Panics
    ///
    /// If the system has no more of what it waits with.
    fn default() -> Self {
        Poller(polling::Poller::new().expect("the system has one more poller"))
    }
}

#[cfg(not(feature = "shuttle"))]
impl std::ops::Deref for Poller {
    type Target = polling::Poller;

    fn deref(&self) -> &polling::Poller {
        &self.0
    }
}
