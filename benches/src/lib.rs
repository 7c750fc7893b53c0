//! arc beside its peers: every workload is written once, over the trait
//! [`Runtime`], and run on each.
//!
//! | command | gives |
//! |---|---|
//! | `cargo bench -p arc-benches` | criterion's statistics for every workload and runtime |
//! | `cargo run --release -p arc-benches --bin ratios` | medians of ratios over rounds |
//!
//! A workload does a number of operations and says how long they took. It checks
//! what it computed, so that a runtime that loses work does not look fast.

pub mod runtimes;
pub mod sockets;
pub mod stats;
pub mod suite;
pub mod workloads;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A runtime, as its users use it: by its own free functions and types.
pub trait Runtime: Sized + 'static {
    /// Waits for a task's output, and panics if the task did.
    type Join<T: Send + 'static>: Future<Output = T> + Send;
    /// A listening TCP socket.
    type Listener: Send + Sync;
    /// A TCP connection.
    type Stream: Send;

    /// How tables call it.
    const NAME: &'static str;

    /// Starts it with so many workers. A single-threaded one takes no notice.
    fn start(workers: usize) -> Self;

    /// Runs a future on this thread.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Spawns from a thread that is not in the runtime, and detaches.
    fn spawn_outside<F: Future<Output = ()> + Send + 'static>(&self, future: F);

    /// Spawns from within.
    fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
        future: F,
    ) -> Self::Join<F::Output>;

    /// Spawns from within, and detaches.
    fn spawn_detached<F: Future<Output = ()> + Send + 'static>(future: F);

    /// Runs a function on a thread where it may block, and detaches it.
    fn spawn_blocking(job: impl FnOnce() + Send + 'static);

    /// Goes to the end of the queue.
    fn yield_now() -> impl Future<Output = ()> + Send;

    /// Waits for a while.
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send;

    /// Waits for a future, but not for longer. True: it was done in time.
    fn timeout<F: Future<Output = ()> + Send>(
        limit: Duration,
        future: F,
    ) -> impl Future<Output = bool> + Send;

    /// Listens on a free port of the loopback interface.
    fn listen() -> impl Future<Output = io::Result<(Self::Listener, SocketAddr)>> + Send;

    /// Accepts one connection.
    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Connects, without delay of small segments.
    fn connect(address: SocketAddr) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Reads what there is.
    fn read(
        stream: &mut Self::Stream,
        buffer: &mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send;

    /// Writes everything.
    fn write_all(
        stream: &mut Self::Stream,
        bytes: &[u8],
    ) -> impl Future<Output = io::Result<()>> + Send;
}
