//! A server of pages, for `fetch`: HTTP by hand.

use arc::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use arc::net::{TcpListener, TcpStream};
use arc::sync::Semaphore;
use std::sync::Arc;

/// How many requests are answered at once.
const AT_ONCE: usize = 8;

#[arc::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let (stream, _) = listener.accept().await?;
        let place = places.clone().acquire_owned().await.expect("it is never closed");
        arc::spawn(async move {
            if let Err(error) = answer(stream).await {
                eprintln!("{error}");
            }
            drop(place);
        });
    }
}

/// Answers one request with the path that it asks for. The page `/slow` never comes.
async fn answer(stream: TcpStream) -> std::io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    let request = lines.next_line().await?.unwrap_or_default();
    while lines.next_line().await?.is_some_and(|line| !line.is_empty()) {}

    let path = request.split(' ').nth(1).unwrap_or("/");
    if path == "/slow" {
        std::future::pending::<()>().await;
    }
    let page = format!("HTTP/1.0 200 OK\r\ncontent-length: {}\r\n\r\n{path}", path.len());
    writer.write_all(page.as_bytes()).await?;
    writer.shutdown().await
}
