//! Tasks in groups: [`JoinSet`] and [`TaskTracker`] wait for many, [`LocalSet`] runs
//! those that are not `Send`, and [`task_local!`](crate::task_local) gives each its
//! own values.

mod abort;
mod join_set;
mod local_key;
mod local_set;
mod tracker;

pub use abort::AbortHandle;
pub use join_set::JoinSet;
pub use local_key::{AccessError, LocalKey, TaskLocalFuture};
pub use local_set::{LocalJoinError, LocalJoinHandle, LocalSet, spawn_local};
pub use tracker::{TaskTracker, TaskTrackerToken, TrackedFuture};
