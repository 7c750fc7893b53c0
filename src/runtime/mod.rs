//! Build a runtime, run futures on it, and end it.

mod block_on;
mod handle;

pub use crate::builder::{Builder, RuntimeFlavor};
pub use crate::registry::Id;
pub use crate::runtime::handle::{EnterGuard, Handle, Runtime};
pub use crate::scheduler::context::may_block;
