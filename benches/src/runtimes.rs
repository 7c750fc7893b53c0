//! The runtimes: arc as its users have it, its core alone, tokio and smol.

use crate::{HyperIo, Runtime};
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Once;
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

/// A join handle whose output is a result that is never an error here.
pub struct Unwrap<J>(J);

impl<J: Future<Output = Result<T, E>> + Unpin, T, E: std::fmt::Debug> Future for Unwrap<J> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let result = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(result.expect("a task of a workload panicked"))
    }
}

/// The sockets of a runtime: all have the same names. Only the IO traits are others, and so hyper's
/// adapter.
macro_rules! sockets {
    ($crate_name:ident, $adapter:path) => {
        type Listener = $crate_name::net::TcpListener;
        type Stream = $crate_name::net::TcpStream;

        async fn listen(address: &str) -> io::Result<(Self::Listener, SocketAddr)> {
            let address: SocketAddr = address.parse().map_err(io::Error::other)?;
            let listener = $crate_name::net::TcpListener::bind(address).await?;
            let address = socket2::SockRef::from(&listener).local_addr()?;
            let address = address.as_socket().expect("TCP has addresses of the internet");
            Ok((listener, address))
        }

        async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
            let (stream, _) = listener.accept().await?;
            socket2::SockRef::from(&stream).set_tcp_nodelay(true)?;
            Ok(stream)
        }

        async fn connect(address: SocketAddr) -> io::Result<Self::Stream> {
            let stream = $crate_name::net::TcpStream::connect(address).await?;
            socket2::SockRef::from(&stream).set_tcp_nodelay(true)?;
            Ok(stream)
        }

        async fn read(stream: &mut Self::Stream, buffer: &mut [u8]) -> io::Result<usize> {
            $crate_name::io::AsyncReadExt::read(stream, buffer).await
        }

        async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
            $crate_name::io::AsyncWriteExt::write_all(stream, bytes).await
        }

        fn hyper_io(stream: Self::Stream) -> impl HyperIo {
            $adapter(stream)
        }
    };
}

/// What else arc and tokio have in common.
macro_rules! runtime {
    ($crate_name:ident, $timers:ident, $runtime:ident, $name:literal, $adapter:path) => {
        impl Runtime for $runtime {
            type Join<T: Send + 'static> = Unwrap<$crate_name::task::JoinHandle<T>>;

            const NAME: &'static str = $name;

            sockets!($crate_name, $adapter);

            fn start(workers: usize) -> Self {
                Self::build(workers)
            }

            fn start_without_timers(workers: usize) -> Self {
                Self::build_without_timers(workers)
            }

            fn block_on<F: Future>(&self, future: F) -> F::Output {
                self.0.block_on(future)
            }

            fn spawn_outside<F: Future<Output = ()> + Send + 'static>(&self, future: F) {
                drop(self.0.handle().spawn(future));
            }

            fn spawn<F>(future: F) -> Self::Join<F::Output>
            where
                F: Future<Output: Send + 'static> + Send + 'static,
            {
                Unwrap($crate_name::spawn(future))
            }

            fn spawn_detached<F: Future<Output = ()> + Send + 'static>(future: F) {
                drop($crate_name::spawn(future));
            }

            fn yield_now() -> impl Future<Output = ()> + Send {
                $crate_name::task::yield_now()
            }

            fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
                $crate_name::time::sleep(duration)
            }

            async fn timeout<F: Future<Output = ()> + Send>(limit: Duration, future: F) -> bool {
                $timers::time::timeout(limit, future).await.is_ok()
            }
        }
    };
}

/// The package arc-async, as it is by default.
pub struct Arc(arc::runtime::Runtime);

impl Arc {
    fn build(workers: usize) -> Self {
        let mut builder = arc::runtime::Builder::new_multi_thread();
        Self(builder.workers(workers).build().expect("arc starts"))
    }

    fn build_without_timers(workers: usize) -> Self {
        Self::build(workers)
    }
}

runtime!(arc, arc, Arc, "arc", arc_compat::HyperIo::new);

/// The package arc-runtime alone: nothing watches.
pub struct Core(arc_core::runtime::Runtime);

impl Core {
    fn build(workers: usize) -> Self {
        let mut builder = arc_core::runtime::Builder::new_multi_thread();
        Self(builder.workers(workers).build().expect("arc starts"))
    }

    fn build_without_timers(workers: usize) -> Self {
        Self::build(workers)
    }
}

runtime!(arc_core, arc, Core, "core", arc_compat::HyperIo::new);

/// tokio's multi-thread runtime.
pub struct Tokio(tokio::runtime::Runtime);

impl Tokio {
    fn build(workers: usize) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Self(builder.worker_threads(workers).enable_all().build().expect("tokio starts"))
    }

    fn build_without_timers(workers: usize) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Self(builder.worker_threads(workers).enable_io().build().expect("tokio starts"))
    }
}

runtime!(tokio, tokio, Tokio, "tokio", hyper_util::rt::TokioIo::new);

/// An executor of smol's. It is run by as many threads as there are workers, each of which waits
/// for IO itself: smol's global one does the same.
pub struct Smol;

static EXECUTOR: smol::Executor<'static> = smol::Executor::new();

static STARTED: Once = Once::new();

impl Runtime for Smol {
    type Join<T: Send + 'static> = smol::Task<T>;

    const NAME: &'static str = "smol";

    sockets!(smol, smol_hyper::rt::FuturesIo::new);

    fn start(workers: usize) -> Self {
        STARTED.call_once(|| {
            for _ in 0..workers {
                thread::spawn(|| smol::block_on(EXECUTOR.run(pending::<()>())));
            }
        });
        Self
    }

    fn start_without_timers(workers: usize) -> Self {
        Self::start(workers)
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        smol::block_on(future)
    }

    fn spawn_outside<F: Future<Output = ()> + Send + 'static>(&self, future: F) {
        EXECUTOR.spawn(future).detach();
    }

    fn spawn<F>(future: F) -> Self::Join<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        EXECUTOR.spawn(future)
    }

    fn spawn_detached<F: Future<Output = ()> + Send + 'static>(future: F) {
        EXECUTOR.spawn(future).detach();
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        smol::future::yield_now()
    }

    async fn sleep(duration: Duration) {
        smol::Timer::after(duration).await;
    }

    async fn timeout<F: Future<Output = ()> + Send>(limit: Duration, future: F) -> bool {
        let done = async {
            future.await;
            true
        };
        let late = async {
            smol::Timer::after(limit).await;
            false
        };
        smol::future::or(done, late).await
    }
}
