//! What the tests of a watched runtime share: the core's helpers, with this crate's runtime.

#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

mod kind;
#[allow(clippy::duplicate_mod, reason = "once for each kind of runtime")]
#[path = "../../../../tests/common/runtimes.rs"]
mod runtimes;

pub use self::runtimes::*;
pub use crate::core_common::basics;
pub use crate::core_common::{
    Background, Counter, DEADLINE, Gate, ON_PURPOSE, Pause, SIZES, begun_job, block_worker, holds,
    in_own_process, in_process_with, join_all, micros, millis, on_threads, panic_of, sockets,
    spawn_each, wait_for_all, wait_for_end, wait_until, with_sizes, within_deadline, yields,
};
use arc_util::runtime::Handle;

/// Waits until no task is left.
#[track_caller]
pub fn wait_for_no_tasks(handle: &Handle) {
    wait_until("no task is left", || handle.tasks().is_empty());
}
