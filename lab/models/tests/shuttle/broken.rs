//! A model that is broken on purpose: what it leaves for whoever looks for the mistake.

use crate::common::{eager_runtime, model};
use crate::sync::{Arc, AtomicBool, Ordering, thread};
use crate::task::spawn_named;
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

/// The name of the variable that makes the broken model run.
const CHILD: &str = "ARC_MODEL_CHILD";

/// A model of a lost wake-up: the thread that waits may look before the flag is set, and park after
/// the other one has looked for a thread to unpark.
fn loses_a_wake_up() {
    model(|| {
        let runtime = eager_runtime(1);
        runtime.block_on(async { spawn_named("before", async {}).await.unwrap() });
        let (is_set, is_parked) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let (sees, parks, waits) = (is_set.clone(), is_parked.clone(), thread::current());
        let setter = shuttle::thread::spawn(move || {
            is_set.store(true, Ordering::SeqCst);
            if is_parked.load(Ordering::SeqCst) {
                waits.unpark();
            }
        });
        if !sees.load(Ordering::SeqCst) {
            parks.store(true, Ordering::SeqCst);
            thread::park();
        }
        setter.join().unwrap();
    });
}

#[test]
fn model_that_fails_writes_its_schedule() {
    const NAME: &str = "broken::model_that_fails_writes_its_schedule";
    if env::var_os(CHILD).is_some() {
        return loses_a_wake_up();
    }
    let fails = |path: &Path| -> io::Result<(String, String)> {
        let mut command = Command::new(env::current_exe()?);
        command.args([NAME, "--exact"]).env(CHILD, "1").env("ARC_TRACE", path);
        let output = command.env_remove("ARC_SEED").env_remove("ARC_SCHEDULES").output()?;
        assert!(!output.status.success());
        let file = fs::read_to_string(path)?;
        fs::remove_file(path)?;
        Ok((String::from_utf8_lossy(&output.stderr).into_owned(), file))
    };
    let folder = env::temp_dir();
    let path = folder.join(format!("arc-model-{}.txt", std::process::id()));
    let (told, text) = fails(&path).unwrap();
    assert!(told.contains(&format!("its timeline is {}", path.display())), "{told}");
    assert!(told.contains("deadlock"), "{told}");

    // The text has the last steps. Which these are depends on the schedule.
    assert!(text.contains("steps of the schedule"), "{text}");
    assert!(text.contains(": worker 0 (thread "), "{text}");
    assert!(text.contains(": thread 0"), "{text}");
    assert!(text.contains("\"before\" (lab/models/tests/shuttle/broken.rs:"), "{text}");

    let (_, page) = fails(&path.with_extension("html")).unwrap();
    assert!(page.contains("schedule:[["), "{page}");
    assert!(page.contains("falls asleep") && page.contains("has polled block_on"), "{page}");
}
