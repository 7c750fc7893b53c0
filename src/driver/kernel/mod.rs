//! What the driver asks of the kernel, and what the kernel reports.
//!
//! A *source* is a descriptor that is registered with the kernel, most often a socket. On Linux the
//! kernel's queue of events is epoll, *edge-triggered*: it reports a change once, and does not
//! report again that the socket is still ready (`epoll.rs`). Everywhere else it is the crate
//! polling, with *oneshot* sources: they report one event, and then have to be asked again
//! (`portable.rs`).
//!
//! For tests, private cfgs switch Linux to the latter: `arc_oneshot`, and `arc_portable` together
//! with a cfg of polling's that makes it use `poll`. The models (`arc_model`) have a kernel of
//! their own.

use crate::sync::Instant;

#[cfg(all(target_os = "linux", not(any(arc_oneshot, arc_portable, arc_model))))]
#[path = "epoll.rs"]
mod system;
#[cfg(not(any(all(target_os = "linux", not(any(arc_oneshot, arc_portable))), arc_model)))]
#[path = "portable.rs"]
mod system;
#[cfg(arc_model)]
pub(crate) use crate::model_kernel as system;
pub(crate) use system::Kernel;

/// Until when to wait, or `None` for ever.
pub(crate) type Until = Option<Instant>;

/// What has happened to a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event {
    /// The key that the source was registered with.
    pub(crate) key: usize,
    /// Whether it is worth trying to read, and to write, now.
    pub(crate) ready: [bool; 2],
    /// Whether there was a hang-up, an error or urgent data, in the directions that are ready
    /// (`Readiness` in `reactor.rs`).
    pub(crate) hang_up: bool,
}

pub(crate) type Events<'a> = &'a mut dyn Iterator<Item = Event>;
