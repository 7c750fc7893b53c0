//! The whole runtime, in random orders of its steps.
//!
//! Run by `cargo test -p arc-models --release --test shuttle`.
//!
//! All of src is compiled into this program as it stands there, except `sync.rs` and the kernel,
//! which are others here, over shuttle's threads and atomics. After each access to an atomic or a
//! lock shuttle chooses which thread goes on. Nothing times out, so a lost wake-up is a deadlock,
//! which shuttle reports. For the same reason the monitor's first tick lasts until the runtime
//! ends, except in the models of what only the monitor can mend.
//!
//! The queues and tasks are those of `concurrent_queue` and `async_task`, over std's
//! atomics: what they do is one step here. shuttle takes all orderings for `SeqCst`. The loom
//! models look into the weaker ones.
//!
//! Every model is tried in random schedules, and in schedules with few preemptions at random
//! places (PCT). The seed is always the same, unless `ARC_SEED` sets another one.
//! `ARC_SCHEDULES` sets what percentage of the schedules is tried.
//!
//! A model that fails writes the timeline of its schedule, and says where: a page in which the keys
//! `.` and `,` go from step to step (`schedule.rs`). `ARC_TRACE` sets another file.
//!
//! The lines that begin with `~` are mutations, as in the loom models.

#![allow(dead_code, unused_imports, reason = "the modules of src are used in part")]
#![allow(clippy::redundant_allocation, clippy::type_complexity, reason = "they are types of src")]

#[path = "../both/clock.rs"]
mod clock;
#[macro_use]
#[path = "../both/local.rs"]
mod local;
mod model_kernel;
mod sync;

// arc as it stands.
#[path = "../../../../src/builder.rs"]
mod builder;
#[path = "../../../../src/driver/mod.rs"]
mod driver;
#[path = "../../../../src/hooks.rs"]
mod hooks;
#[path = "../../../../src/io.rs"]
mod io;
#[path = "../../../../src/net/mod.rs"]
mod net;
#[path = "../../../../src/panic.rs"]
mod panic;
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

// The models.
mod blocking;
mod broken;
mod common;
mod ending;
mod in_loop;
mod running;
mod schedule;
mod waiting;
