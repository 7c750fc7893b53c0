//! The parts of tokio and tokio-util that arc's core leaves out: groups of tasks, `select!`,
//! cancellation, locks and channels, time limits, more sockets, signals. And what looks at a
//! runtime: the list of its tasks, reports of long polls, counts of each worker.
//!
//! The crate uses only arc's public API. Where tokio or tokio-util has an item of the same
//! name, its arguments and its meaning are the same here, but for the differences that the README
//! lists.
//!
//! | module | contents |
//! |---|---|
//! | [`task`] | [`JoinSet`](task::JoinSet), `TaskTracker`, `LocalSet`, `scope`, [`task_local!`] |
//! | the root | [`select!`], [`join!`], [`try_join!`], [`race!`], [`pin!`] |
//! | [`sync`] | `CancellationToken`; tokio's locks and channels, within arc's budget |
//! | [`net`] | TCP, UDP, Unix sockets, names of hosts, Happy Eyeballs |
//! | [`fs`] | files and directories |
//! | [`io`] | in-memory pipes, copying in both directions, standard input and output |
//! | [`process`] | other programs: started, waited for, read and written |
//! | [`runtime`] | runtimes that are watched, with tokio's names for their settings |
//! | [`time`] | time limits, intervals, and the timers of arc's core |
//! | `signal` | ctrl-c and Unix signals |
//!
//! The README maps tokio's names to the names here.

// It is there once: see `sync/guard.rs`.
#![deny(unsafe_code)]

mod blocking_io;
mod forward;
pub mod fs;
pub mod io;
#[cfg(unix)]
mod kernel;
mod macros;
pub mod net;
pub mod process;
pub mod runtime;
#[cfg(unix)]
pub mod signal;
pub mod sync;
pub mod task;
pub mod time;
mod timeout;
/// For arc-compat, which has the functions that users call.
#[cfg(feature = "tokio-rt")]
#[doc(hidden)]
pub mod tokio_rt;
#[cfg(not(feature = "tokio-rt"))]
#[path = "no_tokio_rt.rs"]
mod tokio_rt;
mod wake;
mod would_block;

#[doc(hidden)]
pub use macros::private as __private;
