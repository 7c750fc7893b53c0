//! arc: a multi-threaded async/await runtime that one person can read in an afternoon and run in
//! production.
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
//! Names and meaning are tokio's wherever tokio has the thing. The IO traits are futures-io's.
//!
//! # How it works, in one picture
//!
//! ```text
//!   spawn ──► task ──► queue ──► a worker polls it ──► your future
//!               ▲        ▲                                │ Pending: it waits for something,
//!               │        │ steal half                     │ and has left its waker there
//!               │        └── another worker               ▼
//!               │                               reactor (sockets), timers (the clock)
//!               │ Waker                                   │
//!               └─────────────────────────────────────────┘
//!                 a worker that has nothing to do takes the seat: it waits for the
//!                 kernel, wakes the tasks whose events came, and runs them itself
//! ```
//!
//! # The files, from the bottom up
//!
//! Begin with the words in `docs/TOUR.md`: worker, runnable, injector, seat, readiness, claim. Then
//! you can follow each file with what the rows above it have told you. The rest of the tour
//! follows a request, a sleep and a whole program through the files, and `docs/ARCHITECTURE.md` has
//! the invariants, the reasons, and what was turned down.
//!
//! | file | what you know after it |
//! |---|---|
//! | [`sync.rs`] | where locks, atomics and threads come from, so that models can replace them |
//! | [`panic.rs`] | how a panic of the user's code is kept away from arc's own |
//! | [`hooks.rs`] | which calls to pass over: those that tell the timeline and the simulation |
//! | **waiting for the kernel and the clock** | |
//! | [`driver/kernel/mod.rs`] | what is asked of the kernel, and what it reports |
//! | [`driver/kernel/epoll.rs`] | how one system call waits for sockets, timers and notifications |
//! | `driver/kernel/portable.rs` | the same by the crate polling, for all systems but Linux |
//! | [`driver/reactor.rs`] | how an event finds those who wait for it, also at the wrong time |
//! | [`driver/wheel.rs`] | how a million deadlines are kept, as a pure data structure |
//! | [`driver/timers.rs`] | how no deadline slips past a thread that is about to sleep |
//! | [`driver/mod.rs`] | how sockets are registered, and how one thread waits for it all |
//! | **what is known of a task, and of a runtime** | |
//! | [`registry.rs`] | what can be told of a task, and how every unfinished one is found |
//! | [`builder.rs`] | what a runtime can be configured with, and where reports go |
//! | **running tasks** | |
//! | [`scheduler/mod.rs`] | what belongs to this room |
//! | [`scheduler/queue.rs`] | where tasks wait for their turn |
//! | [`scheduler/sleep.rs`] | how workers sleep, and why no wake-up is lost |
//! | [`scheduler/policy.rs`] | when a busy worker wakes another one: three rules |
//! | [`scheduler/lease.rs`] | who is in `block_on`, and who runs a current-thread runtime |
//! | [`scheduler/pool.rs`] | which thread runs a function that blocks |
//! | [`scheduler/shared.rs`] | what the threads of a runtime share, and how one wakes another |
//! | [`scheduler/budget.rs`] | why a task that never waits does not starve the others |
//! | [`scheduler/worker.rs`] | the loop: find a task, poll it, sleep |
//! | [`scheduler/context.rs`] | how a thread knows its runtime and its worker |
//! | [`scheduler/threads.rs`] | how threads start and sign off |
//! | [`scheduler/monitor.rs`] | who helps when a poll takes too long |
//! | **tasks** | |
//! | [`task/join.rs`] | how a task is awaited and aborted, and why it gave no output |
//! | [`task/spawn.rs`] | how a future becomes a task, or a function that blocks |
//! | [`scheduler/end.rs`] | how a runtime ends, step by step, and what becomes of each task |
//! | [`task/mod.rs`] | what programs see of this room |
//! | **sockets and time** | |
//! | [`io.rs`] | how a read becomes a poll |
//! | [`time.rs`] | how a sleep is armed, and what a timeout is |
//! | [`net/mod.rs`] | TCP, and how names are looked up without blocking a worker |
//! | **the runtime** | |
//! | [`runtime/block_on.rs`] | how a thread waits for a future |
//! | [`runtime/handle.rs`] | how a runtime is built, and what programs do with it |
//! | [`runtime/mod.rs`] | what programs see of this room |
//!
//! `driver/kernel/portable.rs` is not built on Linux, so it has no page to link to: open the file.
//! The whole proof that no wake-up is lost is in `scheduler/sleep.md`, beside `sleep.rs`.
//!
//! [`sync.rs`]: ../src/arc/sync.rs.html
//! [`panic.rs`]: ../src/arc/panic.rs.html
//! [`hooks.rs`]: ../src/arc/hooks.rs.html
//! [`driver/kernel/mod.rs`]: ../src/arc/driver/kernel/mod.rs.html
//! [`driver/kernel/epoll.rs`]: ../src/arc/driver/kernel/epoll.rs.html
//! [`driver/reactor.rs`]: ../src/arc/driver/reactor.rs.html
//! [`driver/wheel.rs`]: ../src/arc/driver/wheel.rs.html
//! [`driver/timers.rs`]: ../src/arc/driver/timers.rs.html
//! [`driver/mod.rs`]: ../src/arc/driver/mod.rs.html
//! [`registry.rs`]: ../src/arc/registry.rs.html
//! [`builder.rs`]: ../src/arc/builder.rs.html
//! [`scheduler/mod.rs`]: ../src/arc/scheduler/mod.rs.html
//! [`scheduler/queue.rs`]: ../src/arc/scheduler/queue.rs.html
//! [`scheduler/sleep.rs`]: ../src/arc/scheduler/sleep.rs.html
//! [`scheduler/policy.rs`]: ../src/arc/scheduler/policy.rs.html
//! [`scheduler/lease.rs`]: ../src/arc/scheduler/lease.rs.html
//! [`scheduler/pool.rs`]: ../src/arc/scheduler/pool.rs.html
//! [`scheduler/shared.rs`]: ../src/arc/scheduler/shared.rs.html
//! [`scheduler/budget.rs`]: ../src/arc/scheduler/budget.rs.html
//! [`scheduler/worker.rs`]: ../src/arc/scheduler/worker.rs.html
//! [`scheduler/context.rs`]: ../src/arc/scheduler/context.rs.html
//! [`scheduler/threads.rs`]: ../src/arc/scheduler/threads.rs.html
//! [`scheduler/monitor.rs`]: ../src/arc/scheduler/monitor.rs.html
//! [`task/join.rs`]: ../src/arc/task/join.rs.html
//! [`task/spawn.rs`]: ../src/arc/task/spawn.rs.html
//! [`scheduler/end.rs`]: ../src/arc/scheduler/end.rs.html
//! [`task/mod.rs`]: ../src/arc/task/mod.rs.html
//! [`io.rs`]: ../src/arc/io.rs.html
//! [`time.rs`]: ../src/arc/time.rs.html
//! [`net/mod.rs`]: ../src/arc/net/mod.rs.html
//! [`runtime/block_on.rs`]: ../src/arc/runtime/block_on.rs.html
//! [`runtime/handle.rs`]: ../src/arc/runtime/handle.rs.html
//! [`runtime/mod.rs`]: ../src/arc/runtime/mod.rs.html

pub mod io;
pub mod net;
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
