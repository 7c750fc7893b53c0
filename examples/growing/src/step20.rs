//! Chapter 20: nothing takes for ever.

use crate::frame::{Input, Reply, Request};
use crate::journal::Journal;
use crate::store::{Store, apply, changes};
use arc::io::AsyncWriteExt;
use arc::net::{TcpListener, TcpStream};
use arc::sync::Semaphore;
use arc::task::spawn_named;
use arc::time::{error::Elapsed, timeout};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How many clients there may be at once.
const CLIENTS_MAX: usize = 100;

/// When there is as much to be written, it is not made more.
const REPLY_BYTES: usize = 64 << 10;

/// For how long one waits for a client.
#[derive(Clone, Copy)]
pub struct Patience {
    /// Until the next bytes come.
    pub idle: Duration,
    /// Until it has taken what is written.
    pub write: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { idle: Duration::from_secs(300), write: Duration::from_secs(10) }
    }
}

/// What all clients share.
struct Shared {
    store: Store,
    journal: Journal,
    patience: Patience,
}

/// Serves all clients that come, as many at once as may be.
///
/// # Errors
/// Those of `accept` and of the journal's file.
pub async fn serve(listener: TcpListener, file: PathBuf, patience: Patience) -> io::Result<()> {
    let (journal, _, _) = Journal::open(&file).await?;
    let shared = Arc::new(Shared { store: Store::default(), journal, patience });
    let room = Arc::new(Semaphore::new(CLIENTS_MAX));
    loop {
        let permit = room.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = listener.accept().await?;
        let shared = shared.clone();
        spawn_named("client", async move {
            let _ = client(stream, &shared).await;
            drop(permit);
        });
    }
}

/// Answers the requests of one client, until it goes, or is silent or deaf for too long.
async fn client(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let (mut input, mut reply) = (Input::default(), Reply::default());
    let Patience { idle, write } = shared.patience;
    loop {
        let next = loop {
            match input.request() {
                Ok(Some(request)) => execute(request, shared, &mut reply).await?,
                other => break other,
            }
            if reply.bytes.len() >= REPLY_BYTES {
                send(&mut stream, &mut reply, write).await?;
            }
        };
        if let Err(mistake) = next {
            reply.error(mistake);
        }
        send(&mut stream, &mut reply, write).await?;
        if next.is_err() {
            return Ok(());
        }
        // The time limit drops `read_from`, which loses nothing. It could be called again.
        match timeout(idle, input.read_from(&mut stream)).await {
            Ok(Ok(1..)) => {}
            Ok(Ok(0)) | Err(Elapsed { .. }) => return Ok(()),
            Ok(Err(error)) => return Err(error),
        }
    }
}

/// Writes the replies. If the time is over, nobody knows how much of them was written: then this
/// connection is of no use any more, and its end is the only right way out.
async fn send(stream: &mut TcpStream, reply: &mut Reply, limit: Duration) -> io::Result<()> {
    timeout(limit, stream.write_all(&reply.bytes)).await??;
    reply.bytes.clear();
    Ok(())
}

/// Answers a request. A change is made and recorded, or neither of the two.
async fn execute(request: Request, shared: &Shared, reply: &mut Reply) -> io::Result<()> {
    if !changes(&request) {
        shared.store.with(|map| apply(map, &request, reply));
        return Ok(());
    }
    let room = shared.journal.reserve().await?;
    shared.store.with(|map| {
        apply(map, &request, reply);
        room.record(request);
    });
    Ok(())
}
