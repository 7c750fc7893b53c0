//! Build a runtime, run futures on it, and end it.

mod block_on;
mod handle;
mod monitor;
mod start;

pub use crate::config::{Builder, UnhandledPanic};
pub use crate::runtime::handle::{EnterGuard, Handle, Runtime, TryCurrentError};
pub use crate::scheduler::context::may_block;
