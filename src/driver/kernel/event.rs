//! What the driver asks of the kernel, and what the kernel reports.
//!
//! A *source* is a descriptor that is registered with the kernel, most often a socket. The
//! *reactor* (`driver/reactor.rs`) maps its events to tasks.

use crate::sync::Instant;

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Until {
    /// Only look at what is there.
    Now,
    Deadline(Instant),
    Forever,
}

pub(crate) type Events<'a> = &'a mut dyn Iterator<Item = Event>;

/// What has happened to a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event {
    /// The key that the source was registered with.
    pub(crate) key: usize,
    /// Whether it is worth trying to read, and to write, now.
    pub(crate) ready: [bool; 2],
    /// There was a hang-up, an error or urgent data, in the directions that are ready. From then on
    /// a read of less than was asked for no longer means that nothing is left (`readiness.rs`).
    pub(crate) hang_up: bool,
}
