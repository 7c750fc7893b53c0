//! arc beside its peers: each workload, and each server, is written once, over the trait
//! [`Runtime`], and runs on all of them.
//!
//! | file | purpose |
//! |---|---|
//! | `runtimes.rs` | the runtimes |
//! | `suite.rs`, `workloads.rs`, `sockets.rs` | single operations, such as to spawn a task |
//! | `serve.rs`, `work.rs` | the servers, and what a request costs them beyond its answer |
//! | `figures.rs` | medians, and what one program tells another |
//! | `bin/serve-*.rs` | a server on one runtime each |
//! | `bin/operate.rs` | does one workload on one runtime |
//! | `bin/load/` | a load generator: an open loop, and echoes |
//! | `bin/measure/` | `cargo xtask versus`, which starts the servers in turns |
//! | `bin/simulate/` | the policy of waking workers in virtual time |
//! | `../operations.rs` | `cargo bench`: all workloads by criterion |
//!
//! A workload does a number of operations and says how long they took. It checks what it computed,
//! so that a runtime that loses work does not look fast. All servers run the same handler and send
//! the same bytes, and every socket has TCP_NODELAY.

pub mod figures;
pub mod runtimes;
pub mod serve;
pub mod sockets;
pub mod suite;
pub mod work;
pub mod workloads;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// What hyper asks of a connection.
pub trait HyperIo: hyper::rt::Read + hyper::rt::Write + Send + Unpin {}

impl<T: hyper::rt::Read + hyper::rt::Write + Send + Unpin> HyperIo for T {}

/// A runtime, as its users use it: by its own free functions and types.
pub trait Runtime: Sized + 'static {
    /// Waits for a task's output, and panics if the task did.
    type Join<T: Send + 'static>: Future<Output = T> + Send;
    /// A listening TCP socket.
    type Listener: Send + Sync;
    /// A TCP connection.
    type Stream: Send + 'static;

    /// How tables call it.
    const NAME: &'static str;

    /// Starts it with so many workers.
    fn start(workers: usize) -> Self;

    /// The same for a server that needs no timers, where a runtime can do without.
    fn start_without_timers(workers: usize) -> Self;

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

    /// Goes to the end of the queue.
    fn yield_now() -> impl Future<Output = ()> + Send;

    /// Waits for a while.
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send;

    /// Waits for a future, but not for longer. True: it was done in time.
    fn timeout<F: Future<Output = ()> + Send>(
        limit: Duration,
        future: F,
    ) -> impl Future<Output = bool> + Send;

    /// Listens, and says where: port 0 is any free one.
    fn listen(
        address: &str,
    ) -> impl Future<Output = io::Result<(Self::Listener, SocketAddr)>> + Send;

    /// Accepts one connection, without delay of small segments.
    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Connects in the same way.
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

    /// A connection as hyper takes it.
    fn hyper_io(stream: Self::Stream) -> impl HyperIo;
}
