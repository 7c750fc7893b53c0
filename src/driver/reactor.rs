//! Map the kernel's events to the wakers of the tasks that wait for them.
//!
//! A socket is registered once, as a [`Source`]. One lock guards what is remembered of each
//! direction: whether an operation would block, how many events there were, and who waits.
//!
//! A task first sees how many events there were, and tries the operation. Only if that would block
//! does it leave its waker:
//!
//! ```text
//!   task:    see ──► read ──► WouldBlock ──► lock { event since? ; keep waker } ──► Pending
//!   driver:  wait ──► event ──► lock { count it ; take wakers } ──► wake
//! ```
//!
//! The kernel reports an event only once, and it may come at a bad moment. None is lost:
//!
//! * *Before the waker is left.* There is one event more than the task has seen. So it leaves no
//!   waker, and tries again.
//! * *After the waker was left, while the task is still being polled.* The driver wakes a running
//!   task, and async-task queues it again when its poll has ended.
//! * *While no thread waits.* The kernel keeps the event until one waits or looks.
//!
//! A *short read* gives less than was asked for. A TCP socket is empty then, and another read would
//! only say so. So on TCP a short read counts as one that would block, unless an event has come
//! meanwhile or there was a hang-up. The same holds for a write that takes less than it was given
//! ([`Waiter::record_short`], by `Async::poll_transfer` in `io.rs`).
//!
//! A future that waits by `read_with` takes its waker out again when it is dropped ([`Waiter`]).
//! The `poll_` functions of the IO traits have nothing that is dropped. The source keeps at most
//! [`POLLS_MAX`] of their wakers: one more wakes and removes all others.
//!
//! The key of a source is its place in a slab. When a source is gone, the next one may get its
//! place. A late event of the former source then reaches the next one, which is tried once in vain.

use crate::hooks::tell;
use crate::sync::{Mutex, lock};
use polling::AsRawSource;
use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::mem::take;
use std::ptr::from_ref;
use std::task::Waker;

/// One of the two directions of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the peer to this process.
    Read,
    /// From this process to the peer.
    Write,
}

/// A descriptor that its owner lends.
#[cfg(unix)]
pub(crate) type Lent<'a> = std::os::fd::BorrowedFd<'a>;
#[cfg(windows)]
pub(crate) type Lent<'a> = std::os::windows::io::BorrowedSocket<'a>;

/// One registered descriptor.
pub(crate) struct Source {
    pub(crate) key: usize,
    /// The number of the descriptor, or of the socket on Windows.
    pub(crate) number: i64,
    /// One for each [`Direction`].
    pub(crate) sides: Mutex<[Side; 2]>,
}

impl Source {
    pub(crate) fn new(key: usize, io: Lent<'_>) -> Self {
        Self { key, number: (&io).raw() as i64, sides: Mutex::default() }
    }

    /// Fails if this is not the descriptor that was registered. It may be another source's, whose
    /// registration must not be touched. There is nothing but the number to compare.
    pub(crate) fn check(&self, io: Lent<'_>) -> Result<()> {
        if (&io).raw() as i64 == self.number {
            return Ok(());
        }
        Err(Error::other("as_fd or as_socket gave another descriptor than before"))
    }

    /// Records an event of the directions that are `ready`, and takes their wakers.
    pub(crate) fn collect(&self, ready: [bool; 2], hang_up: bool, wakers: &mut Vec<Waker>) {
        let mut sides = lock(&self.sides);
        for direction in (0..2).filter(|&direction| ready[direction]) {
            sides[direction].collect(hang_up, wakers);
        }
    }

    /// Records the end of the runtime, and takes all wakers.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        for side in lock(&self.sides).iter_mut() {
            side.readiness.is_gone = true;
            side.collect(false, wakers);
        }
    }
}

/// What is known of one direction.
#[derive(Clone, Copy, Default)]
pub(crate) struct Readiness {
    /// How many events there were.
    events: u64,
    /// Whether an operation would block. Of a new source nobody knows: it is worth a try, which
    /// costs less than to ask the kernel for readiness.
    pub(crate) would_block: bool,
    /// Whether something may be left after a short read that no further event will announce: the
    /// end of the stream after a hang-up, or the bytes behind urgent data. A read stops at the mark
    /// of urgent data, which stays when the data themselves have been read. When a read would
    /// block, nothing is left.
    pub(crate) is_hung_up: bool,
    /// Whether the runtime has ended. Every operation fails, as no event will come any more.
    pub(crate) is_gone: bool,
}

/// How many wakers of `poll_` functions a source keeps in each direction. When one more comes, the
/// others are woken and forgotten. If their tasks still wait, they come back. While more tasks than
/// this wait, they wake each other in turn, which takes a core until an event comes.
pub(crate) const POLLS_MAX: usize = 256;

/// What is known of one direction, and the tasks that wait for it.
#[derive(Default)]
pub(crate) struct Side {
    pub(crate) readiness: Readiness,
    /// By the numbers of the futures.
    pub(crate) futures: BTreeMap<u64, Waker>,
    /// The oldest comes first.
    pub(crate) polls: Vec<Waker>,
    /// How many futures have waited so far.
    numbers: u64,
}

impl Side {
    /// Records that an operation, which was tried after `seen`, would block. Returns false, and
    /// records nothing, if an event came since: the operation is worth another try.
    pub(crate) fn record_block(&mut self, seen: Readiness) -> bool {
        if self.readiness.events != seen.events {
            return false;
        }
        self.readiness = Readiness { would_block: true, is_hung_up: false, ..seen };
        true
    }

    /// Leaves the waker of a future, at a number that no other future of the source has in this
    /// direction. Returns the waker that was there.
    pub(crate) fn insert(&mut self, number: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        if number.is_none() {
            self.numbers += 1;
        }
        self.futures.insert(*number.get_or_insert(self.numbers), waker)
    }

    /// Leaves the waker of a `poll_` function. If there is no room for it, takes all others out,
    /// and returns them for the caller to wake. (A single task can have left them all, if it polls
    /// with another waker each time.)
    pub(crate) fn push(&mut self, waker: Waker) -> Vec<Waker> {
        let is_full = self.polls.len() == POLLS_MAX;
        let others = if is_full { take(&mut self.polls) } else { Vec::new() };
        self.polls.push(waker);
        others
    }

    /// Records an event, and takes all wakers.
    fn collect(&mut self, hang_up: bool, wakers: &mut Vec<Waker>) {
        self.readiness.events += 1;
        self.readiness.would_block = false;
        self.readiness.is_hung_up |= hang_up;
        wakers.append(&mut self.polls);

        // Usually there are none. The memory of many goes with them.
        if !self.futures.is_empty() {
            wakers.extend(take(&mut self.futures).into_values());
        }
    }
}

/// Who waits for a source.
pub(crate) struct Waiter<'a> {
    pub(crate) source: &'a Source,
    pub(crate) direction: Direction,
    /// What was known before the operation was tried last.
    pub(crate) seen: Readiness,
    pub(crate) kind: WaiterKind,
}

impl Waiter<'_> {
    /// Sees what is known before an operation is tried, so that an event which comes later is one
    /// more. This asks nobody: what is known was collected by the thread that asked the kernel
    /// last.
    #[inline] // Each attempt does this: it is the least of what one costs.
    pub(crate) fn see(&mut self) -> Readiness {
        self.seen = lock(&self.source.sides)[self.direction as usize].readiness;
        self.seen
    }

    /// Records a short read or write: the next one would block, unless an event came since the
    /// look.
    pub(crate) fn record_short(&self) {
        // After a hang-up the end of the stream follows, without an event of its own.
        if !self.seen.is_hung_up {
            lock(&self.source.sides)[self.direction as usize].record_block(self.seen);
        }
    }

    /// The place in memory, which tells observers one future from another, as it keeps its place. 0
    /// for a `poll_` function.
    pub(crate) fn place(&self) -> usize {
        match self.kind {
            WaiterKind::Future(_) => from_ref(self).addr(),
            WaiterKind::Poll => 0,
        }
    }

    /// Takes the waker of a future out again.
    fn take_waker(&self, number: u64) {
        tell!(no_longer_waits(self.place()));

        // If there was an event since, that has taken the waker. Its drop may run user code: not
        // under the lock, which goes at the end of this line.
        let direction = self.direction as usize;
        let _waker = lock(&self.source.sides)[direction].futures.remove(&number);
    }
}

pub(crate) enum WaiterKind {
    /// A future, and its number once it has waited. Its waker is dropped with it.
    Future(Option<u64>),
    /// A `poll_` function.
    Poll,
}

impl Drop for Waiter<'_> {
    #[inline] // Of most waiters nothing has to be taken out: then this is one comparison.
    fn drop(&mut self) {
        if let WaiterKind::Future(Some(number)) = self.kind {
            self.take_waker(number);
        }
    }
}

/// The error of every operation on a socket whose runtime has ended.
pub(crate) fn gone() -> Error {
    Error::other("the arc runtime this socket was registered with has ended")
}
