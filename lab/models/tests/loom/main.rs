//! The protocols between threads, in every order that loom can think of.
//!
//! Run by `cargo test -p arc-models --release --test loom`.
//!
//! The files that hold the protocols are compiled into this program as they stand in src, over
//! loom's atomics: `idle.rs`, `lease.rs`, `end.rs`, `threads.rs`, `readiness.rs`, `timers.rs`,
//! and the list of tasks. `end.rs` and `threads.rs` get a small stand-in for `shared.rs` and
//! `context.rs` (`scheduler.rs` here). Code that would wait for the kernel or needs a whole runtime
//! is copied here in its steps, and the copy names the function that it is a copy of.
//!
//! The lines that follow a model's description and begin with `~` are the mutations that
//! it catches: a file, what is taken out of it (`-`), and what is put there (`+`).
//! `cargo xtask trust mutations` makes each of them and sees the model fail.
//!
//! loom knows the total order of sequentially consistent fences, but treats a
//! `SeqCst` load or store as an acquire or release. Where src relies on the order
//! of such accesses themselves, the copy puts fences around them ([`in_order`]).
//! That is no weaker than what src does, so a model may miss what only plain
//! `SeqCst` accesses get wrong. The protocols in question are store buffering
//! (each side writes its own variable and reads the other's), for which both are as good.
//!
//! When loom looks for orders that it has not tried, it compares an access with the last
//! one of the same variable only: what reads and then writes (`fetch_update`) hides by its
//! own reading that another thread read before. Which orders it passes over depends on the
//! thread that it runs first. So a model of two sides is explored with each of them on the
//! main thread ([`race`]).
//!
//! Every model of two threads is explored with at most four preemptions, as many as the rarest bug
//! that was ever found took, and some of three threads with fewer. A switch away from a thread that
//! blocks is free.

#![allow(dead_code, unused_imports, reason = "the modules of src are used in part")]

mod driver;
mod scheduler;
mod sync;

// arc as it stands.
#[path = "../../../../crates/pool/src/lib.rs"]
mod pool;
#[path = "../../../../crates/tasks/src/lib.rs"]
mod registry;
// The recorder's, likewise.
#[path = "../../../../crates/trace/src/event.rs"]
mod event;
#[path = "../../../../crates/trace/src/ring.rs"]
mod ring;

// The models.
mod clock;
mod ending;
mod leases;
mod parking;
mod permits;
mod places;
mod recorder;
mod sockets;

/// Stands for src/config.rs.
mod config {
    pub(crate) const WORKERS_MAX: usize = 64;

    #[derive(PartialEq)]
    pub(crate) enum RuntimeFlavor {
        CurrentThread,
        MultiThread,
    }
}

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering, fence};
use loom::thread;
use pool::panic;
use std::sync::Arc as StdArc;
use std::sync::atomic::AtomicUsize as StdAtomicUsize;

const PREEMPTIONS_MAX: usize = 4;

/// Explores a model, and prints how many orders of its steps there were.
fn model(body: impl Fn() + Send + Sync + 'static) {
    model_within(PREEMPTIONS_MAX, body);
}

/// The same with another limit, for a model of many steps.
fn model_within(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    let orders = StdArc::new(StdAtomicUsize::new(0));
    let counted = orders.clone();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        sync::begin();
        body();
    });
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("?");
    println!("model {name}: {} interleavings", orders.load(Ordering::Relaxed));
}

/// Explores two sides that run at once over what `setup` makes, and checks what they leave
/// and return: first with one of them on the main thread, and then with the other.
fn race<S: Send + Sync + 'static, A: Send + 'static, B: Send + 'static>(
    setup: impl Fn() -> S + Send + Sync + Copy + 'static,
    one: impl Fn(&S) -> A + Send + Sync + Copy + 'static,
    other: impl Fn(&S) -> B + Send + Sync + Copy + 'static,
    check: impl Fn(&S, A, B) + Send + Sync + Copy + 'static,
) {
    model(move || {
        let shared = Arc::new(setup());
        let spawned = shared.clone();
        let one = thread::spawn(move || one(&spawned));
        let other = other(&shared);
        check(&shared, one.join().unwrap(), other);
    });
    model(move || {
        let shared = Arc::new(setup());
        let spawned = shared.clone();
        let other = thread::spawn(move || other(&spawned));
        let one = one(&shared);
        check(&shared, one, other.join().unwrap());
    });
}

/// What loom does not know of `SeqCst` accesses.
fn in_order<R>(access: impl FnOnce() -> R) -> R {
    fence(Ordering::SeqCst);
    let result = access();
    fence(Ordering::SeqCst);
    result
}

/// How many tasks wait. As weak as can be: nothing is ordered by it.
#[derive(Default)]
struct Injector(AtomicUsize);

impl Injector {
    fn push(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn pop(&self) -> bool {
        let order = Ordering::Relaxed;
        let taken = self.0.fetch_update(order, order, |tasks| tasks.checked_sub(1));
        taken.is_ok()
    }
}
