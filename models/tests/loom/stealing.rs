//! Queues of workers that are given back, and thieves.

use crate::idle::Idle;
use crate::{Injector, model};
use loom::sync::Arc;
use loom::thread;

/// The queue of worker 0, the injector, and both workers.
struct Shared {
    idle: Idle,
    local: Injector,
    injector: Injector,
}

impl Shared {
    /// The drop of a `Guest` that runs worker 0, with `Local::spill` and `look_after`. True:
    /// it woke a worker.
    fn give_back(&self) -> bool {
        while self.local.pop() {
            self.injector.push();
        }
        self.idle.fall_asleep(0);
        !self.injector.is_empty() && self.idle.wake_if_all_asleep(None).is_some()
    }

    /// Worker 1 runs what it finds, its own share and half of the other queue, and falls
    /// asleep. True: it stays awake, as it has found more.
    fn steal_and_sleep(&self) -> bool {
        while self.injector.pop() || self.local.pop() {}
        self.idle.fall_asleep(1);
        !self.injector.is_empty() && self.idle.wake(1)
    }
}

/// (j) A worker is given back with tasks in its queue, while the only other one steals and
/// falls asleep: no task is left where all sleep.
// ~ models/tests/loom/stealing.rs
// - !self.injector.is_empty() && self.idle.wake_if_all_asleep(None).is_some()
// + false
// ~ models/tests/loom/stealing.rs
// - !self.injector.is_empty() && self.idle.wake(1)
// + false
// ~ models/tests/loom/stealing.rs
// - while self.local.pop() {
// -     self.injector.push();
// - }
// - self.idle.fall_asleep(0);
// + self.idle.fall_asleep(0);
// ~ src/idle.rs
// - self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
// - fence(Ordering::SeqCst);
// + self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
#[test]
fn what_is_in_the_queue_of_a_worker_that_is_given_back_is_found() {
    for tasks in [1, 2] {
        model(move || {
            let shared = Arc::new(Shared {
                idle: Idle::new(2),
                local: Injector::default(),
                injector: Injector::default(),
            });
            assert!(shared.idle.wake(0) && shared.idle.wake(1));
            (0..tasks).for_each(|_| shared.local.push());
            let thief = {
                let shared = shared.clone();
                thread::spawn(move || shared.steal_and_sleep())
            };
            let woke = shared.give_back();
            let awake = thief.join().unwrap();
            let nothing_left = shared.injector.is_empty() && shared.local.is_empty();
            assert!(woke || awake || nothing_left);
        });
    }
}
