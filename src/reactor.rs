//! Map kernel events to wakers.
//!
//! A socket is registered once, as a [`Source`]. An operation is tried first;
//! only when it would block does the task leave its waker with the source, in
//! the direction it waits for:
//!
//! ```text
//!   task:    read ──► WouldBlock ──► clear(seen) ──► lock { ready? ; keep waker } ──► Pending
//!   driver:  wait ──► event ──► set ──► lock { take wakers } ──► unlock ──► wake
//! ```
//!
//! The event is set before the wakers are taken, and the task looks at the word
//! again under the lock under which it leaves its waker. So either the driver
//! finds the waker, or the task finds the event.

use crate::kernel::{Events, Kernel, Until};
use crate::readiness::Readiness;
use crate::sync::{Arc, Mutex, lock, wake};
use polling::{AsSource, Event};
use slab::Slab;
use std::io;
use std::task::{Context, Poll, Waker};

/// One of the two ways through a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Where bytes come from.
    Read,
    /// Where bytes go to.
    Write,
}

pub(crate) struct Reactor {
    kernel: Kernel,
    sources: Mutex<Sources>,
}

#[derive(Default)]
struct Sources {
    slab: Slab<Arc<Source>>,
    registered: usize,
    closed: bool,
}

/// One registered descriptor, with a place in the arrays for each direction.
pub(crate) struct Source {
    key: usize,
    readiness: [Readiness; 2],
    waiting: Mutex<[Vec<Waker>; 2]>,
}

/// The low bits of a source's key are its place in the slab (a million places, if an
/// address has 32 bits), the rest a number that tells it from the last tenant of the
/// place, whose events may be on their way still.
const INDEX_BITS: u32 = usize::BITS / 2 + 4;
const INDEX_MASK: usize = (1 << INDEX_BITS) - 1;

impl Reactor {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { kernel: Kernel::new()?, sources: Mutex::default() })
    }

    /// Registers a descriptor. Fails, and leaves nothing behind, when the
    /// kernel refuses it or the runtime has ended. An event that comes at once
    /// is told after the lock.
    pub(crate) fn register(&self, io: &impl AsSource) -> io::Result<Arc<Source>> {
        let mut sources = lock(&self.sources);
        if sources.closed {
            return Err(gone());
        }
        sources.registered = sources.registered.wrapping_add(1) & (usize::MAX >> INDEX_BITS >> 1);
        let tenant = sources.registered << INDEX_BITS;
        let entry = sources.slab.vacant_entry();
        let source = Arc::new(Source {
            key: tenant | entry.key(),
            readiness: [Readiness::new(true), Readiness::new(true)],
            waiting: Mutex::default(),
        });
        self.kernel.add(io, source.key)?;
        Ok(entry.insert(source).clone())
    }

    /// The counterpart of `register`: call it before the descriptor is closed.
    /// `close` may have emptied the slab. Wakers are dropped outside the lock.
    pub(crate) fn deregister(&self, source: &Source, io: &impl AsSource) -> io::Result<()> {
        let _removed = lock(&self.sources).slab.try_remove(source.key & INDEX_MASK);
        self.kernel.delete(io)
    }

    /// Waits in the kernel and collects the wakers of those whose events came.
    pub(crate) fn wait(
        &self,
        events: &mut Events,
        until: Until,
        wakers: &mut Vec<Waker>,
    ) -> io::Result<()> {
        self.kernel.wait(events, until)?;
        let sources = lock(&self.sources);
        for &mut (key, ready, hangup) in events {
            let source = sources.slab.get(key & INDEX_MASK);
            if let Some(source) = source.filter(|source| source.key == key) {
                source.wake(ready, |readiness| readiness.set(hangup), wakers);
            }
        }
        Ok(())
    }

    /// Ends the current wait, or the next one.
    pub(crate) fn notify(&self) -> io::Result<()> {
        self.kernel.notify()
    }

    pub(crate) fn has_sources(&self) -> bool {
        !lock(&self.sources).slab.is_empty()
    }

    /// No event will be told any more: every operation fails from now on.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        let mut sources = lock(&self.sources);
        sources.closed = true;
        for source in sources.slab.drain() {
            source.wake([true; 2], Readiness::set_gone, wakers);
        }
    }

    /// Ready when the operation is worth trying, or the runtime has ended; else
    /// the task is woken when that changes. If its waker is there already, no
    /// event came since, and the interest stands.
    ///
    /// When the list of wakers is full, all are woken, whether or not the kernel
    /// can be asked again: those that still wait come back, and the wakers of
    /// tasks that went away do not pile up. If it cannot, this one does not stay: it would
    /// pass for an interest that stands. Wakers are cloned before the lock,
    /// and dropped or woken after it: all of it may run foreign code.
    pub(crate) fn poll_ready(
        &self,
        source: &Source,
        io: &impl AsSource,
        direction: Direction,
        context: &Context<'_>,
    ) -> Poll<io::Result<()>> {
        let waker = context.waker().clone();
        let mut surplus = Vec::new();
        let mut waiting = lock(&source.waiting);
        if source.readiness(direction).load().is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mine = &mut waiting[direction as usize];
        if mine.iter().any(|other| other.will_wake(&waker)) {
            return Poll::Pending;
        }
        if mine.len() == mine.capacity() {
            let doubled = Vec::with_capacity(2 * mine.len().max(2));
            surplus = std::mem::replace(mine, doubled);
        }
        mine.push(waker);
        let [read, write] = waiting.each_ref().map(|wakers| !wakers.is_empty());
        let asked = self.kernel.ask_again(io, Event::new(source.key, read, write));
        surplus.extend(asked.is_err().then(|| waiting[direction as usize].pop()).flatten());
        drop(waiting);
        surplus.into_iter().for_each(wake);
        asked.map_or_else(|error| Poll::Ready(Err(error)), |()| Poll::Pending)
    }
}

impl Source {
    pub(crate) fn readiness(&self, direction: Direction) -> &Readiness {
        &self.readiness[direction as usize]
    }

    /// Sets the words of the directions that are `ready`, and then takes their
    /// wakers.
    fn wake(&self, ready: [bool; 2], set: impl Fn(&Readiness), wakers: &mut Vec<Waker>) {
        for direction in (0..2).filter(|&direction| ready[direction]) {
            set(&self.readiness[direction]);
            wakers.append(&mut lock(&self.waiting)[direction]);
        }
    }
}

pub(crate) fn gone() -> io::Error {
    io::Error::other("the arc runtime this socket was registered with has ended")
}

#[cfg(all(test, not(arc_model)))]
#[path = "../tests/unit/reactor.rs"]
mod tests;
