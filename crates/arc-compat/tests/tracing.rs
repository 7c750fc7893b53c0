//! The span of a task: it is around each of its polls, and around nothing else.

use arc::task::yield_now;
use arc_compat::tracing::{spawn, spawn_named};
use arc_util::runtime::Builder;
use std::io;
use std::sync::{Arc, Mutex};
use tracing::subscriber::with_default;
use tracing::{info, info_span};
use tracing_subscriber::fmt;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a future and its tasks on this thread, and gives the lines that they log.
fn lines_of(future: impl Future<Output = ()>) -> Vec<String> {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = fmt().without_time().with_ansi(false).with_target(false);
    let subscriber = subscriber.with_writer(move || writer.clone()).finish();
    let runtime = Builder::new_current_thread().build().unwrap();
    with_default(subscriber, || runtime.block_on(future));
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn each_line_of_a_task_names_it_whoever_is_polled_in_between() {
    let lines = lines_of(async {
        let line = line!() + 1;
        let left = spawn_named("left", async {
            info!("first");
            yield_now().await;
            info!("second");
        });
        let right = spawn(async {
            info!("between");
        });
        let (left_id, right_id) = (left.id(), right.id());
        left.await.unwrap();
        right.await.unwrap();
        let file = file!();
        info!("left {left_id} is of {file}:{line}:, right {right_id}");
    });
    let [first, between, second, last] = &lines[..] else { panic!("not four lines: {lines:#?}") };
    assert!(!last.contains("task{"), "{last}");
    let told = last.split("left ").nth(1).unwrap();
    let (left, told) = told.split_once(" is of ").unwrap();
    let (place, right) = told.split_once(", right ").unwrap();
    for line in [first, second] {
        assert!(line.contains(&format!("task{{name=\"left\" line={place}")), "{line}");
        assert!(line.contains(&format!("id={left}}}")), "{line}");
    }
    assert!(between.contains(&format!("id={right}}}")), "{between}");
    assert!(!between.contains("left"), "{between}");
}

#[test]
fn the_span_of_a_task_is_inside_the_one_that_spawned_it() {
    let lines = lines_of(async {
        let request = info_span!("request", number = 7);
        let task = request.in_scope(|| spawn(async { info!("here") }));
        drop(request);
        task.await.unwrap();
    });
    let [line] = &lines[..] else { panic!("not one line: {lines:#?}") };
    assert!(line.contains("request{number=7}:task{line="), "{line}");
}
