//! What tasks wait for: the kernel and the clock.
//!
//! A worker that has nothing to do takes the *seat*, waits here until the kernel reports something,
//! leaves the seat, and runs the tasks whose events came. Only one thread at a time has the seat
//! (`scheduler/sleep.rs`), and only that thread may call [`Driver::wait`] and [`Driver::look`].
//!
//! When the worker in the seat wakes up, no parked worker takes its place: the seat is free until a
//! worker falls asleep. Meanwhile no thread waits, and the kernel keeps the events. A busy worker
//! takes the seat now and then to look, without waiting (`scheduler/policy.rs`). When no worker
//! comes to that, the monitor wakes one that sleeps, or looks itself (`scheduler/monitor.rs`).
//!
//! Locks are taken in this order: the sources, and then the waiting wakers of one source. A wheel
//! is locked alone.

pub(crate) mod kernel;
pub(crate) mod reactor;
pub(crate) mod timers;
pub(crate) mod wheel;

use crate::driver::kernel::{Kernel, Until};
use crate::driver::reactor::{Lent, Side, Source, Waiter, WaiterKind, gone};
use crate::driver::timers::Timers;
use crate::hooks::{observed, sim, tell};
use crate::panic::{give_up, wake};
use crate::sync::{Arc, Instant, Mutex, lock};
use polling::AsSource;
use slab::Slab;
use std::io::Result;
use std::mem::ManuallyDrop;
use std::task::{Context, Poll, Waker};

pub(crate) struct Driver {
    pub(crate) kernel: Kernel,
    pub(crate) sources: Mutex<Sources>,
    pub(crate) timers: Timers,
}

#[derive(Default)]
pub(crate) struct Sources {
    /// Each source is at the place that its key says.
    pub(crate) slab: Slab<Arc<Source>>,
    is_closed: bool,
}

impl Driver {
    pub(crate) fn new(workers: usize) -> Result<Self> {
        let kernel = Kernel::new()?;
        Ok(Self { kernel, sources: Mutex::default(), timers: Timers::new(workers) })
    }

    pub(crate) fn has_sources(&self) -> bool {
        !lock(&self.sources).slab.is_empty()
    }

    /// Whether there is anything to wait for.
    pub(crate) fn is_needed(&self) -> bool {
        self.has_sources() || self.timers.earliest().is_some()
    }

    /// Collects the wakers of what has happened so far, without waiting. Only for the thread that
    /// has the seat.
    pub(crate) fn look(&self, wakers: &mut Vec<Waker>) {
        if self.is_needed() {
            self.collect(self.at_once(), wakers);
        }
    }

    /// Waits until something happens, and collects the wakers of what did. Only for the worker that
    /// has the seat.
    ///
    /// `is_called` says whether another thread has claimed the worker. A thread that did so before
    /// the worker had the seat could not notify it here. So this asks before it waits.
    pub(crate) fn wait(&self, wakers: &mut Vec<Waker>, is_called: impl Fn() -> bool) {
        // From here on, whoever arms an earlier timer notifies this thread.
        let alarm = self.timers.next_alarm();

        // Q2 of `sleep.md`.
        let until = if is_called() { self.at_once() } else { alarm };
        self.collect(sim!(self.simulate(until, wakers, is_called), until), wakers);
    }

    /// Returns until when to wait in the kernel. In a simulation that is no time at all: the clock
    /// jumps to the deadline instead.
    #[cfg(feature = "sim")]
    fn simulate(
        &self,
        until: Until,
        wakers: &mut Vec<Waker>,
        is_called: impl Fn() -> bool,
    ) -> Until {
        let ahead = || {
            let alarm = self.timers.next_alarm();
            ([alarm, self.timers.next_deadline()], self.has_sources())
        };
        arc_sim_core::until([until, self.at_once()], ahead, wakers, |wakers| {
            self.collect(self.at_once(), wakers);
            !wakers.is_empty() || is_called()
        })
    }

    /// A deadline that has passed, so a wait until then only looks.
    fn at_once(&self) -> Until {
        Some(self.timers.epoch)
    }

    /// Waits in the kernel until the deadline, or for ever, and collects the wakers of the tasks
    /// whose events came and whose timers are due. If the deadline has passed, it does not wait.
    ///
    /// An error here is a defect of arc, or the program has closed a descriptor that it does not
    /// own. Either ends the process.
    pub(crate) fn collect(&self, until: Until, wakers: &mut Vec<Waker>) {
        tell!(asks_kernel(until != self.at_once()));

        // For observers, who may not be called under the lock.
        let mut told = Vec::new();
        let waited = self.kernel.wait(until, |events| {
            // One lock for all events of this wait. The wakers are only collected here, and run
            // later, without the lock and the seat.
            let sources = lock(&self.sources);
            for event in events {
                // The source may be gone by now.
                if let Some(source) = sources.slab.get(event.key) {
                    if observed!(arc_observe::wants_descriptors(), false) {
                        told.push((source.number, event.ready));
                    }
                    source.collect(event.ready, event.hang_up, wakers);
                }
            }
        });
        waited.unwrap_or_else(|error| give_up("waiting for the kernel", &error));
        tell!(kernel_told(&told));

        // The alarm has no source, so nothing was collected for it: the clock says what is due.
        self.timers.expire(self.timers.nanos(Instant::now()), wakers);
    }

    /// Ends the wait of the worker that has the seat, or else the next wait.
    pub(crate) fn notify(&self) {
        let notified = self.kernel.notify();
        notified.unwrap_or_else(|error| give_up("notifying the waiting thread", &error));
    }

    /// Registers a descriptor. Fails, and leaves nothing behind, if the kernel refuses it or the
    /// runtime has ended.
    pub(crate) fn register(&self, io: Lent<'_>) -> Result<Arc<Source>> {
        let mut sources = lock(&self.sources);
        if sources.is_closed {
            return Err(gone());
        }

        // An event may come at once. It finds the source, as `collect` takes this lock first.
        let place = sources.slab.vacant_entry();
        let source = Arc::new(Source::new(place.key(), io));
        self.kernel.add(&io, source.key)?;
        Ok(place.insert(source).clone())
    }

    /// The counterpart of `register`. Gives the descriptor back, which may be closed then. After an
    /// error it is leaked: what the kernel watches must stay open, and what other code has closed
    /// must not be closed again.
    pub(crate) fn deregister<T: AsSource>(&self, source: &Source, io: T) -> Result<T> {
        // `close` may have taken it out. The caller has it too, so no waker is dropped here.
        let _ = lock(&self.sources).slab.try_remove(source.key);

        // An error from here on leaks the descriptor.
        let io = ManuallyDrop::new(io);
        let lent = io.source();
        source.check(lent)?;
        self.kernel.delete(&lent)?;

        // Nobody watches it any more.
        Ok(ManuallyDrop::into_inner(io))
    }

    /// Ends all waits: no event will come any more, and every operation fails from now on.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        let mut sources = lock(&self.sources);
        sources.is_closed = true;
        for source in sources.slab.drain() {
            source.close(wakers);
        }
    }

    /// Returns `Ready` if the operation is worth another try, or has to fail. Otherwise the waker
    /// is left with the source, and the task is woken when that changes.
    pub(crate) fn poll_ready(
        &self,
        io: Lent<'_>,
        waiter: &mut Waiter<'_>,
        context: &Context<'_>,
    ) -> Poll<Result<()>> {
        let source = waiter.source;
        let direction = waiter.direction as usize;

        // User code may run when a waker is cloned, dropped or woken: not under the lock.
        let waker = context.waker().clone();

        // An event has come since the operation was tried.
        let mut sides = lock(&source.sides);
        if !sides[direction].record_block(waiter.seen) {
            return Poll::Ready(Ok(()));
        }

        // If the kernel refuses, the waker is not left here.
        self.ask(io, source, &sides)?;

        let mine = &mut sides[direction];

        // What has to go from the source, after the lock.
        let mut former = None;
        let mut pushed_out = Vec::new();
        match &mut waiter.kind {
            WaiterKind::Future(number) => former = mine.insert(number, waker),
            // It is here already. An event since would have taken it, or is about to.
            WaiterKind::Poll if mine.polls.iter().any(|other| other.will_wake(&waker)) => {}
            WaiterKind::Poll => pushed_out = mine.push(waker),
        }

        // After the lock: those that were pushed out try again, and may come back.
        drop(sides);
        drop(former);
        pushed_out.into_iter().for_each(wake);
        tell!(waits_for_io(waiter.place(), source.number, direction));
        Poll::Pending
    }

    /// An operation was tried in vain, and nobody waits: the next event is asked for all the same.
    pub(crate) fn ask_for_next(&self, io: Lent<'_>, waiter: &Waiter<'_>) -> Result<()> {
        let mut sides = lock(&waiter.source.sides);
        sides[waiter.direction as usize].record_block(waiter.seen);
        self.ask(io, waiter.source, &sides)
    }

    /// Asks the kernel for the next event in each direction that would block. What is asked for
    /// last counts, so one thread asks at a time.
    fn ask(&self, io: Lent<'_>, source: &Source, sides: &[Side; 2]) -> Result<()> {
        source.check(io)?;
        let [read, write] = sides.each_ref().map(|side| side.readiness.would_block);
        self.kernel.ask_again(&io, polling::Event::new(source.key, read, write))
    }
}
