//! Exercise 15, size L, after stage 10: change arc, and prove the change.
//!
//! tokio has a clock for tests that moves on by itself as soon as nothing is left to do, which
//! means: as soon as every worker sleeps. Suppose that arc is to have such a clock. Then a thread
//! has to wait until every worker sleeps. Give `Sleepers` in `src/scheduler/sleep.rs`, the file
//! of arc itself, this method:
//!
//! ```text
//! pub(crate) fn wait_until_all_asleep(&self)
//! ```
//!
//! The thread that calls it parks, and goes on once all workers sleep. The worker that falls asleep
//! last unparks it, in `sleep`. Only one thread ever calls the method.
//!
//! This program is the *model* of your change. It compiles `src/scheduler/sleep.rs` as you have
//! left it, over the atomics and threads of the crate loom. loom runs the model again and again, in
//! every order of the steps, and has each thread see the writes of the others as late as a
//! processor may show them. Run it after each change:
//!
//! ```sh
//! cargo run -p arc-inside --features loom --example exercise_15
//! ```
//!
//! (cargo warns that arc itself never uses the method. That is right: only this program does.)
//!
//! When it says `solved`, delete the fence in `all_asleep`, and run it again: a model that cannot
//! fail proves nothing. Put the fence back, and delete the one in `sleep` instead, or the one
//! in `Doorbell::ring`. If your worker asks `all_asleep` before it rings, the model passes without
//! either of the two: the worker passes the fence in `all_asleep` between setting its bit and
//! looking at the bell. Other threads ring such a bell without that, so the fence in `ring` has to
//! stay.
//!
//! Then put all fences back, and run the models that arc has had before, over your change: `cargo
//! test -p arc-models --release --test loom`. (They fail without the fence in `ring`.)
//!
//! `git checkout src` takes the change back. So does mending a chapter's Break it, by the same
//! command: commit your change first if you want to keep it.

#![allow(dead_code, reason = "the model uses a part of arc's file, and arc uses another")]

#[path = "../../src/scheduler/sleep.rs"]
mod sleep;

/// What the file takes from arc's `src/sync.rs`.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use std::sync::{Mutex, OnceLock};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
        mutex.lock().expect("nobody panics under it")
    }

    pub(crate) mod thread {
        #[allow(unused_imports, reason = "for what you write")]
        pub(crate) use loom::thread::current;
        pub(crate) use loom::thread::{Thread, park};

        /// Who gives way and looks again takes a core as long as it waits.
        pub(crate) fn yield_now() {
            inside::exercises::expect(false, crate::SPINS);
        }
    }
}

/// What the file takes from arc's `src/builder.rs`.
mod builder {
    pub(crate) const WORKERS_MAX: usize = 64;
}

use inside::exercises::{expect, solved};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use sleep::Sleepers;
use std::panic::{UnwindSafe, catch_unwind};
use std::sync::Arc;

/// How often loom interrupts a thread that could go on. With three it finds all bugs that we made
/// with two workers that fall asleep once, and with two those in the longer model. There, with
/// three, it has two workers ring at once, and takes an exchange for later than a store that
/// follows it.
const PREEMPTIONS_MAX: usize = 3;
const PREEMPTIONS_MAX_OF_LONG: usize = 2;

// YOURS: from here
// Not here, but in src/scheduler/sleep.rs.
// to here

/// Stands in for what arc's `Sleepers` does not have yet. As soon as the type has a method of this
/// name itself, that one is called.
trait NotYet {
    fn wait_until_all_asleep(&self) {
        expect(false, "`Sleepers` in src/scheduler/sleep.rs has no method `wait_until_all_asleep`");
    }
}

impl NotYet for Sleepers {}

const SPINS: &str = "the thread asks again and again whether all workers sleep, instead of parking";

/// Runs the model in every order.
fn explore(
    preemptions: usize,
    model: impl Fn() + Sync + Send + UnwindSafe + 'static,
    message: &str,
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);

    // If no thread can go on, loom panics: a wake-up was lost. So it does if one goes on for ever.
    if let Err(panic) = catch_unwind(move || builder.check(model)) {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        expect(!text.contains("maximum number of branches"), SPINS);
        expect(false, message);
    }
}

/// Workers of which none sleeps yet. They count from here on, before their threads begin.
fn awake(workers: usize) -> (Arc<Sleepers>, Arc<AtomicBool>) {
    let sleepers = Arc::new(Sleepers::new(workers));
    (0..workers).for_each(|worker| sleepers.begin(worker));
    (sleepers, Arc::default())
}

/// Starts the thread of a worker, which has nothing to do and sleeps, until it is claimed. If it
/// `finds_work` at the last moment, it sleeps once more.
fn start(
    (sleepers, is_over): &(Arc<Sleepers>, Arc<AtomicBool>),
    worker: usize,
    finds_work: bool,
) -> thread::Thread {
    let (sleepers, is_over) = (sleepers.clone(), is_over.clone());
    let main = move || {
        // Whoever has the seat parks as well: no kernel is here.
        let wait = || {
            while sleepers.is_asleep(worker) {
                thread::park();
            }
        };
        sleepers.begin(worker);
        if finds_work {
            sleepers.sleep(worker, || true, wait);
        }
        sleepers.sleep(worker, || is_over.load(Ordering::SeqCst), wait);
    };
    thread::spawn(main).thread().clone()
}

/// The end of a model: the workers are woken for good.
fn wake_all((sleepers, is_over): &(Arc<Sleepers>, Arc<AtomicBool>), threads: &[thread::Thread]) {
    is_over.store(true, Ordering::SeqCst);
    for (worker, thread) in threads.iter().enumerate() {
        if sleepers.claim(worker) {
            sleepers.rouse(worker, || thread.unpark());
        }
    }
}

fn main() {
    let two_fall_asleep = |is_unparked: bool| {
        move || {
            let both = awake(2);
            let threads = [0, 1].map(|worker| start(&both, worker, false));
            if is_unparked {
                thread::current().unpark();
            }
            both.0.wait_until_all_asleep();
            expect(both.0.all_asleep(), "the thread goes on, and a worker is still awake");
            wake_all(&both, &threads);
        }
    };
    explore(
        PREEMPTIONS_MAX,
        two_fall_asleep(false),
        "all workers sleep, and the thread that waits for that is not woken (see loom's panic)",
    );
    // Somebody has unparked the thread for a reason of his own, so that `park` returns for nothing.
    explore(
        PREEMPTIONS_MAX,
        two_fall_asleep(true),
        "`park` returns for nothing, and then the thread is not woken (see loom's panic)",
    );

    let one_finds_work = || {
        let both = awake(2);
        let threads = [0, 1].map(|worker| start(&both, worker, worker == 0));
        both.0.wait_until_all_asleep();
        wake_all(&both, &threads);
    };
    explore(
        PREEMPTIONS_MAX_OF_LONG,
        one_finds_work,
        "a worker finds work at the last moment and falls asleep again, and then the thread that \
         waits is not woken (see loom's panic)",
    );
    solved();
}

// Hint 1: this is the sleep protocol at the top of the file, a second time. Now the thread that
// waits is the sleeper, and the last worker that falls asleep brings what it waits for.
// Hint 2: the thread says that it sleeps, passes a fence, and looks again before it parks. The
// worker sets its bit, passes a fence, and looks whether somebody said so. The first half of that
// is there already. So is a fence in `all_asleep`.
// Hint 3: `Doorbell`, in the same file, is the second half. Give `Sleepers` one, and ring it where
// all workers sleep. Read `sleep` in `src/scheduler/monitor.rs` to see who sleeps beside such a
// bell.
