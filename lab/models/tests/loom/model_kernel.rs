//! Stands for the kernel in src/driver/kernel: it reports the events that a model makes.

use crate::driver::kernel::{Event, Events, Until};
use crate::sync::{Condvar, Duration, Instant, Mutex, lock};
use loom::cell::UnsafeCell;
use polling::AsSource;
use std::io;

#[derive(Default)]
pub(crate) struct Kernel {
    state: Mutex<State>,
    news: Condvar,
    /// A thread waits now, or is notified.
    changed: Condvar,
    seat: Seat,
}

#[derive(Default)]
struct State {
    is_notified: bool,
    events: Vec<Event>,
    /// Until when the last wait was to last, unless it was only a look.
    until: Option<Until>,
}

/// What only the thread that has the seat may touch. loom panics if two threads do so at once, or
/// without an order.
struct Seat(UnsafeCell<usize>);

impl Default for Seat {
    fn default() -> Self {
        Self(UnsafeCell::new(0))
    }
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Seat {}
// SAFETY: as above.
unsafe impl Send for Seat {}

impl Kernel {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self::default())
    }

    pub(crate) fn add(&self, _: &impl AsSource, _: usize) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn ask_again(&self, _: &impl AsSource, _: polling::Event) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn delete(&self, _: &impl AsSource) -> io::Result<()> {
        Ok(())
    }

    /// Makes an event.
    pub(crate) fn event(&self, key: usize, ready: [bool; 2], hang_up: bool) {
        lock(&self.state).events.push(Event { key, ready, hang_up });
        self.news.notify_all();
    }

    /// Waits for an event or a notification. A deadline lasts for ever, as the clock stands still.
    pub(crate) fn wait(&self, until: Until, take: impl FnOnce(Events<'_>)) -> io::Result<()> {
        let has_seat = self.seat.0.get_mut();
        let mut state = lock(&self.state);
        let is_look = until.is_some_and(|deadline| deadline <= Instant::now());
        state.until = (!is_look).then_some(until);
        self.changed.notify_all();
        let is_quiet =
            |state: &mut State| !is_look && !state.is_notified && state.events.is_empty();
        let waited = self.news.wait_timeout_while(state, Duration::MAX, is_quiet);
        state = waited.unwrap_or_else(|_| unreachable!("no lock is poisoned")).0;
        state.is_notified = false;
        let events = std::mem::take(&mut state.events);
        drop(state);
        take(&mut events.into_iter());
        drop(has_seat);
        Ok(())
    }

    pub(crate) fn notify(&self) -> io::Result<()> {
        lock(&self.state).is_notified = true;
        self.news.notify_all();
        Ok(())
    }

    /// Waits until a thread waits for ever.
    pub(crate) fn until_somebody_waits(&self) {
        let is_early = |state: &mut State| state.until != Some(None);
        drop(self.changed.wait_timeout_while(lock(&self.state), Duration::MAX, is_early));
    }

    /// Waits until a thread waits for `limit` at most. If none ever does, loom reports a deadlock.
    pub(crate) fn until_alarm_is_set(&self, limit: Instant) {
        let is_late = |state: &mut State| match state.until {
            Some(Some(deadline)) => deadline > limit,
            _ => true,
        };
        drop(self.changed.wait_timeout_while(lock(&self.state), Duration::MAX, is_late));
    }
}
