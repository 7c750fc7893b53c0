//! The kernel's side of the reactor: registering descriptors and waiting for events.
//!
//! On Linux this is epoll, edge-triggered (`epoll.rs`). Everywhere else it is the crate
//! polling, with sources that report one event and then have to be asked again
//! (`portable.rs`). The private cfgs `arc_oneshot` and `arc_portable` switch Linux to the
//! latter, so that the tests can be run with polling's epoll and with its `poll`.

#[cfg(all(target_os = "linux", not(any(arc_oneshot, arc_portable, arc_model))))]
mod epoll;
#[cfg(all(target_os = "linux", not(any(arc_oneshot, arc_portable, arc_model))))]
pub(crate) use epoll::Kernel;

#[cfg(not(any(all(target_os = "linux", not(any(arc_oneshot, arc_portable))), arc_model)))]
mod portable;
#[cfg(not(any(all(target_os = "linux", not(any(arc_oneshot, arc_portable))), arc_model)))]
pub(crate) use portable::Kernel;

#[cfg(arc_model)]
pub(crate) use crate::model_kernel::Kernel;

mod event;
pub(crate) use event::{Events, Until};
