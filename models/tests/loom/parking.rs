//! Falling asleep and being woken: a worker, the thread in the seat, and the monitor.

use crate::idle::{Doorbell, Idle};
use crate::{Injector, in_order, model, race};
use loom::sync::atomic::{AtomicUsize, Ordering, fence};
use loom::sync::{Arc, Notify};
use loom::thread;

/// (a) The sleep protocol of idle.rs: `Worker::sleep` against
/// `Shared::inject`. Workers that are awake have run out of work, and a
/// thread from outside pushes two tasks: whatever is left at the end, somebody is
/// awake for it.
// ~ src/idle.rs
// - self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
// - fence(Ordering::SeqCst);
// + self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
// ~ src/idle.rs
// - fence(Ordering::SeqCst);
// - let wake_one =
// + let wake_one =
// ~ models/tests/loom/parking.rs
// - if !injector.is_empty() && idle.wake(worker) {
// + if false {
// ~ models/tests/loom/parking.rs
// - injector.push();
// - let _ = idle.wake_if_all_asleep(None);
// + let _ = idle.wake_if_all_asleep(None);
// + injector.push();
#[test]
fn pushed_task_never_finds_all_asleep_and_nobody_woken() {
    for workers in [1, 2] {
        model(move || {
            let shared = Arc::new((Idle::new(workers), Injector::default()));
            // Awake, all of them.
            for worker in 0..workers {
                assert!(shared.0.wake(worker));
            }
            let sleepers: Vec<_> = (0..workers)
                .map(|worker| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let (idle, injector) = &*shared;
                        while injector.pop() {}
                        idle.fall_asleep(worker);
                        if !injector.is_empty() && idle.wake(worker) {
                            while injector.pop() {}
                            // Awake still, it would now look again, and so on.
                            return true;
                        }
                        false
                    })
                })
                .collect();
            let (idle, injector) = &*shared;
            for _ in 0..2 {
                injector.push();
                // It would be unparked now: its bit is clear.
                let _ = idle.wake_if_all_asleep(None);
            }
            let awake = sleepers.into_iter().any(|sleeper| sleeper.join().unwrap());
            assert!(awake || injector.is_empty() || !idle.all_asleep());
        });
    }
}

/// The seat, as `Seat::wait` and `Shared::unpark` see it.
struct Seat {
    idle: Idle,
    holder: AtomicUsize,
    /// The eventfd: it ends the current wait, or the next one.
    kernel: Notify,
}

const NOBODY: usize = usize::MAX;

impl Seat {
    fn new(workers: usize) -> Self {
        Self { idle: Idle::new(workers), holder: AtomicUsize::new(NOBODY), kernel: Notify::new() }
    }

    /// `Seat::wait`, with nothing else that could end it.
    fn sleep(&self, worker: usize) {
        in_order(|| self.holder.store(worker, Ordering::SeqCst));
        if in_order(|| self.idle.is_asleep(worker)) {
            self.kernel.wait();
        }
        self.holder.store(NOBODY, Ordering::SeqCst);
    }

    /// `Shared::unpark`, after the worker's bit was cleared. It would otherwise unpark the
    /// worker's thread, which parks nowhere here.
    fn unpark(&self, worker: usize) {
        if in_order(|| self.holder.load(Ordering::SeqCst)) == worker {
            self.kernel.notify();
        }
    }
}

/// (d) The seat's holder against whoever wakes it: it is woken in the kernel, or
/// sees that it was woken before it goes there. Lost, it would sleep for ever,
/// which loom calls a deadlock.
// ~ models/tests/loom/parking.rs
// - if in_order(|| self.idle.is_asleep(worker)) {
// + if worker != NOBODY {
// ~ models/tests/loom/parking.rs
// - in_order(|| self.holder.store(worker, Ordering::SeqCst));
// - if in_order(|| self.idle.is_asleep(worker)) {
// + let asleep = in_order(|| self.idle.is_asleep(worker));
// + in_order(|| self.holder.store(worker, Ordering::SeqCst));
// + if asleep {
// ~ models/tests/loom/parking.rs
// - in_order(|| self.holder.store(worker, Ordering::SeqCst));
// - if in_order(|| self.idle.is_asleep(worker)) {
// + self.holder.store(worker, Ordering::SeqCst);
// + if self.idle.is_asleep(worker) {
// ~ models/tests/loom/parking.rs
// - self.kernel.notify();
#[test]
fn thread_that_takes_the_seat_is_notified_or_stays_awake() {
    race(
        || {
            let seat = Seat::new(1);
            assert!(seat.idle.wake(0));
            seat
        },
        |seat| {
            seat.idle.fall_asleep(0);
            seat.sleep(0);
        },
        |seat| {
            // Until it has fallen asleep there is nobody to be woken.
            while !in_order(|| seat.idle.wake(0)) {
                thread::yield_now();
            }
            seat.unpark(0);
        },
        |_, (), ()| (),
    );
}

/// (f) The monitor's doorbell: `monitor::sleep` against a worker that wakes up and
/// rings. The monitor never sleeps on while the worker is awake.
// ~ src/idle.rs
// - fence(Ordering::SeqCst);
// - if self.asleep.load(Ordering::Relaxed)
// + if self.asleep.load(Ordering::Relaxed)
// ~ models/tests/loom/parking.rs
// - fence(Ordering::SeqCst);
// - idle.all_asleep()
// + idle.all_asleep()
// ~ models/tests/loom/parking.rs
// - doorbell.asleep.store(true, Ordering::Relaxed);
// - fence(Ordering::SeqCst);
// - idle.all_asleep()
// + let sleeps = idle.all_asleep();
// + fence(Ordering::SeqCst);
// + doorbell.asleep.store(true, Ordering::Relaxed);
// + sleeps
// ~ models/tests/loom/parking.rs
// - assert!(idle.wake(0));
// - doorbell.ring();
// + doorbell.ring();
// + assert!(idle.wake(0));
#[test]
fn monitor_never_sleeps_while_a_worker_is_awake() {
    race(
        || (Idle::new(1), Doorbell::default()),
        |(idle, doorbell)| {
            assert!(idle.wake(0));
            doorbell.ring();
        },
        |(idle, doorbell)| {
            doorbell.asleep.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            idle.all_asleep()
        },
        |(_, doorbell), (), sleeps| {
            assert!(!(sleeps && doorbell.asleep.load(Ordering::Relaxed)));
        },
    );
}
