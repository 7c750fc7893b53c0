//! Clients that send without end and read nothing: each is cut off, and holds no more memory
//! than it is told it may. The others are served all the while.

use crate::common::{
    self, DEADLINE, PREFACE, Result, UPGRADE, frame, http2_client, kind, next_frame, silent_http2,
    soon, start, until,
};
use arc::io::AsyncWriteExt;
use arc_compat::axum::{Response, WebSocket, WebSocketUpgrade};
use arc_util::net::{SocketAddr, TcpStream};
use async_channel::{Receiver, Sender};
use async_tungstenite::tungstenite::Message;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use futures_util::StreamExt;
use http_body_util::BodyExt;
use hyper::StatusCode;
use socket2::{Domain, Socket, Type};
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

/// More than the kernel and the server may hold together of what a client sends that reads
/// nothing: some megabytes for each direction.
const HELD_MAX: usize = 64 << 20;

/// A connection whose end here keeps little of what it does not read.
fn narrow(address: SocketAddr) -> std::io::Result<std::net::TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_recv_buffer_size(4096)?;
    socket.connect(&address.into())?;
    socket.set_write_timeout(Some(DEADLINE))?;
    Ok(socket.into())
}

/// Sends the same bytes again and again and reads nothing, until the server has closed the
/// connection. Returns how many bytes were sent.
fn flood(mut stream: std::net::TcpStream, bytes: &[u8]) -> Result<usize> {
    let mut sent = 0;
    while sent < HELD_MAX {
        match stream.write(bytes) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                return Err("the server neither reads nor closes the connection".into());
            }
            Err(_) => return Ok(sent),
        }
    }
    Err("the server reads on and on".into())
}

/// Opens a WebSocket by hand, and leaves what comes to the caller.
fn websocket(address: SocketAddr) -> Result<std::net::TcpStream> {
    let mut stream = narrow(address)?;
    stream.write_all(UPGRADE.as_bytes())?;

    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    assert!(line.starts_with("HTTP/1.1 101 "), "{line}");
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line)?;
    }
    Ok(reader.into_inner())
}

/// Echoes, and tells what a connection has ended with.
async fn echo(upgrade: WebSocketUpgrade, State(ends): State<Sender<String>>) -> Response {
    upgrade.on_upgrade(async move |mut socket: WebSocket| {
        while let Some(message) = socket.next().await {
            let sent = match message {
                Ok(message) if message.is_text() => socket.send(message).await,
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = sent {
                let _ = ends.send(error.to_string()).await;
                return;
            }
        }
    })
}

/// Serves WebSockets that echo. The receiver has what they ended with.
async fn serve_echo() -> Result<(SocketAddr, Receiver<String>)> {
    let (ends, ended) = async_channel::unbounded();
    let router = Router::new().route("/ws", get(echo)).with_state(ends);
    Ok((start(router, |server| server).await?, ended))
}

/// tungstenite answers each ping, and keeps the answers that cannot be sent.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_websocket_client_that_pings_and_never_reads_is_cut_off() -> Result {
    let (address, ended) = serve_echo().await?;
    let mut other = common::websocket(address).await?;

    // A masked ping with the longest payload: the mask is 0.
    let mut ping = vec![0x89, 0x80 | 125, 0, 0, 0, 0];
    ping.resize(ping.len() + 125, b'x');
    let pings = ping.repeat(500);
    let flood = arc::task::spawn_blocking(move || flood(websocket(address)?, &pings));
    soon(flood).await??;
    let error = soon(ended.recv()).await?;
    assert!(error.contains("does not read"), "{error}");

    soon(other.send(Message::text("still here"))).await?;
    let echoed = soon(other.next()).await.expect("not closed")?;
    assert_eq!(echoed, Message::text("still here"));
    Ok(())
}

/// Serves `/`, for one connection at a time: whoever is answered knows that there is no other.
async fn serve_one() -> Result<SocketAddr> {
    let router = Router::new().route("/", get(async || "hello"));
    let limit = Duration::from_millis(5);
    start(router, |server| server.with_max_connections(1).with_write_timeout(limit)).await
}

/// Sends a request by HTTP/2, and expects its answer.
async fn is_served(address: SocketAddr) -> Result {
    let mut client = http2_client(address).await?;
    let response = soon(client.send_request(common::get("/")?)).await?;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(soon(response.into_body().collect()).await?.to_bytes(), "hello");
    Ok(())
}

/// What a client can have answered again and again without reading the answers. None of these
/// has a limit of its own: the server stops reading while it cannot answer, and the time for
/// its writes ends the connection.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn clients_that_ask_without_end_and_read_nothing_are_cut_off() -> Result {
    let begin = [PREFACE.to_vec(), frame(kind::SETTINGS, 0, 0, &[])].concat();
    for (what, begin, again) in [
        ("requests of HTTP/1", vec![], b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec()),
        ("pings of HTTP/2", begin.clone(), frame(kind::PING, 0, 0, &[0; 8])),
        ("settings of HTTP/2", begin, frame(kind::SETTINGS, 0, 0, &[])),
    ] {
        let address = serve_one().await?;
        let flood = arc::task::spawn_blocking(move || {
            let mut stream = narrow(address)?;
            stream.write_all(&begin)?;
            flood(stream, &again.repeat(1000))
        });
        soon(flood).await?.map_err(|error| format!("{what}: {error}"))?;
        is_served(address).await?;
    }
    Ok(())
}

/// A request for `/`, in HPACK: four fields, the first three by their place in its table.
const REQUEST: &[u8] = b"\x82\x86\x84\x41\x09localhost";
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Sends frames, and reads until the server has closed the connection. Returns the reason that
/// it gives.
async fn reason(address: SocketAddr, frames: &[u8]) -> Result<u32> {
    let mut stream = silent_http2(address).await?;
    // It may be closed before all is sent.
    let _ = soon(stream.write_all(frames)).await;

    let mut reason = None;
    while let Ok((kind, _, payload)) = next_frame(&mut stream).await {
        if kind == kind::GOAWAY {
            reason = Some(u32::from_be_bytes(payload[4..8].try_into()?));
        }
    }
    reason.ok_or_else(|| "closed without a reason".into())
}

const ENHANCE_YOUR_CALM: u32 = 11;

/// Requests that are taken back at once: "rapid reset".
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn requests_that_are_taken_back_without_end_end_the_connection() -> Result {
    let address = serve_one().await?;
    let mut frames = Vec::new();
    for number in 0..1000 {
        let stream = 2 * number + 1;
        frames.extend(frame(kind::HEADERS, END_STREAM | END_HEADERS, stream, REQUEST));
        // 8: the client has no use for the answer.
        frames.extend(frame(kind::RST_STREAM, 0, stream, &[0, 0, 0, 8]));
    }
    assert_eq!(reason(address, &frames).await?, ENHANCE_YOUR_CALM);
    is_served(address).await
}

/// The head of one request, which has no end: "CONTINUATION flood".
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_head_without_an_end_ends_the_connection() -> Result {
    let address = serve_one().await?;
    let mut frames = frame(kind::HEADERS, END_STREAM, 1, REQUEST);
    for _ in 0..10_000 {
        frames.extend(frame(kind::CONTINUATION, 0, 1, b"\x00\x01x\x01x"));
    }
    assert_eq!(reason(address, &frames).await?, ENHANCE_YOUR_CALM);
    is_served(address).await
}

/// Sends a request by HTTP/1, and returns the first line of the answer.
async fn status(address: SocketAddr, head: String) -> Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    // It may be closed before all is sent.
    let _ = soon(stream.write_all(head.as_bytes())).await;
    until(&mut stream, "\r\n").await
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn heads_that_are_too_large_are_refused() -> Result {
    let address = serve_one().await?;
    let start = "GET / HTTP/1.1\r\nhost: localhost\r\n";
    let many = format!("{start}{}\r\n", "x: x\r\n".repeat(100));
    let line = status(address, many).await?;
    assert!(line.starts_with("HTTP/1.1 431 "), "{line}");
    // It may be reset with the answer on its way, because the server reads no more of it.
    let long = format!("{start}x: {}", "x".repeat(1 << 20));
    if let Ok(line) = status(address, long).await {
        assert!(line.starts_with("HTTP/1.1 431 "), "{line}");
    }

    // 16 KiB is what the server takes by HTTP/2, and what it tells the client.
    for (count, expected) in
        [(10, StatusCode::OK), (20, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)]
    {
        let mut request = common::get("/")?;
        for number in 0..count {
            let name: hyper::header::HeaderName = format!("x-{number}").parse()?;
            request.headers_mut().insert(name, "x".repeat(1000).parse()?);
        }
        let mut client = http2_client(address).await?;
        let response = soon(client.send_request(request)).await?;
        assert_eq!(response.status(), expected, "{count}");
    }
    is_served(address).await
}

/// Each needs a task and some memory, so there is a limit for one connection.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_connection_has_200_requests_at_once_at_most() -> Result {
    const STREAMS: u32 = 200;
    let never = get(std::future::pending::<&str>);
    let address = start(Router::new().route("/", never), |server| server).await?;
    let mut stream = silent_http2(address).await?;
    for number in 0..=STREAMS {
        let request = frame(kind::HEADERS, END_STREAM | END_HEADERS, 2 * number + 1, REQUEST);
        soon(stream.write_all(&request)).await?;
    }
    // Only the last one is refused: 7 says that it was not looked at.
    let refused = loop {
        let (kind, number, payload) = next_frame(&mut stream).await?;
        if kind == kind::RST_STREAM {
            break (number, payload);
        }
    };
    assert_eq!(refused, (2 * STREAMS + 1, vec![0, 0, 0, 7]));
    Ok(())
}
