//! What the ring of a thread is made of. In a model of it this is another file.

pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};
