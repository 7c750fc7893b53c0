//! axum's own `serve`, and its WebSockets, over arc's listeners.

use crate::common::{Result, http2_client, listen, refuses, rest, soon, websocket};
use arc::time::sleep;
use arc_compat::axum::listener;
use arc_util::io::AsyncWriteExt;
use arc_util::net::{SocketAddr, TcpStream};
use arc_util::runtime::Builder;
use async_tungstenite::tungstenite;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::get;
use axum::serve::Listener;
use futures_util::StreamExt;
use http_body_util::BodyExt;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

const MOMENT: Duration = Duration::from_millis(1);

/// Sends each text back, with the help of arc's timers and tasks.
async fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|mut socket| async move {
        while let Some(Ok(message)) = socket.recv().await {
            sleep(MOMENT).await;
            let Message::Text(text) = message else { continue };
            let text = arc::spawn(async move { format!("{text}, {text}") }).await;
            let text = text.expect("no panic");
            if socket.send(Message::Text(text.into())).await.is_err() {
                break;
            }
        }
    })
}

/// What handlers of a program do that has moved to arc: they use its timers, tasks, jobs and
/// sockets.
async fn busy(ConnectInfo(client): ConnectInfo<SocketAddr>) -> String {
    sleep(MOMENT).await;
    let task = arc::spawn(async {
        sleep(MOMENT).await;
        tokio::time::sleep(MOMENT).await;
        20
    });
    let job = arc::task::spawn_blocking(|| 22);
    let sum = task.await.unwrap() + job.await.unwrap();
    let (_listener, own) = listen().await.expect("a listener");
    let is_connected = TcpStream::connect(own).await.is_ok();
    format!("{client} {sum} {is_connected}")
}

fn router() -> Router {
    Router::new().route("/busy", get(busy)).route("/ws", get(echo))
}

async fn is_served_as_a_whole() -> Result {
    let (own, address) = listen().await?;
    let (stop, stopped) = async_channel::bounded::<()>(1);
    let service = router().into_make_service_with_connect_info::<SocketAddr>();
    let server = axum::serve(listener(own), service).with_graceful_shutdown(async move {
        let _closed = stopped.recv().await;
        sleep(MOMENT).await;
    });
    assert_eq!(server.local_addr()?, address);
    let server = arc::spawn(server.into_future());

    let mut client = TcpStream::connect(address).await?;
    client.write_all(b"GET /busy HTTP/1.0\r\n\r\n").await?;
    let answer = rest(&mut client).await?;
    let expected = format!("\r\n\r\n{} 42 true", client.local_addr()?);
    assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with(&expected), "{answer}");

    let mut http2 = http2_client(address).await?;
    let answer = soon(http2.send_request(crate::common::get("/busy")?)).await?;
    let body = soon(answer.into_body().collect()).await?.to_bytes();
    assert!(body.ends_with(b" 42 true"), "{body:?}");
    drop(http2);

    let mut socket = websocket(address).await?;
    for text in ["one", "two"] {
        soon(socket.send(tungstenite::Message::text(text))).await?;
        let answer = soon(socket.next()).await.expect("not closed")?;
        assert_eq!(answer, tungstenite::Message::text(format!("{text}, {text}")));
    }
    soon(socket.close(None)).await?;
    while let Some(message) = soon(socket.next()).await {
        assert!(message?.is_close());
    }

    drop(stop);
    soon(server).await??;
    refuses(address).await;
    Ok(())
}

#[arc::test(crate = "arc_util")]
async fn a_router_and_its_websockets_are_served_by_one_thread() -> Result {
    is_served_as_a_whole().await
}

#[arc::test(crate = "arc_util", flavor = "multi_thread", workers = 2)]
async fn a_router_and_its_websockets_are_served_by_several_threads() -> Result {
    is_served_as_a_whole().await
}

/// `axum::serve` itself may be in a task of tokio's as well.
#[cfg(unix)]
#[arc::test(crate = "arc_util", flavor = "multi_thread", workers = 2)]
async fn a_unix_listener_is_served_from_a_task_of_tokio() -> Result {
    use arc_util::io::AsyncReadExt;
    use arc_util::net::{UnixListener, UnixStream};

    let path = std::env::temp_dir().join(format!("arc-own-serve-{}", std::process::id()));
    let own = UnixListener::bind(&path)?;
    let router = Router::new().route("/", get(|| async { "Hello, World!" }));
    let server = tokio::spawn(axum::serve(listener(own), router).into_future());

    let mut client = UnixStream::connect(&path).await?;
    client.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    let mut answer = String::new();
    soon(client.read_to_string(&mut answer)).await?;
    assert!(answer.ends_with("\r\n\r\nHello, World!"), "{answer}");
    server.abort();
    assert!(server.await.unwrap_err().is_cancelled());
    std::fs::remove_file(path)?;
    Ok(())
}

/// Nobody comes any more, and axum cannot be told so: it must not ask again and again.
#[test]
fn a_listener_whose_runtime_has_ended_waits() {
    let runtime = Builder::new_multi_thread().workers(1).build().unwrap();
    let (own, _address) = runtime.block_on(listen()).unwrap();
    drop(runtime);
    let mut own = listener(own);
    let accepted = pin!(own.accept());
    assert!(accepted.poll(&mut Context::from_waker(Waker::noop())).is_pending());
}
