//! Stands for the kernel in src/driver/kernel: it reports the events that a test makes.

use crate::driver::kernel::{Event, Events, Until};
use crate::sync::{Arc, Condvar, Duration, Instant, Mutex, PoisonError, lock, set_clock};
use polling::AsSource;
use std::cell::RefCell;
use std::io;

/// Stands for the epoll instance with its eventfd and its timerfd, all of them edge-triggered.
#[derive(Clone, Default)]
pub(crate) struct Kernel(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    is_notified: bool,
    /// The keys of the sources, in the order in which they were registered.
    sources: Vec<usize>,
    events: Vec<Event>,
}

std::thread_local! {
    /// The kernels that were made in this execution.
    static KERNELS: RefCell<Vec<Kernel>> = const { RefCell::new(Vec::new()) };
}

/// Begins a new execution.
pub(crate) fn begin() {
    set_clock(Duration::ZERO);
    KERNELS.take();
}

/// Sets the clock. Every sleep that should have ended by then ends.
pub(crate) fn set_time(time: Duration) {
    set_clock(time);
    for Kernel(kernel) in KERNELS.with_borrow(Clone::clone) {
        drop(lock(&kernel.0));
        kernel.1.notify_all();
    }
}

/// Makes an event of the source that was registered as number `source`, if it still is registered.
pub(crate) fn event(source: usize, ready: [bool; 2], hang_up: bool) {
    let kernel = KERNELS.with_borrow(|kernels| kernels[0].clone());
    let mut state = lock(&kernel.0.0);
    if let Some(key) = state.sources.get(source).copied().filter(|&key| key != GONE) {
        state.events.push(Event { key, ready, hang_up });
    }
    drop(state);
    kernel.0.1.notify_all();
}

/// Stands in the place of a source that was deleted.
const GONE: usize = usize::MAX;

impl Kernel {
    pub(crate) fn new() -> io::Result<Self> {
        let kernel = Self::default();
        KERNELS.with_borrow_mut(|kernels| kernels.push(kernel.clone()));
        Ok(kernel)
    }

    /// A new source can be written to.
    pub(crate) fn add(&self, _: &impl AsSource, key: usize) -> io::Result<()> {
        let mut state = lock(&self.0.0);
        state.sources.push(key);
        state.events.push(Event { key, ready: [false, true], hang_up: false });
        drop(state);
        self.0.1.notify_all();
        Ok(())
    }

    pub(crate) fn ask_again(&self, _: &impl AsSource, _: polling::Event) -> io::Result<()> {
        Ok(())
    }

    /// Deletes every source: the models delete one when there is no other. Events that were made
    /// before are still on their way.
    pub(crate) fn delete(&self, _: &impl AsSource) -> io::Result<()> {
        lock(&self.0.0).sources.iter_mut().for_each(|key| *key = GONE);
        Ok(())
    }

    /// Only the thread that has the seat waits.
    pub(crate) fn wait(&self, until: Until, take: impl FnOnce(Events<'_>)) -> io::Result<()> {
        let (state, changed) = &*self.0;
        let is_quiet = |state: &mut State| {
            let is_due = until.is_some_and(|deadline| Instant::now() >= deadline);
            !is_due && !state.is_notified && state.events.is_empty()
        };
        let waited = changed.wait_timeout_while(lock(state), Duration::MAX, is_quiet);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.is_notified = false;
        let events = std::mem::take(&mut state.events);
        drop(state);
        take(&mut events.into_iter());
        Ok(())
    }

    pub(crate) fn notify(&self) -> io::Result<()> {
        lock(&self.0.0).is_notified = true;
        self.0.1.notify_all();
        Ok(())
    }
}
