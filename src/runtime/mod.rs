//! Build a runtime, run futures on it, and end it.

mod block_on;
mod handle;

pub use crate::builder::{Builder, RuntimeFlavor, UnhandledPanic};
pub use crate::registry::Id;
pub use crate::runtime::handle::{EnterGuard, Handle, Runtime, TryCurrentError};
pub use crate::scheduler::context::may_block;
