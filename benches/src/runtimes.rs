//! The runtimes: arc, tokio in both flavours, smol.

use crate::Runtime;
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A join handle whose output is a result that is never an error here.
pub struct Unwrap<J>(J);

impl<J: Future<Output = Result<T, E>> + Unpin, T, E: std::fmt::Debug> Future for Unwrap<J> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let result = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(result.expect("a task of a workload panicked"))
    }
}

/// What arc and the two flavours of tokio have in common: the same names. Only the IO traits are
/// others.
macro_rules! runtime {
    ($crate_name:ident, $runtime:ident, $name:literal) => {
        impl Runtime for $runtime {
            type Join<T: Send + 'static> = Unwrap<$crate_name::task::JoinHandle<T>>;
            type Listener = $crate_name::net::TcpListener;
            type Stream = $crate_name::net::TcpStream;

            const NAME: &'static str = $name;

            fn start(workers: usize) -> Self {
                Self::build(workers)
            }

            fn block_on<F: Future>(&self, future: F) -> F::Output {
                self.run(future)
            }

            fn spawn_outside<F: Future<Output = ()> + Send + 'static>(&self, future: F) {
                drop(self.handle().spawn(future));
            }

            fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
                future: F,
            ) -> Self::Join<F::Output> {
                Unwrap($crate_name::spawn(future))
            }

            fn spawn_detached<F: Future<Output = ()> + Send + 'static>(future: F) {
                drop($crate_name::spawn(future));
            }

            fn spawn_blocking(job: impl FnOnce() + Send + 'static) {
                drop($crate_name::task::spawn_blocking(job));
            }

            fn yield_now() -> impl Future<Output = ()> + Send {
                $crate_name::task::yield_now()
            }

            fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
                $crate_name::time::sleep(duration)
            }

            async fn timeout<F: Future<Output = ()> + Send>(limit: Duration, future: F) -> bool {
                $crate_name::time::timeout(limit, future).await.is_ok()
            }

            async fn listen() -> io::Result<(Self::Listener, SocketAddr)> {
                let listener = $crate_name::net::TcpListener::bind(LOOPBACK).await?;
                let address = listener.local_addr()?;
                Ok((listener, address))
            }

            async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(stream)
            }

            async fn connect(address: SocketAddr) -> io::Result<Self::Stream> {
                let stream = $crate_name::net::TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Ok(stream)
            }

            async fn read(stream: &mut Self::Stream, buffer: &mut [u8]) -> io::Result<usize> {
                $crate_name::io::AsyncReadExt::read(stream, buffer).await
            }

            async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
                $crate_name::io::AsyncWriteExt::write_all(stream, bytes).await
            }
        }
    };
}

/// arc.
pub struct Arc(arc::runtime::Runtime);

impl Arc {
    fn build(workers: usize) -> Self {
        let mut builder = arc::runtime::Builder::new_multi_thread();
        Self(builder.workers(workers).build().expect("arc starts"))
    }

    fn run<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn handle(&self) -> &arc::runtime::Handle {
        self.0.handle()
    }
}

runtime!(arc, Arc, "arc");

/// tokio's multi-thread runtime.
pub struct Tokio(tokio::runtime::Runtime);

impl Tokio {
    fn build(workers: usize) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(workers).enable_all().build();
        Self(runtime.expect("tokio starts"))
    }

    fn run<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn handle(&self) -> &tokio::runtime::Handle {
        self.0.handle()
    }
}

runtime!(tokio, Tokio, "tokio");

/// tokio's current-thread runtime, one for the calling thread and one on a thread
/// of its own that runs what is spawned from outside.
pub struct TokioCurrentThread {
    own: tokio::runtime::Runtime,
    served: tokio::runtime::Handle,
}

impl TokioCurrentThread {
    fn build(_workers: usize) -> Self {
        let build = || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_all().build().expect("tokio starts")
        };
        let runtime = build();
        let served = runtime.handle().clone();
        std::thread::spawn(move || runtime.block_on(pending::<()>()));
        let own = build();
        Self { own, served }
    }

    fn run<F: Future>(&self, future: F) -> F::Output {
        self.own.block_on(future)
    }

    fn handle(&self) -> &tokio::runtime::Handle {
        &self.served
    }
}

runtime!(tokio, TokioCurrentThread, "tokio-current-thread");

/// smol's global executor. Its threads are counted by the environment once per
/// process, so a process starts it with one number of workers only.
pub struct Smol(());

impl Runtime for Smol {
    type Join<T: Send + 'static> = smol::Task<T>;
    type Listener = smol::net::TcpListener;
    type Stream = smol::net::TcpStream;

    const NAME: &'static str = "smol";

    fn start(workers: usize) -> Self {
        let threads = std::env::var("SMOL_THREADS").ok();
        assert_eq!(
            threads,
            Some(workers.to_string()),
            "SMOL_THREADS says how many workers smol has"
        );
        Self(())
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        smol::block_on(future)
    }

    fn spawn_outside<F: Future<Output = ()> + Send + 'static>(&self, future: F) {
        smol::spawn(future).detach();
    }

    fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
        future: F,
    ) -> Self::Join<F::Output> {
        smol::spawn(future)
    }

    fn spawn_detached<F: Future<Output = ()> + Send + 'static>(future: F) {
        smol::spawn(future).detach();
    }

    fn spawn_blocking(job: impl FnOnce() + Send + 'static) {
        smol::unblock(job).detach();
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

    async fn listen() -> io::Result<(Self::Listener, SocketAddr)> {
        let listener = smol::net::TcpListener::bind(LOOPBACK).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    }

    async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn connect(address: SocketAddr) -> io::Result<Self::Stream> {
        let stream = smol::net::TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn read(stream: &mut Self::Stream, buffer: &mut [u8]) -> io::Result<usize> {
        smol::io::AsyncReadExt::read(stream, buffer).await
    }

    async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
        smol::io::AsyncWriteExt::write_all(stream, bytes).await
    }
}
