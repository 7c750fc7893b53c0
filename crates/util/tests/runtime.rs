//! tokio's names for runtimes, tasks and writers.

mod common;

use arc::runtime::Handle;
use arc_util::io::{AsyncReadExt, AsyncShutdownExt, AsyncWriteExt};
use arc_util::runtime::{Builder, BuilderExt, RuntimeExt};
use arc_util::task;
use common::{DEADLINE, soon, tcp_pair};
use std::future::pending;

#[test]
fn a_program_for_tokio_builds_and_ends_its_runtime() {
    let runtime = Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap();
    assert_eq!(runtime.workers(), 3);
    let task = runtime.spawn(pending::<()>());
    runtime.shutdown_timeout(DEADLINE);
    assert!(task.is_finished());
    let runtime = Builder::new_current_thread().enable_io().enable_time().build().unwrap();
    assert_eq!(runtime.block_on(async { 7 }), 7);
}

#[arc::test]
async fn tasks_have_the_names_that_they_were_given() {
    let handle = Handle::current();
    let named = task::Builder::new().name("one").spawn(pending::<()>());
    let other = task::Builder::new().name("two").spawn_on(pending::<()>(), &handle);
    let nameless = task::Builder::new().spawn(pending::<()>());
    let tasks = handle.tasks();
    let name = |id| tasks.iter().find(|task| task.id == id).unwrap().name.as_deref();
    assert_eq!(name(named.id()), Some("one"));
    assert_eq!(name(other.id()), Some("two"));
    assert_eq!(name(nameless.id()), None);
}

#[arc::test]
async fn tasks_of_a_set_tell_the_line_that_spawned_them() {
    let mut set = task::JoinSet::new();
    let line = line!() + 1;
    set.spawn(pending::<()>());
    let tracker = task::TaskTracker::new();
    let tracked = tracker.spawn(pending::<()>());
    let mut lines: Vec<_> =
        Handle::current().tasks().iter().map(|task| task.location.line()).collect();
    lines.sort_unstable();
    assert_eq!(lines, [line, line + 2]);
    tracked.abort();
}

#[arc::test]
async fn shutdown_ends_the_sending_direction() {
    let (mut left, mut right) = tcp_pair().await;
    left.write_all(b"the end").await.unwrap();
    left.shutdown().await.unwrap();
    let mut text = String::new();
    soon(right.read_to_string(&mut text)).await.unwrap();
    assert_eq!(text, "the end");
}
