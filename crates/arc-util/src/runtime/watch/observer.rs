//! What the core tells, and what is made of it.

use super::report::ROOT;
use super::{CURRENT, Watched, Worker};
use arc::observe::{Event, Kind, Note, Observer};
use arc::runtime::{Handle, Id};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// From the first call on, the runtimes of this process are watched.
pub(in crate::runtime) fn attach() {
    static ATTACHED: Once = Once::new();
    ATTACHED.call_once(|| arc::observe::attach(Watches));
}

struct Watches;

impl Observer for Watches {
    /// Every program on arc-async has this observer, so no other event is to cost anything.
    fn hears(&self, event: Event) -> bool {
        matches!(
            event,
            Event::runs_worker
                | Event::leaves_worker
                | Event::begins
                | Event::panicked
                | Event::stole
                | Event::sleeps
                | Event::tick
                | Event::closes
        )
    }

    fn runs_worker(&self, runtime: u64, worker: usize) {
        // The thread is in the runtime already.
        let Some(handle) = Handle::try_current() else { return };
        if handle.id().0 == runtime {
            let watched = Watched::of(&handle);
            let worker = watched.workers[worker].clone();
            let _ = CURRENT.try_with(|current| current.replace(Some((watched, worker))));
        }
    }

    fn leaves_worker(&self, _runtime: u64, _worker: usize) {
        let _ = CURRENT.try_with(|current| current.take());
    }

    fn begins(&self, task: u64, note: &Note) {
        match note.kind() {
            Kind::Task => count(1, |worker| &worker.polls),
            // A thread that runs the worker of a current-thread runtime polls its own future as
            // well. The core tells the future itself no id.
            Kind::BlockOn => _ = ROOT.try_with(|root| root.set(Some(Id(task)))),
            _ => {}
        }
    }

    fn panicked(&self, task: u64) {
        // The panic of a task in a `LocalSet` is that of its set, which is polled here.
        let is_polled = arc::task::try_id() == Some(Id(task));
        if is_polled && let Some(handle) = Handle::try_current() {
            Watched::of(&handle).panics();
        }
    }

    fn stole(&self, tasks: usize) {
        count(tasks, |worker| &worker.steals);
    }

    fn sleeps(&self) {
        count(1, |worker| &worker.parks);
    }

    fn tick(&self, runtime: u64, since: Duration) -> bool {
        Watched::find(Id(runtime)).is_some_and(|watched| watched.tick(since))
    }

    fn closes(&self, runtime: u64) {
        if let Some(watched) = Watched::find(Id(runtime)) {
            watched.closes();
        }
    }
}

/// Counts for the worker of this thread, which is the only one to change the counter. So no step is
/// lost between the load and the store, and no core waits for another one.
fn count(more: usize, counter: impl FnOnce(&Worker) -> &AtomicU64) {
    let _ = CURRENT.try_with(|current| {
        if let Some((_, worker)) = &*current.borrow() {
            let counter = counter(worker);
            counter.store(counter.load(Ordering::Relaxed) + more as u64, Ordering::Relaxed);
        }
    });
}
