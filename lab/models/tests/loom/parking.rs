//! Falling asleep and being woken: a worker, the thread in the seat, and the monitor.

use crate::scheduler::idle::{Doorbell, Idle};
use crate::{Injector, in_order, model_within, race};
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use loom::sync::{Arc, Notify};
use loom::thread;

/// (a) The sleep protocol of idle.rs: `Worker::sleep` against `Shared::inject`. Workers that are
/// awake have run out of work, and a thread from outside pushes tasks. Whatever is left at the
/// end, some worker is awake for it.
// ~ src/scheduler/idle.rs
// - self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
// - fence(Ordering::SeqCst);
// + self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
// ~ src/scheduler/idle.rs
// - fence(Ordering::SeqCst);
// - if self.all_asleep()
// + if self.all_asleep()
// ~ src/scheduler/idle.rs
// - self.asleep.load(Ordering::Relaxed) == self.all
// + self.asleep.load(Ordering::Relaxed) == self.all >> 1
// ~ lab/models/tests/loom/parking.rs
// - if !injector.is_empty() && idle.claim(worker) {
// + if false {
// ~ lab/models/tests/loom/parking.rs
// - injector.push();
// - let _ = idle.claim_if_all_asleep(None);
// + let _ = idle.claim_if_all_asleep(None);
// + injector.push();
#[test]
fn pushed_task_never_finds_all_asleep_and_nobody_woken() {
    for (workers, tasks, preemptions) in [(1, 2, 4), (2, 1, 4), (2, 2, 3)] {
        model_within(preemptions, move || {
            let shared = Arc::new((Idle::new(workers), Injector::default()));
            let sleepers: Vec<_> = (0..workers)
                .map(|worker| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let (idle, injector) = &*shared;
                        while injector.pop() {}
                        idle.fall_asleep(worker);
                        if !injector.is_empty() && idle.claim(worker) {
                            while injector.pop() {}
                            // It is still awake, and would look again now.
                            return true;
                        }
                        false
                    })
                })
                .collect();
            let (idle, injector) = &*shared;
            for _ in 0..tasks {
                injector.push();
                // The worker that was claimed, if any, would be unparked now.
                let _ = idle.claim_if_all_asleep(None);
            }
            let awake = sleepers.into_iter().any(|sleeper| sleeper.join().unwrap());
            assert!(awake || injector.is_empty() || !idle.all_asleep());
        });
    }
}

/// The seat, as `Seat::sleep` and `Shared::unpark` use it.
struct Seat {
    idle: Idle,
    sleeper: AtomicUsize,
    /// The eventfd: it ends the current wait, or the next one.
    kernel: Notify,
}

const NOBODY: usize = usize::MAX;

impl Seat {
    fn new(workers: usize) -> Self {
        let sleeper = AtomicUsize::new(NOBODY);
        Self { idle: Idle::new(workers), sleeper, kernel: Notify::new() }
    }

    /// `Seat::sleep`, with nothing else that could end it.
    fn sleep(&self, worker: usize) {
        in_order(|| self.sleeper.store(worker, Ordering::SeqCst));
        if in_order(|| self.idle.is_asleep(worker)) {
            self.kernel.wait();
        }
        self.sleeper.store(NOBODY, Ordering::Relaxed);
    }

    /// `Shared::unpark`, after the worker's bit was cleared. In src it would otherwise unpark the
    /// worker's thread, which parks nowhere here.
    fn unpark(&self, worker: usize) {
        if in_order(|| self.sleeper.load(Ordering::SeqCst)) == worker {
            self.kernel.notify();
        }
    }
}

/// (d) A thread that sits down in the seat, against a thread that claims its worker. The sleeper is
/// notified in the kernel, or sees that it was claimed before it goes there. If the wake-up were
/// lost, it would sleep for ever, which loom calls a deadlock.
// ~ lab/models/tests/loom/parking.rs
// - if in_order(|| self.idle.is_asleep(worker)) {
// + if worker != NOBODY {
// ~ lab/models/tests/loom/parking.rs
// - in_order(|| self.sleeper.store(worker, Ordering::SeqCst));
// - if in_order(|| self.idle.is_asleep(worker)) {
// + let asleep = in_order(|| self.idle.is_asleep(worker));
// + in_order(|| self.sleeper.store(worker, Ordering::SeqCst));
// + if asleep {
// ~ lab/models/tests/loom/parking.rs
// - in_order(|| self.sleeper.store(worker, Ordering::SeqCst));
// - if in_order(|| self.idle.is_asleep(worker)) {
// + self.sleeper.store(worker, Ordering::SeqCst);
// + if self.idle.is_asleep(worker) {
// ~ lab/models/tests/loom/parking.rs
// - self.kernel.notify();
#[test]
fn thread_that_takes_the_seat_is_notified_or_stays_awake() {
    race(
        || Seat::new(1),
        |seat| {
            seat.idle.fall_asleep(0);
            seat.sleep(0);
        },
        |seat| {
            // Before it has fallen asleep there is no sleeper to claim.
            while !in_order(|| seat.idle.claim(0)) {
                thread::yield_now();
            }
            seat.unpark(0);
        },
        |_, (), ()| (),
    );
}

/// (f) The monitor's doorbell: the monitor's `sleep` against a thread that begins to poll. The
/// monitor never sleeps on while that thread polls. What the thread does first is `main` counting a
/// step (`block_on`), a worker that clears its bit (`Worker::sleep`), or a thread that takes the
/// lease over (`Lease::take`): here, a relaxed store.
// ~ src/scheduler/idle.rs
// - fence(Ordering::SeqCst);
// - if self.asleep.load(Ordering::Relaxed)
// + if self.asleep.load(Ordering::Relaxed)
// ~ lab/models/tests/loom/parking.rs
// - fence(Ordering::SeqCst);
// - !polls.load(Ordering::Relaxed)
// + !polls.load(Ordering::Relaxed)
// ~ lab/models/tests/loom/parking.rs
// - doorbell.asleep.store(true, Ordering::Relaxed);
// - fence(Ordering::SeqCst);
// - !polls.load(Ordering::Relaxed)
// + let sleeps = !polls.load(Ordering::Relaxed);
// + fence(Ordering::SeqCst);
// + doorbell.asleep.store(true, Ordering::Relaxed);
// + sleeps
// ~ lab/models/tests/loom/parking.rs
// - polls.store(true, Ordering::Relaxed);
// - doorbell.ring();
// + doorbell.ring();
// + polls.store(true, Ordering::Relaxed);
#[test]
fn monitor_never_sleeps_while_a_thread_polls() {
    race(
        || (AtomicBool::new(false), Doorbell::default()),
        |(polls, doorbell)| {
            polls.store(true, Ordering::Relaxed);
            doorbell.ring();
        },
        |(polls, doorbell)| {
            doorbell.asleep.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            !polls.load(Ordering::Relaxed)
        },
        |(_, doorbell), (), sleeps| {
            assert!(!(sleeps && doorbell.asleep.load(Ordering::Relaxed)));
        },
    );
}

/// A current-thread runtime: the thread with the lease, and the waker of its own future.
struct Main {
    idle: Idle,
    woken: AtomicBool,
}

/// (e) `Worker::sleep` with the `stop` of `block_on`, against `Main::wake`: the thread that runs
/// the worker sees that its future was woken, or the waker claims the worker. (That a claimed
/// worker wakes up, in the seat or parked, is another model's.)
// ~ lab/models/tests/loom/parking.rs
// - main.idle.fall_asleep(0);
// - let is_woken = in_order(|| main.woken.load(Ordering::SeqCst));
// + let is_woken = in_order(|| main.woken.load(Ordering::SeqCst));
// + main.idle.fall_asleep(0);
// ~ lab/models/tests/loom/parking.rs
// - main.woken.swap(true, Ordering::SeqCst);
// - main.idle.claim(0)
// + let claimed = main.idle.claim(0);
// + main.woken.swap(true, Ordering::SeqCst);
// + claimed
#[test]
fn thread_with_the_lease_does_not_sleep_when_its_future_is_woken() {
    race(
        || Main { idle: Idle::new(1), woken: AtomicBool::new(false) },
        |main| {
            main.idle.fall_asleep(0);
            let is_woken = in_order(|| main.woken.load(Ordering::SeqCst));
            is_woken && main.idle.claim(0)
        },
        |main| {
            main.woken.swap(true, Ordering::SeqCst);
            main.idle.claim(0)
        },
        |main, _, _| assert!(!main.idle.all_asleep()),
    );
}

/// (h) A turn of `block_on` against the end, which sets its flag and then wakes the future
/// (`close`): the thread sees that the runtime ends, or takes another turn.
// ~ lab/models/tests/loom/parking.rs
// - let is_woken = woken.swap(false, Ordering::Acquire);
// - let is_ending = ending.load(Ordering::SeqCst);
// + let is_ending = ending.load(Ordering::SeqCst);
// + let is_woken = woken.swap(false, Ordering::Acquire);
// ~ lab/models/tests/loom/parking.rs
// - let is_woken = woken.swap(false, Ordering::Acquire);
// + let is_woken = woken.swap(false, Ordering::Relaxed);
// ~ lab/models/tests/loom/parking.rs
// - ending.store(true, Ordering::SeqCst);
// - woken.swap(true, Ordering::SeqCst);
// + woken.swap(true, Ordering::SeqCst);
// + ending.store(true, Ordering::SeqCst);
#[test]
fn future_in_block_on_does_not_miss_the_end() {
    race(
        || (AtomicBool::new(false), AtomicBool::new(true)),
        |(ending, woken)| {
            let is_woken = woken.swap(false, Ordering::Acquire);
            let is_ending = ending.load(Ordering::SeqCst);
            assert!(is_woken);
            is_ending
        },
        |(ending, woken)| {
            ending.store(true, Ordering::SeqCst);
            woken.swap(true, Ordering::SeqCst);
        },
        |(_, woken), is_ending, ()| assert!(is_ending || woken.load(Ordering::Relaxed)),
    );
}

/// Calls for helpers: three workers, of which one is stuck in a poll and never helps.
struct Help {
    idle: Idle,
    is_coming: AtomicBool,
    injector: Injector,
    doorbell: Doorbell,
}

impl Help {
    fn new(asleep: &[usize], is_coming: bool) -> Self {
        let idle = Idle::new(3);
        asleep.iter().for_each(|&worker| idle.fall_asleep(worker));
        let is_coming = AtomicBool::new(is_coming);
        Self { idle, is_coming, injector: Injector::default(), doorbell: Doorbell::default() }
    }

    /// `Shared::inject`, while polls are long. Returns the helper that it wakes, if any.
    fn inject(&self) -> Option<usize> {
        self.injector.push();
        let first = self.idle.claim_if_all_asleep(None);
        first.or(self.call_helper())
    }

    /// `Shared::call_helper`. There it is one `fetch_and`, of which loom does not know that it
    /// reads the last value.
    fn call_helper(&self) -> Option<usize> {
        if self.idle.any_asleep() && !self.is_coming.swap(true, Ordering::Relaxed) {
            let helper = self.idle.claim_one(None);
            if helper.is_none() {
                self.is_coming.store(false, Ordering::Relaxed);
            }
            return helper;
        }
        None
    }

    /// The end of `Worker::sleep`, and the look of the next turn. True: there is a task.
    fn wake_up(&self) -> bool {
        self.is_coming.store(false, Ordering::Relaxed);
        self.doorbell.ring();
        !self.injector.is_empty()
    }

    /// S1 to S3, and the early return. True: there is a task. None: it sleeps.
    fn fall_asleep(&self, worker: usize) -> Option<bool> {
        self.idle.fall_asleep(worker);
        if !self.injector.is_empty() {
            let _ = self.idle.claim(worker);
            return Some(self.wake_up());
        }
        if self.idle.is_asleep(worker) { None } else { Some(self.wake_up()) }
    }
}

/// (i) A task is injected while a helper is on its way. That helper sees the task, or the thread
/// that injected it calls another one.
// ~ lab/models/tests/loom/parking.rs
// - self.is_coming.store(false, Ordering::Relaxed);
// - self.doorbell.ring();
// - !self.injector.is_empty()
// + self.doorbell.ring();
// + self.is_coming.store(false, Ordering::Relaxed);
// + !self.injector.is_empty()
// ~ src/scheduler/idle.rs
// - fence(Ordering::SeqCst);
// - if self.asleep.load(Ordering::Relaxed)
// + if self.asleep.load(Ordering::Relaxed)
// ~ src/scheduler/idle.rs
// - fence(Ordering::SeqCst);
// - if self.all_asleep()
// + if self.all_asleep()
// ~ lab/models/tests/loom/parking.rs
// - self.injector.push();
// - let first = self.idle.claim_if_all_asleep(None);
// + let first = self.idle.claim_if_all_asleep(None);
// + self.injector.push();
#[test]
fn helper_on_its_way_sees_the_task_that_calls_no_other() {
    race(
        || Help::new(&[2], true),
        Help::wake_up,
        Help::inject,
        |_, sees, called| assert!(sees || called.is_some()),
    );
}

/// (i) A task is injected while a worker falls asleep. Whatever comes first, somebody is awake for
/// the task, and once all who were called have come, another helper can be called.
// ~ lab/models/tests/loom/parking.rs
// - return Some(self.wake_up());
// - }
// + return Some(true);
// + }
// ~ lab/models/tests/loom/parking.rs
// - if helper.is_none() {
// + if false {
// ~ lab/models/tests/loom/parking.rs
// - let helper = self.idle.claim_one(None);
// + let helper = self.idle.claim_one(None);
// + self.is_coming.store(true, Ordering::Relaxed);
#[test]
fn helpers_can_be_called_after_all_who_were_called_have_come() {
    for asleep in [&[][..], &[2]] {
        race(
            move || Help::new(asleep, false),
            |help| help.fall_asleep(0),
            Help::inject,
            |help, slept, called| {
                let is_awake = slept.is_some() || called.is_some();
                assert!(is_awake, "nobody comes for the task");

                // Who sleeps and was called wakes up now.
                if called == Some(2) || (called == Some(0) && slept.is_none()) {
                    assert!(help.wake_up());
                }
                assert!(!help.is_coming.load(Ordering::Relaxed), "nobody can be called");
            },
        );
    }
}
