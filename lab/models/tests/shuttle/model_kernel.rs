//! Stands for the kernel in src/driver/kernel: it reports the events that a test makes.

use crate::driver::kernel::event::{Event, Events, Until};
use crate::sync::{Arc, Condvar, Duration, Instant, Mutex, PoisonError, lock, set_clock};
use polling::AsSource;
use std::cell::{Cell, RefCell};
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
    alarm: Option<Instant>,
}

std::thread_local! {
    /// The kernels that were made in this execution.
    static KERNELS: RefCell<Vec<Kernel>> = const { RefCell::new(Vec::new()) };

    /// In half of the executions it is as on systems where only one thread can wait.
    static IS_SHARED: Cell<bool> = const { Cell::new(true) };
}

pub(crate) fn is_shared() -> bool {
    IS_SHARED.get()
}

/// Begins a new execution.
pub(crate) fn begin() {
    set_clock(Duration::ZERO);
    KERNELS.take();
    IS_SHARED.set(shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng()));
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

    /// What happens is told to one of those who wait. As in epoll, the alarm is one for all of
    /// them, and is told once.
    pub(crate) fn wait(&self, until: Until, take: impl FnOnce(Events<'_>)) -> io::Result<()> {
        let (state, changed) = &*self.0;
        let is_quiet = |state: &mut State| {
            let own_alarm = match until {
                Until::Now => return false,
                Until::Deadline(at) => Some(at),
                Until::Forever => None,
            };
            let alarm = if is_shared() { state.alarm } else { own_alarm };
            let is_due = alarm.is_some_and(|at| Instant::now() >= at);
            !is_due && !state.is_notified && state.events.is_empty()
        };
        let waited = changed.wait_timeout_while(lock(state), Duration::MAX, is_quiet);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.is_notified = false;
        state.alarm.take_if(|at| Instant::now() >= *at);
        let events = std::mem::take(&mut state.events);
        drop(state);
        take(&mut events.into_iter());
        Ok(())
    }

    pub(crate) fn set_alarm(&self, deadline: Instant) -> io::Result<()> {
        if is_shared() {
            lock(&self.0.0).alarm = Some(deadline);
            self.0.1.notify_all();
        }
        Ok(())
    }

    pub(crate) fn notify(&self) -> io::Result<()> {
        lock(&self.0.0).is_notified = true;
        self.0.1.notify_all();
        Ok(())
    }
}
