//! Queues of workers that are given back, and thieves.

use crate::idle::Idle;
use crate::{Injector, race};

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
#[test]
fn what_is_in_the_queue_of_a_worker_that_is_given_back_is_found() {
    for tasks in [1, 2] {
        race(
            move || {
                let (local, injector) = (Injector::default(), Injector::default());
                let shared = Shared { idle: Idle::new(2), local, injector };
                assert!(shared.idle.wake(0) && shared.idle.wake(1));
                (0..tasks).for_each(|_| shared.local.push());
                shared
            },
            Shared::steal_and_sleep,
            Shared::give_back,
            |shared, awake, woke| {
                let nothing_left = shared.injector.is_empty() && shared.local.is_empty();
                assert!(woke || awake || nothing_left);
            },
        );
    }
}
