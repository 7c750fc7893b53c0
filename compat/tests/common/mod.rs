//! What the tests share.

#![allow(dead_code, reason = "each test file uses a part of it")]

use arc::net::{SocketAddr, TcpListener, TcpStream};
use arc_compat::{ArcExecutor, ArcTimer, HyperIo};
use futures_util::future::{Either, select};
use hyper::body::Body;
use hyper::client::conn::http2;
use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

pub type Failure = Box<dyn Error + Send + Sync>;
pub type Result<T = ()> = std::result::Result<T, Failure>;

/// What no test may take; far beyond what any of them does on a loaded machine.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Awaits what has to come.
#[track_caller]
pub fn soon<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let place = std::panic::Location::caller();
    async move {
        let result = arc::time::timeout(DEADLINE, future).await;
        result.unwrap_or_else(|_| panic!("waited in vain at {place}"))
    }
}

/// A listener on the loopback interface, and its address.
pub async fn listen() -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// The two ends of a connection over the loopback interface: client, server.
pub async fn tcp_pair() -> Result<(TcpStream, TcpStream)> {
    let (listener, address) = listen().await?;
    let client = TcpStream::connect(address).await?;
    let (server, _) = soon(listener.accept()).await?;
    Ok((client, server))
}

/// A client of HTTP/2, with prior knowledge.
pub async fn http2_client<B>(address: SocketAddr) -> Result<http2::SendRequest<B>>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Failure>,
{
    let stream = HyperIo::new(TcpStream::connect(address).await?);
    let mut builder = http2::Builder::new(ArcExecutor);
    let (client, connection) = soon(builder.timer(ArcTimer).handshake(stream)).await?;
    drop(arc::spawn(connection));
    Ok(client)
}

/// Which of two futures is ready first; the other is dropped.
pub async fn first<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    match select(pin!(a), pin!(b)).await {
        Either::Left((output, _)) => Either::Left(output),
        Either::Right((output, _)) => Either::Right(output),
    }
}
