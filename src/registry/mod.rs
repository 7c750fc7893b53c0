//! What is known of each task, and who is told of it.

pub(crate) mod list;
pub(crate) mod report;
