//! What the tests share.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod connections;

use arc::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use arc::task::JoinHandle;
use arc_compat::axum::{Serve, serve};
use arc_compat::{ArcExecutor, ArcTimer, HyperIo};
use arc_util::net::{SocketAddr, TcpListener, TcpStream};
use async_channel::Sender;
use async_tungstenite::{WebSocketStream, client_async};
use axum::Router;
use futures_util::future::{Either, select};
use http_body_util::Empty;
use hyper::Request;
use hyper::body::{Body, Bytes};
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
        let result = arc_util::time::timeout(DEADLINE, future).await;
        result.unwrap_or_else(|_| panic!("waited in vain at {place}"))
    }
}

/// A listener on the loopback interface, and its address.
pub async fn listen() -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Returns when nobody listens at the address. The listener may live a little longer in a process
/// that another test starts: it has a copy of the descriptor until it executes its program.
pub async fn refuses(address: SocketAddr) {
    let refused = async {
        while TcpStream::connect(address).await.is_ok() {
            arc::task::yield_now().await;
        }
    };
    soon(refused).await
}

/// The two ends of a connection over the loopback interface: client, server.
pub async fn tcp_pair() -> Result<(TcpStream, TcpStream)> {
    let (listener, address) = listen().await?;
    let client = TcpStream::connect(address).await?;
    let (server, _) = soon(listener.accept()).await?;
    Ok((client, server))
}

/// Serves a router, with limits, for as long as the runtime lives.
pub async fn start(
    router: Router,
    limit: impl FnOnce(Serve<Router>) -> Serve<Router>,
) -> Result<SocketAddr> {
    let (listener, address) = listen().await?;
    drop(arc::spawn(limit(serve(listener, router)).into_future()));
    Ok(address)
}

/// Serves a router, with limits, until the sender is dropped.
pub async fn start_ending(
    router: Router,
    limit: impl FnOnce(Serve<Router>) -> Serve<Router>,
) -> Result<(SocketAddr, Sender<()>, JoinHandle<std::io::Result<()>>)> {
    let (listener, address) = listen().await?;
    let (stop, stopped) = async_channel::bounded::<()>(1);
    let server = limit(serve(listener, router)).with_graceful_shutdown(async move {
        let _closed = stopped.recv().await;
    });
    Ok((address, stop, arc::spawn(server.into_future())))
}

/// Reads until this has come.
pub async fn until(stream: &mut TcpStream, end: &str) -> Result<String> {
    let mut text = Vec::new();
    while !text.ends_with(end.as_bytes()) {
        let mut byte = [0];
        soon(stream.read_exact(&mut byte)).await?;
        text.push(byte[0]);
    }
    Ok(String::from_utf8(text)?)
}

/// All that comes, to the end of the connection.
pub async fn rest(stream: &mut TcpStream) -> Result<String> {
    let mut rest = String::new();
    soon(stream.read_to_string(&mut rest)).await?;
    Ok(rest)
}

/// The head of a request for the WebSocket at `/ws`.
pub const UPGRADE: &str = "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: close, upgrade\r\n\
                           upgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                           sec-websocket-version: 13\r\n\r\n";

/// A client of the WebSocket at `/ws`.
pub async fn websocket(address: SocketAddr) -> Result<WebSocketStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    Ok(soon(client_async(format!("ws://{address}/ws"), stream)).await?.0)
}

/// More than a record of TLS (16 KiB) and the sockets' buffers hold: each side has to wait for the
/// other.
pub const LARGE_BYTES: usize = 8 << 20;

pub fn pattern() -> Vec<u8> {
    (0..LARGE_BYTES).map(|at| (at % 251) as u8).collect()
}

/// Sends many bytes to a server that sends them back, by the two ends of a connection.
pub async fn large_echo<C, S>(client: C, server: S) -> Result
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let echo = arc::spawn(async move {
        let (mut read, mut write) = server.split();
        let count = futures_util::io::copy(&mut read, &mut write).await?;
        write.close().await?;
        std::io::Result::Ok(count)
    });
    let (mut read, mut write) = client.split();
    let send = arc::spawn(async move {
        write.write_all(&pattern()).await?;
        write.close().await
    });
    let mut got = Vec::new();
    soon(read.read_to_end(&mut got)).await?;
    assert!(got == pattern(), "{} bytes came back", got.len());
    soon(send).await??;
    assert_eq!(soon(echo).await??, LARGE_BYTES as u64);
    Ok(())
}

/// A request for a path, without a body.
pub fn get(path: &str) -> Result<Request<Empty<Bytes>>> {
    Ok(Request::get(format!("http://localhost{path}")).body(Empty::new())?)
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

/// What an HTTP/2 client says first.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The kinds of HTTP/2's frames that tests write by hand.
pub mod kind {
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const CONTINUATION: u8 = 9;
}

/// A frame of HTTP/2.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame is shorter").to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Reads the next frame: its kind, its stream, its payload.
pub async fn next_frame(stream: &mut TcpStream) -> Result<(u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    soon(stream.read_exact(&mut head)).await?;
    let [_, high, low, kind, _, number @ ..] = head;
    let mut payload = vec![0; usize::from(u16::from_be_bytes([high, low]))];
    soon(stream.read_exact(&mut payload)).await?;
    Ok((kind, u32::from_be_bytes(number), payload))
}

/// A connection that has begun to speak HTTP/2, and knows that the server has heard it. It
/// answers no pings.
pub async fn silent_http2(address: SocketAddr) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(&[PREFACE.to_vec(), frame(kind::SETTINGS, 0, 0, &[])].concat()).await?;
    // The server's settings, and its answer to the client's.
    let mut settings = 0;
    while settings < 2 {
        let (kind, ..) = next_frame(&mut stream).await?;
        settings += u8::from(kind == kind::SETTINGS);
    }
    Ok(stream)
}

/// Which of two futures is ready first; the other is dropped.
pub async fn first<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    match select(pin!(a), pin!(b)).await {
        Either::Left((output, _)) => Either::Left(output),
        Either::Right((output, _)) => Either::Right(output),
    }
}
