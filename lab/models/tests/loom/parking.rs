//! Falling asleep and being woken: workers that park or wait for the kernel, and the monitor.

use crate::driver::reactor::{Direction, Ticket, Waiter};
use crate::inside;
use crate::scheduler::shared::Shared;
use crate::sync::{AtomicUsize, thread};
use crate::world::{Crew, Gate, make_polls_short, shared, task};
use crate::{model_within, race_within};
use loom::sync::atomic::Ordering;
use std::sync::Arc;
use std::task::Context;

/// The sleep protocol: `Worker::sleep` against `Shared::inject`, while polls are short and nobody is
/// called for another reason. A thread from outside injects tasks, and each of them is polled. Of
/// two workers the first that falls asleep has the seat, and the other one parks.
// ~ src/scheduler/sleep.rs
// - fence(Ordering::SeqCst);
// - if has_work() {
// + if has_work() {
// ~ src/scheduler/sleep.rs
// - fence(Ordering::SeqCst);
// - self.asleep.load(Ordering::Relaxed) == self.all
// + self.asleep.load(Ordering::Relaxed) == self.all
// ~ src/scheduler/sleep.rs
// - self.asleep.load(Ordering::Relaxed) == self.all
// + self.asleep.load(Ordering::Relaxed) == self.all >> 1
// ~ src/scheduler/worker.rs
// - let found = stop() || !shared.injector.is_empty();
// + let found = stop();
// ~ src/scheduler/shared.rs
// - queue::push(&self.injector, runnable);
// - if self.sleepers.all_asleep() {
// + let all_asleep = self.sleepers.all_asleep();
// + queue::push(&self.injector, runnable);
// + if all_asleep {
// ~ src/scheduler/sleep.rs
// - self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
// - fence(Ordering::SeqCst);
// - if has_work() {
// -     self.claim(worker);
// -     return;
// - }
// + if has_work() {
// +     return;
// + }
// + self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
// ~ src/driver/mod.rs
// - _ if is_called() => Until::Now,
// ~ src/scheduler/sleep.rs
// - if asleep & (1 << worker) != 0 && self.claim(worker) {
// -     self.rouse(worker, notify);
// + let has_seat = self.seat.load(Ordering::SeqCst) == worker;
// + if asleep & (1 << worker) != 0 && self.claim(worker) {
// +     if has_seat {
// +         notify();
// +     } else if let Some(thread) = &*lock(&self.threads[worker]) {
// +         thread.unpark();
// +     }
// ~ src/scheduler/sleep.rs
// - if self.seat.load(Ordering::SeqCst) == worker {
// + if self.seat.load(Ordering::Relaxed) == worker {
#[test]
fn injected_task_is_polled() {
    for (workers, tasks, preemptions) in [(1, 2, 3), (2, 1, 2)] {
        model_within(preemptions, move || {
            let shared = shared(workers);
            make_polls_short(&shared);
            let crew = Crew::start(&shared);
            let polled = Gate::default();
            for _ in 0..tasks {
                let opens = polled.clone();
                shared.inject(task(&shared, move || opens.open()));
            }
            polled.wait(tasks);
            crew.stop();
        });
    }
}
