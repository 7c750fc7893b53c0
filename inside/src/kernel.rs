//! The wait for the kernel: the crate polling's.
//!
//! Stages 07 to 09 take it from here, so that the checking command can swap it: with the feature
//! `shuttle` the sockets are asked without waiting, again and again (`shuttled.rs`).

pub use polling::{Event, Events};

#[cfg(not(feature = "shuttle"))]
pub use polling::Poller;

#[cfg(feature = "shuttle")]
pub use crate::shuttled::Poller;
