//! Runtimes that are watched: how to build one, run futures on it, look at it, and end it.
//!
//! [`Builder`], [`Runtime`] and [`Handle`] are around those of arc's core, [`arc::runtime`], and
//! have what the core leaves out: the list of tasks, reports of polls that last for too long,
//! counts of each worker, what a shutdown has ended, and tokio's names. Each converts into the
//! core's and back, by `From`.
//!
//! With the feature `tokio-rt`, all that runs here is in the context of a runtime of tokio's.

mod builder;
mod dump;
mod handle;
mod local;
mod metrics;
mod panics;
#[allow(clippy::module_inception, reason = "it is what the module is about")]
mod runtime;
mod watch;

pub use arc::runtime::{Id, RuntimeFlavor, may_block};
pub use builder::Builder;
pub use dump::Dump;
pub use handle::{EnterGuard, Handle, TryCurrentError, WorkerCounts};
pub use local::{LocalOptions, LocalRuntime};
pub use metrics::RuntimeMetrics;
pub use panics::UnhandledPanic;
pub use runtime::{Runtime, Unfinished};

use std::io;

/// The text of the error that the operations of a socket fail with after the end of its runtime.
const GONE: &str = "the arc runtime this socket was registered with has ended";

/// Returns whether an operation of a socket failed because its runtime has ended.
///
/// # Examples
///
/// ```
/// use arc_util::net::UdpSocket;
/// use arc_util::runtime::{Runtime, is_rt_shutdown_err};
/// let runtime = Runtime::new()?;
/// let socket = runtime.block_on(UdpSocket::bind("127.0.0.1:0"))?;
/// drop(runtime);
/// assert!(is_rt_shutdown_err(&socket.try_recv(&mut [0]).unwrap_err()));
/// # std::io::Result::Ok(())
/// ```
pub fn is_rt_shutdown_err(error: &io::Error) -> bool {
    // Unix sockets put what was tried, and the path, before the text.
    error.kind() == io::ErrorKind::Other && error.to_string().ends_with(GONE)
}

/// Returns the number of the worker that polls this task, from 0, or `None` outside of tasks.
///
/// In the future of a `block_on` it is `None`, where tokio's is 0 on a current-thread runtime.
///
/// # Examples
///
/// ```
/// use arc_util::runtime::worker_index;
/// # #[arc::main(workers = 2)]
/// # async fn main() {
/// let worker = arc::spawn(async { worker_index() }).await.unwrap();
/// assert!(worker.is_some_and(|index| index < 2));
/// assert_eq!(worker_index(), None);
/// # }
/// ```
pub fn worker_index() -> Option<usize> {
    let task = arc::task::try_id()?;
    let runtime = arc::runtime::Handle::try_current()?;
    (0..runtime.workers()).find(|&worker| runtime.polled(worker).0 == Some(task))
}
