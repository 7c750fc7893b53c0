//! What a server allows its clients: how many connections, how long they may be silent, and how
//! long its end may take.

use crate::common::{
    self, PREFACE, Result, UPGRADE, first, http2_client, listen, silent_http2, soon, until,
    websocket,
};
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::task::JoinHandle;
use arc_compat::axum::{CutOff, Serve, WebSocket, WebSocketUpgrade, serve};
use arc_util::net::{SocketAddr, TcpStream};
use async_channel::{Receiver, Sender};
use async_tungstenite::tungstenite::Message;
use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use futures_util::StreamExt;
use futures_util::future::Either;
use std::io::ErrorKind;
use std::time::Duration;

/// A limit that is to be reached. Nothing depends on how long it really takes.
const SHORT: Duration = Duration::from_millis(5);

const GET: &[u8] = b"GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n";
const NEVER: &[u8] = b"GET /never HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// `/hello` answers, `/never` says that it has begun and does not, `/long` is more than sockets
/// keep, and `/ws` echoes.
fn router(begun: Sender<()>) -> Router {
    let never = async |State(begun): State<Sender<()>>| {
        begun.send(()).await.expect("the test waits for it");
        std::future::pending::<&str>().await
    };
    Router::new()
        .route("/{path}", get(async |Path(path): Path<String>| path))
        .route("/never", get(never))
        .route("/long", get(async || vec![0; 64 << 20]))
        .route("/ws", get(async |upgrade: WebSocketUpgrade| upgrade.on_upgrade(echo)))
        .with_state(begun)
}

async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.next().await {
        if message.is_text() && socket.send(message).await.is_err() {
            break;
        }
    }
}

/// Serves with some limits for as long as the runtime lives.
async fn start(limit: impl FnOnce(Serve<Router>) -> Serve<Router>) -> Result<SocketAddr> {
    let (begun, _) = async_channel::unbounded();
    common::start(router(begun), limit).await
}

/// Sends a request by a connection that is there, and waits for the answer.
async fn ask(stream: &mut TcpStream) -> Result {
    stream.write_all(GET).await?;
    let answer = until(stream, "hello").await?;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    Ok(())
}

/// Waits until the server has closed a connection without having said anything.
async fn is_closed(stream: &mut TcpStream) -> Result {
    let mut said = Vec::new();
    match soon(stream.read_to_end(&mut said)).await {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => return Err(error.into()),
        _ => assert!(said.is_empty(), "{said:?}"),
    }
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn connections_beyond_the_limit_wait_until_others_have_ended() -> Result {
    let address = start(|server| server.with_max_connections(2)).await?;
    let mut one = TcpStream::connect(address).await?;
    let mut other = TcpStream::connect(address).await?;
    ask(&mut one).await?;
    ask(&mut other).await?;

    let mut late = TcpStream::connect(address).await?;
    let mut answered = Box::pin(ask(&mut late));
    // Far more turns than an answer needs.
    for _ in 0..100 {
        let waits = first(&mut answered, ask(&mut one)).await;
        assert!(matches!(waits, Either::Right(Ok(()))), "there is no place for it");
    }
    drop(other);
    soon(answered).await?;
    ask(&mut one).await
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_websocket_keeps_its_place_until_it_is_dropped() -> Result {
    let address = start(|server| server.with_max_connections(1)).await?;
    let mut socket = websocket(address).await?;

    let mut late = TcpStream::connect(address).await?;
    let mut answered = Box::pin(ask(&mut late));
    for number in 0..100 {
        soon(socket.send(Message::text(number.to_string()))).await?;
        let Either::Right(echoed) = first(&mut answered, socket.next()).await else {
            panic!("there is no place for it");
        };
        assert_eq!(echoed.expect("not closed")?, Message::text(number.to_string()));
    }
    drop(socket);
    soon(answered).await
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_server_without_a_free_place_can_be_ended() -> Result {
    let (address, beginnings, stop, server) =
        start_ending(|server| server.with_max_connections(1).with_shutdown_timeout(SHORT)).await?;
    let mut only = TcpStream::connect(address).await?;
    only.write_all(NEVER).await?;
    soon(beginnings.recv()).await?;
    let mut late = TcpStream::connect(address).await?;
    drop(stop);
    soon(server).await?.expect_err("a request is not answered");
    // Nobody has accepted it.
    is_closed(&mut late).await
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_client_that_does_not_show_its_version_is_cut_off() -> Result {
    let address = start(|server| server.with_first_bytes_timeout(SHORT)).await?;
    for said in [&b""[..], b"P", &PREFACE[..23]] {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(said).await?;
        is_closed(&mut stream).await?;
    }
    Ok(())
}

/// One byte after the other, and none of them too late by itself.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_byte_now_and_then_does_not_buy_more_time() -> Result {
    let address = start(|server| server.with_first_bytes_timeout(SHORT)).await?;
    let mut stream = TcpStream::connect(address).await?;
    for byte in &PREFACE[..23] {
        if stream.write_all(&[*byte]).await.is_err() {
            break;
        }
        arc::time::sleep(SHORT / 10).await;
    }
    is_closed(&mut stream).await?;

    let address = start(|server| server.with_header_timeout(SHORT)).await?;
    let mut stream = TcpStream::connect(address).await?;
    let endless = async {
        stream.write_all(b"GET / HTTP/1.1\r\nx: ").await?;
        loop {
            stream.write_all(b"x").await?;
            arc::time::sleep(SHORT / 10).await;
        }
    };
    let ended: std::io::Result<()> = soon(endless).await;
    ended.expect_err("the server has closed the connection");
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_connection_that_is_idle_between_two_requests_is_closed() -> Result {
    let address = start(|server| server.with_header_timeout(Duration::from_millis(50))).await?;
    let mut stream = TcpStream::connect(address).await?;
    // It may be closed before the request: the machine may have other things to do.
    while ask(&mut stream).await.is_err() {
        stream = TcpStream::connect(address).await?;
    }
    is_closed(&mut stream).await
}

/// The deadlines of a request end with its head.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_websocket_outlives_the_deadlines_of_its_request() -> Result {
    let (listener, address) = listen().await?;
    let mut stream = TcpStream::connect(address).await?;
    // Before the server looks: it cannot come too late.
    stream.write_all(UPGRADE.as_bytes()).await?;
    let (begun, _) = async_channel::unbounded();
    let server = serve(listener, router(begun));
    let server = server.with_first_bytes_timeout(SHORT).with_header_timeout(SHORT);
    drop(arc::spawn(server.with_write_timeout(SHORT).into_future()));
    let answer = until(&mut stream, "\r\n\r\n").await?;
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");

    // These come later, and have had their time.
    for said in [&b""[..], b"GET / HTTP/1.1\r\n"] {
        let mut silent = TcpStream::connect(address).await?;
        silent.write_all(said).await?;
        is_closed(&mut silent).await?;
    }
    // A text of one byte, with a mask of 0.
    stream.write_all(&[0x81, 0x81, 0, 0, 0, 0, b'x']).await?;
    let mut echoed = [0; 3];
    soon(stream.read_exact(&mut echoed)).await?;
    assert_eq!(&echoed, b"\x81\x01x");
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn an_http2_client_that_answers_no_ping_is_cut_off() -> Result {
    let address = start(|server| server.with_http2_keep_alive(SHORT, SHORT)).await?;
    let mut stream = silent_http2(address).await?;
    let mut said = Vec::new();
    soon(stream.read_to_end(&mut said)).await?;
    Ok(())
}

/// The sockets are full, and the server's answer does not get any further.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_client_that_does_not_read_its_answer_is_cut_off() -> Result {
    let address = start(|server| server.with_max_connections(1).with_write_timeout(SHORT)).await?;
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /long HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
    // There is a place for it when the other one is gone.
    ask(&mut TcpStream::connect(address).await?).await
}

/// Starts a server with limits. Returns its address, what its handlers say when they begin, what
/// ends it when it is dropped, and its task.
async fn start_ending(
    limit: impl FnOnce(Serve<Router>) -> Serve<Router>,
) -> Result<(SocketAddr, Receiver<()>, Sender<()>, JoinHandle<std::io::Result<()>>)> {
    let (begun, beginnings) = async_channel::unbounded();
    let (address, stop, server) = common::start_ending(router(begun), limit).await?;
    Ok((address, beginnings, stop, server))
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_silent_http2_client_does_not_keep_the_server_from_ending() -> Result {
    let (address, _, stop, server) =
        start_ending(|server| server.with_shutdown_timeout(SHORT)).await?;
    let mut silent = silent_http2(address).await?;
    drop(stop);
    let error = soon(server).await?.expect_err("it had to be cut off");
    let cut_off = error.get_ref().and_then(|error| error.downcast_ref::<CutOff>());
    let cut_off = cut_off.expect("this is why");
    assert_eq!((cut_off.connections, cut_off.timeout), (1, SHORT));
    soon(silent.read_to_end(&mut Vec::new())).await?;
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn requests_that_take_longer_than_the_end_may_are_cut_off_and_counted() -> Result {
    // The connection that is idle ends within this time.
    let limit = 20 * SHORT;
    let (address, beginnings, stop, server) =
        start_ending(|it| it.with_shutdown_timeout(limit)).await?;
    let mut http1 = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(NEVER).await?;
        http1.push(stream);
    }
    let mut client = http2_client(address).await?;
    let http2 = arc::spawn(client.send_request(common::get("/never")?));
    for _ in 0..3 {
        soon(beginnings.recv()).await?;
    }
    // This one has been answered.
    let mut idle = TcpStream::connect(address).await?;
    ask(&mut idle).await?;

    drop(stop);
    let error = soon(server).await?.expect_err("three are not answered");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(error.to_string(), "3 connections cut off, 100ms after the shutdown began");
    for stream in http1.iter_mut().chain([&mut idle]) {
        is_closed(stream).await?;
    }
    soon(http2).await?.expect_err("no answer");
    // The handlers are gone as well: nobody holds the other end.
    assert!(soon(beginnings.recv()).await.is_err());
    Ok(())
}

/// It has been told, and would wait for the rest of the request otherwise.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn connections_of_a_server_that_is_dropped_have_the_time_of_a_shutdown() -> Result {
    let (address, beginnings, _stop, server) =
        start_ending(|server| server.with_shutdown_timeout(SHORT)).await?;
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(NEVER).await?;
    soon(beginnings.recv()).await?;
    server.abort();
    is_closed(&mut stream).await
}

/// A server's end does not wait for WebSockets, and does not count them.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn the_end_does_not_wait_for_websockets() -> Result {
    let (address, _, stop, server) = start_ending(|server| server).await?;
    let mut socket = websocket(address).await?;
    drop(stop);
    soon(server).await??;
    soon(socket.send(Message::text("still"))).await?;
    assert_eq!(soon(socket.next()).await.expect("not closed")?, Message::text("still"));
    Ok(())
}
