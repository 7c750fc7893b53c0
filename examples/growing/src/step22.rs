//! Chapter 22: three commands that somebody has added.

use crate::faults;
use crate::frame::{Input, Reply, Request};
use crate::journal::Journal;
use crate::step20::Patience;
use crate::store::{Store, apply, changes};
use arc::io::AsyncWriteExt;
use arc::net::{TcpListener, TcpStream};
use arc::select;
use arc::sync::{CancellationToken, Semaphore};
use arc::task::TaskTracker;
use arc::time::timeout;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How many clients there may be at once.
const CLIENTS_MAX: usize = 100;

/// When there is as much to be written, it is not made more.
const REPLY_BYTES: usize = 64 << 10;

/// For how long the end waits for clients that do not take their replies.
const FAREWELL: Duration = Duration::from_secs(5);

/// What all clients share.
struct Shared {
    store: Store,
    journal: Journal,
    patience: Patience,
    /// Asks the clients to end.
    stop: CancellationToken,
    /// Ends them.
    cut_off: CancellationToken,
}

/// Serves all clients that come, until `stop` is cancelled. Every change that was answered is in
/// the journal then.
///
/// # Errors
/// Those of `accept` and of the journal's file.
pub async fn serve(
    listener: TcpListener,
    file: PathBuf,
    patience: Patience,
    stop: CancellationToken,
) -> io::Result<()> {
    let (journal, old, writes) = Journal::open(&file).await?;
    let store = Store::default();
    for request in old {
        store.with(|map| apply(map, &request, &mut Reply::default()));
    }
    let cut_off = CancellationToken::new();
    let shared = Arc::new(Shared { store, journal, patience, stop: stop.clone(), cut_off });

    let clients = TaskTracker::new();
    let accepted = select! {
        accepted = accept_all(&listener, &shared, &clients) => accepted,
        () = stop.cancelled() => Ok(()),
    };

    // 1. Nobody new comes in.
    drop(listener);
    // 2. All are told, also if it is an error that ends this. Each answers what it has read.
    stop.cancel();
    clients.close();
    // 3. Each is waited for, but not for ever. Then those that are left are dropped.
    if timeout(FAREWELL, clients.wait()).await.is_err() {
        shared.cut_off.cancel();
        clients.wait().await;
    }
    // 4. The last sender goes, so the journal writes what is left, and ends.
    drop(shared);
    writes.await.map_err(io::Error::other)??;
    accepted
}

/// Accepts clients. This never ends but by an error, and loses nothing when it is dropped.
async fn accept_all(
    listener: &TcpListener,
    shared: &Arc<Shared>,
    clients: &TaskTracker,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(CLIENTS_MAX));
    loop {
        let permit = room.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = listener.accept().await?;
        let shared = shared.clone();
        drop(clients.spawn(async move {
            let _ = shared.cut_off.run_until_cancelled(client(stream, &shared)).await;
            drop(permit);
        }));
    }
}

/// Answers the requests of one client, until it goes, is silent or deaf for too long, or the server
/// ends.
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
        // Here and nowhere else it is asked to stop: all that was read is answered.
        select! {
            read = timeout(idle, input.read_from(&mut stream)) => match read {
                Ok(Ok(1..)) => {}
                _ => return Ok(()),
            },
            () = shared.stop.cancelled() => return Ok(()),
        }
    }
}

/// Writes the replies. After an error, the connection is of no use any more.
async fn send(stream: &mut TcpStream, reply: &mut Reply, limit: Duration) -> io::Result<()> {
    timeout(limit, stream.write_all(&reply.bytes)).await??;
    reply.bytes.clear();
    Ok(())
}

/// Answers a request. A change is made and recorded, or neither of the two.
async fn execute(request: Request, shared: &Shared, reply: &mut Reply) -> io::Result<()> {
    let Shared { store, journal, .. } = shared;
    let words: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
    let name = words.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default();
    match (name.as_slice(), words.get(1..).unwrap_or_default()) {
        (b"APPEND", [key, text]) => return faults::append(store, journal, key, text, reply).await,
        (b"DIGEST", []) => return faults::digest(store, reply).await,
        (b"AWAIT", [key]) => return faults::wait_for(store, journal, key, reply).await,
        _ => {}
    }

    if !changes(&request) {
        store.with(|map| apply(map, &request, reply));
        return Ok(());
    }
    let room = journal.reserve().await?;
    store.with(|map| {
        apply(map, &request, reply);
        room.record(request);
    });
    Ok(())
}
