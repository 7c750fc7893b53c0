//! Exercise 20, size M, after stage 09: a fence of your own.
//!
//! Chapter 9 stands on one pair of fences, and exercise 13 had you put steps in order. Here you
//! write it, over real atomics, and a model tries it.
//!
//! A worker that finds no task wants to sleep (`may_sleep`). Another thread brings one (`bring`).
//! If the worker sleeps and the other one does not hear of that, the task lies there for ever. All
//! loads and stores are Relaxed as they are, and that is what goes wrong: a processor may show what
//! one thread has written *later* than what that thread reads next. Write what is missing. What was
//! written before `bring`, a worker must see that finds the task.
//!
//! The program is a *model* over the crate loom. loom runs both threads in every order of their
//! steps, and has each see the writes of the other as late as a processor may show them:
//!
//! ```sh
//! cargo run -p arc-inside --features loom --example exercise_20
//! ```
//!
//! loom takes a load or a store with `SeqCst` for one with `Acquire` or `Release`. (With real ones,
//! four accesses with `SeqCst` would do as well.) Of a `fence(SeqCst)` it knows all.

use inside::exercises::{expect, set_alarm, solved};
#[allow(unused_imports, reason = "for what you write")]
use loom::sync::atomic::fence;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;
use std::panic::catch_unwind;
use std::sync::Arc;

#[derive(Default)]
struct Shared {
    is_asleep: AtomicBool,
    has_task: AtomicBool,
    /// What comes with the task.
    content: AtomicUsize,
}

impl Shared {
    /// The worker has found no task. True: it may sleep. False: one has come by now.
    fn may_sleep(&self) -> bool {
        // YOURS: from here
        self.is_asleep.store(true, Ordering::Relaxed);
        !self.has_task.load(Ordering::Relaxed)
        // to here
    }

    /// Brings a task. True: the worker sleeps, and is woken now.
    fn bring(&self) -> bool {
        // YOURS: from here
        self.has_task.store(true, Ordering::Relaxed);
        self.is_asleep.load(Ordering::Relaxed)
        // to here
    }
}

/// Runs both in every order. Then `check` is told what they returned: first whether the worker
/// sleeps, then whether it is woken.
fn explore(check: impl Fn(bool, bool) + Sync + Send + 'static) {
    let check = Arc::new(check);
    let model = move || {
        let shared = Arc::new(Shared::default());
        let other = shared.clone();
        let brings = thread::spawn(move || {
            other.content.store(7, Ordering::Relaxed);
            other.bring()
        });
        let sleeps = shared.may_sleep();
        if !sleeps {
            let content = shared.content.load(Ordering::Relaxed);
            let message = "the worker finds the task, and may not see what came with it: no \
                           Release and Acquire order the two (chapter 2)";
            expect(content == 7, message);
        }
        check(sleeps, brings.join().unwrap_or_default());
    };
    let ended = catch_unwind(std::panic::AssertUnwindSafe(|| loom::model(model)));
    expect(ended.is_ok(), "it panics (see loom's text above)");
}

fn main() {
    set_alarm();
    // One after the other.
    loom::model(|| {
        let shared = Shared::default();
        expect(shared.may_sleep(), "there is no task, and the worker does not sleep");
        expect(shared.bring(), "the worker sleeps, and nobody wakes it");

        let shared = Shared::default();
        expect(!shared.bring(), "nobody sleeps, and somebody is woken");
        expect(!shared.may_sleep(), "there is a task, and the worker sleeps");
    });

    explore(|sleeps, is_woken| {
        let message = "the worker sleeps, the task is there, and nobody wakes the worker: each has \
                       looked before it could see what the other one has written";
        expect(!sleeps || is_woken, message);
    });
    solved();
}

// Hint 1: an ordering at a store says something of what comes *before* it, and one at a load of
// what comes *after* it. Here a load follows a store. What keeps these two apart?
// Hint 2: both threads need it, between the write and the look.
// Hint 3: `fence(Ordering::SeqCst)`. Then look at the content: a `Release` before it is published,
// and an `Acquire` behind the look that finds it. A fence can be these, too, in the right place.
