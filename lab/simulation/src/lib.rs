//! arc's policy of waking workers in virtual time, beside tokio's and an ideal one.
//!
//! | file | purpose |
//! |---|---|
//! | `machine.rs` | virtual time and threads |
//! | `system.rs` | the kernel's events, the load, and what is measured |
//! | `on_arc.rs` | arc's workers: `src/scheduler/policy.rs` itself, in a loop like `worker.rs` |
//! | `on_tokio.rs` | the workers of tokio's multi-thread runtime |
//! | `ideal.rs` | one queue, and workers that begin at once (M/G/k) |
//! | `costs.rs` | what looking, waking and sleeping cost |
//! | `cell.rs` | one combination of workers, polls and load |
//! | `rules.rs` | what each policy makes of a cell |
//!
//! A request is one event of the kernel and one poll. Nothing here is random but the
//! arrivals, the lengths of polls and the order in which thieves look, and all three
//! repeat themselves with the seed.

pub mod cell;
pub mod costs;
pub mod ideal;
pub mod machine;
pub mod on_arc;
pub mod on_tokio;
pub mod rules;
pub mod system;

/// The policy, as arc compiles it.
#[path = "../../../src/scheduler/policy.rs"]
mod policy;

/// What the policy takes from arc.
mod sync {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use std::time::{Duration, Instant};
}
