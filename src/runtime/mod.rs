//! Build a runtime, run futures on it, and end it.

mod block_on;
mod builder;
mod handle;
mod monitor;

pub use crate::config::UnhandledPanic;
pub use crate::runtime::builder::Builder;
pub use crate::runtime::handle::{EnterGuard, Handle, Runtime, TryCurrentError};
pub use crate::scheduler::context::may_block;
