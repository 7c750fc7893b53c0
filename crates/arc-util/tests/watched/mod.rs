//! What the tests of a watched runtime share: the core's helpers, with this crate's runtime.

#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

pub use crate::core_common::{
    Background, Counter, DEADLINE, Gate, ON_PURPOSE, Pause, SIZES, begun_job, block_worker, holds,
    in_process_with, join_all, micros, millis, on_threads, panic_of, sockets, spawn_each,
    wait_for_all, wait_until, within_deadline, yields,
};
use arc_util::runtime::{Builder, Handle, Runtime};
use std::sync::Arc;

pub fn builder(workers: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.workers(workers);
    builder
}

pub fn runtime(workers: usize) -> Runtime {
    builder(workers).build().expect("the runtime is built")
}

/// A runtime whose tasks run only while some thread is in `block_on`.
pub fn current_thread() -> Runtime {
    Builder::new_current_thread().build().expect("the runtime is built")
}

/// A builder for each of [`SIZES`], and one for a current-thread runtime.
pub fn builders() -> impl Iterator<Item = Builder> {
    SIZES.map(builder).into_iter().chain([Builder::new_current_thread()])
}

/// Runs a test with each of [`SIZES`], one after the other.
#[track_caller]
pub fn with_sizes(test: impl Fn(usize) + Send + Sync + 'static) {
    crate::core_common::with_sizes(test);
}

/// The same with a runtime of so many workers.
#[track_caller]
pub fn with_each_size(test: impl Fn(Runtime) + Send + Sync + 'static) {
    on_each(SIZES, test);
}

/// The same with other numbers of workers.
#[track_caller]
pub fn on_each<const N: usize>(sizes: [usize; N], test: impl Fn(Runtime) + Send + Sync + 'static) {
    let test = Arc::new(test);
    for workers in sizes {
        let test = test.clone();
        within_deadline(move || test(runtime(workers)));
    }
}

/// As `with_each_size`, and then with a current-thread runtime: the test may expect nothing
/// of tasks while it is not in `block_on`.
#[track_caller]
pub fn with_each_flavor(test: impl Fn(Runtime) + Send + Sync + 'static) {
    let test = Arc::new(test);
    let again = test.clone();
    with_each_size(move |runtime| test(runtime));
    within_deadline(move || again(current_thread()));
}

/// Runs a test with a current-thread runtime.
#[track_caller]
pub fn on_current_thread(test: impl FnOnce(Runtime) + Send + 'static) {
    within_deadline(|| test(current_thread()));
}

/// Waits until no task is left.
#[track_caller]
pub fn wait_for_no_tasks(handle: &Handle) {
    wait_until("no task is left", || handle.tasks().is_empty());
}
