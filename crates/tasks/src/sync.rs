//! What threads share. The models put their own in the place of this.

pub use arc_pool::lock;
pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub use std::sync::{Arc, Mutex};
