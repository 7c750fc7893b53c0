//! Map the kernel's events to the wakers of the tasks that wait for them.
//!
//! A socket is registered once, as a [`Source`]. An operation is tried first. Only if it
//! would block does the task leave its waker with the source, in the direction that it
//! waits for:
//!
//! ```text
//!   task:    read ──► WouldBlock ──► clear(seen) ──► lock { ready? ; keep waker } ──► Pending
//!   driver:  wait ──► event ──► set ──► lock { take wakers } ──► unlock ──► wake
//! ```
//!
//! An event may come at a bad moment. None is lost:
//!
//! * *Between the `read` and `clear`.* `clear` does nothing if the word has changed since it was
//!   read (`readiness.rs`), so the ready bit stays, and the task tries again.
//! * *Between `clear` and `Pending`.* The driver sets the word before it takes the wakers, and the
//!   task looks at the word once more under the lock under which it leaves its waker. So either the
//!   driver finds the waker, or the task finds the event.
//! * *After the waker was left, while the task is still being polled.* The driver wakes a running
//!   task, and async-task queues it again when its poll has ended.
//! * *While no thread waits.* The kernel keeps the event until one waits or looks.

use crate::driver::{kernel::Kernel, kernel::event::Until, readiness::Readiness};
use crate::{panic::wake, sync::Arc, sync::Instant, sync::Mutex, sync::lock, sync::tell};
use polling::{AsRawSource, AsSource};
use slab::Slab;
use std::{io, io::Result, mem, mem::ManuallyDrop, task::Context, task::Poll, task::Waker};

/// One of the two directions of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the peer to this process.
    Read,
    /// From this process to the peer.
    Write,
}

/// The tasks to wake, collected under a lock and woken after it.
pub(crate) type Wakers = Vec<Waker>;

pub(crate) struct Reactor {
    pub(crate) kernel: Kernel,
    pub(crate) sources: Mutex<Sources>,
}

#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) slab: Slab<Arc<Source>>,
    /// How many sources were registered so far; it wraps around.
    generation: usize,
    closed: bool,
}

/// One registered descriptor. The arrays have an element for each [`Direction`].
pub(crate) struct Source {
    pub(crate) key: usize,
    /// The number of the descriptor, or of the socket on Windows.
    number: i64,
    pub(crate) readiness: [Readiness; 2],
    pub(crate) waiting: Mutex<[Vec<Waker>; 2]>,
    /// When each of these lists was last full.
    full: Mutex<[Option<Instant>; 2]>,
}

/// The low bits of a key are the source's index in the slab: a million places on 32-bit systems.
/// The rest is a generation. It tells the source from the last tenant of its index, whose events
/// may still be on their way. Its top bit stays zero, so that no key has all bits set.
const INDEX_BITS: u32 = usize::BITS / 2 + 4;
pub(crate) const INDEX_MASK: usize = (1 << INDEX_BITS) - 1;
const GENERATION_MAX: usize = usize::MAX >> INDEX_BITS >> 1;

impl Reactor {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { kernel: Kernel::new()?, sources: Mutex::default() })
    }

    /// Registers a descriptor. Fails, and leaves nothing behind, when the kernel refuses it
    /// or the runtime has ended.
    pub(crate) fn register(&self, io: &impl AsSource) -> Result<Arc<Source>> {
        let io = io.source(); // foreign code, so outside of the lock
        let mut sources = lock(&self.sources);
        if sources.closed {
            return Err(gone());
        }
        sources.generation = sources.generation.wrapping_add(1) & GENERATION_MAX;
        let generation = sources.generation;
        let entry = sources.slab.vacant_entry();
        let source = Arc::new(Source {
            key: generation << INDEX_BITS | entry.key(),
            number: (&io).raw() as i64,
            readiness: [Readiness::new_ready(), Readiness::new_ready()],
            waiting: Mutex::default(),
            full: Mutex::default(),
        });

        // An event that comes at once finds the source: `wait` needs the lock to look for it.
        self.kernel.add(&io, source.key)?;
        Ok(entry.insert(source).clone())
    }

    /// The counterpart of `register`. Gives the descriptor back, which may be closed then. If that
    /// fails it is leaked: what the kernel watches must stay open, and what some other code has
    /// closed must not be closed again.
    pub(crate) fn deregister<T: AsSource>(&self, source: &Source, io: T) -> Result<T> {
        // The caller has the source, so this does not drop it. (`close` may have taken it out.)
        let _ = lock(&self.sources).slab.try_remove(source.key & INDEX_MASK);
        let io = ManuallyDrop::new(io);
        self.kernel.delete(&source.descriptor_of(&*io)?)?;
        Ok(ManuallyDrop::into_inner(io))
    }

    /// Waits in the kernel, and collects the wakers of the tasks whose events came.
    pub(crate) fn wait(&self, until: Until, wakers: &mut Wakers) -> Result<()> {
        tell!(asks_kernel(until != Until::Now));
        self.kernel.wait(until, |events| {
            tell!(kernel_told());
            let sources = lock(&self.sources);
            for event in events {
                let source = sources.slab.get(event.key & INDEX_MASK);
                if let Some(source) = source.filter(|source| source.key == event.key) {
                    tell!(ready(source.number, event.ready));
                    source.collect(event.ready, |readiness| readiness.set(event.hang_up), wakers);
                }
            }
        })
    }

    pub(crate) fn has_sources(&self) -> bool {
        !lock(&self.sources).slab.is_empty()
    }

    /// No event will come any more: every operation fails from now on.
    pub(crate) fn close(&self, wakers: &mut Wakers) {
        let mut sources = lock(&self.sources);
        sources.closed = true;
        for source in sources.slab.drain() {
            source.collect([true; 2], Readiness::set_gone, wakers);
        }
    }

    /// Ready when the operation is worth trying, or when it has to fail. Pending: the task
    /// is woken when that changes.
    pub(crate) fn poll_ready(
        &self,
        source: &Source,
        io: &impl AsSource,
        direction: Direction,
        context: &Context<'_>,
    ) -> Poll<Result<()>> {
        // Foreign code may run here, and where a waker is dropped or woken: not under the lock.
        let io = source.descriptor_of(io)?;
        let (waker, mut to_wake) = (context.waker().clone(), Vec::new());
        let mut waiting = lock(&source.waiting);
        if source.readiness[direction as usize].load().is_ready() {
            return Poll::Ready(Ok(()));
        }
        tell!(waits_for_io(source.number, direction as usize));
        // An event since this waker was left here would have taken it, or is about to.
        if waiting[direction as usize].iter().any(|other| other.will_wake(&waker)) {
            return Poll::Pending;
        }

        // If the kernel refuses, the waker is not left here: a later poll would not ask again.
        let mut wanted = waiting.each_ref().map(|wakers| !wakers.is_empty());
        wanted[direction as usize] = true;
        self.kernel.ask_again(&io, polling::Event::new(source.key, wanted[0], wanted[1]))?;

        // At capacity, wake all and start a new list. The tasks that still wait come back, and the
        // wakers of those that have gone away do not pile up. If the list is full again soon, with
        // a millisecond for each place, those that came back may be what fills it. Then it must be
        // larger, or they would wake each other for ever.
        let mine = &mut waiting[direction as usize];
        if mine.len() == mine.capacity() {
            let last = lock(&source.full)[direction as usize].replace(Instant::now());
            let soon = mine.len().max(100) as u128;
            let is_soon = last.is_none_or(|last| last.elapsed().as_millis() < soon);
            let room = if is_soon { 2 * mine.len().max(2) } else { mine.len() };
            to_wake = mem::replace(mine, Vec::with_capacity(room));
        }
        mine.push(waker);
        drop(waiting);
        to_wake.into_iter().for_each(wake);
        Poll::Pending
    }
}

impl Source {
    /// Asks for the descriptor again. A type may answer with another one than was registered, which
    /// may be another source's: that one's registration must not be touched.
    fn descriptor_of(&self, io: &impl AsSource) -> Result<impl AsSource> {
        let descriptor = io.source();
        let is_same = (&descriptor).raw() as i64 == self.number;
        let text = "as_fd or as_socket gave another descriptor than before";
        is_same.then_some(descriptor).ok_or_else(|| io::Error::other(text))
    }

    /// Sets the words of the directions that are `ready`, and then takes their wakers.
    fn collect(&self, ready: [bool; 2], set: impl Fn(&Readiness), wakers: &mut Wakers) {
        for direction in (0..2).filter(|&direction| ready[direction]) {
            set(&self.readiness[direction]);
            wakers.append(&mut lock(&self.waiting)[direction]);
        }
    }
}

/// The error of every operation on a socket whose runtime has ended.
pub(crate) fn gone() -> io::Error {
    io::Error::other("the arc runtime this socket was registered with has ended")
}
