//! Groups of tasks, tasks that borrow or are not `Send`, and values that belong to a task.
//!
//! [`JoinSet`] and [`TaskTracker`] wait for many tasks. [`LocalSet`] runs tasks that are not
//! `Send`, and [`scope`](scope()) runs tasks that borrow.
//! [`task_local!`](crate::task_local) gives each task its own values.
//!
//! # Tasks that borrow
//!
//! [`scope`](scope()) blocks its thread until the tasks that borrow have ended. Inside a task,
//! futures that borrow can run concurrently within that task: join them, or put them into a
//! `FuturesUnordered`. Tasks that shall run on other workers cannot borrow; let them share an
//! `Arc`.
//!
//! ```
//! use futures_util::stream::{FuturesUnordered, StreamExt};
//! # #[arc::main]
//! # async fn main() {
//! let text = String::from("one two three");
//! let length = async |word: &str| {
//!     arc::task::yield_now().await;
//!     word.len()
//! };
//! let mut all: FuturesUnordered<_> = text.split(' ').map(&length).collect();
//! let mut sum = 0;
//! while let Some(length) = all.next().await {
//!     sum += length;
//! }
//! assert_eq!(sum, 11);
//! # }
//! ```

/// Boxes a large future, of type `F`, before it is moved about, and evaluates the expression with
/// it. Each function that a future is moved through needs that much stack, at least in a debug
/// build: so this comes first in each function that takes one.
macro_rules! boxed_if_large {
    ($future:ident, $spawn:expr) => {
        if const { size_of::<F>() > 2048 } {
            let $future = Box::pin($future);
            $spawn
        } else {
            $spawn
        }
    };
}
pub(crate) use boxed_if_large;

mod builder;
mod coop;
mod info;
mod join_set;
mod local_key;
mod local_set;
mod scope;
mod tracker;

pub use arc::task::{AbortHandle, Id, JoinError};
pub use builder::Builder;
pub use coop::{Coop, Unconstrained, cooperative, unconstrained};
pub use info::{TaskInfo, TaskState};
pub use join_set::{JoinSet, JoinSetBuilder};
pub use local_key::{AccessError, LocalKey, TaskLocalFuture};
pub use local_set::{
    LocalAbortHandle, LocalEnterGuard, LocalJoinHandle, LocalSet, id, spawn_local, try_id,
};
pub use scope::{Scope, scope};
pub use tracker::{TaskTracker, TaskTrackerToken, TrackedFuture};
