//! What is known of each task.

pub(crate) mod list;
