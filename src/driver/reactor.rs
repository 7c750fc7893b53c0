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
//! A future that waits by `read_with` takes its waker out again when it is dropped ([`Waiter`]).
//! The `poll_` functions of the IO traits have nothing that is dropped. So the source keeps the
//! last few wakers that were left by these, and no more ([`POLLS_MAX`]).
//!
//! The key of a source is its place in a slab. When a source is gone, the next one may get its
//! place while an event of the former one is still on its way. Then the new one is tried in vain,
//! once.

use crate::driver::kernel::{Kernel, Until};
use crate::driver::readiness::Readiness;
use crate::hooks::tell;
use crate::panic::wake;
use crate::sync::{Arc, Mutex, lock};
use polling::{AsRawSource, AsSource};
use slab::Slab;
use std::collections::{BTreeMap, VecDeque};
use std::io::{Error, Result};
use std::mem::{ManuallyDrop, take};
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

        // A new source counts as ready: the first attempt costs less than to ask the kernel.
        let place = sources.slab.vacant_entry();
        let source = Arc::new(Source {
            key: place.key(),
            number: (&io).raw() as i64,
            readiness: [Readiness::new_ready(), Readiness::new_ready()],
            waiting: Mutex::default(),
        });

        // An event that comes at once finds the source: `wait` needs the lock to look for it.
        self.kernel.add(&io, source.key)?;
        Ok(place.insert(source).clone())
    }

    /// The counterpart of `register`. Gives the descriptor back, which may be closed then. If that
    /// fails it is leaked: what the kernel watches must stay open, and what some other code has
    /// closed must not be closed again.
    pub(crate) fn deregister<T: AsSource>(&self, source: &Source, io: T) -> Result<T> {
        // The caller has the source, so this does not drop it. (`close` may have taken it out.)
        let _ = lock(&self.sources).slab.try_remove(source.key);
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
                // The source may be gone by now.
                if let Some(source) = sources.slab.get(event.key) {
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
        io: &impl AsSource,
        waiter: &mut Waiter<'_>,
        context: &Context<'_>,
    ) -> Poll<Result<()>> {
        let source = waiter.source;
        let direction = waiter.direction as usize;

        // The user's code may run here, and where a waker is dropped or woken: not under the lock.
        let io = source.descriptor_of(io)?;
        let waker = context.waker().clone();
        let mut waiting = lock(&source.waiting);
        if source.readiness[direction].load().is_ready() {
            return Poll::Ready(Ok(()));
        }
        tell!(waits_for_io(source.number, direction));

        // If the kernel refuses, the waker is not left here: a later poll would not ask again.
        let mut wanted = waiting.each_ref().map(|waiting| waiting.len() > 0);
        wanted[direction] = true;
        self.kernel.ask_again(&io, polling::Event::new(source.key, wanted[0], wanted[1]))?;

        let mine = &mut waiting[direction];
        match &mut waiter.kind {
            WaiterKind::Future(number) => {
                let number = *number.get_or_insert_with(|| mine.next_number());
                let former = mine.futures.insert(number, waker);
                drop(waiting);
                drop(former);
            }
            // An event since this waker was left here would have taken it, or is about to.
            WaiterKind::Poll if mine.polls.iter().any(|other| other.will_wake(&waker)) => {}
            WaiterKind::Poll => {
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
    /// By the numbers of the futures.
    futures: BTreeMap<u64, Waker>,
    /// The oldest comes first.
    polls: VecDeque<Waker>,
    /// How many futures have waited so far.
    numbers: u64,
}

impl Waiting {
    pub(crate) fn len(&self) -> usize {
        self.futures.len() + self.polls.len()
    }

    /// A number that no other future of the source has in this direction.
    fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Leaves the waker of a `poll_` function. Returns the oldest one if there is no room for it.
    fn push(&mut self, waker: Waker) -> Option<Waker> {
        self.polls.push_back(waker);
        if self.polls.len() > POLLS_MAX { self.polls.pop_front() } else { None }
    }

    /// The memory goes, too: it may have been a crowd.
    fn take_all(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(take(&mut self.futures).into_values());
        wakers.extend(take(&mut self.polls));
    }
}

/// Who waits for a source.
pub(crate) struct Waiter<'a> {
    pub(crate) source: &'a Source,
    pub(crate) direction: Direction,
    pub(crate) kind: WaiterKind,
}

pub(crate) enum WaiterKind {
    /// A future, and its number once it has waited. When it is dropped, its waker goes, too.
    Future(Option<u64>),
    /// A `poll_` function.
    Poll,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let WaiterKind::Future(Some(number)) = self.kind else { return };

        // An event has taken the waker if there was one since. To drop it may run the user's code:
        // not under the lock.
        let mut waiting = lock(&self.source.waiting);
        let waker = waiting[self.direction as usize].futures.remove(&number);
        drop(waiting);
        drop(waker);
    }
}

/// The error of every operation on a socket whose runtime has ended.
pub(crate) fn gone() -> Error {
    Error::other("the arc runtime this socket was registered with has ended")
}
