//! Each change goes into a file, by a task of its own (chapter 19).
//!
//! The file has the requests that changed something, as they came. Whoever answers them again, in
//! their order, has the map again (chapter 21).

use crate::frame::{Input, Reply, Request};
use arc::fs::{File, OpenOptions};
use arc::io::AsyncWriteExt;
use arc::sync::mpsc::{Permit, Receiver, Sender, channel};
use arc::task::{JoinHandle, spawn_named};
use std::io;
use std::path::Path;

/// How many records may wait to be written. Then whoever has one more waits, its client is not
/// read any more, and TCP has that one wait.
const WAITING_MAX: usize = 64;

/// How many records are written at once.
const AT_ONCE: usize = 256;

/// Where changes are handed in. When the last clone is dropped, the journal's task writes what is
/// left, and ends.
#[derive(Clone)]
pub struct Journal(Sender<Request>);

impl Journal {
    /// Opens the file, and starts the task that writes into it. Gives also the requests that the
    /// file has so far, and the task.
    ///
    /// # Errors
    /// Those of the file.
    pub async fn open(path: &Path) -> io::Result<(Self, Vec<Request>, JoinHandle<io::Result<()>>)> {
        let bytes = match arc::fs::read(path).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            result => result?,
        };
        let (old, length) = records(&bytes);
        let file = OpenOptions::new().create(true).append(true).open(path).await?;
        // What comes must not stand behind a half of a record.
        file.set_len(length as u64).await?;
        let (journal, receiver) = Journal::with_room(WAITING_MAX);
        Ok((journal, old, spawn_named("journal", write(file, receiver))))
    }

    /// A journal without a file, with room for so many records. Whoever has the receiver gets them.
    pub fn with_room(room: usize) -> (Self, Receiver<Request>) {
        let (sender, receiver) = channel(room);
        (Journal(sender), receiver)
    }

    /// Waits for room for one record. Nothing has happened if this is dropped.
    ///
    /// # Errors
    /// The journal's task has ended: it could not write.
    pub async fn reserve(&self) -> io::Result<Room<'_>> {
        let ended = |_| io::Error::other("the journal cannot be written");
        Ok(Room(self.0.reserve().await.map_err(ended)?))
    }
}

/// Room for one record, which nobody else can take. If it is dropped, the room is free again.
pub struct Room<'a>(Permit<'a, Request>);

impl Room<'_> {
    /// Hands a record in. This waits for nothing.
    pub fn record(self, request: Request) {
        self.0.send(request);
    }
}

/// Writes what comes, as much at once as is there, until nobody can send any more.
async fn write(mut file: File, mut receiver: Receiver<Request>) -> io::Result<()> {
    let mut bytes = Reply::default();
    while let Some(request) = receiver.recv().await {
        bytes.request(&request);
        for _ in 1..AT_ONCE {
            let Ok(request) = receiver.try_recv() else { break };
            bytes.request(&request);
        }
        file.write_all(&bytes.bytes).await?;
        file.flush().await?;
        bytes.bytes.clear();
    }
    file.sync_all().await
}

/// The records of a journal, and how many bytes they have. A part of one at its end, which a crash
/// has left, does not count.
fn records(bytes: &[u8]) -> (Vec<Request>, usize) {
    let mut input = Input::default();
    input.add(bytes);
    let records = std::iter::from_fn(|| input.request().unwrap_or_default()).collect();
    (records, input.taken())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_record_at_the_end_does_not_count() {
        let mut bytes = Reply::default();
        bytes.request(&["INCR", "a"]);
        let whole = bytes.bytes.len();
        bytes.request(&["SET", "b", "c"]);
        for length in whole..bytes.bytes.len() {
            let (records, taken) = records(&bytes.bytes[..length]);
            assert_eq!(records, [[b"INCR".to_vec(), b"a".to_vec()]], "{length}");
            assert_eq!(taken, whole);
        }
        assert_eq!(records(&bytes.bytes).1, bytes.bytes.len());
    }
}
