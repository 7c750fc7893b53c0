//! What files and standard output have in common: bytes are written by jobs of `spawn_blocking`. A
//! write returns when its job has been spawned. The next call of the same writer waits for that job
//! first, so a writer is never more than one write ahead. No write that returned `Ok` is left out,
//! even if its job never runs.
//!
//! A write goes into a queue first, and then a job is spawned that takes it out. The job holds an
//! [`Owed`], which does the write when it is dropped: by the job when that runs, or by the runtime
//! that drops the job because it ends before the job has begun.
//!
//! Standard output has one queue for all its writers, of which many may be dropped before their
//! writes are done. So a runtime may only have so many jobs and bytes there at a time: see
//! [`Pending`]. Each runtime counts its own writes. A write counts until its job has ended, and not
//! only until its bytes are written, which a job of another runtime may do. So a runtime sees
//! nothing of the others, and a simulation is the same each time.
//!
//! All that is done to one target is done in turn: see [`Shared::turn`].

use crate::wake::Wakers;
use crate::would_block::{self, Waits};
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
use tokio::io::ReadBuf;

/// How much one job reads or writes at most, in bytes, unless somebody sets another number. And how
/// much of a runtime's may wait in a queue before a writer waits as well.
pub(crate) const BUFFER_MAX: usize = 2 << 20;

/// How many jobs of a runtime may write to one target. Each takes a thread of its pool.
const JOBS_MAX: usize = 128;

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
    pub(crate) fn fill(
        &mut self,
        limit: usize,
        mut source: impl io::Read + Waits,
    ) -> Result<usize> {
        // What is there comes first: a read that was dropped has left it.
        if self.is_empty() {
            self.bytes.resize(self.bytes.len().max(limit), 0);
            (self.start, self.end) = (0, 0);
            self.end = would_block::read(&mut source, &mut self.bytes[..limit])?;
        }
        Ok(self.end - self.start)
    }

    /// Moves bytes into a buffer.
    fn take(&mut self, buffer: &mut ReadBuf<'_>) {
        let bytes = &self.bytes[self.start..self.end];
        let count = bytes.len().min(buffer.remaining());
        buffer.put_slice(&bytes[..count]);
        self.start += count;
    }

    /// Gives back what has been read: the target's position is where its user believes it to be.
    /// What has no position, such as a terminal, keeps the bytes for the next read.
    pub(crate) fn give_back<T: Target>(&mut self, target: &T) -> Result<()> {
        let count = self.end - self.start;
        if count > 0 {
            // The system's position is behind what was read ahead.
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
    /// How many writers there have been.
    writers: u64,
    /// Of each runtime. Rarely is there more than one.
    pending: Vec<Pending>,
    /// The first error of a writer that was gone before it was told.
    untold: Option<io::Error>,
}

impl Queue {
    fn pending_of(&mut self, runtime: Id) -> Option<&mut Pending> {
        self.pending.iter_mut().find(|pending| pending.runtime == runtime)
    }

    fn job_begins(&mut self, runtime: Id, bytes: usize) {
        match self.pending_of(runtime) {
            Some(pending) => {
                pending.jobs += 1;
                pending.bytes += bytes;
            }
            // The first job of this runtime, or the first since it had none.
            None => {
                let wakers = Wakers::new();
                self.pending.push(Pending { runtime, jobs: 1, bytes, wakers });
            }
        }
    }

    /// A job of that runtime has ended, or was dropped. Returns who is to be woken.
    fn job_ends(&mut self, runtime: Id, bytes: usize) -> Wakers {
        let Some(pending) = self.pending_of(runtime) else { return Wakers::new() };
        pending.jobs -= 1;
        pending.bytes -= bytes;

        // All of them look again: how much room each of them needs is not known here.
        let is_full = pending.is_full();
        let wakers = if is_full { Wakers::new() } else { take(&mut pending.wakers) };
        self.pending.retain(|pending| pending.jobs > 0);
        wakers
    }

    /// The next write, if its number is not above the last one that is wanted.
    fn next_write(&mut self, last: u64) -> Option<Write> {
        let is_due = self.writes.front().is_some_and(|write| write.number <= last);
        if is_due { self.writes.pop_front() } else { None }
    }
}

/// What a runtime has in the queue: the writes whose jobs have not ended.
struct Pending {
    runtime: Id,
    jobs: usize,
    bytes: usize,
    /// Who waits for room, by the numbers of the writers.
    wakers: Wakers,
}

impl Pending {
    fn is_full(&self) -> bool {
        self.jobs >= JOBS_MAX || self.bytes >= BUFFER_MAX
    }
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
        let changes = AtomicU64::new(0);
        Arc::new(Self { target, queue: Mutex::default(), turn: Mutex::default(), changes })
    }

    /// Blocks until it is the caller's turn: all that began before has been done.
    pub(crate) fn turn(&self) -> MutexGuard<'_, Ahead> {
        lock(&self.turn)
    }

    /// Blocks until the writes up to one of that number are done, by whomsoever. Returns the turn.
    fn write_up_to(&self, last: u64) -> MutexGuard<'_, Ahead> {
        let mut ahead = self.turn();
        loop {
            // Released at once: others may begin writes meanwhile.
            let next = lock(&self.queue).next_write(last);
            let Some(write) = next else { return ahead };

            // A write goes to where its user believes the position to be.
            let done = ahead.give_back(&self.target);
            let done = done.and_then(|()| self.target.write_all(&write.bytes));

            let mut report = lock(&write.report);
            report.spare = write.bytes;
            if let Err(error) = done {
                // Where the writer is gone, the next one is told.
                if report.is_orphan {
                    lock(&self.queue).untold.get_or_insert(error);
                } else {
                    report.error.get_or_insert(error);
                }
            }
        }
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

/// The duty to do the writes up to a number. They are done when this is dropped, at the latest.
struct Owed<T: Target> {
    shared: Arc<Shared<T>>,
    last: u64,
    runtime: Id,
    bytes: usize,
}

impl<T: Target> Drop for Owed<T> {
    fn drop(&mut self) {
        drop(self.shared.write_up_to(self.last));
        // In a variable, so that the lock is released before somebody is woken.
        let wakers = lock(&self.shared.queue).job_ends(self.runtime, self.bytes);
        wakers.wake();
    }
}

/// What a job does for its writer. The result of a seek is the new position.
#[derive(Clone, Copy)]
pub(crate) enum Doing {
    Write(u64),
    Flush,
    /// How often the length had been set when the read began.
    Read(u64),
    /// And whether it is done again, as the one before may have been of a dropped future.
    Seek(SeekFrom, bool),
    /// A seek that `start_seek` has begun.
    StartedSeek,
}

/// One who writes to a target, and perhaps reads it. At most one job is at work for it.
pub(crate) struct Writer<T: Target> {
    pub(crate) shared: Arc<Shared<T>>,
    pub(crate) buffer_max: usize,
    job: Option<(Doing, JoinHandle<Result<u64>>)>,
    report: Arc<Mutex<Report>>,
    number: u64,
    /// It waits for room, in the queue of this runtime.
    waits_in: Option<Id>,
}

/// What nobody was told, the next writer is.
impl<T: Target> Drop for Writer<T> {
    fn drop(&mut self) {
        self.wait_no_longer();

        // Its writes go on. What becomes of them is told to whoever asks next.
        let mut report = lock(&self.report);
        report.is_orphan = true;
        if let Some(error) = report.error.take() {
            lock(&self.shared.queue).untold.get_or_insert(error);
        }
    }
}

impl<T: Target> Writer<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        let mut queue = lock(&shared.queue);
        queue.writers += 1;
        let number = queue.writers;
        drop(queue);

        let report = Arc::default();
        Self { shared, buffer_max: BUFFER_MAX, job: None, report, number, waits_in: None }
    }

    /// Waits for the job that is at work. Returns what it did, if there was one.
    pub(crate) fn poll_job(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<(Doing, Result<u64>)>> {
        let Some((doing, handle)) = &mut self.job else { return Poll::Ready(None) };
        let result = ready!(Pin::new(handle).poll(context));
        let doing = *doing;
        self.job = None;

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

    /// Whether there is a job whose result nobody has waited for.
    pub(crate) fn has_job(&self) -> bool {
        self.job.is_some()
    }

    /// Whether a job is at work that has not ended.
    pub(crate) fn is_busy(&self) -> bool {
        self.job.as_ref().is_some_and(|(_, handle)| !handle.is_finished())
    }

    /// The error of an earlier write, which is told once. Also one of a writer that is gone.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_own()?;
        lock(&self.shared.queue).untold.take().map_or(Ok(()), Err)
    }

    fn check_own(&self) -> Result<()> {
        lock(&self.report).error.take().map_or(Ok(()), Err)
    }

    /// Begins something that is not a write. No job is at work.
    pub(crate) fn begin(
        &mut self,
        doing: Doing,
        act: impl FnOnce(&T, &mut Ahead) -> Result<u64> + Send + 'static,
    ) -> Result<()> {
        // It panics outside a runtime, before anything is begun.
        let _ = inside();
        let shared = self.shared.clone();
        let job = Box::new(move || act(&shared.target, &mut shared.settle()));
        self.job = Some((doing, spawn_job(job).map_err(no_thread)?));
        Ok(())
    }

    /// Moves what was read ahead into a buffer. False if there is nothing, or somebody else has his
    /// turn.
    pub(crate) fn take_ahead(&self, buffer: &mut ReadBuf<'_>) -> bool {
        // The caller is a task, which must not wait for a lock that is held while something blocks.
        let mut ahead = match self.shared.turn.try_lock() {
            Ok(ahead) => ahead,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };

        let is_there = !ahead.is_empty();
        ahead.take(buffer);
        is_there
    }

    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        // One write at a time. A flush was begun by a future that was dropped.
        if let Some((Doing::Flush, result)) = ready!(self.poll_job(context)) {
            result?;
        }
        self.check()?;
        let runtime = inside().id();
        ready!(self.poll_room(runtime, context));

        // As long as there is room nobody waits. So a task that writes without end, by a new writer
        // each time, would never let others run.
        ready!(pin!(consume_budget()).poll(context));

        // The buffer of the last write is used again. What does not fit is the caller's next write.
        let mut bytes = take(&mut lock(&self.report).spare);
        bytes.clear();
        for part in parts {
            let room = self.buffer_max - bytes.len();
            bytes.extend_from_slice(&part[..part.len().min(room)]);
        }

        // To write nothing takes no job.
        let count = bytes.len();
        if count > 0 {
            self.begin_write(runtime, bytes);
        }
        Poll::Ready(Ok(count))
    }

    /// Waits until the queue has room for this runtime.
    fn poll_room(&mut self, runtime: Id, context: &Context<'_>) -> Poll<()> {
        // A waker is foreign code: it is cloned and dropped without the lock.
        let waker = context.waker().clone();
        let mut queue = lock(&self.shared.queue);
        if let Some(pending) = queue.pending_of(runtime).filter(|it| it.is_full()) {
            let before = pending.wakers.insert(self.number, waker);
            drop(queue);
            drop(before);
            self.waits_in = Some(runtime);
            return Poll::Pending;
        }

        // It may have left a waker before, in this queue or in that of another runtime.
        drop(queue);
        self.wait_no_longer();
        Poll::Ready(())
    }

    fn wait_no_longer(&mut self) {
        if let Some(runtime) = self.waits_in.take() {
            let mut queue = lock(&self.shared.queue);
            let pending = queue.pending_of(runtime);
            let waker = pending.and_then(|pending| pending.wakers.remove(self.number));
            drop(queue);
            drop(waker);
        }
    }

    fn begin_write(&mut self, runtime: Id, bytes: Vec<u8>) {
        let count = bytes.len();
        let report = self.report.clone();

        // The number is given under the lock, so that the queue is in the order of the numbers.
        let mut queue = lock(&self.shared.queue);
        queue.count += 1;
        let last = queue.count;
        queue.job_begins(runtime, count);
        queue.writes.push_back(Write { number: last, bytes, report });
        drop(queue);
        let owed = Owed { shared: self.shared.clone(), last, runtime, bytes: count };

        // Without a thread the write is done here and now: `owed` is dropped.
        let job = spawn_job(Box::new(move || {
            drop(owed);
            Ok(0)
        }));
        self.job = job.ok().map(|handle| (Doing::Write(last), handle));
    }

    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            let done = ready!(self.poll_job(context));
            self.check_own()?;

            // What another writer was not told does not keep this one from being flushed.
            match done {
                Some((Doing::Flush, result)) => {
                    return Poll::Ready(result.and_then(|_| self.check()));
                }
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
        /// An error is returned, once, by the operation after the one that took the bytes. Shutting
        /// it down flushes, and no more: what is written to stays open.
        impl tokio::io::AsyncWrite for $type {
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

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
                self.poll_flush(context)
            }
        }

        crate::forward::also_writes!($type);
    };
}
pub(crate) use written_by_jobs;

/// The runtime. Before anything is done, it panics if there is none.
#[track_caller]
pub(crate) fn inside() -> Handle {
    Handle::try_current().unwrap_or_else(|| {
        panic!(
            "a file or standard output was used outside an arc runtime: do so in a task, in \
             `Runtime::block_on(async {{ .. }})` or `#[arc::main]`, or while you hold the guard of \
             `Handle::enter`"
        )
    })
}

/// Spawns a job of a writer. All are of one type: a task of each job's own type would be a fifth of
/// the machine code of this crate, and of the time to build it.
fn spawn_job(job: Box<dyn FnOnce() -> Result<u64> + Send>) -> Result<JoinHandle<Result<u64>>> {
    try_spawn_blocking(job)
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
