//! The flight recorder writes its timeline when something is wrong.
//! `cargo test -p arc-async --features trace --test flight`.

use arc_async as arc;

use arc::runtime::{Builder, Runtime};
use arc::task::spawn_named;
use arc::trace::FlightRecorder;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// The process has one recorder, so one test at a time uses it.
fn alone() -> MutexGuard<'static, ()> {
    static RECORDER: Mutex<()> = Mutex::new(());
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file of this name that is not there.
fn file(name: &str) -> PathBuf {
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

/// Waits until the file is there, and takes it.
#[track_caller]
fn take(path: &Path) -> String {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < MINUTE, "{} is not written", path.display());
        thread::yield_now();
    }
    let text = fs::read_to_string(path).unwrap();
    fs::remove_file(path).unwrap();
    text
}

#[test]
fn poll_that_is_stuck_writes_the_timeline_while_it_lasts() {
    let _alone = alone();
    let path = file("stuck.txt");
    let flight = FlightRecorder::start(&path, MINUTE).unwrap();
    let runtime = Builder::new_multi_thread()
        .workers(1)
        .long_poll_limit(Duration::from_millis(20))
        .on_long_poll(flight.on_long_poll())
        .build()
        .unwrap();
    let (let_go, held) = mpsc::channel::<()>();
    let hog = {
        let _guard = runtime.enter();
        spawn_named("hog", async move { held.recv().unwrap() })
    };

    let text = take(&path);
    assert!(text.contains("worker 0 is stuck: it has polled task"), "{text}");
    assert!(text.contains("\"hog\" (crates/arc-async/tests/flight.rs:"), "{text}");
    let_go.send(()).unwrap();
    runtime.block_on(hog).unwrap();
}

#[cfg(unix)]
#[test]
fn each_signal_writes_the_timeline() {
    use arc::signal::unix::SignalKind;

    let _alone = alone();
    let path = file("signal.txt");
    let flight = FlightRecorder::start(&path, MINUTE).unwrap();
    let runtime = Runtime::new().unwrap();
    let kind = SignalKind::user_defined1();
    let recorder = runtime.block_on(async { flight.write_on_signal(kind) }).unwrap();
    for name in ["first", "second"] {
        let task = {
            let _guard = runtime.enter();
            spawn_named(name, async {})
        };
        runtime.block_on(task).unwrap();
        signal_hook::low_level::raise(kind.as_raw_value()).unwrap();
        let text = take(&path);
        assert!(text.contains(&format!("{name:?}")), "{text}");
    }
    recorder.abort();
}

#[test]
fn file_of_another_kind_is_refused() {
    let error = FlightRecorder::start("flight.doc", MINUTE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
