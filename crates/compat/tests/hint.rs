//! tokio's panic is explained, once, and after it has been reported.

use crate::common::soon;
use arc_compat::explain_tokio_panics;
use arc_compat::tokio::enter;
use std::env;
use std::process::{Command, Output};
use std::time::Duration;

/// Set in the processes that are started here.
const CHILD: &str = "ARC_COMPAT_TEST_CHILD";

/// Runs the test of this name in a process of its own. `None`: this is that process.
fn child(test: &str) -> Option<Command> {
    if env::var_os(CHILD).is_some() {
        return None;
    }
    let mut command = Command::new(env::current_exe().expect("the test's own path"));
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    Some(command)
}

/// Runs the test of this name in a process of its own, and returns what it wrote to standard error.
/// Returns `None` in that process.
fn errors_of(test: &str) -> Option<String> {
    let mut command = child(test)?;
    let Output { status, stderr, .. } = command.output().expect("it starts");
    let errors = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "{errors}");
    Some(errors)
}

/// Panics in a task, because there is no tokio runtime.
async fn sleep_in_vain() {
    let task = arc::spawn(async { tokio::time::sleep(Duration::from_millis(1)).await });
    assert!(soon(task).await.is_err_and(|error| error.is_panic()));
}

#[test]
fn the_panic_is_explained_once_and_after_its_report() {
    let test = "hint::the_panic_is_explained_once_and_after_its_report";
    let Some(errors) = errors_of(test) else {
        explain_tokio_panics();
        explain_tokio_panics();
        arc::runtime::Runtime::new().expect("a runtime").block_on(async {
            sleep_in_vain().await;
            sleep_in_vain().await;
        });
        return;
    };
    let (before, after) = errors.split_once("arc::compat::tokio::enter(").expect("it is explained");
    assert!(before.contains("there is no reactor running"), "{errors}");
    assert!(after.contains("there is no reactor running"), "the second one is reported: {errors}");
    assert!(!after.contains("arc::compat::tokio::enter("), "it is explained twice: {errors}");
}

#[test]
fn whoever_enters_tokio_once_is_told_where_it_was_forgotten() {
    let test = "hint::whoever_enters_tokio_once_is_told_where_it_was_forgotten";
    let Some(errors) = errors_of(test) else {
        arc::runtime::Runtime::new().expect("a runtime").block_on(async {
            enter(async { tokio::time::sleep(Duration::from_millis(1)).await }).await;
            sleep_in_vain().await;
        });
        return;
    };
    assert!(errors.contains("arc::compat::tokio::enter("), "{errors}");
}

#[test]
fn other_panics_and_other_threads_are_left_alone() {
    let Some(errors) = errors_of("hint::other_panics_and_other_threads_are_left_alone") else {
        explain_tokio_panics();
        let outside = std::thread::spawn(|| drop(tokio::spawn(async {})));
        assert!(outside.join().is_err());
        // To print a panic with its backtrace may take as long as a poll should.
        let mut builder = arc::runtime::Builder::new_multi_thread();
        builder.long_poll_limit(Duration::MAX).build().expect("a runtime").block_on(async {
            let task = arc::spawn(async { panic!("there is no bread") });
            assert!(soon(task).await.is_err());
        });
        return;
    };
    assert!(errors.contains("there is no reactor running"), "{errors}");
    assert!(errors.contains("there is no bread") && !errors.contains("arc: "), "{errors}");
}

/// A panic in a panic hook would end the process.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_ends_nothing() {
    let Some(mut command) = child("hint::what_cannot_be_written_ends_nothing") else {
        explain_tokio_panics();
        arc::runtime::Runtime::new().expect("a runtime").block_on(sleep_in_vain());
        return;
    };
    // Each write to it fails, as on a disk that is full.
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let status = command.stderr(full).status().expect("it starts");
    assert!(status.success(), "{status}");
}
