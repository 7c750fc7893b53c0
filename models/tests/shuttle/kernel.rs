//! Stands for src/kernel.rs: a kernel that tells what a test says.

use crate::sync::{Arc, Condvar, Duration, Instant, Mutex, PoisonError, lock, set_clock};
use polling::{AsSource, Event};
use std::cell::RefCell;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Until {
    Now,
    Deadline(Instant),
    Forever,
}

pub(crate) type Told = (usize, [bool; 2], bool);
pub(crate) type Events = Vec<Told>;

/// As the epoll instance, its eventfd and its timerfd, all of them edge-triggered.
#[derive(Clone, Default)]
pub(crate) struct Kernel(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    notified: bool,
    /// The keys of what is registered, in the order in which it was.
    sources: Vec<usize>,
    events: Events,
}

std::thread_local! {
    /// Those that were made in this execution.
    static KERNELS: RefCell<Vec<Kernel>> = const { RefCell::new(Vec::new()) };
}

/// A new execution begins.
pub(crate) fn begin() {
    set_clock(Duration::ZERO);
    KERNELS.take();
}

/// The time has come. Whoever sleeps until then, or less long, wakes up.
pub(crate) fn set_time(time: Duration) {
    set_clock(time);
    for Kernel(kernel) in KERNELS.with_borrow(Clone::clone) {
        drop(lock(&kernel.0));
        kernel.1.notify_all();
    }
}

/// Something happens to the source that was registered as the so-manieth, if it still is.
pub(crate) fn tell(source: usize, ready: [bool; 2], hangup: bool) {
    let kernel = KERNELS.with_borrow(|kernels| kernels[0].clone());
    let mut state = lock(&kernel.0.0);
    if let Some(key) = state.sources.get(source).copied().filter(|&key| key != GONE) {
        state.events.push((key, ready, hangup));
    }
    drop(state);
    kernel.0.1.notify_all();
}

/// In the place of a source that was deleted.
const GONE: usize = usize::MAX;

impl Kernel {
    pub(crate) fn new() -> io::Result<Self> {
        let kernel = Self::default();
        KERNELS.with_borrow_mut(|kernels| kernels.push(kernel.clone()));
        Ok(kernel)
    }

    /// What is new can be written to.
    pub(crate) fn add(&self, _: &impl AsSource, key: usize) -> io::Result<()> {
        let mut state = lock(&self.0.0);
        state.sources.push(key);
        state.events.push((key, [false, true], false));
        drop(state);
        self.0.1.notify_all();
        Ok(())
    }

    pub(crate) fn ask_again(&self, _: &impl AsSource, _: Event) -> io::Result<()> {
        Ok(())
    }

    /// All that is registered is taken for it: tests delete one at a time. What was told
    /// before is on its way.
    pub(crate) fn delete(&self, _: &impl AsSource) -> io::Result<()> {
        lock(&self.0.0).sources.iter_mut().for_each(|key| *key = GONE);
        Ok(())
    }

    pub(crate) fn wait(&self, events: &mut Events, until: Until) -> io::Result<()> {
        events.clear();
        let (state, changed) = &*self.0;
        let nothing = |state: &mut State| {
            let is_due = match until {
                Until::Now => true,
                Until::Deadline(deadline) => Instant::now() >= deadline,
                Until::Forever => false,
            };
            !is_due && !state.notified && state.events.is_empty()
        };
        let waited = changed.wait_timeout_while(lock(state), Duration::MAX, nothing);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.notified = false;
        events.append(&mut state.events);
        Ok(())
    }

    pub(crate) fn notify(&self) -> io::Result<()> {
        lock(&self.0.0).notified = true;
        self.0.1.notify_all();
        Ok(())
    }
}
