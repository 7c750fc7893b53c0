//! The whole runtime, in random orders of its steps.
//!
//! Run by `cargo test -p arc-models --release --test shuttle`.
//!
//! All modules of src are compiled into this program as they stand there, but for `sync.rs`
//! and `kernel.rs`, which are others here, over shuttle's threads and atomics. Whichever
//! thread goes on after each access to an atomic or a lock is shuttle's choice. There are no
//! timeouts, so that a wake-up that gets lost is a deadlock, which shuttle reports. For
//! the same reason there is no monitor, but in the models of what only it can mend.
//!
//! The queues and tasks are those of `concurrent_queue` and `async_task`, over std's
//! atomics: what they do is one step here. shuttle takes all orderings for `SeqCst`; the
//! weaker ones are looked into by the loom models.
//!
//! Every model is tried in schedules at random, and in such that have few preemptions at
//! random places (PCT). The seeds are always the same, unless `ARC_SEED` is set to another;
//! `ARC_SCHEDULES` says how many per cent of the schedules are tried.
//!
//! The lines that begin with `~` are mutations, as in the loom models.

#![allow(dead_code, unused_imports, reason = "the modules of src are used in part")]

/// Takes the place of std's in the modules below.
macro_rules! thread_local {
    ($(#[$attribute:meta])* static $name:ident: $kind:ty = const { $init:expr } $(;)?) => {
        $(#[$attribute])*
        static $name: crate::sync::LocalKey<$kind> =
            crate::sync::LocalKey(shuttle::thread::LocalKey {
                init: || $init,
                _p: std::marker::PhantomData,
            });
    };
}

mod kernel;
mod monitor;
mod sync;

#[path = "../../../src/blocking.rs"]
mod blocking;
#[path = "../../../src/builder.rs"]
mod builder;
#[path = "../../../src/context.rs"]
mod context;
#[path = "../../../src/coop.rs"]
mod coop;
#[path = "../../../src/driver.rs"]
mod driver;
#[path = "../../../src/guest.rs"]
mod guest;
#[path = "../../../src/idle.rs"]
mod idle;
#[path = "../../../src/inspect.rs"]
mod inspect;
#[path = "../../../src/io.rs"]
mod io;
#[path = "../../../src/net/mod.rs"]
mod net;
#[path = "../../../src/queue.rs"]
mod queue;
#[path = "../../../src/reactor.rs"]
mod reactor;
#[path = "../../../src/readiness.rs"]
mod readiness;
#[path = "../../../src/registry.rs"]
mod registry;
#[path = "../../../src/runtime.rs"]
mod runtime;
#[path = "../../../src/scheduler.rs"]
mod scheduler;
#[path = "../../../src/task.rs"]
mod task;
#[path = "../../../src/time.rs"]
mod time;
#[path = "../../../src/timers.rs"]
mod timers;
#[path = "../../../src/wheel.rs"]
mod wheel;
#[path = "../../../src/worker.rs"]
mod worker;

// The models.
mod common;
mod ending;
mod running;
mod waiting;
