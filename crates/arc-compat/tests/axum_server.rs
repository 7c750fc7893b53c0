//! axum's Router, served on arc.

use crate::common::{
    self, Result, UPGRADE, first, http2_client, listen, refuses, rest, soon, until,
};
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc_compat::axum::{ConnectInfo, Response, WebSocket, WebSocketUpgrade, serve};
use arc_compat::server::builder;
use arc_util::net::{SocketAddr, TcpStream};
use async_tungstenite::client_async;
use async_tungstenite::tungstenite::client::IntoClientRequest;
use async_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use async_tungstenite::tungstenite::{Message, protocol::CloseFrame};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use futures_util::{StreamExt, future::Either};
use http_body_util::BodyExt;
use hyper::{Request, StatusCode, Version};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tower::ServiceExt;

/// Serves for as long as the runtime lives.
async fn start(router: Router) -> Result<SocketAddr> {
    common::start(router, |server| server).await
}

/// All that a server answers to a request of HTTP/1, until it ends the connection.
async fn ask(address: SocketAddr, head: &str, body: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await?;
    rest(&mut stream).await
}

async fn peer(ConnectInfo(address): ConnectInfo<SocketAddr>) -> String {
    address.to_string()
}

async fn sum(State(start): State<u32>, Json(numbers): Json<Vec<u32>>) -> Json<u32> {
    Json(start + numbers.iter().sum::<u32>())
}

async fn panicking() -> &'static str {
    panic!("of the handler")
}

fn router() -> Router {
    let hello = |Path(name): Path<String>| async move { format!("Hello, {name}!") };
    let router = Router::new().route("/hello/{name}", get(hello)).route("/peer", get(peer));
    router.route("/panic", get(panicking)).route("/sum", post(sum)).with_state(100)
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_router_is_served_with_its_extractors() -> Result {
    let address = start(router()).await?;
    for (head, body, status, answered) in [
        ("GET /hello/axum", "", "200 OK", "\r\n\r\nHello, axum!"),
        ("POST /sum", "[1, 2, 3]", "200 OK", "\r\n\r\n106"),
        ("POST /sum", "no JSON", "400", ""),
        ("GET /nowhere", "", "404", ""),
    ] {
        let answer = ask(address, head, body).await?;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        assert!(answer.ends_with(answered), "{answer}");
    }
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_handler_is_told_who_asks() -> Result {
    let address = start(router()).await?;
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /peer HTTP/1.0\r\n\r\n").await?;
    let answer = rest(&mut stream).await?;
    assert!(answer.ends_with(&format!("\r\n\r\n{}", stream.local_addr()?)), "{answer}");
    Ok(())
}

/// A handler can take it as an extension, too. A server that tells nothing of its clients is a
/// mistake of the program.
#[arc::test]
async fn who_asks_is_an_extension_or_an_error() -> Result {
    let told = |Extension(ConnectInfo(address)): Extension<ConnectInfo>| async move {
        address.ip().to_string()
    };
    let router = Router::new().route("/told", get(told)).route("/peer", get(peer));
    let address = start(router.clone()).await?;
    assert!(ask(address, "GET /told", "").await?.ends_with("\r\n\r\n127.0.0.1"));

    let request = Request::get("/peer").body(Body::empty())?;
    let response = router.oneshot(request).await?;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_panic_of_a_handler_ends_its_connection_alone() -> Result {
    let address = start(router()).await?;
    assert_eq!(ask(address, "GET /panic", "").await?, "");
    assert!(ask(address, "GET /hello/again", "").await?.ends_with("Hello, again!"));
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn the_same_port_speaks_http2() -> Result {
    let address = start(router()).await?;
    let mut client = http2_client(address).await?;
    for name in ["one", "two"] {
        let request = common::get(&format!("/hello/{name}"))?;
        let response = soon(client.send_request(request)).await?;
        assert_eq!((response.version(), response.status()), (Version::HTTP_2, StatusCode::OK));
        let body = soon(response.into_body().collect()).await?.to_bytes();
        assert_eq!(body, format!("Hello, {name}!"));
    }
    Ok(())
}

/// A client that never sends the rest of its head does not stay for ever.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_slow_head_is_ended_by_arcs_timer() -> Result {
    let (listener, address) = listen().await?;
    let mut builder = builder();
    builder.http1().header_read_timeout(Duration::from_millis(5));
    let server = serve(listener, router()).with_builder(builder);
    assert_eq!(server.local_addr()?, address);
    drop(arc::spawn(async move { server.await }));
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /hello/slow HTTP/1.1\r\nhost:").await?;
    let answer = rest(&mut stream).await?;
    assert!(!answer.contains("Hello"), "{answer}");
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_graceful_end_finishes_requests_and_lets_nobody_in() -> Result {
    let (begun, beginnings) = async_channel::unbounded::<()>();
    let (go, gate) = async_channel::bounded::<()>(1);
    let slow = move || async move {
        begun.send(()).await.expect("the test waits for it");
        assert!(gate.recv().await.is_err(), "closed when it may go on");
        // Its connection goes on at the end for 64 polls at most, and hears of it then.
        for _ in 0..100 {
            arc::task::yield_now().await;
        }
        "finished"
    };
    let router = router().route("/slow", get(slow));
    let (address, stop, mut server) = common::start_ending(router, |server| server).await?;

    let mut idle = TcpStream::connect(address).await?;
    idle.write_all(b"GET /hello/idle HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
    let mut answer = [0; 15];
    soon(idle.read_exact(&mut answer)).await?;
    let in_flight = arc::spawn(async move { ask(address, "GET /slow", "").await });
    let mut other = http2_client(address).await?;
    let http2 = arc::spawn(other.send_request(common::get("/slow")?));
    let mut pipeline = TcpStream::connect(address).await?;
    let requests = ["slow", "hello/behind"];
    let requests = requests.map(|path| format!("GET /{path} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    pipeline.write_all(requests.concat().as_bytes()).await?;
    for _ in 0..3 {
        soon(beginnings.recv()).await?;
    }

    drop(stop);
    soon(idle.read_to_end(&mut Vec::new())).await?;
    // The idle one has been closed: the server has heard it, and listens no more.
    refuses(address).await;
    let waits = first(&mut server, arc::task::yield_now()).await;
    assert!(matches!(waits, Either::Right(())), "three requests are not answered yet");
    drop(go);
    assert!(soon(in_flight).await??.ends_with("finished"));
    let body = soon(soon(http2).await??.into_body().collect()).await?.to_bytes();
    assert_eq!(body, "finished");
    // What is behind a request is not begun, and the client is told.
    let answer = rest(&mut pipeline).await?;
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nfinished"), "{answer}");
    soon(server).await??;
    Ok(())
}

async fn upgrade(upgrade: WebSocketUpgrade) -> Response {
    let upgrade = upgrade.max_message_size(1 << 20).max_frame_size(1 << 20);
    upgrade.protocols(["second", "third"]).on_upgrade(echo)
}

async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.next().await {
        let is_data = message.is_text() || message.is_binary();
        if is_data && socket.send(message).await.is_err() {
            break;
        }
    }
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_websocket_echoes_and_closes() -> Result {
    let address = start(Router::new().route("/ws", get(upgrade))).await?;
    let mut request = format!("ws://{address}/ws").into_client_request()?;
    request.headers_mut().insert("sec-websocket-protocol", "first, second".parse()?);
    let stream = TcpStream::connect(address).await?;
    let (mut socket, response) = soon(client_async(request, stream)).await?;
    assert_eq!(response.headers()["sec-websocket-protocol"], "second");
    let large = Message::binary(vec![7; 1 << 20]);
    for message in [Message::text("to and fro"), large] {
        soon(socket.send(message.clone())).await?;
        assert_eq!(soon(socket.next()).await.expect("not closed")?, message);
    }
    let frame = CloseFrame { code: CloseCode::Away, reason: "enough".into() };
    soon(socket.close(Some(frame.clone()))).await?;
    let answer = soon(socket.next()).await.expect("the other half")?;
    assert_eq!(answer, Message::Close(Some(frame)));
    assert!(soon(socket.next()).await.is_none(), "the connection is closed");

    // One byte more than a message may have.
    let mut socket = common::websocket(address).await?;
    // Its end may come while this is sent.
    let _ = soon(socket.send(Message::binary(vec![7; (1 << 20) + 1]))).await;
    assert!(soon(socket.next()).await.is_none_or(|answer| answer.is_err()), "it is taken");
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn what_is_no_websocket_is_turned_down() -> Result {
    let address = start(Router::new().route("/ws", get(upgrade))).await?;
    let answer = ask(address, "GET /ws", "").await?;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let upgrade = "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: close, Upgrade\r\n\
                   upgrade: WebSocket\r\n";
    let sample = "dGhlIHNhbXBsZSBub25jZQ==";
    for (version, key, status) in [
        ("12", sample, "426 Upgrade Required"),
        ("", sample, "426 Upgrade Required"),
        ("13", "", "400 Bad Request"),
        ("13", "dGhlIHNhbXBsZSBub25j", "400 Bad Request"),
        ("13", "dGhlIHNhbXBsZSBub25jZQQ=", "400 Bad Request"),
        ("13", "dGhlIHNhbXBsZSBub25jZQ==dGhl", "400 Bad Request"),
        ("13", "dGhlIHNhbXBsZSBub25jZ===", "400 Bad Request"),
        ("13", "dGhlIHNhbXBsZSBub25j-_==", "400 Bad Request"),
        ("13", sample, "101 Switching Protocols"),
        ("8, 13", sample, "101 Switching Protocols"),
    ] {
        let mut stream = TcpStream::connect(address).await?;
        let headers = format!("sec-websocket-version: {version}\r\nsec-websocket-key: {key}\r\n");
        stream.write_all(format!("{upgrade}{headers}\r\n").as_bytes()).await?;
        let answer = until(&mut stream, "\r\n\r\n").await?;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{headers}{answer}");
        let names_version = answer.contains("\r\nsec-websocket-version: 13\r\n");
        let offers = answer.contains("\r\nupgrade: websocket\r\n");
        assert_eq!(names_version, status.starts_with("426"), "{headers}{answer}");
        assert_eq!(offers, !status.starts_with("400"), "{headers}{answer}");
    }
    Ok(())
}

/// The client leaves before it has the response.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_handler_hears_of_an_upgrade_that_failed() -> Result {
    let (failed, failures) = async_channel::unbounded();
    let (begun, beginnings) = async_channel::unbounded();
    let never = async move |upgrade: WebSocketUpgrade| -> Response {
        let fail = move |error: axum::Error| failed.try_send(error.to_string()).expect("open");
        let upgrade = upgrade.on_failed_upgrade(fail);
        drop(upgrade.on_upgrade(async |_| unreachable!("no client is left")));
        begun.try_send(()).expect("open");
        std::future::pending().await
    };
    let address = start(Router::new().route("/ws", get(never))).await?;
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(UPGRADE.as_bytes()).await?;

    // A client that has gone before that is never seen by a handler.
    soon(beginnings.recv()).await?;
    drop(stream);
    let error = soon(failures.recv()).await?;
    assert!(error.contains("canceled"), "{error}");
    Ok(())
}

/// What the handler has prepared is not done if something else is answered.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_websocket_that_is_refused_in_the_end_does_not_begin() -> Result {
    let (begun, beginnings) = async_channel::unbounded::<()>();
    let refuses = async move |upgrade: WebSocketUpgrade| {
        drop(upgrade.on_upgrade(async move |_socket: WebSocket| {
            let _ = begun.send(()).await;
            std::future::pending().await
        }));
        StatusCode::FORBIDDEN
    };
    let address = start(Router::new().route("/ws", get(refuses.clone()))).await?;
    drop(refuses);
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(UPGRADE.as_bytes()).await?;
    let answer = rest(&mut stream).await?;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(beginnings.is_empty(), "it has begun");
    Ok(())
}

/// They came before the end, and nobody has had the time to look at them: by one read, and
/// more than hyper answers in one turn.
#[arc::test(flavor = "multi_thread", workers = 1)]
async fn requests_that_have_come_are_answered_though_the_end_has_begun() -> Result {
    for count in [1, 20, 100] {
        let (listener, address) = listen().await?;
        let mut stream = TcpStream::connect(address).await?;
        let request = b"GET /hello/late HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(&request.repeat(count)).await?;
        let mut polls = 0;
        let signal = poll_fn(move |context| {
            polls += 1;
            context.waker().wake_by_ref();
            // First comes the connection.
            if polls == 1 { Poll::Pending } else { Poll::Ready(()) }
        });
        soon(serve(listener, router()).with_graceful_shutdown(signal).into_future()).await?;
        let answers = rest(&mut stream).await?;
        assert!(answers.ends_with("Hello, late!"), "{answers}");
        assert_eq!(answers.matches("Hello, late!").count(), count, "{answers}");
    }
    Ok(())
}
