//! An axum server on arc: routes, JSON, a WebSocket that echoes, and a graceful shutdown.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example axum_server -- 127.0.0.1:8080
//! listening on http://127.0.0.1:8080
//! ```
//!
//! In another terminal:
//!
//! ```text
//! $ curl http://127.0.0.1:8080/hello/arc
//! Hello, arc!
//! $ curl --json '[1, 2, 3]' http://127.0.0.1:8080/sum
//! 6
//! $ websocat ws://127.0.0.1:8080/echo
//! ```
//!
//! Ctrl-c stops the server after it has answered the requests that have begun. What takes longer
//! than 20 s is cut off, and `main` returns an error that says so. (On Windows it stops at once.)
//!
//! ```text
//! ^Cstopping
//! stopped
//! ```

#[path = "../common/address.rs"]
mod address;

use arc::compat::axum::{Response, WebSocket, WebSocketUpgrade, serve};
use arc::net::TcpListener;
use axum::extract::Path;
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::StreamExt;

#[arc::main]
async fn main() -> std::io::Result<()> {
    let address = address::address("127.0.0.1:8080");
    let listener = TcpListener::bind(&*address).await;
    let listener = listener.unwrap_or_else(|error| {
        eprintln!("cannot listen on {address}: {error}");
        std::process::exit(1);
    });
    println!("listening on http://{}", listener.local_addr()?);
    let router = Router::new().route("/hello/{name}", get(hello)).route("/sum", post(sum)).route(
        "/echo",
        get(async |upgrade: WebSocketUpgrade| -> Response { upgrade.on_upgrade(echo) }),
    );
    serve(listener, router).with_graceful_shutdown(stop_signal()).await?;
    println!("stopped");
    Ok(())
}

async fn hello(Path(name): Path<String>) -> String {
    format!("Hello, {name}!\n")
}

async fn sum(Json(numbers): Json<Vec<i64>>) -> Json<i64> {
    Json(numbers.into_iter().sum())
}

async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.next().await {
        // tungstenite answers pings and the close frame.
        let is_data = message.is_text() || message.is_binary();
        if is_data && socket.send(message).await.is_err() {
            break;
        }
    }
}

#[cfg(unix)]
async fn stop_signal() {
    if let Err(error) = arc::signal::ctrl_c().await {
        eprintln!("waiting for ctrl-c: {error}");
    }
    println!("stopping");
}

#[cfg(not(unix))]
async fn stop_signal() {
    std::future::pending().await
}
