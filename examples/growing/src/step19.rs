//! Chapter 19: nothing grows without limit.

use crate::frame::{Input, Reply, Request};
use crate::journal::Journal;
use crate::store::{Store, apply, changes};
use arc::io::AsyncWriteExt;
use arc::net::{TcpListener, TcpStream};
use arc::sync::Semaphore;
use arc::task::spawn_named;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// How many clients there may be at once. More of them wait in the kernel, which answers them.
pub const CLIENTS_MAX: usize = 100;

/// When there is as much to be written, it is not made more.
const REPLY_BYTES: usize = 64 << 10;

/// What all clients share.
struct Shared {
    store: Store,
    journal: Journal,
}

/// Serves all clients that come, as many at once as may be.
///
/// # Errors
/// Those of `accept` and of the journal's file.
pub async fn serve(listener: TcpListener, file: PathBuf) -> io::Result<()> {
    let (journal, _, _) = Journal::open(&file).await?;
    let shared = Arc::new(Shared { store: Store::default(), journal });
    let room = Arc::new(Semaphore::new(CLIENTS_MAX));
    loop {
        // First the permit, and then the client: nobody is taken in who would have to wait.
        let permit = room.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = listener.accept().await?;
        let shared = shared.clone();
        spawn_named("client", async move {
            let _ = client(stream, &shared).await;
            // It has moved into the task, and comes back however the task ends.
            drop(permit);
        });
    }
}

/// Answers the requests of one client, until it goes.
async fn client(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let (mut input, mut reply) = (Input::default(), Reply::default());
    loop {
        let next = loop {
            match input.request() {
                Ok(Some(request)) => execute(request, shared, &mut reply).await?,
                other => break other,
            }
            if reply.bytes.len() >= REPLY_BYTES {
                stream.write_all(&reply.bytes).await?;
                reply.bytes.clear();
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

/// Answers a request. A change is made and recorded, or neither of the two.
async fn execute(request: Request, shared: &Shared, reply: &mut Reply) -> io::Result<()> {
    if !changes(&request) {
        shared.store.with(|map| apply(map, &request, reply));
        return Ok(());
    }
    // To wait comes first. Behind this line nothing waits, so nothing can come in between.
    let room = shared.journal.reserve().await?;
    shared.store.with(|map| {
        apply(map, &request, reply);
        // Under the lock: two changes of a key are recorded in the order in which they were made.
        room.record(request);
    });
    Ok(())
}
