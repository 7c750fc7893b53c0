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
//!
//! A future that waits by `read_with` takes its waker out again when it is dropped ([`Ticket`]).
//! The `poll_` functions of the IO traits have nothing that is dropped. So the source keeps the
//! last few wakers that were left by these, and no more ([`POLLS_MAX`]).

use crate::driver::kernel::{Kernel, Until};
use crate::driver::readiness::Readiness;
use crate::hooks::tell;
use crate::panic::wake;
use crate::sync::{Arc, Mutex, lock};
use polling::{AsRawSource, AsSource};
use slab::Slab;
use std::collections::VecDeque;
use std::io::{Error, Result};
use std::mem::{ManuallyDrop, replace, take};
use std::task::{Context, Poll, Waker};

/// One of the two directions of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the peer to this process.
    Read,
    /// From this process to the peer.
    Write,
}

pub(crate) struct Reactor {
    pub(crate) kernel: Kernel,
    pub(crate) sources: Mutex<Sources>,
}

#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) slab: Slab<Arc<Source>>,
    /// How many sources were registered so far; it wraps around.
    generation: usize,
    is_closed: bool,
}

/// One registered descriptor. The arrays have an element for each [`Direction`].
pub(crate) struct Source {
    pub(crate) key: usize,
    /// The number of the descriptor, or of the socket on Windows.
    number: i64,
    pub(crate) readiness: [Readiness; 2],
    pub(crate) waiting: Mutex<[Waiting; 2]>,
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

    /// Registers a descriptor. Fails, and leaves nothing behind, when the kernel refuses it or the
    /// runtime has ended.
    pub(crate) fn register(&self, io: &impl AsSource) -> Result<Arc<Source>> {
        // The user's code, so outside of the lock.
        let io = io.source();
        let mut sources = lock(&self.sources);
        if sources.is_closed {
            return Err(gone());
        }

        sources.generation = sources.generation.wrapping_add(1) & GENERATION_MAX;
        let generation = sources.generation;

        // A new source counts as ready: the first attempt costs less than to ask the kernel.
        let entry = sources.slab.vacant_entry();
        let source = Arc::new(Source {
            key: generation << INDEX_BITS | entry.key(),
            number: (&io).raw() as i64,
            readiness: [Readiness::new_ready(), Readiness::new_ready()],
            waiting: Mutex::default(),
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
    pub(crate) fn wait(&self, until: Until, wakers: &mut Vec<Waker>) -> Result<()> {
        tell!(asks_kernel(until != Until::Now));
        self.kernel.wait(until, |events| {
            tell!(kernel_told());

            // One lock for all events of this wait.
            let sources = lock(&self.sources);
            for event in events {
                // An event may be that of a source which had this place before.
                let source = sources.slab.get(event.key & INDEX_MASK);
                if let Some(source) = source.filter(|source| source.key == event.key) {
                    tell!(ready(source.number, event.ready));
                    let set = |readiness: &Readiness| readiness.set(event.hang_up);
                    source.collect(event.ready, set, wakers);
                }
            }
        })
    }

    pub(crate) fn has_sources(&self) -> bool {
        !lock(&self.sources).slab.is_empty()
    }

    /// No event will come any more: every operation fails from now on.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        let mut sources = lock(&self.sources);
        sources.is_closed = true;
        for source in sources.slab.drain() {
            source.collect([true; 2], Readiness::set_gone, wakers);
        }
    }

    /// Ready when the operation is worth trying, or when it has to fail. Pending: the task is woken
    /// when that changes.
    pub(crate) fn poll_ready(
        &self,
        source: &Source,
        io: &impl AsSource,
        direction: Direction,
        context: &Context<'_>,
        waiter: &mut Waiter<'_>,
    ) -> Poll<Result<()>> {
        // The user's code may run here, and where a waker is dropped or woken: not under the lock.
        let io = source.descriptor_of(io)?;
        let waker = context.waker().clone();
        let mut waiting = lock(&source.waiting);
        if source.readiness[direction as usize].load().is_ready() {
            return Poll::Ready(Ok(()));
        }
        tell!(waits_for_io(source.number, direction as usize));

        // If the kernel refuses, the waker is not left here: a later poll would not ask again.
        let mut wanted = waiting.each_ref().map(|waiting| waiting.len() > 0);
        wanted[direction as usize] = true;
        self.kernel.ask_again(&io, polling::Event::new(source.key, wanted[0], wanted[1]))?;

        let mine = &mut waiting[direction as usize];

        match waiter {
            Waiter::Future(ticket) => {
                let former = mine.keep(&mut ticket.place, waker);
                drop(waiting);
                drop(former);
            }
            // An event since this waker was left here would have taken it, or is about to.
            Waiter::Poll if mine.polls.iter().any(|other| other.will_wake(&waker)) => {}
            Waiter::Poll => {
                let pushed_out = mine.push(waker);
                drop(waiting);
                pushed_out.into_iter().for_each(wake);
            }
        }
        Poll::Pending
    }
}

impl Source {
    /// Asks for the descriptor again. A type may answer with another one than was registered, which
    /// may be another source's: that one's registration must not be touched.
    fn descriptor_of(&self, io: &impl AsSource) -> Result<impl AsSource> {
        // To compare the numbers is all that can be done: a number says nothing of what is behind
        // it.
        let descriptor = io.source();

        if (&descriptor).raw() as i64 == self.number {
            Ok(descriptor)
        } else {
            Err(Error::other("as_fd or as_socket gave another descriptor than before"))
        }
    }

    /// Sets the words of the directions that are `ready`, and then takes their wakers.
    fn collect(&self, ready: [bool; 2], set: impl Fn(&Readiness), wakers: &mut Vec<Waker>) {
        for direction in (0..2).filter(|&direction| ready[direction]) {
            set(&self.readiness[direction]);
            lock(&self.waiting)[direction].take_all(wakers);
        }
    }
}

/// How many wakers of `poll_` functions a source keeps in each direction. With one more, the oldest
/// is woken and forgotten. If its task still waits, it comes back; if not, nothing is lost.
pub(crate) const POLLS_MAX: usize = 32;

/// The tasks that wait for one direction of a source.
#[derive(Default)]
pub(crate) struct Waiting {
    futures: Slab<Waker>,
    /// The oldest comes first.
    polls: VecDeque<Waker>,
    /// How often all wakers were taken. A place in `futures` is valid in one round only.
    round: u64,
}

impl Waiting {
    pub(crate) fn len(&self) -> usize {
        self.futures.len() + self.polls.len()
    }

    fn take_all(&mut self, wakers: &mut Vec<Waker>) {
        self.round += 1;
        wakers.extend(self.polls.drain(..));

        // The memory goes, too: it may have been a crowd.
        if !self.futures.is_empty() {
            wakers.extend(take(&mut self.futures).into_iter().map(|(_, waker)| waker));
        }
    }

    /// Leaves the waker of a future. Returns the one that the future has left before.
    fn keep(&mut self, place: &mut Option<(u64, usize)>, waker: Waker) -> Option<Waker> {
        match *place {
            // The waker that it has left is still here.
            Some((round, key)) if round == self.round => {
                Some(replace(&mut self.futures[key], waker))
            }
            // It has left none since the last event, which took them all.
            _ => {
                *place = Some((self.round, self.futures.insert(waker)));
                None
            }
        }
    }

    /// Leaves the waker of a `poll_` function. Returns the oldest one if there is no room for it.
    fn push(&mut self, waker: Waker) -> Option<Waker> {
        self.polls.push_back(waker);
        if self.polls.len() > POLLS_MAX { self.polls.pop_front() } else { None }
    }
}

/// Who leaves a waker.
pub(crate) enum Waiter<'a> {
    /// A future, which has a ticket for as long as it waits.
    Future(Ticket<'a>),
    /// A `poll_` function.
    Poll,
}

/// The place of a future among those that wait. When the future is dropped, its waker goes, too.
pub(crate) struct Ticket<'a> {
    source: &'a Source,
    direction: Direction,
    /// The round and the key. None: the future has not waited yet.
    place: Option<(u64, usize)>,
}

impl<'a> Ticket<'a> {
    pub(crate) fn new(source: &'a Source, direction: Direction) -> Self {
        Self { source, direction, place: None }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let Some((round, key)) = self.place else { return };
        let mut waiting = lock(&self.source.waiting);

        // An event has taken the waker if there was one since.
        let mine = &mut waiting[self.direction as usize];
        if mine.round == round {
            let waker = mine.futures.remove(key);
            // To drop a waker may run the user's code: not under the lock.
            drop(waiting);
            drop(waker);
        }
    }
}

/// The error of every operation on a socket whose runtime has ended.
pub(crate) fn gone() -> Error {
    Error::other("the arc runtime this socket was registered with has ended")
}
