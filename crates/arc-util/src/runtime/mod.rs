//! [`arc::runtime`], re-exported, and extension traits with the names that only tokio has.

mod dump;
mod handle;
mod local;
mod metrics;

pub use arc::runtime::*;
pub use dump::Dump;
pub use handle::HandleExt;
pub use local::{LocalOptions, LocalRuntime};
pub use metrics::RuntimeMetrics;

use arc::task::TaskState;
use std::io;
use std::time::Duration;

/// Adds tokio's names for the settings of a [`Builder`].
///
/// # Examples
///
/// ```
/// use arc_util::runtime::{Builder, BuilderExt};
/// let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # std::io::Result::Ok(())
/// ```
pub trait BuilderExt: Sized {
    /// Sets the number of workers, like [`Builder::workers`].
    ///
    /// # Panics
    ///
    /// Panics when `workers` is 0 or more than 64.
    #[track_caller]
    fn worker_threads(&mut self, workers: usize) -> &mut Self;

    /// Does nothing: IO and timers are always enabled.
    fn enable_all(&mut self) -> &mut Self {
        self
    }

    /// Does nothing: IO is always enabled.
    fn enable_io(&mut self) -> &mut Self {
        self
    }

    /// Does nothing: timers are always enabled.
    fn enable_time(&mut self) -> &mut Self {
        self
    }

    /// Builds a runtime for tasks that need not be `Send`.
    ///
    /// Call it on a builder of [`Builder::new_current_thread`]. tokio panics for other builders.
    /// Here the tasks that are `Send` then run on the workers.
    ///
    /// # Errors
    ///
    /// Fails when the system has no descriptors or threads left.
    fn build_local(&mut self, options: LocalOptions) -> io::Result<LocalRuntime>;
}

impl BuilderExt for Builder {
    #[track_caller]
    fn worker_threads(&mut self, workers: usize) -> &mut Self {
        self.workers(workers)
    }

    fn build_local(&mut self, _options: LocalOptions) -> io::Result<LocalRuntime> {
        LocalRuntime::build(self)
    }
}

/// Adds tokio's names for the methods of a [`Runtime`].
pub trait RuntimeExt {
    /// Shuts the runtime down, like [`Runtime::shutdown`], and drops the list of unfinished
    /// tasks.
    ///
    /// # Panics
    ///
    /// Panics inside a task or `block_on`.
    fn shutdown_timeout(self, limit: Duration);
}

impl RuntimeExt for Runtime {
    fn shutdown_timeout(self, limit: Duration) {
        self.shutdown(limit);
    }
}

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
/// It is found in the list of the runtime's tasks: the call takes time in proportion to their
/// number. In the future of a `block_on` it is `None`, where tokio's is 0 on a current-thread
/// runtime.
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
    let id = arc::task::try_id()?;
    let tasks = Handle::try_current().ok()?.tasks();
    let task = tasks.iter().find(|task| task.id == id)?;
    match task.state {
        TaskState::Running { worker, .. } => Some(worker),
        _ => None,
    }
}
