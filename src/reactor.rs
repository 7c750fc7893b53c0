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

use crate::kernel::{Events, Kernel};
use crate::readiness::{Readiness, Seen};
use crate::sync::{lock, wake};
use polling::{AsSource, Event};
use slab::Slab;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

pub(crate) struct Reactor {
    kernel: Kernel,
    sources: Mutex<Sources>,
    /// How many sources there are; a hint, read without the lock.
    count: AtomicUsize,
}

struct Sources {
    slab: Slab<Arc<Source>>,
    registered: usize,
    closed: bool,
}

/// One registered descriptor.
pub(crate) struct Source {
    key: usize,
    readiness: [Readiness; 2],
    waiting: Mutex<[Waiting; 2]>,
}

/// The tasks that wait for one direction.
#[derive(Default)]
struct Waiting {
    wakers: Vec<Waker>,
    /// Beyond this many all are woken: those that still wait come back, and the
    /// wakers of tasks that went away do not pile up.
    wakers_max: usize,
}

impl Waiting {
    /// What is returned must be woken.
    fn keep(&mut self, waker: Waker) -> Vec<Waker> {
        let mut surplus = Vec::new();
        if self.wakers.len() >= self.wakers_max {
            self.wakers_max = 2 * self.wakers.len().max(16);
            surplus.append(&mut self.wakers);
        }
        self.wakers.push(waker);
        surplus
    }
}

/// The low half of a source's key is its place in the slab, the rest a number
/// that tells it from the last tenant of the place, whose events may be on
/// their way still.
const INDEX_BITS: u32 = usize::BITS / 2;
const INDEX_MASK: usize = (1 << INDEX_BITS) - 1;

impl Reactor {
    pub(crate) fn new() -> io::Result<Self> {
        let sources = Sources {
            slab: Slab::new(),
            registered: 0,
            closed: false,
        };
        let kernel = Kernel::new()?;
        Ok(Self {
            kernel,
            sources: Mutex::new(sources),
            count: AtomicUsize::new(0),
        })
    }

    /// Registers a descriptor. Fails, and leaves nothing behind, when the
    /// kernel refuses it or the runtime has ended.
    /// `ready`: operations are tried before the first event.
    pub(crate) fn register(
        &self,
        descriptor: &impl AsSource,
        ready: bool,
    ) -> io::Result<Arc<Source>> {
        let source = {
            let mut sources = lock(&self.sources);
            if sources.closed {
                return Err(gone());
            }
            sources.registered = sources.registered.wrapping_add(1) & (INDEX_MASK >> 1);
            let tenant = sources.registered << INDEX_BITS;
            let entry = sources.slab.vacant_entry();
            let source = Arc::new(Source {
                key: tenant | entry.key(),
                readiness: [Readiness::new(ready), Readiness::new(ready)],
                waiting: Mutex::default(),
            });
            entry.insert(source.clone());
            self.count.store(sources.slab.len(), Ordering::Relaxed);
            source
        };
        self.kernel
            .add(descriptor, source.key)
            .inspect_err(|_| self.forget(&source))?;
        Ok(source)
    }

    /// The counterpart of `register`: call it before the descriptor is closed.
    pub(crate) fn deregister(&self, source: &Source, descriptor: &impl AsSource) -> io::Result<()> {
        self.forget(source);
        self.kernel.delete(descriptor)
    }

    fn forget(&self, source: &Source) {
        let removed = {
            let mut sources = lock(&self.sources);
            // `close` may have emptied the slab.
            let removed = sources.slab.try_remove(source.key & INDEX_MASK);
            self.count.store(sources.slab.len(), Ordering::Relaxed);
            removed
        };
        // Its wakers are dropped here, outside the lock.
        drop(removed);
    }

    /// Waits in the kernel and collects the wakers of those whose events came.
    pub(crate) fn wait(
        &self,
        events: &mut Events,
        timeout: Option<Duration>,
        wakers: &mut Vec<Waker>,
    ) -> io::Result<()> {
        self.kernel.wait(events, timeout)?;
        // In oneshot mode an event ends the interest in both directions: whoever
        // waits for the other one is woken as well, and asks again.
        let both = !self.kernel.is_edge();
        let sources = lock(&self.sources);
        for event in events.iter() {
            let source = sources.slab.get(event.key & INDEX_MASK);
            if let Some(source) = source.filter(|source| source.key == event.key) {
                if event.readable || both {
                    source.wake(Direction::Read, event.hangup, wakers);
                }
                if event.writable || both {
                    source.wake(Direction::Write, event.hangup, wakers);
                }
            }
        }
        Ok(())
    }

    /// Ends the current wait, or the next one.
    pub(crate) fn notify(&self) -> io::Result<()> {
        self.kernel.notify()
    }

    pub(crate) fn has_sources(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// No event will be told any more: every operation fails from now on.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        let mut sources = lock(&self.sources);
        sources.closed = true;
        for source in sources.slab.drain() {
            for direction in [Direction::Read, Direction::Write] {
                source.readiness[direction as usize].set_gone();
                wakers.append(&mut lock(&source.waiting)[direction as usize].wakers);
            }
        }
    }

    pub(crate) fn trusts_short_transfers(&self) -> bool {
        self.kernel.trusts_short_transfers()
    }

    /// Ready when the operation is worth trying; else the task is woken when
    /// that changes. `Err` when the runtime has ended.
    pub(crate) fn poll_ready(
        &self,
        source: &Source,
        descriptor: &impl AsSource,
        direction: Direction,
        context: &Context<'_>,
    ) -> Poll<io::Result<Seen>> {
        let mut seen = source.seen(direction);
        if !seen.is_ready() {
            seen = match self.keep_waker(source, descriptor, direction, context) {
                Ok(None) => return Poll::Pending,
                Ok(Some(seen)) => seen,
                Err(error) => return Poll::Ready(Err(error)),
            };
        }
        Poll::Ready(if seen.is_gone() {
            Err(gone())
        } else {
            Ok(seen)
        })
    }

    /// Leaves the task's waker with the source. Some: an event came meanwhile.
    fn keep_waker(
        &self,
        source: &Source,
        descriptor: &impl AsSource,
        direction: Direction,
        context: &Context<'_>,
    ) -> io::Result<Option<Seen>> {
        // Cloned before and dropped after the lock: both may run foreign code.
        let waker = context.waker().clone();
        let (surplus, asked) = {
            let mut waiting = lock(&source.waiting);
            let seen = source.seen(direction);
            if seen.is_ready() {
                return Ok(Some(seen));
            }
            let mine = &mut waiting[direction as usize];
            if mine.wakers.iter().any(|other| other.will_wake(&waker)) {
                // No event came since it was left here: the interest stands.
                return Ok(None);
            }
            let surplus = mine.keep(waker);
            let [read, write] = waiting.each_ref().map(|waiting| !waiting.wakers.is_empty());
            let interest = Event::new(source.key, read, write);
            (surplus, self.kernel.ask_again(descriptor, interest))
        };
        surplus.into_iter().for_each(wake);
        asked.map(|()| None)
    }
}

impl Source {
    /// An operation would have blocked, or has shown that the next one would.
    pub(crate) fn clear(&self, direction: Direction, seen: Seen) {
        self.readiness[direction as usize].clear(seen);
    }

    pub(crate) fn seen(&self, direction: Direction) -> Seen {
        self.readiness[direction as usize].load()
    }

    fn wake(&self, direction: Direction, hangup: bool, wakers: &mut Vec<Waker>) {
        self.readiness[direction as usize].set(hangup);
        wakers.append(&mut lock(&self.waiting)[direction as usize].wakers);
    }
}

pub(crate) fn gone() -> io::Error {
    io::Error::other("the arc runtime this socket was registered with has ended")
}
