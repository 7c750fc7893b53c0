//! Spawn tasks, wait for them, and abort them.

mod join;
pub(crate) mod spawn;

pub use crate::registry::Id;
pub use crate::scheduler::budget::{
    consume_budget, has_budget_remaining, with_budget, without_budget,
};
pub use crate::scheduler::context::try_id;
pub use crate::task::join::{AbortHandle, JoinError, JoinHandle};
pub use crate::task::spawn::{spawn, spawn_blocking, spawn_named, try_spawn_blocking, yield_now};
