//! Chapter 18: all clients share a map.

use crate::frame::{Input, Reply};
use crate::store::{Store, apply};
use arc::io::AsyncWriteExt;
use arc::net::{TcpListener, TcpStream};
use arc::task::spawn_named;
use std::io;
use std::sync::Arc;

/// Serves all clients that come.
///
/// # Errors
/// Those of `accept`.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let store = Arc::new(Store::default());
    loop {
        let (stream, _) = listener.accept().await?;
        let store = store.clone();
        spawn_named("client", async move {
            // What a connection ends by concerns its client alone.
            let _ = client(stream, &store).await;
        });
    }
}

/// Answers the requests of one client, until it goes.
async fn client(mut stream: TcpStream, store: &Store) -> io::Result<()> {
    let (mut input, mut reply) = (Input::default(), Reply::default());
    loop {
        let next = loop {
            match input.request() {
                Ok(Some(request)) => store.with(|map| apply(map, &request, &mut reply)),
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
