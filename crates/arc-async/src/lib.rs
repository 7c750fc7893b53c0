//! An async/await runtime with tokio's API, which tells you which task keeps the others waiting.
//!
//! * Tasks: [`spawn`], [groups](task::JoinSet), [`select!`], [locks and channels](sync), [sleeps,
//!   intervals and time limits](time).
//! * Input and output: [TCP, UDP and Unix sockets](net), [files](fs), [standard input and
//!   output](io), signals, and child processes by the feature `process`.
//! * [Runtimes](runtime): several threads or the current one, [their settings](runtime::Builder),
//!   [the list of all tasks](runtime::Handle::tasks), and a report while a task blocks its worker.
//! * hyper, axum, tower, tonic and crates that require tokio run on it, by [features](#features).
//!
//! ```toml
//! [dependencies]
//! arc = { package = "arc-async", git = "https://github.com/OWNER/arc" }
//! ```
//!
//! As long as the URL says OWNER, write the one that you cloned from. Do not type `cargo add arc`:
//! the package of that name is an unrelated library.
//!
//! Names, arguments and meaning are tokio's, with some exceptions. The IO traits are tokio's own
//! items: the crate `tokio` is compiled only for them and for its `sync`. Its runtime is compiled
//! only with the feature `tokio-rt`. If you come from tokio, read [Coming from tokio], which says
//! what to replace and what differs.
//!
//! [Coming from tokio]: https://github.com/OWNER/arc/blob/HEAD/docs/TOKIO.md
//!
//! [`#[arc::main]`](macro@main) runs a program on as many threads as the machine has cores, and
//! `#[arc::main(flavor = "current_thread")]` on one.
//!
//! # A server
//!
//! ```
//! # extern crate arc_async as arc;
//! use arc::io::{AsyncReadExt, AsyncWriteExt};
//! use arc::net::{TcpListener, TcpStream};
//!
//! #[arc::main]
//! async fn main() -> arc::io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     arc::spawn(async move {
//!         while let Ok((mut stream, _)) = listener.accept().await {
//!             arc::spawn(async move { stream.write_all(b"hello").await });
//!         }
//!     });
//!
//!     let mut text = String::new();
//!     TcpStream::connect(address).await?.read_to_string(&mut text).await?;
//!     assert_eq!(text, "hello");
//!     Ok(())
//! }
//! ```
//!
//! # What the program is doing
//!
//! While a task blocks its worker, so that others wait, a line on standard error says so: in debug
//! builds by default, and in release builds if the environment variable `ARC_LONG_POLLS` is
//! `report`.
//!
//! ```text
//! arc: task 12 has been blocking worker 1 for 100 ms (spawned at src/main.rs:44:9, polled 3 times)
//! ```
//!
//! And a program can list its tasks at any time:
//!
//! ```
//! # extern crate arc_async as arc;
//! # #[arc::main]
//! # async fn main() {
//! # let waiter =
//! arc::task::spawn_named("waiter", std::future::pending::<()>());
//! # arc::task::yield_now().await;
//! for task in arc::runtime::Handle::current().tasks() {
//!     // task 3 "waiter", spawned at src/main.rs:4:12, polled once: idle
//!     println!("{task}");
//! }
//! # waiter.abort();
//! # }
//! ```
//!
//! # Many tasks, with a time limit
//!
//! ```
//! # extern crate arc_async as arc;
//! use arc::task::JoinSet;
//! use arc::time::{Duration, timeout};
//!
//! # #[arc::main]
//! # async fn main() -> Result<(), arc::time::error::Elapsed> {
//! let mut tasks = JoinSet::new();
//! for number in 1..=3 {
//!     tasks.spawn(async move { number * number });
//! }
//! let squares = timeout(Duration::from_secs(10), tasks.join_all()).await?;
//! assert_eq!(squares.iter().sum::<i32>(), 14);
//! # Ok(())
//! # }
//! ```
//!
//! # Whichever comes first
//!
//! ```
//! # extern crate arc_async as arc;
//! use arc::sync::mpsc;
//! use arc::time::{Duration, interval};
//!
//! # #[arc::main]
//! # async fn main() {
//! let (sender, mut receiver) = mpsc::channel(8);
//! arc::spawn(async move { sender.send("job").await });
//! let mut ticks = interval(Duration::from_millis(1));
//! let mut jobs = Vec::new();
//! loop {
//!     arc::select! {
//!         job = receiver.recv() => match job {
//!             Some(job) => jobs.push(job),
//!             None => break,
//!         },
//!         _ = ticks.tick() => {}
//!     }
//! }
//! assert_eq!(jobs, ["job"]);
//! # }
//! ```
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `process` | `arc::process` |
//! | `full` | `process`: with it, all is there that arc has of tokio's `full`, but for `ucred` |
//! | `ucred` | `UnixStream::peer_cred` and its `UCred`; uses the crate nix |
//! | `mpmc` | a channel with several receivers in [`sync`], by the crate async-channel |
//! | `axum`, `hyper`, `server`, `tower`, `tokio-io` | `compat`, and its part that the name says |
//! | `compat` | what these five have in common; a panic of tokio's says what helps on arc |
//! | `test-util` | `start_paused`; `pause`, `advance` and `resume` in [`time`]; for tests only |
//! | `trace` | `arc::trace`, which records which worker polled which task when |
//! | `waits` | `trace`, and the dump says what each task waits for, and names deadlocks |
//! | `tracing` | `arc::compat::tracing`: a span for each task that is spawned by its functions |
//! | `tokio-rt` | a tokio runtime, entered on all threads: for crates that call `tokio::spawn` |
//! | `console` | `waits`, and `arc::compat::console`: tokio-console is told of tasks and locks |
//!
//! With `test-util`, which is also called `sim`, [`time::Instant`] is a type of its own, as tokio's
//! always is, and not std's. Turn it on for tests only, among the `dev-dependencies`.
//!
//! The names of tokio's other features (`rt`, `fs`, `sync`, `parking_lot` ...) are accepted, so
//! that a list of them stays valid. They add nothing: most of these parts are always there.
//!
//! # What this crate is made of
//!
//! This crate re-exports other crates. Its only code is `trace::FlightRecorder`. The runtime itself
//! is the package `arc-runtime`. Depend on that one if you want the small core alone.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(feature = "trace")]
mod flight;

pub use arc_core::{main, spawn, test};
pub use arc_util::{join, pin, race, select, task_local, try_join};

#[cfg(feature = "compat")]
#[doc(inline)]
pub use arc_compat as compat;
#[doc(inline)]
pub use arc_util::fs;

#[cfg(feature = "process")]
#[doc(inline)]
pub use arc_util::process;

/// Reading and writing: buffers, copying, in-memory pipes, standard input and output.
///
/// [`AsyncRead`](io::AsyncRead), [`AsyncWrite`](io::AsyncWrite),
/// [`AsyncBufRead`](io::AsyncBufRead) and [`AsyncSeek`](io::AsyncSeek), their extension traits and
/// the adapters are tokio's own. Every stream of arc's has the traits of futures-io as well: they
/// are in [`io::futures`]. Do not import the extension traits of both: calls of what both have are
/// ambiguous then.
///
/// Of the operations of the traits, `read`, `read_buf`, `write`, `fill_buf`, `flush` and
/// `next_line` lose nothing if their futures are dropped, as by a `timeout`. What `read_until` and
/// `read_to_end` have read until then is in the vector. `read_exact`, `read_to_string` and
/// `read_line` may lose what they have read until then. After a `write_all` or a `copy` nobody
/// knows how much was written.
pub mod io {
    pub use arc_util::io::*;
    pub use std::io::{Error, ErrorKind, Result};
}

#[doc(inline)]
pub use arc_util::net;

/// All extension traits of this crate, by one line: `use arc::prelude::*;`.
///
/// A method that tokio's type has itself may be a method of one of these traits here. The traits'
/// names are not imported, so they cannot clash.
pub mod prelude {
    #[cfg(feature = "tokio-rt")]
    pub use arc_compat::tokio::BuilderExt as _;
    pub use arc_util::io::{
        AsyncBufReadExt as _, AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _,
        ReadyExt as _,
    };
    pub use arc_util::time::InstantExt as _;
}

/// Be told of the events of all runtimes: for tools that look at a program.
pub mod observe {
    pub use arc_core::observe::*;
}

/// Runtimes: how to build one, run futures on it, and end it.
pub mod runtime {
    pub use arc_util::runtime::*;
}

#[cfg(unix)]
#[doc(inline)]
pub use arc_util::signal;

/// Locks, channels and events for tasks.
///
/// [`mpsc`](sync::mpsc), [`oneshot`](sync::oneshot), [`watch`](sync::watch),
/// [`broadcast`](sync::broadcast), [`Semaphore`](sync::Semaphore), [`Mutex`](sync::Mutex),
/// [`RwLock`](sync::RwLock), `Barrier` and [`Notify`](sync::Notify) wrap tokio's. All of
/// these but `Barrier` and `Notify` take part in the budget that keeps a busy task from starving
/// the others. `OnceCell` and `SetOnce` are tokio's own. None of them needs a runtime of tokio's,
/// or starts a thread. `mpmc`, a channel with several receivers, which tokio does not have, is the
/// crate async-channel, with the feature `mpmc`.
pub mod sync {
    pub use arc_util::sync::*;

    /// Futures that have names.
    pub mod futures {
        pub use arc_util::sync::{Notified, OwnedNotified};
    }
}

/// Tasks: spawning, groups of tasks, tasks that are not `Send`, values that belong to a task.
pub mod task {
    pub use arc_core::task::*;
    pub use arc_util::task::*;

    // The core's `try_id` does not know the tasks of a `LocalSet`. This one knows both kinds.
    pub use arc_util::task::try_id;

    /// The budget that keeps a busy task from starving the others.
    pub mod coop {
        pub use arc_core::task::{consume_budget, has_budget_remaining};
        pub use arc_util::task::{Coop, Unconstrained, cooperative, unconstrained};
    }

    /// Futures that have names.
    pub mod futures {
        pub use arc_util::task::TaskLocalFuture;
    }
}

/// The timeline of a program: what its runtime did when, and why a task was late.
#[cfg(feature = "trace")]
pub mod trace {
    pub use crate::flight::FlightRecorder;
    pub use arc_trace::*;
}

/// Sleeps, time limits and intervals.
pub mod time {
    #[cfg(feature = "test-util")]
    pub use arc_sim::{PausedBuilder, PausedRuntime, advance, pause, resume, run_paused};
    pub use arc_util::time::*;

    /// Errors of this module.
    pub mod error {
        pub use arc_util::time::Elapsed;
    }
}

/// What the attributes' option `start_paused` builds. Without the feature, the compiler says that
/// it finds no module of this name.
#[cfg(feature = "test-util")]
#[doc(hidden)]
pub mod needs_test_util_of_arc_async {
    pub use arc_sim::PausedBuilder;
}
