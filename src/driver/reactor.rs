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
//!   read (`readiness.rs`). The ready bit stays, and the task tries again.
//! * *Between `clear` and `Pending`.* The driver sets the word before it takes the wakers. The task
//!   reads the word once more under the lock under which it leaves its waker. So either the driver
//!   finds the waker, or the task finds the event.
//! * *After the waker was left, while the task is still being polled.* The driver wakes a running
//!   task, and async-task queues it again when its poll has ended.
//! * *While no thread waits.* The kernel keeps the event until one waits or looks.
//!
//! A future that waits by `read_with` takes its waker out again when it is dropped ([`Waiter`]).
//! The `poll_` functions of the IO traits have nothing that is dropped. The source keeps the last
//! [`POLLS_MAX`] of their wakers.
//!
//! The key of a source is its place in a slab. When a source is gone, the next one may get its
//! place while an event of the former one is still on its way. Then the next one is tried once in
//! vain.

use crate::driver::readiness::Readiness;
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

/// One registered descriptor. The arrays have an element for each [`Direction`].
pub(crate) struct Source {
    pub(crate) key: usize,
    /// The number of the descriptor, or of the socket on Windows.
    pub(crate) number: i64,
    pub(crate) readiness: [Readiness; 2],
    pub(crate) waiting: Mutex<[Waiting; 2]>,
}

impl Source {
    /// A new source counts as ready: the first attempt costs less than to ask the kernel.
    pub(crate) fn new(key: usize, io: Lent<'_>) -> Self {
        let readiness = [Readiness::new_ready(), Readiness::new_ready()];
        Self { key, number: (&io).raw() as i64, readiness, waiting: Mutex::default() }
    }

    /// Fails if this is not the descriptor that was registered. It may be another source's, whose
    /// registration must not be touched. There is nothing but the number to compare.
    pub(crate) fn check(&self, io: Lent<'_>) -> Result<()> {
        if (&io).raw() as i64 == self.number {
            return Ok(());
        }
        Err(Error::other("as_fd or as_socket gave another descriptor than before"))
    }

    /// Sets flags in the words of the directions that are `ready`, and then takes their wakers.
    pub(crate) fn collect(&self, ready: [bool; 2], flags: usize, wakers: &mut Vec<Waker>) {
        for direction in (0..2).filter(|&direction| ready[direction]) {
            self.readiness[direction].set(flags);
            lock(&self.waiting)[direction].take_all(wakers);
        }
    }
}

/// How many wakers of `poll_` functions a source keeps in each direction. When one more comes, the
/// others are woken and forgotten. If their tasks still wait, they come back. While more tasks than
/// this wait, they wake each other in turn, which takes a core until an event comes.
pub(crate) const POLLS_MAX: usize = 256;

/// The tasks that wait for one direction of a source.
#[derive(Default)]
pub(crate) struct Waiting {
    /// By the numbers of the futures.
    pub(crate) futures: BTreeMap<u64, Waker>,
    /// The oldest comes first.
    pub(crate) polls: Vec<Waker>,
    /// How many futures have waited so far.
    numbers: u64,
}

impl Waiting {
    /// Leaves the waker of a future, at a number that no other future of the source has in this
    /// direction. Returns the waker that was there.
    pub(crate) fn insert(&mut self, number: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        if number.is_none() {
            self.numbers += 1;
        }
        self.futures.insert(*number.get_or_insert(self.numbers), waker)
    }

    /// Leaves the waker of a `poll_` function. Returns all others if there is no room for it: one
    /// task may have left them all, by another waker each time.
    pub(crate) fn push(&mut self, waker: Waker) -> Vec<Waker> {
        let is_full = self.polls.len() == POLLS_MAX;
        let others = if is_full { take(&mut self.polls) } else { Vec::new() };
        self.polls.push(waker);
        others
    }

    fn take_all(&mut self, wakers: &mut Vec<Waker>) {
        wakers.append(&mut self.polls);

        // Most sources have none. The memory of many goes with them.
        if !self.futures.is_empty() {
            wakers.extend(take(&mut self.futures).into_values());
        }
    }
}

/// Who waits for a source.
pub(crate) struct Waiter<'a> {
    pub(crate) source: &'a Source,
    pub(crate) direction: Direction,
    pub(crate) kind: WaiterKind,
}

pub(crate) enum WaiterKind {
    /// A future, and its number once it has waited. Its waker is dropped with it.
    Future(Option<u64>),
    /// A `poll_` function.
    Poll,
}

impl Waiter<'_> {
    /// What tells a future from others that wait for the source: it keeps its place in memory. A
    /// `poll_` function is none.
    pub(crate) fn place(&self) -> usize {
        match self.kind {
            WaiterKind::Future(_) => from_ref(self).addr(),
            WaiterKind::Poll => 0,
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let WaiterKind::Future(Some(number)) = self.kind else { return };
        tell!(no_longer_waits(self.place()));

        // If there was an event since, that has taken the waker. Its drop may run the user's code:
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
