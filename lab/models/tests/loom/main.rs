//! The protocols between threads, in every order that loom can think of.
//!
//! Run by `cargo test -p arc-models --release --test loom`.
//!
//! All of src is compiled into this program as it stands there, except `sync.rs`, the kernel, and
//! the crate concurrent_queue, which are others here, over loom's atomics and threads. The models
//! call arc's own functions. So no step is here that could be another one in src.
//!
//! `lab/models/mutations.toml` has the mutations that each model catches.
//! `cargo xtask trust mutations` makes each of them and sees the model fail.
//!
//! How `SeqCst` is modelled is told in `sync.rs`. Threads that do not conflict in any access are
//! not tried in both orders: async-task is over std's atomics, and what it does is one step that
//! loom does not know of.
//!
//! When loom looks for orders that it has not tried, it compares an access with the last
//! one of the same variable only: what reads and then writes (`fetch_update`) hides by its
//! own reading that another thread read before. Which orders it passes over depends on the
//! thread that it runs first. So a model of two sides is explored with each of them on the
//! main thread ([`race`]).
//!
//! Most models of two threads are explored with four preemptions, as many as the rarest bug that
//! was ever found took, and those of more steps or threads with fewer. A switch away from a thread
//! that blocks is free.

#![allow(dead_code, unused_imports, unused_macros, reason = "the modules of src are used in part")]
#![allow(clippy::redundant_allocation, clippy::type_complexity, reason = "they are types of src")]

// The crate concurrent_queue is a module of this one.
extern crate self as concurrent_queue;
pub(crate) use queues::{ConcurrentQueue, PushError};

#[path = "../both/clock.rs"]
mod clock;
#[macro_use]
#[path = "../both/local.rs"]
mod local;
mod model_kernel;
mod queues;
mod sync;
mod world;

// arc as it stands.
#[path = "../../../../src/builder.rs"]
mod builder;
#[path = "../../../../src/driver/mod.rs"]
mod driver;
#[path = "../../../../src/io.rs"]
mod io;
#[path = "../../../../src/net/mod.rs"]
mod net;
#[path = "../../../../src/panic.rs"]
mod panic;
#[path = "../../../../src/hooks.rs"]
mod real_hooks;
#[path = "../../../../src/registry.rs"]
mod registry;
#[path = "../../../../src/runtime/mod.rs"]
mod runtime;
#[path = "../../../../src/scheduler/mod.rs"]
mod scheduler;
#[path = "../../../../src/task/mod.rs"]
mod task;
#[path = "../../../../src/time.rs"]
mod time;

// The recorder's, likewise.
#[path = "../../../../crates/arc-trace/src/event.rs"]
mod event;
#[path = "../../../../crates/arc-trace/src/ring.rs"]
mod ring;

// The models.
mod alarms;
mod ending;
mod in_loop;
mod lists;
mod parking;
mod recorder;
mod sockets;
mod turns;

/// Stands for src/hooks.rs: nobody is told of anything but ticks, and nothing is simulated.
mod hooks {
    macro_rules! tell {
        ($event:ident($($fact:expr),*)) => { let _ = || ($($fact,)*); };
    }
    pub(crate) use tell;

    pub(crate) use crate::real_hooks::{Note, note, observed, sim};
}

use loom::sync::Arc;
use loom::sync::atomic::Ordering;
use loom::thread;
use std::sync::Arc as StdArc;
use std::sync::atomic::AtomicUsize as StdAtomicUsize;

const PREEMPTIONS_MAX: usize = 4;

/// Explores a model, and prints how many orders of its steps there were.
fn model(body: impl Fn() + Send + Sync + 'static) {
    model_within(PREEMPTIONS_MAX, body);
}

/// The same with another limit, for a model of many steps.
fn model_within(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    // One model at a time: they share the statics of src.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock();

    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    let orders = StdArc::new(StdAtomicUsize::new(0));
    let counted = orders.clone();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        sync::begin();
        fastrand::seed(1);
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
    race_within(PREEMPTIONS_MAX, setup, one, other, check);
}

/// The same with another limit.
fn race_within<S: Send + Sync + 'static, A: Send + 'static, B: Send + 'static>(
    preemptions: usize,
    setup: impl Fn() -> S + Send + Sync + Copy + 'static,
    one: impl Fn(&S) -> A + Send + Sync + Copy + 'static,
    other: impl Fn(&S) -> B + Send + Sync + Copy + 'static,
    check: impl Fn(&S, A, B) + Send + Sync + Copy + 'static,
) {
    model_within(preemptions, move || {
        let shared = Arc::new(setup());
        let spawned = shared.clone();
        let one = thread::spawn(move || one(&spawned));
        let other = other(&shared);
        check(&shared, one.join().unwrap(), other);
    });
    model_within(preemptions, move || {
        let shared = Arc::new(setup());
        let spawned = shared.clone();
        let other = thread::spawn(move || other(&spawned));
        let one = one(&shared);
        check(&shared, one, other.join().unwrap());
    });
}
