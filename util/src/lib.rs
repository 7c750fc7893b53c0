//! What a tokio user reaches for, built on arc's public API alone: tasks in groups,
//! `select!`, cancellation, locks and channels, more sockets, signals.
//!
//! Names, arguments and meaning are tokio's and tokio-util's wherever they have the
//! thing.

pub mod io;
mod macros;
pub mod net;
#[cfg(unix)]
pub mod signal;
pub mod sync;
pub mod task;

#[doc(hidden)]
pub use macros::private as __private;
