//! Runtimes for tests, of several sizes, and of the kind that the file beside this one says.
//! arc-util's tests have this file as well, beside theirs.

use super::basics::{Pause, SIZES, within_deadline, yields};
use super::kind::{Builder, Runtime};
use crate::net_common::{Counter, wait_until};
use arc::task::{JoinHandle, spawn_blocking};
use std::sync::Arc;
use std::thread;

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

/// Runs a test with a runtime of each of [`SIZES`], one after the other.
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

/// As many short polls as it takes until the workers know that polls are short. (Nothing is
/// asserted that needs it to be enough.)
pub fn make_polls_short(runtime: &Runtime) {
    runtime.block_on(runtime.spawn(yields(10_000))).unwrap();
}

/// Runs a test with a runtime whose workers know that polls are short. Whether they count as short
/// depends on what else the machine does. So this is tried until the test has seen it.
#[track_caller]
pub fn with_short_polls(workers: usize, is_seen: fn(&Runtime) -> bool) {
    let comes_out = move |_| {
        let runtime = runtime(workers);
        make_polls_short(&runtime);
        is_seen(&runtime)
    };
    within_deadline(move || assert!((0..100).any(comes_out)));
}

/// A long poll, which nobody but the tasks behind it ends.
pub fn tasks_behind_a_long_poll_run(runtime: &Runtime, count: usize) {
    let ran = Counter::new();
    let task = runtime.spawn(async move {
        for _ in 0..count {
            drop(arc::spawn(async move { _ = ran.add() }));
        }
        ran.wait_for(count);
    });
    wait_until("the poll is over", || task.is_finished());
    runtime.block_on(task).unwrap();
}

/// A runtime with a job whose thread has started, and is held up before it takes the job, until the
/// pause is passed. Behind the job another one waits for that thread.
pub fn with_a_job_about_to_begin(workers: usize) -> (Runtime, [JoinHandle<i32>; 2], Pause) {
    let start = Pause::new();
    let is_for_jobs = || thread::current().name().unwrap().ends_with("blocking");
    let runtime = builder(workers)
        .max_blocking_threads(1)
        .on_thread_start(move || {
            if is_for_jobs() {
                start.here();
            }
        })
        .build()
        .unwrap();
    let entered = runtime.enter();
    let jobs = [spawn_blocking(|| 7), spawn_blocking(|| 8)];
    drop(entered);
    start.reached();
    (runtime, jobs, start)
}
