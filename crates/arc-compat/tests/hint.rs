//! tokio's panic is explained, once, and after it has been reported.

use crate::common::soon;
use arc_compat::explain_tokio_panics;
use std::env;
use std::future::Future;
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
    let (before, after) =
        errors.split_once("arc_compat::tokio::everywhere").expect("it is explained");
    assert!(before.contains("there is no reactor running"), "{errors}");
    assert!(after.contains("there is no reactor running"), "the second one is reported: {errors}");
    assert!(!after.contains("arc_compat::tokio::everywhere"), "it is explained twice: {errors}");
}

/// A program that calls nothing of arc-compat: to have it is enough.
#[test]
fn every_program_is_told_without_a_call() {
    let Some(errors) = errors_of("hint::every_program_is_told_without_a_call") else {
        arc::runtime::Runtime::new().expect("a runtime").block_on(sleep_in_vain());
        return;
    };
    assert!(errors.contains("arc_compat::tokio::everywhere"), "{errors}");
}

#[test]
fn a_thread_that_is_not_of_arc_is_told_as_well() {
    let Some(errors) = errors_of("hint::a_thread_that_is_not_of_arc_is_told_as_well") else {
        let _tokio = arc_compat::tokio::handle();
        let outside = std::thread::spawn(|| drop(tokio::spawn(async {})));
        assert!(outside.join().is_err());
        return;
    };
    assert!(errors.contains("arc_compat::tokio::everywhere"), "{errors}");
}

/// The texts are those of tokio itself, but for the last one, which is that of sqlx.
#[test]
fn all_texts_about_a_missing_runtime_are_explained() {
    const CASE: &str = "ARC_COMPAT_TEST_CASE";
    let cases: [(&str, fn()); 4] = [
        ("there is no reactor running", || drop(tokio::runtime::Handle::current())),
        ("timers are disabled", || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async { tokio::time::sleep(Duration::ZERO).await });
        }),
        ("it is being shutdown", || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime = builder.enable_all().build().unwrap();
            let mut sleep = {
                let _context = runtime.enter();
                Box::pin(tokio::time::sleep(Duration::from_secs(60)))
            };
            drop(runtime);
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let _ = sleep.as_mut().poll(&mut context);
        }),
        ("requires a Tokio context", || panic!("this functionality requires a Tokio context")),
    ];

    let test = "hint::all_texts_about_a_missing_runtime_are_explained";
    if let Ok(case) = env::var(CASE) {
        explain_tokio_panics();
        let case: usize = case.parse().expect("a number");
        assert!(std::panic::catch_unwind(cases[case].1).is_err());
        return;
    }
    for (number, (text, _)) in cases.iter().enumerate() {
        let mut command = child(test).expect("this is the parent");
        let output = command.env(CASE, number.to_string()).output().expect("it starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        let (before, _) = errors.split_once("arc_compat::tokio::everywhere").expect("it is told");
        assert!(output.status.success() && before.contains(text), "{errors}");
    }
}

#[test]
fn other_panics_are_left_alone() {
    let Some(errors) = errors_of("hint::other_panics_are_left_alone") else {
        explain_tokio_panics();
        // To print a panic with its backtrace may take as long as a poll should.
        let mut builder = arc_util::runtime::Builder::new_multi_thread();
        builder.long_poll_limit(Duration::MAX);
        builder.build().expect("a runtime").block_on(async {
            let task = arc::spawn(async { panic!("there is no bread") });
            assert!(soon(task).await.is_err());
        });
        return;
    };
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
