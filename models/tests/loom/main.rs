//! The protocols between threads, in every order that loom can think of.
//!
//! Run by `cargo test -p arc-models --release --test loom`.
//!
//! `idle.rs`, `readiness.rs`, `timers.rs` and `registry.rs` are compiled into this program
//! as they stand in src, over loom's atomics. What stands around them, and would wait for
//! the kernel or needs a whole runtime, is copied here in its steps, and the copy
//! names the function it is of.
//!
//! The lines that follow a model's description and begin with `~` are the mutations that
//! it catches: a file, what is taken out of it (`-`), and what is put there (`+`).
//! `cargo xtask trust mutations` makes each of them and sees the model fail.
//!
//! loom knows the total order of sequentially consistent fences, but takes a
//! `SeqCst` load or store for an acquire or release. Where src relies on the order
//! of such accesses themselves, the copy puts fences around them ([`in_order`]).
//! That is no weaker than what src does, so a model may miss what only plain
//! `SeqCst` accesses get wrong; the protocols in question are store buffering
//! (each side writes its own and reads the other's), for which both are as good.
//!
//! When loom looks for orders that it has not tried, it compares an access with the last
//! one of the same variable only: what reads and then writes (`fetch_update`) hides by its
//! own reading that another thread read before. Which orders it passes over depends on the
//! thread that it runs first; so a model of two sides is explored with each of them on the
//! main thread ([`race`]).
//!
//! Every model is explored with at most four preemptions, as many as the rarest bug
//! that was ever found took; threads that block switch for free.

#![allow(dead_code, reason = "the modules of src are used in part")]

mod clock;
mod ending;
mod lending;
mod parking;
mod places;
mod sockets;
mod stealing;

#[path = "../../../src/idle.rs"]
mod idle;
#[path = "../../../src/inspect.rs"]
mod inspect;
#[path = "../../../src/readiness.rs"]
mod readiness;
#[path = "../../../src/registry.rs"]
mod registry;
mod sync;
#[path = "../../../src/timers.rs"]
mod timers;
#[path = "../../../src/wheel.rs"]
mod wheel;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering, fence};
use loom::thread;
use std::sync::Arc as StdArc;
use std::sync::atomic::AtomicUsize as StdAtomicUsize;

const PREEMPTIONS_MAX: usize = 4;

/// Explores a model, and tells how many orders of its steps there were.
fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS_MAX);
    let orders = StdArc::new(StdAtomicUsize::new(0));
    let counted = orders.clone();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        body();
    });
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("?");
    println!("model {name}: {} interleavings", orders.load(Ordering::Relaxed));
}

/// Explores two sides that run at once over what `setup` makes, and checks what they leave
/// and return: with one of them on the main thread, and with the other.
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
