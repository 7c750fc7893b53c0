//! Falling asleep and being woken: workers that park or sit, and the monitor.

use crate::scheduler::idle::{Doorbell, Idle};
use crate::{Injector, in_order, model_within, race};
use loom::sync::atomic::{AtomicBool, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// The sleepers, what they sleep on, and what they look at before they do.
struct Sleepers {
    idle: Idle,
    injector: Injector,
    /// A worker was claimed, or those who sit were notified.
    is_woken: AtomicBool,
}

impl Sleepers {
    fn new(workers: usize) -> Self {
        let is_woken = AtomicBool::new(false);
        Self { idle: Idle::new(workers), injector: Injector::default(), is_woken }
    }

    /// `Worker::sleep`, until it sleeps. True: it is still awake, and looks again.
    fn fall_asleep(&self, worker: usize, joins: bool) -> bool {
        self.idle.fall_asleep(worker, joins);
        if self.injector.is_empty() {
            return false;
        }
        self.idle.wake_up(worker);
        true
    }

    /// `Shared::inject`, while polls are short. The worker that is woken, if any, looks.
    fn inject(&self) {
        self.injector.push();
        if self.idle.all_asleep() {
            let _ = self.idle.claim_one();
            self.is_woken.store(true, Ordering::Relaxed);
        }
    }

    /// All others sleep. Whether somebody comes to what is in the injector.
    fn are_well(&self) -> bool {
        self.is_woken.load(Ordering::Relaxed) || self.injector.is_empty()
    }
}

/// (a) The sleep protocol of idle.rs: `Worker::sleep` against `Shared::inject`. Workers that are
/// awake have run out of work, and a thread from outside pushes tasks. Whatever is left at the
/// end, some worker is awake for it. The first that falls asleep sits, and others park or join it.
// ~ src/scheduler/idle.rs
// - fence(Ordering::SeqCst);
// - sits
// + sits
// ~ src/scheduler/idle.rs
// - fence(Ordering::SeqCst);
// - self.asleep() == self.all
// + self.asleep() == self.all
// ~ src/scheduler/idle.rs
// - self.asleep() == self.all
// + self.asleep() == self.all >> 1
// ~ lab/models/tests/loom/parking.rs
// - if self.injector.is_empty() {
// + if true {
// ~ lab/models/tests/loom/parking.rs
// - self.injector.push();
// - if self.idle.all_asleep() {
// -     let _ = self.idle.claim_one();
// -     self.is_woken.store(true, Ordering::Relaxed);
// - }
// + if self.idle.all_asleep() {
// +     let _ = self.idle.claim_one();
// +     self.is_woken.store(true, Ordering::Relaxed);
// + }
// + self.injector.push();
// ~ src/scheduler/idle.rs
// - self.parked.load(Ordering::Relaxed) | self.seated.load(Ordering::Relaxed)
// + self.parked.load(Ordering::Relaxed)
#[test]
fn pushed_task_never_finds_all_asleep_and_nobody_woken() {
    for (workers, tasks, joins, preemptions) in
        [(1, 2, false, 4), (2, 1, false, 4), (2, 1, true, 4), (2, 2, false, 3)]
    {
        model_within(preemptions, move || {
            let shared = Arc::new(Sleepers::new(workers));
            let sleepers: Vec<_> = (0..workers)
                .map(|worker| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        while shared.injector.pop() {}
                        let is_awake = shared.fall_asleep(worker, joins);
                        while is_awake && shared.injector.pop() {}
                        is_awake
                    })
                })
                .collect();
            (0..tasks).for_each(|_| shared.inject());
            let awake = sleepers.into_iter().any(|sleeper| sleeper.join().unwrap());
            assert!(awake || shared.are_well());
        });
    }
}

/// (a) A worker that sleeps in the one way wakes up and sleeps in the other, while a thread that
/// has pushed a task reads first who is parked and then who sits. Another worker sits all the time.
// ~ src/scheduler/idle.rs
// - fence(Ordering::SeqCst);
// - sits
// + sits
// ~ lab/models/tests/loom/parking.rs
// - if self.injector.is_empty() {
// + if true {
#[test]
fn worker_that_sits_and_then_parks_is_not_overlooked() {
    for joins_first in [false, true] {
        race(
            move || {
                let sleepers = Sleepers::new(2);
                sleepers.idle.fall_asleep(0, true);
                sleepers.idle.fall_asleep(1, joins_first);
                sleepers
            },
            move |sleepers| {
                // An event wakes it, or another worker does.
                sleepers.idle.wake_up(1);
                sleepers.fall_asleep(1, !joins_first)
            },
            Sleepers::inject,
            |sleepers, is_awake, ()| assert!(is_awake || sleepers.are_well()),
        );
    }
}

/// (a) A worker leaves its seat and is about to poll for long, while another one falls asleep: that
/// one sits, or sees that nobody does, or the one that leaves sees that it can be called.
// ~ lab/models/tests/loom/parking.rs
// - let goes_on = !in_order(|| idle.any_seated());
// + let goes_on = false;
#[test]
fn nobody_parks_for_long_beside_a_free_seat() {
    race(
        || {
            let idle = Idle::new(2);
            idle.fall_asleep(0, false);
            (idle, Doorbell::default())
        },
        |(idle, doorbell)| {
            idle.wake_up(0);
            doorbell.ring();
            idle.asleep() != 0
        },
        |(idle, _)| {
            let sits = idle.fall_asleep(1, false);
            let goes_on = !in_order(|| idle.any_seated());
            sits || goes_on
        },
        |_, calls, sits_or_goes_on| assert!(calls || sits_or_goes_on),
    );
}

/// Workers that sit, as in `Worker::sleep`, with `notify` and `look` of the driver.
struct Seats {
    idle: Idle,
    is_notified: AtomicBool,
    /// The eventfd: it ends the wait of one thread, or the next wait.
    kernel: (Mutex<bool>, Condvar),
    /// What a thread that notifies has done before.
    work: AtomicBool,
}

impl Seats {
    fn new() -> Self {
        let kernel = (Mutex::new(false), Condvar::new());
        let (is_notified, work) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { idle: Idle::new(2), is_notified, kernel, work }
    }

    fn wait(&self) {
        let mut event = self.kernel.0.lock().unwrap();
        while !std::mem::take(&mut *event) {
            event = self.kernel.1.wait(event).unwrap();
        }
    }

    fn has_work(&self) -> bool {
        in_order(|| self.work.load(Ordering::SeqCst))
    }

    /// Sleeps until there is work. If that is missed, it sleeps for ever, which loom calls a
    /// deadlock.
    fn sit(&self, worker: usize) {
        while !self.has_work() {
            self.idle.fall_asleep(worker, true);
            if !self.has_work() {
                self.wait();
            }
            in_order(|| self.idle.wake_up(worker));
            self.take_notification();
        }
    }

    /// Whether there was one.
    fn take_notification(&self) -> bool {
        in_order(|| self.is_notified.swap(false, Ordering::SeqCst))
    }

    /// `Driver::notify`.
    fn notify(&self) {
        if !in_order(|| self.is_notified.swap(true, Ordering::SeqCst)) {
            *self.kernel.0.lock().unwrap() = true;
            self.kernel.1.notify_one();
        }
    }

    /// `Shared::notify_if_seated`.
    fn notify_if_seated(&self) {
        if in_order(|| self.idle.any_seated()) {
            self.notify();
        }
    }

    /// `Driver::look`, of which it is known that nobody sat when it began.
    fn look(&self) {
        *self.kernel.0.lock().unwrap() = false;
        let was_notified = self.take_notification();
        if in_order(|| self.idle.any_seated()) && was_notified {
            self.notify();
        }
    }

    fn bring_work(&self) {
        in_order(|| self.work.store(true, Ordering::SeqCst));
        self.notify_if_seated();
    }
}

/// (d) A worker that sits down, against a thread that brings work and notifies whoever sits. A
/// notification may have been sent before that nobody has taken, and a third thread may look at
/// the kernel meanwhile. The worker is notified, or sees the work before it waits.
// ~ lab/models/tests/loom/parking.rs
// - in_order(|| self.work.store(true, Ordering::SeqCst));
// - self.notify_if_seated();
// + self.notify_if_seated();
// + in_order(|| self.work.store(true, Ordering::SeqCst));
// ~ lab/models/tests/loom/parking.rs
// - if !self.has_work() {
// -     self.wait();
// - }
// + self.wait();
// ~ lab/models/tests/loom/parking.rs
// - in_order(|| self.idle.wake_up(worker));
// - self.take_notification();
// + in_order(|| self.idle.wake_up(worker));
#[test]
fn worker_that_sits_down_is_notified_or_sees_the_work() {
    race(
        || {
            let seats = Seats::new();
            // Somebody sat, was notified, and has come back for another reason.
            seats.idle.fall_asleep(1, true);
            seats.notify_if_seated();
            seats.idle.wake_up(1);
            seats
        },
        |seats| seats.sit(0),
        Seats::bring_work,
        |_, (), ()| (),
    );
}

/// (d) The same, and another thread looks at the kernel, which may take the notification away.
// ~ lab/models/tests/loom/parking.rs
// - if in_order(|| self.idle.any_seated()) && was_notified {
// + if in_order(|| self.idle.any_seated()) && !was_notified {
// ~ lab/models/tests/loom/parking.rs
// - let was_notified = self.take_notification();
// + let was_notified = in_order(|| self.is_notified.load(Ordering::SeqCst));
#[test]
fn look_of_another_thread_takes_no_notification_away() {
    model_within(3, || {
        let seats = Arc::new(Seats::new());
        let (looks, sits) = (seats.clone(), seats.clone());
        let others = [thread::spawn(move || looks.look()), thread::spawn(move || sits.sit(0))];
        seats.bring_work();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
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
    /// The worker that sits when it sleeps, as it is the first to do so.
    sitter: usize,
    is_coming: AtomicBool,
    injector: Injector,
    doorbell: Doorbell,
}

impl Help {
    fn new(asleep: &[usize], is_coming: bool) -> Self {
        let idle = Idle::new(3);
        asleep.iter().for_each(|&worker| _ = idle.fall_asleep(worker, false));
        let is_coming = AtomicBool::new(is_coming);
        let (injector, doorbell) = (Injector::default(), Doorbell::default());
        Self { idle, sitter: asleep.first().copied().unwrap_or(0), is_coming, injector, doorbell }
    }

    /// `Shared::inject`, while polls are long. Returns the helper that it wakes, if any.
    fn inject(&self) -> Option<usize> {
        self.injector.push();
        let first = if self.idle.all_asleep() { self.wake_one() } else { None };
        first.or(self.call_helper())
    }

    /// `Shared::wake_one`.
    fn wake_one(&self) -> Option<usize> {
        let parked = self.idle.claim_one();
        parked.or_else(|| in_order(|| self.idle.any_seated()).then_some(self.sitter))
    }

    /// `Shared::call_helper`. There it is one `fetch_and`, of which loom does not know that it
    /// reads the last value.
    fn call_helper(&self) -> Option<usize> {
        if self.idle.asleep() != 0 && !self.is_coming.swap(true, Ordering::Relaxed) {
            let helper = self.wake_one();
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
        self.idle.fall_asleep(worker, false);
        if !self.injector.is_empty() {
            in_order(|| self.idle.wake_up(worker));
            return Some(self.wake_up());
        }
        let sleeps = self.sitter == worker || self.idle.is_parked(worker);
        if sleeps { None } else { Some(self.wake_up()) }
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
// - self.asleep() == self.all
// + self.asleep() == self.all
// ~ lab/models/tests/loom/parking.rs
// - self.injector.push();
// - let first = if self.idle.all_asleep() { self.wake_one() } else { None };
// + let first = if self.idle.all_asleep() { self.wake_one() } else { None };
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
// - let helper = self.wake_one();
// + let helper = self.wake_one();
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
