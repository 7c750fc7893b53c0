//! The futures in `block_on`. They are no tasks, but the monitor watches them and the end wakes
//! them likewise.

use crate::hooks::tell;
use crate::scheduler::cores::ThreadFolder;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, lock, thread::Thread};
use crate::task::info::Id;
use crate::task::list::RuntimeId;
use slab::Slab;
use std::panic::Location;
use std::task::{Wake, Waker};

/// A future in `block_on`, and its waker.
pub(crate) struct Main {
    pub(crate) id: Id,
    /// The line that called `block_on`.
    pub(crate) location: &'static Location<'static>,
    pub(crate) runtime: RuntimeId,
    /// The thread may be the one that runs the worker of a current-thread runtime.
    pub(crate) may_run_worker: bool,
    /// Counted before each poll and after it, so that it is odd while the future is being polled.
    pub(crate) turn: AtomicU64,
    /// The future was woken, and has not been polled since.
    pub(crate) woken: AtomicBool,
    pub(crate) thread: Thread,
    pub(crate) folder: ThreadFolder,
}

impl Main {
    /// A poll begins or ends. Only the thread in `block_on` counts.
    pub(crate) fn count_turn(&self) {
        let turn = self.turn.load(Ordering::Relaxed) + 1;
        self.turn.store(turn, Ordering::Relaxed);
        tell!(step(self.id.0, turn));
    }

    /// Whether the future is being polled.
    pub(crate) fn is_polled(&self) -> bool {
        self.turn.load(Ordering::Relaxed) % 2 == 1
    }
}

/// Over how many lists the futures are spread, so that threads which call `block_on` at once do not
/// contend.
const LISTS: usize = 8;

/// The futures that are in `block_on` of a runtime.
#[derive(Default)]
pub(crate) struct Mains([Mutex<Slab<Arc<Main>>>; LISTS]);

impl Mains {
    /// The future is listed as long as the entry lives.
    pub(crate) fn enter(&self, main: Arc<Main>) -> Entry<'_> {
        let no_name: Option<Arc<str>> = None;
        tell!(spawned(main.id.0, main.runtime.0, &no_name, main.location, 0));
        tell!(blocks_on(main.id.0));
        let list = &self.0[fastrand::usize(..LISTS)];
        Entry { list, key: lock(list).insert(main) }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Main>> {
        let mut all = Vec::new();
        for list in &self.0 {
            all.extend(lock(list).iter().map(|(_, main)| main.clone()));
        }
        all
    }

    pub(crate) fn wakers(&self) -> impl Iterator<Item = Waker>
    where
        Main: Wake,
    {
        self.all().into_iter().map(Waker::from)
    }
}

pub(crate) struct Entry<'a> {
    list: &'a Mutex<Slab<Arc<Main>>>,
    key: usize,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let main = lock(self.list).remove(self.key);
        tell!(ended(main.id.0));
    }
}
