//! The kernel's side of the reactor: registering descriptors and waiting for events.
//!
//! On Linux this is epoll, *edge-triggered*: the kernel reports a change once, and does not report
//! again that the socket is still ready (`epoll.rs`). Everywhere else it is the crate polling, with
//! *oneshot* sources: they report one event, and then have to be asked again (`portable.rs`). There
//! only one thread can wait at a time.
//!
//! For tests, private cfgs switch Linux to the latter: `arc_oneshot`, and `arc_portable` together
//! with a cfg of polling's that makes it use `poll`. The models (`arc_model`) have a kernel of
//! their own.

#[cfg(all(target_os = "linux", not(any(arc_oneshot, arc_portable, arc_model))))]
mod epoll;
#[cfg(all(target_os = "linux", not(any(arc_oneshot, arc_portable, arc_model))))]
pub(crate) use epoll::Kernel;

#[cfg(not(any(all(target_os = "linux", not(any(arc_oneshot, arc_portable))), arc_model)))]
mod portable;
#[cfg(not(any(all(target_os = "linux", not(any(arc_oneshot, arc_portable))), arc_model)))]
pub(crate) use portable::Kernel;

#[cfg(arc_model)]
pub(crate) use crate::model_kernel::{Kernel, is_shared};

/// Whether several threads can wait at once, for the same alarm.
#[cfg(not(arc_model))]
pub(crate) const fn is_shared() -> bool {
    cfg!(all(target_os = "linux", not(any(arc_oneshot, arc_portable))))
}

pub(crate) mod event;
