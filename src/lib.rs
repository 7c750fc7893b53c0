//! arc: a multi-threaded async/await runtime that one person can read in an
//! afternoon and run in production.
//!
//! ```
//! use arc::io::{AsyncReadExt, AsyncWriteExt};
//! use arc::net::{TcpListener, TcpStream};
//!
//! #[arc::main]
//! async fn main() -> std::io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
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
//! Names and meaning are tokio's wherever tokio has the thing; the IO traits
//! are futures-io's.
//!
//! # The map
//!
//! The modules stand below in the order of a task's life: [`spawn`] makes a
//! future a runnable, the scheduler puts it into a queue, a worker polls it.
//! When it waits, its waker is with the reactor (for the kernel) or with the
//! timers (for the clock), and the driver wakes it.
//!
//! ```text
//! spawn ──► task ──► scheduler ──► queue ──► worker polls ──► your future
//!              ▲          │ nobody awake?                         │ Pending
//!              │          └─► idle ──► unpark a worker            ▼
//!              │ Waker (async-task calls `schedule`)       reactor, timers
//!              └──────────────────────────────────────────────────┘
//!                        by the worker that sits in the driver's seat
//! ```
//!
//! Read `task.rs`, `worker.rs`, `io.rs`, `reactor.rs` and `idle.rs`, in this
//! order. `docs/ARCHITECTURE.md` has the invariants and the reasons.

// What programs use.
pub mod io;
pub mod net;
pub mod runtime;
pub mod task;
pub mod time;

pub use arc_macros::{main, test};
pub use task::spawn;

// Running tasks.
mod builder;
mod context;
mod coop;
mod guest;
mod inspect;
mod registry;
mod scheduler;
mod worker;

// Where they wait to be run, and who runs them.
mod idle;
mod queue;
mod sync;

// What they wait for.
mod driver;
mod kernel;
mod reactor;
mod readiness;
mod timers;
mod wheel;

// Threads for what the workers cannot do.
mod blocking;
mod monitor;
