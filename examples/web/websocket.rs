//! WebSockets with async-tungstenite, which takes arc's sockets unchanged.
//!
//! The server sends texts back in capitals. The client ends with the close handshake.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example websocket
//! the server says: TO AND FRO
//! the server says: HELLO
//! the server closes as well: done
//! ```

use arc::net::{TcpListener, TcpStream};
use async_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};
use async_tungstenite::tungstenite::{Message, Result};
use async_tungstenite::{accept_async, client_async};
use futures_util::StreamExt;

#[arc::main]
async fn main() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    drop(arc::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(arc::spawn(shout(stream)));
        }
    }));

    let stream = TcpStream::connect(address).await?;
    let (mut socket, _) = client_async(format!("ws://{address}/"), stream).await?;
    for text in ["to and fro", "hello"] {
        socket.send(Message::text(text)).await?;
    }
    socket.close(Some(CloseFrame { code: CloseCode::Normal, reason: "done".into() })).await?;
    while let Some(message) = socket.next().await {
        match message? {
            Message::Text(text) => println!("the server says: {text}"),
            Message::Close(Some(frame)) => println!("the server closes as well: {}", frame.reason),
            other => println!("unexpected: {other:?}"),
        }
    }
    Ok(())
}

async fn shout(stream: TcpStream) -> Result<()> {
    let mut socket = accept_async(stream).await?;
    while let Some(message) = socket.next().await {
        // tungstenite answers the close frame when the next message is requested.
        if let Message::Text(text) = message? {
            socket.send(Message::text(text.to_uppercase())).await?;
        }
    }
    Ok(())
}
