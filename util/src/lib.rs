//! What a tokio user reaches for, built on arc's public API alone: tasks in groups,
//! `select!`, cancellation, locks and channels, more sockets, signals.
//!
//! Names, arguments and meaning are tokio's and tokio-util's wherever they have the
//! thing.
//!
//! | module | what is in it |
//! |---|---|
//! | [`task`] | [`JoinSet`](task::JoinSet), `TaskTracker`, `LocalSet`, `scope`, [`task_local!`] |
//! | the root | [`select!`], [`join!`], [`try_join!`], [`race!`] |
//! | [`sync`] | `CancellationToken`, `Semaphore`, `watch`, `mpsc`; locks, channels of others |
//! | [`net`] | UDP, Unix sockets, `TcpSocket`, owned halves, Happy Eyeballs, more of TCP |
//! | [`io`] | pipes in memory, copying both ways, standard input and output |
//! | [`runtime`] | tokio's names for what a runtime can be told |
//! | [`time`] | intervals, and arc's own timers |
//! | `signal` | ctrl-c and the signals of Unix |
//!
//! The README has a table of tokio's names.

#![forbid(unsafe_code)]

pub mod io;
mod macros;
pub mod net;
pub mod runtime;
#[cfg(unix)]
pub mod signal;
pub mod sync;
pub mod task;
pub mod time;
mod wake;

#[doc(hidden)]
pub use macros::private as __private;
