//! Spawn tasks, wait for them, and abort them.

pub(crate) mod blocking;
pub(crate) mod error;
mod join;
pub(crate) mod spawn;

pub use crate::registry::info::{Id, TaskInfo, TaskState};
pub use crate::scheduler::budget::{
    consume_budget, has_budget_remaining, with_budget, without_budget,
};
pub use crate::scheduler::context::try_id;
pub use crate::task::blocking::{spawn_blocking, try_spawn_blocking};
pub use crate::task::error::JoinError;
pub use crate::task::join::{AbortHandle, JoinHandle};
pub use crate::task::spawn::{spawn, spawn_named, yield_now};
