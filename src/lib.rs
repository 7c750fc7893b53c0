//! arc: a multi-threaded async/await runtime that one person can read in an afternoon and run in
//! production.
//!
//! This package, `arc-runtime`, is the core alone: tasks, TCP, sleeps. Most programs depend on
//! `arc-async`, which has the core and [all else](#what-is-not-here) at tokio's paths, under the
//! same name `arc`:
//!
//! ```toml
//! [dependencies]
//! arc = { package = "arc-async", git = "https://github.com/OWNER/arc" }
//! ```
//!
//! If the URL still says OWNER, use the one that you cloned from. Do not type `cargo add arc`:
//! the package of that name is an unrelated library.
//!
//! # A server
//!
//! ```
//! use arc::io::{AsyncReadExt, AsyncWriteExt};
//! use arc::net::{TcpListener, TcpStream};
//!
//! #[arc::main]
//! async fn main() -> std::io::Result<()> {
//!     let listener = TcpListener::bind(([127, 0, 0, 1], 0)).await?;
//!     let address = listener.get_ref().local_addr()?;
//!     let server = arc::spawn(async move {
//!         let (mut stream, _) = listener.accept().await?;
//!         stream.write_all(b"hello").await
//!     });
//!     let mut text = String::new();
//!     TcpStream::connect(address).await?.read_to_string(&mut text).await?;
//!     assert_eq!(text, "hello");
//!     server.await?
//! }
//! ```
//!
//! # What is where
//!
//! Names, arguments and meaning are tokio's where tokio has the same. The IO traits are those of
//! futures-io, so that crates which depend on no runtime work as they are. (`arc-async` has tokio's
//! traits as well.)
//!
//! | | |
//! |---|---|
//! | [`main`], [`test`](macro@test) | run an async `main`, or an async test |
//! | [`spawn`], [`task`] | tasks and their handles, functions that block, yielding |
//! | [`io`] | the traits, their methods, and [`io::Async`] for any other descriptor |
//! | [`net`] | TCP |
//! | [`time`] | sleeps, and the clock |
//! | [`runtime`] | building a runtime, entering it, ending it |
//!
//! # What is not here
//!
//! This package has what cannot be done outside of it. All else stands on its public API, in
//! packages of their own. `arc-async` has all of them.
//!
//! | you look for | it is in |
//! |---|---|
//! | `select!`, locks, channels, `JoinSet`, time limits, intervals | `arc-util` |
//! | look-up of host names, UDP, Unix sockets, files, processes, signals | `arc-util` |
//! | the list of tasks, reports of long polls, what a shutdown ended | `arc-util` |
//! | hyper, axum, tower, crates that require tokio | `arc-compat` |
//! | the timeline: which worker polled which task when, and why one was late | `arc-trace` |
//! | tests by many seeds, on a clock that jumps | `arc-sim` |
//!
//! # How it works
//!
//! `src/README.md` lists the files in reading order. [The tour] follows a request, a sleep and a
//! whole program through them, in two to three hours.
//!
//! [The tour]: https://github.com/OWNER/arc/blob/HEAD/docs/TOUR.md

pub mod io;
pub mod net;
#[cfg(feature = "observe")]
pub mod observe;
pub mod runtime;
pub mod task;
pub mod time;

mod builder;
mod driver;
mod hooks;
mod panic;
mod registry;
mod scheduler;
mod sync;

#[cfg(test)]
#[path = "../tests/unit/mod.rs"]
mod tests;

pub use arc_macros::{main, test};
pub use task::spawn::spawn;
