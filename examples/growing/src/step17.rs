//! Chapter 17: an echo that knows where a request ends.

use crate::frame::{Input, Reply, Request};
use arc::io::AsyncWriteExt;
use arc::net::{TcpListener, TcpStream};
use arc::task::spawn_named;
use std::io;

/// Serves all clients that come.
///
/// # Errors
/// Those of `accept`.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        spawn_named("client", async move {
            // What a connection ends by concerns its client alone.
            let _ = client(stream).await;
        });
    }
}

/// Answers the requests of one client, until it goes.
async fn client(mut stream: TcpStream) -> io::Result<()> {
    let (mut input, mut reply) = (Input::default(), Reply::default());
    loop {
        // One read may bring a part of a request, or many: all that are whole are answered.
        let next = loop {
            match input.request() {
                Ok(Some(request)) => answer(&request, &mut reply),
                other => break other,
            }
        };
        if let Err(mistake) = next {
            reply.error(mistake);
        }
        stream.write_all(&reply.bytes).await?;
        reply.bytes.clear();
        if next.is_err() || input.read_from(&mut stream).await? == 0 {
            return Ok(());
        }
    }
}

fn answer(request: &Request, reply: &mut Reply) {
    let Some((name, arguments)) = request.split_first() else { return };
    match (name.to_ascii_uppercase().as_slice(), arguments) {
        (b"PING", []) => reply.simple("PONG"),
        (b"ECHO" | b"PING", [text]) => reply.bulk(Some(text)),
        _ => reply.error("no such command, or other arguments"),
    }
}
