//! Crates that were written for tokio, on arc: over arc's sockets where they take any stream, and
//! in the context of a tokio runtime, by the feature `tokio-rt`, where they open their own.
//!
//! `in_tokio` shows the same for reqwest, `tokio_streams` for tokio-rustls. It ends by itself.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example tokio_crates
//! tokio-util, a codec over an arc socket: hello
//! tokio-stream, over a channel of tokio's: [1, 2, 3]
//! tower-http, a layer of a server on arc: nosniff
//! tokio-tungstenite, over an arc socket: hello
//! redis, with a socket of tokio's: 42
//! redis, over an arc socket: 42
//! ```

use arc::compat::axum::serve;
use arc::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use arc::net::{TcpListener, TcpStream};
use axum::http::{HeaderValue, header::X_CONTENT_TYPE_OPTIONS};
use axum::{Router, routing::get};
use futures_util::{SinkExt, StreamExt};
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, RedisConnectionInfo};
use std::error::Error;
use tokio_stream::wrappers::ReceiverStream;
use tokio_tungstenite::{accept_async, client_async};
use tokio_util::codec::{Framed, LinesCodec};
use tower_http::set_header::SetResponseHeaderLayer;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[arc::main]
async fn main() -> Result<()> {
    println!("tokio-util, a codec over an arc socket: {}", codec().await?);
    println!("tokio-stream, over a channel of tokio's: {:?}", stream().await);
    println!("tower-http, a layer of a server on arc: {}", layer().await?);
    println!("tokio-tungstenite, over an arc socket: {}", websocket().await?);
    println!("redis, with a socket of tokio's: {}", redis_client().await?);
    println!("redis, over an arc socket: {}", redis_over_arc().await?);
    Ok(())
}

/// The two ends of a connection.
async fn connection() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (server, _) = listener.accept().await?;
    Ok((client, server))
}

/// Sends a line there and back.
async fn codec() -> Result<String> {
    let (client, server) = connection().await?;
    arc::spawn(async move {
        let (mut sink, lines) = Framed::new(server, LinesCodec::new()).split();
        lines.forward(&mut sink).await
    });
    let mut client = Framed::new(client, LinesCodec::new());
    client.send("hello").await?;
    Ok(client.next().await.ok_or("no line")??)
}

/// tokio's channels need no runtime.
async fn stream() -> Vec<u32> {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    arc::spawn(async move {
        for number in 1..=3 {
            sender.send(number).await.expect("the stream is there");
        }
    });
    ReceiverStream::new(receiver).collect().await
}

/// Layers that neither sleep nor spawn run as they are.
async fn layer() -> Result<String> {
    let nosniff = HeaderValue::from_static("nosniff");
    let layer = SetResponseHeaderLayer::overriding(X_CONTENT_TYPE_OPTIONS, nosniff);
    let router = Router::new().route("/", get(|| async { "hello" })).layer(layer);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut client = TcpStream::connect(listener.local_addr()?).await?;
    arc::spawn(async move { serve(listener, router).await });

    client.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    let mut response = String::new();
    client.read_to_string(&mut response).await?;
    let value = response.lines().find_map(|line| line.strip_prefix("x-content-type-options: "));
    Ok(value.ok_or("no such header")?.to_owned())
}

/// Sends a message there and back.
async fn websocket() -> Result<String> {
    let (client, server) = connection().await?;
    arc::spawn(async move {
        let (mut sink, messages) = accept_async(server).await?.split();
        let said = messages.take(1);
        said.forward(&mut sink).await
    });
    let (mut client, _) = client_async("ws://localhost/", client).await?;
    client.send("hello".into()).await?;
    Ok(client.next().await.ok_or("no message")??.into_text()?.to_string())
}

/// The client opens a socket of tokio's, and spawns a task on tokio.
async fn redis_client() -> Result<u32> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    arc::spawn(async move { redis_server(listener.accept().await?.0).await });

    let client = redis::Client::open(format!("redis://{address}/"))?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    Ok(connection.get("answer").await?)
}

/// The client is given a socket of arc's, and what drives the connection is a task of arc's.
async fn redis_over_arc() -> Result<u32> {
    let (client, server) = connection().await?;
    arc::spawn(redis_server(server));

    let settings = RedisConnectionInfo::default();
    let (mut connection, driver) = MultiplexedConnection::new(&settings, client).await?;
    arc::spawn(driver);
    Ok(connection.get("answer").await?)
}

/// Answers each command with OK, but GET with 42.
async fn redis_server(stream: TcpStream) -> Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    // A command is a line with its number of words, and two lines for each word.
    while let Some(head) = lines.next_line().await? {
        let words: usize = head.strip_prefix('*').ok_or("not a command")?.parse()?;
        let mut command = Vec::new();
        for _ in 0..words {
            lines.next_line().await?;
            command.push(lines.next_line().await?.ok_or("it ends within a command")?);
        }
        let answer = if command[0] == "GET" { "$2\r\n42\r\n" } else { "+OK\r\n" };
        writer.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}
