//! What files and standard output have in common: bytes are written by jobs of `spawn_blocking`,
//! which lag behind their writer by one write, and no job is ever left out.
//!
//! A write goes into a queue first, and then a job is spawned that empties the queue. The job holds
//! an [`Owed`], which does that when it is dropped: by the job when that runs, or by the runtime
//! that drops the job because it ends before the job has begun.
//!
//! Standard output has one queue for all writers, and one job at a time: a writer whose write is in
//! the queue of a job that has not ended spawns none. Such a job empties the queue before it ends.
//!
//! All that is done to one target is done in turn: see [`Shared::turn`].

use arc::runtime::{Handle, Id};
use arc::task::{JoinError, JoinHandle, consume_budget, try_spawn_blocking};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Result, SeekFrom};
use std::mem::take;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, ready};

/// How much one job reads or writes at most, in bytes, unless somebody sets another number. And how
/// much may wait in a queue before a writer waits as well.
pub(crate) const BUFFER_MAX: usize = 2 << 20;

/// What is written to, by calls that block.
pub(crate) trait Target: Send + Sync + 'static {
    /// Whether bytes that are written may stay in a buffer of std's, until `flush` is called.
    const HOLDS_BACK: bool;

    fn write_all(&self, bytes: &[u8]) -> Result<()>;
    fn flush(&self) -> Result<()>;

    /// Moves the position back by a number of bytes.
    fn move_back(&self, count: i64) -> Result<()>;
}

/// What has been read from a target, and not by its user yet.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Only grows, so that it is filled with zeros once.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Ahead {
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Reads up to `limit` bytes, if there are none.
    pub(crate) fn fill(&mut self, limit: usize, mut source: impl io::Read) -> Result<usize> {
        if self.is_empty() {
            self.bytes.resize(self.bytes.len().max(limit), 0);
            (self.start, self.end) = (0, 0);
            self.end = loop {
                match source.read(&mut self.bytes[..limit]) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    result => break result?,
                }
            };
        }
        Ok(self.end - self.start)
    }

    /// Moves bytes into a buffer, and returns how many.
    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let bytes = &self.bytes[self.start..self.end];
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.start += count;
        count
    }

    /// Gives back what has been read: the target's position is where its user believes it to be.
    /// What has no position, such as a terminal, keeps the bytes for the next read.
    pub(crate) fn give_back<T: Target>(&mut self, target: &T) -> Result<()> {
        let count = self.end - self.start;
        if count > 0 {
            match target.move_back(i64::try_from(count).unwrap_or(i64::MAX)) {
                Err(error) if error.kind() == ErrorKind::NotSeekable => return Ok(()),
                result => result?,
            }
            self.start = self.end;
        }
        Ok(())
    }
}

/// A write that nobody has begun.
struct Write {
    number: u64,
    bytes: Vec<u8>,
    report: Arc<Mutex<Report>>,
}

/// What has become of the writes of one writer.
#[derive(Default)]
struct Report {
    /// The first error that its user has not been told.
    error: Option<io::Error>,
    /// The buffer of a write that is done, for the next one.
    spare: Vec<u8>,
    /// The writer is gone.
    is_orphan: bool,
}

#[derive(Default)]
struct Queue {
    writes: VecDeque<Write>,
    /// How many there have been.
    count: u64,
    /// How many of them are done.
    done: u64,
    /// How many bytes wait.
    bytes: usize,
    /// The runtime that has a job which empties the queue before it ends.
    emptied_by: Option<Id>,
    /// The first error of a writer that was gone before it was told.
    untold: Option<io::Error>,
}

/// A target, and what is to be done with it.
pub(crate) struct Shared<T> {
    pub(crate) target: T,
    queue: Mutex<Queue>,
    /// Who has the lock may use the target. It is held while that blocks. So no task waits for it:
    /// jobs do, and whoever may block.
    turn: Mutex<Ahead>,
    /// How often the length of a file was set.
    pub(crate) changes: AtomicU64,
}

/// A poisoned lock is not an error here: what it guards is valid at each of its steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Target> Shared<T> {
    pub(crate) fn new(target: T) -> Arc<Self> {
        let (queue, turn, changes) = (Mutex::default(), Mutex::default(), AtomicU64::new(0));
        Arc::new(Self { target, queue, turn, changes })
    }

    /// Blocks until it is the caller's turn: all that began before has been done.
    pub(crate) fn turn(&self) -> MutexGuard<'_, Ahead> {
        lock(&self.turn)
    }

    /// Blocks until the writes up to one of that number are done, by whomsoever. Returns the turn.
    fn write_up_to(&self, last: u64) -> MutexGuard<'_, Ahead> {
        let mut ahead = self.turn();
        while let Some(write) = self.next_write(last) {
            self.write(write, &mut ahead);
        }
        ahead
    }

    /// Blocks until nothing is left in the queue. A write that comes later is nobody's yet.
    fn empty_queue(&self) {
        let mut ahead = self.turn();
        while let Some(write) = self.next_write(u64::MAX) {
            self.write(write, &mut ahead);
        }
    }

    /// For the one whose turn it is.
    fn next_write(&self, last: u64) -> Option<Write> {
        let mut queue = lock(&self.queue);
        if queue.writes.is_empty() {
            queue.emptied_by = None;
        }
        let is_due = queue.writes.front().is_some_and(|write| write.number <= last);
        if is_due { queue.writes.pop_front() } else { None }
    }

    /// For the one whose turn it is.
    fn write(&self, write: Write, ahead: &mut Ahead) {
        let done = ahead.give_back(&self.target);
        let done = done.and_then(|()| self.target.write_all(&write.bytes));
        let mut report = lock(&write.report);
        let mut queue = lock(&self.queue);
        (queue.done, queue.bytes) = (write.number, queue.bytes - write.bytes.len());
        if let Err(error) = done {
            let teller = if report.is_orphan { &mut queue.untold } else { &mut report.error };
            teller.get_or_insert(error);
        }
        drop(queue);
        report.spare = write.bytes;
    }

    /// Blocks, in a job, until all is written that has begun before. Returns the turn.
    pub(crate) fn settle(&self) -> MutexGuard<'_, Ahead> {
        let last = lock(&self.queue).count;
        self.write_up_to(last)
    }

    pub(crate) fn into_inner(self) -> (T, Ahead) {
        (self.target, self.turn.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The duty to empty the queue. It is done when this is dropped.
struct Owed<T: Target>(Arc<Shared<T>>);

impl<T: Target> Drop for Owed<T> {
    fn drop(&mut self) {
        self.0.empty_queue();
    }
}

/// What a job does for its writer. The result of a seek is the new position.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Doing {
    Write(u64),
    /// It waits for room in the queue.
    Room,
    Flush,
    /// How often the length had been set when the read began.
    Read(u64),
    Seek(SeekFrom),
}

/// One who writes to a target, and perhaps reads it. At most one job is at work for it.
pub(crate) struct Writer<T: Target> {
    pub(crate) shared: Arc<Shared<T>>,
    pub(crate) buffer_max: usize,
    /// A write without a job is in the queue of another writer's job.
    job: Option<(Doing, Option<JoinHandle<Result<u64>>>)>,
    report: Arc<Mutex<Report>>,
}

/// What nobody was told, the next writer is.
impl<T: Target> Drop for Writer<T> {
    fn drop(&mut self) {
        let mut report = lock(&self.report);
        report.is_orphan = true;
        if let Some(error) = report.error.take() {
            lock(&self.shared.queue).untold.get_or_insert(error);
        }
    }
}

impl<T: Target> Writer<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        let report = Arc::default();
        Self { shared, buffer_max: BUFFER_MAX, job: None, report }
    }

    /// Waits for the job that is at work. Returns what it did, if there was one.
    pub(crate) fn poll_job(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<(Doing, Result<u64>)>> {
        let Some((doing, handle)) = &mut self.job else { return Poll::Ready(None) };
        if let (Doing::Write(last), None) = (*doing, &handle)
            && lock(&self.shared.queue).done < last
        {
            // Only who waits for the write of another one's job has a job for that.
            let owed = Owed(self.shared.clone());
            *handle = try_spawn_blocking(move || written(owed)).ok();
        }
        let result = match handle {
            Some(handle) => ready!(Pin::new(handle).poll(context)),
            None => Ok(Ok(0)),
        };
        let (doing, _) = (*doing, self.job = None);
        let result = match (doing, result) {
            (_, Ok(result)) => result,
            // Whoever dropped the job has done the write, or is about to.
            (Doing::Write(last), Err(_)) => {
                drop(self.shared.write_up_to(last));
                Ok(0)
            }
            (_, Err(error)) => Err(given_up(error)),
        };
        Poll::Ready(Some((doing, result)))
    }

    /// Whether a job is at work that has not ended.
    pub(crate) fn is_busy(&self) -> bool {
        let handle = self.job.as_ref().and_then(|(_, handle)| handle.as_ref());
        handle.is_some_and(|handle| !handle.is_finished())
    }

    /// The error of an earlier write, which is told once.
    pub(crate) fn check(&self) -> Result<()> {
        let own = lock(&self.report).error.take();
        own.or_else(|| lock(&self.shared.queue).untold.take()).map_or(Ok(()), Err)
    }

    /// Begins something that is not a write. No job is at work.
    pub(crate) fn begin(
        &mut self,
        doing: Doing,
        act: impl FnOnce(&T, &mut Ahead) -> Result<u64> + Send + 'static,
    ) -> Result<()> {
        let (_, shared) = (inside(), self.shared.clone());
        let handle = try_spawn_blocking(move || act(&shared.target, &mut shared.settle()));
        self.job = Some((doing, Some(handle.map_err(no_thread)?)));
        Ok(())
    }

    /// Moves what was read ahead into a buffer. None if there is nothing, or somebody else has his
    /// turn.
    pub(crate) fn take_ahead(&self, buffer: &mut [u8]) -> Option<usize> {
        let mut ahead = match self.shared.turn.try_lock() {
            Ok(ahead) => ahead,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        (!ahead.is_empty()).then(|| ahead.take(buffer))
    }

    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        // Whoever writes to a queue never waits as long as there is room.
        ready!(pin!(consume_budget()).poll(context));
        loop {
            let done = ready!(self.poll_job(context));
            if let Some((Doing::Flush | Doing::Room, result)) = done {
                result?; // the flush is of a future that was dropped
            }
            self.check()?;
            if lock(&self.shared.queue).bytes < BUFFER_MAX {
                break;
            }
            self.begin(Doing::Room, |_, _| Ok(0))?;
        }
        let mut bytes = take(&mut lock(&self.report).spare);
        bytes.clear();
        for part in parts {
            let room = self.buffer_max - bytes.len();
            bytes.extend_from_slice(&part[..part.len().min(room)]);
        }
        let count = bytes.len();
        if count > 0 {
            self.begin_write(bytes);
        }
        Poll::Ready(Ok(count))
    }

    fn begin_write(&mut self, bytes: Vec<u8>) {
        let runtime = inside().id();
        let mut queue = lock(&self.shared.queue);
        queue.count += 1;
        queue.bytes += bytes.len();
        let number = queue.count;
        queue.writes.push_back(Write { number, bytes, report: self.report.clone() });
        let has_job = queue.emptied_by.replace(runtime) == Some(runtime);
        drop(queue);

        // Without a thread the write is done here and now: `owed` is dropped.
        let owed = (!has_job).then(|| Owed(self.shared.clone()));
        let handle = owed.and_then(|owed| try_spawn_blocking(move || written(owed)).ok());
        self.job = Some((Doing::Write(number), handle));
    }

    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            let done = ready!(self.poll_job(context));
            self.check()?;
            match done {
                Some((Doing::Flush, result)) => return Poll::Ready(result.map(drop)),
                _ if !T::HOLDS_BACK => return Poll::Ready(Ok(())),
                _ => {}
            }
            self.begin(Doing::Flush, |target, _| target.flush().map(|()| 0))?;
        }
    }
}

/// Implements writing for a type around a [`Writer`].
macro_rules! written_by_jobs {
    ($type:ty) => {
        /// An error is returned, once, by the operation after the one that took the bytes. Closing
        /// flushes, and no more: what is written to stays open.
        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<Result<usize>> {
                self.get_mut().0.poll_write(context, &[IoSlice::new(bytes)])
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                parts: &[IoSlice<'_>],
            ) -> Poll<Result<usize>> {
                self.get_mut().0.poll_write(context, parts)
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
                self.get_mut().0.poll_flush(context)
            }

            fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
                self.poll_flush(context)
            }
        }
    };
}
pub(crate) use written_by_jobs;

/// The job of a write.
fn written<T: Target>(owed: Owed<T>) -> Result<u64> {
    drop(owed);
    Ok(0)
}

/// The runtime. Before anything is done, it panics if there is none.
#[track_caller]
pub(crate) fn inside() -> Handle {
    Handle::try_current().unwrap_or_else(|_| {
        panic!(
            "a file or standard output was used outside an arc runtime: do so in a task, inside \
             `Runtime::block_on` or `#[arc::main]`, or while you hold the guard of `Handle::enter`"
        )
    })
}

/// Runs a function that blocks, and waits for its result.
pub(crate) async fn run<R: Send + 'static>(
    act: impl FnOnce() -> Result<R> + Send + 'static,
) -> Result<R> {
    let _ = inside();
    let job = try_spawn_blocking(act).map_err(no_thread)?;
    job.await.unwrap_or_else(|error| Err(given_up(error)))
}

/// The error of a job for which there is no thread. Not of the kind `WouldBlock`, which means
/// something else to those who read and write.
pub(crate) fn no_thread(error: io::Error) -> io::Error {
    io::Error::other(format!("no thread could be started for the job: {error}"))
}

/// The error of a job that was not run. A job's panic goes on here.
pub(crate) fn given_up(error: JoinError) -> io::Error {
    if error.is_panic() {
        resume_unwind(error.into_panic());
    }
    let why = "the job was given up: the runtime has ended, or no thread could be started for it";
    io::Error::other(why)
}
