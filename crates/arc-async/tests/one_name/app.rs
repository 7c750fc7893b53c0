//! A web application, as axum's documentation would have it: a JSON API with state, a chat by
//! WebSockets, and a graceful end.

use arc::compat::axum::{Message, Response, WebSocket, WebSocketExt, WebSocketUpgrade, serve};
use arc::net::TcpListener;
use arc::sync::{Mutex, broadcast};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Clone, Serialize, Deserialize)]
struct Note {
    title: String,
    stars: u32,
}

struct App {
    notes: Mutex<Vec<Note>>,
    chat: broadcast::Sender<String>,
}

#[arc::main]
async fn main() -> std::io::Result<()> {
    let app = App { notes: Mutex::default(), chat: broadcast::channel(64).0 };
    let router = Router::new()
        .route("/notes", get(list).post(add))
        .route("/notes/{number}", get(show))
        .route("/chat", get(upgrade))
        .with_state(Arc::new(app));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    serve(listener, router).with_graceful_shutdown(stop()).await?;
    println!("stopped");
    Ok(())
}

async fn stop() {
    arc::signal::ctrl_c().await.expect("there is a descriptor for it");
}

async fn list(State(app): State<Arc<App>>) -> Json<Vec<Note>> {
    Json(app.notes.lock().await.clone())
}

async fn show(
    State(app): State<Arc<App>>,
    Path(number): Path<usize>,
) -> Result<Json<Note>, StatusCode> {
    let note = app.notes.lock().await.get(number).cloned();
    note.map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn add(State(app): State<Arc<App>>, Json(note): Json<Note>) -> (StatusCode, Json<usize>) {
    let mut notes = app.notes.lock().await;
    notes.push(note);
    (StatusCode::CREATED, Json(notes.len() - 1))
}

async fn upgrade(State(app): State<Arc<App>>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|socket| chat(socket, app))
}

/// Passes on what one says to all, until it leaves.
async fn chat(mut socket: WebSocket, app: Arc<App>) {
    let mut said = app.chat.subscribe();
    loop {
        arc::select! {
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) => {
                    // It is an error only if nobody listens, but this one does.
                    let _ = app.chat.send(text.to_string());
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            text = said.recv() => {
                let Ok(text) = text else { continue };
                if socket.send(Message::Text(text.into())).await.is_err() {
                    return;
                }
            }
        }
    }
}
