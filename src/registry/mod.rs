//! What is known of each task.

pub(crate) mod info;
pub(crate) mod list;
