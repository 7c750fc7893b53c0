//! What the documentation of `server::serve` and of `axum::serve` says, beyond their limits.

use crate::common::{self, Result, http2_client, refuses, rest, soon, until};
use arc::io::AsyncWriteExt;
use arc::task::JoinHandle;
use arc_compat::axum::{Response, WebSocketUpgrade};
use arc_compat::server::{Connection, builder};
use arc_util::net::{SocketAddr, TcpStream};
use async_channel::{Receiver, Sender};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CONNECTION, UPGRADE};
use axum::routing::get;
use futures_util::future::ready;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use hyper_util::server::conn::auto::upgrade::downcast;
use tower::ServiceExt;

const GET: &[u8] = b"GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n";
const SLOW: &[u8] = b"GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// What a slow handler says when it begins, and what lets it end when it is dropped.
struct Gate {
    begun: Receiver<()>,
    go: Sender<()>,
}

/// `/slow` answers when the gate is dropped, `/panic` panics, and every other path is answered
/// with itself.
fn router() -> (Router, Gate) {
    let (begin, begun) = async_channel::unbounded();
    let (go, gate) = async_channel::bounded::<()>(1);
    let slow = async |State((begin, gate)): State<(Sender<()>, Receiver<()>)>| {
        begin.send(()).await.expect("the test waits for it");
        assert!(gate.recv().await.is_err(), "closed when it may go on");
        "slow"
    };
    let panicking = async || -> &'static str { panic!("of the handler") };
    let router = Router::new()
        .route("/{path}", get(async |Path(path): Path<String>| path))
        .route("/slow", get(slow))
        .route("/panic", get(panicking))
        .with_state((begin, gate));
    (router, Gate { begun, go })
}

/// Serves until the sender is dropped.
async fn start() -> Result<(SocketAddr, Gate, Sender<()>, JoinHandle<std::io::Result<()>>)> {
    let (router, gate) = router();
    let (address, stop, server) = common::start_ending(router, |server| server).await?;
    Ok((address, gate, stop, server))
}

/// Sends a request and waits for its answer, which ends with this.
async fn ask(stream: &mut TcpStream, request: &[u8], end: &str) -> Result {
    stream.write_all(request).await?;
    until(stream, end).await.map(drop)
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_server_that_is_dropped_finishes_what_has_begun() -> Result {
    let (address, gate, _stop, server) = start().await?;
    let mut begun = TcpStream::connect(address).await?;
    begun.write_all(SLOW).await?;
    soon(gate.begun.recv()).await?;
    let mut idle = TcpStream::connect(address).await?;
    ask(&mut idle, GET, "hello").await?;

    server.abort();
    assert!(soon(server).await.is_err_and(|error| error.is_cancelled()));
    assert_eq!(rest(&mut idle).await?, "");
    refuses(address).await;
    drop(gate.go);
    assert!(rest(&mut begun).await?.ends_with("\r\n\r\nslow"));
    Ok(())
}

/// The first head of a connection is a request that has begun. A later one is not.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_part_of_the_first_head_is_waited_for_at_the_end() -> Result {
    let (address, _gate, stop, server) = start().await?;
    let (mut first, mut later) =
        (TcpStream::connect(address).await?, TcpStream::connect(address).await?);
    first.write_all(&GET[..20]).await?;
    ask(&mut later, GET, "hello").await?;
    later.write_all(&GET[..20]).await?;
    // The server has read both parts: it has read what came after them.
    for _ in 0..10 {
        ask(&mut TcpStream::connect(address).await?, GET, "hello").await?;
    }

    drop(stop);
    assert_eq!(rest(&mut later).await?, "");
    first.write_all(&GET[20..]).await?;
    let answer = rest(&mut first).await?;
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    soon(server).await??;
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_panic_of_a_handler_ends_its_http2_stream_alone() -> Result {
    let (address, gate, _stop, _server) = start().await?;
    let mut client = http2_client(address).await?;
    let slow = arc::spawn(client.send_request(common::get("/slow")?));
    soon(gate.begun.recv()).await?;
    soon(client.send_request(common::get("/panic")?)).await.expect_err("no answer");

    // The same connection goes on.
    drop(gate.go);
    let body = soon(soon(slow).await??.into_body().collect()).await?.to_bytes();
    assert_eq!(body, "slow");
    let response = soon(client.send_request(common::get("/hello")?)).await?;
    assert_eq!(response.status(), StatusCode::OK);
    Ok(())
}

async fn no_websocket(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|_| ready(()))
}

/// A request for a WebSocket.
fn upgrade<B: Default>(uri: &str) -> Result<Request<B>> {
    let request = Request::get(uri).header(CONNECTION, "upgrade").header(UPGRADE, "websocket");
    let request = request.header("sec-websocket-version", "13");
    Ok(request.header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==").body(B::default())?)
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn websockets_need_http1_and_a_server_with_upgrades() -> Result {
    let router = Router::new().route("/ws", get(no_websocket));
    // Not from a server at all.
    let response = router.clone().oneshot(upgrade::<Body>("/ws")?).await?;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let reason = response.into_body().collect().await?.to_bytes();
    assert_eq!(reason, "no upgrades here");

    let address = common::start(router, |server| server).await?;
    let mut client = http2_client(address).await?;
    // hyper's client removes what HTTP/2 does not know.
    let request = upgrade::<Empty<Bytes>>("http://localhost/ws")?;
    assert_eq!(soon(client.send_request(request)).await?.status(), StatusCode::BAD_REQUEST);
    Ok(())
}

/// Hands the socket of an upgraded connection to the test.
async fn hand_over(State(sockets): State<Sender<Connection>>, request: Request<Body>) -> Response {
    drop(arc::spawn(async move {
        let upgraded = hyper::upgrade::on(request).await.expect("it is granted");
        let parts = downcast::<Connection>(upgraded).expect("what the server put in");
        sockets.send(parts.io).await.expect("the test waits for it");
    }));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, "upgrade".parse().expect("a value"));
    headers.insert(UPGRADE, "test".parse().expect("a value"));
    response
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn an_upgraded_connection_is_the_servers_until_its_socket_is_taken_out() -> Result {
    let (sender, sockets) = async_channel::unbounded();
    let (other, _gate) = router();
    let router = Router::new().route("/upgrade", get(hand_over)).with_state(sender).merge(other);
    let address = common::start(router, |server| server.with_max_connections(1)).await?;
    let mut client = TcpStream::connect(address).await?;
    let head =
        b"GET /upgrade HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n";
    ask(&mut client, head, "\r\n\r\n").await?;
    let connection = soon(sockets.recv()).await?;
    assert_eq!(connection.get_ref().peer_addr()?, client.local_addr()?);

    // The place is free as soon as the socket is nobody's connection any more.
    let mut socket = connection.into_inner();
    ask(&mut TcpStream::connect(address).await?, GET, "hello").await?;
    soon(socket.write_all(b"still here")).await?;
    drop(socket);
    assert_eq!(rest(&mut client).await?, "still here");
    Ok(())
}

/// hyper-util ignores the choice on connections with upgrades.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_builder_for_one_version_serves_both() -> Result {
    for builder in [builder().http1_only(), builder().http2_only()] {
        let (router, _gate) = router();
        let address = common::start(router, |server| server.with_builder(builder)).await?;
        ask(&mut TcpStream::connect(address).await?, GET, "hello").await?;
        let request = common::get("/hello")?;
        let response = soon(http2_client(address).await?.send_request(request)).await?;
        assert_eq!(response.status(), StatusCode::OK);
    }
    Ok(())
}
