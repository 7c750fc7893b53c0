//! The test's own program, to be started as a process of its own, and what processes print.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, Output};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The program, after what runs it where the system cannot: an emulator and its options,
/// from `ARC_TEST_RUNNER`.
pub fn words() -> Vec<OsString> {
    let runner = std::env::var("ARC_TEST_RUNNER").unwrap_or_default();
    let program = std::env::current_exe().expect("the test's own program");
    runner.split_whitespace().map(OsString::from).chain([program.into()]).collect()
}

/// Waits for a process, and gives what it printed into pipes. One that takes longer is killed.
#[track_caller]
pub fn output(mut child: Child, limit: Duration) -> Output {
    fn all(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.map(|mut it| it.read_to_end(&mut bytes).expect("a pipe"));
            bytes
        })
    }
    child.stdin.take();
    let (stdout, stderr) = (all(child.stdout.take()), all(child.stderr.take()));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if start.elapsed() > limit {
            child.kill().expect("it can be killed");
            panic!("process {} still runs after {limit:?}: it hangs", child.id());
        }
        thread::sleep(Duration::from_millis(2));
    };
    let all = |bytes: JoinHandle<_>| bytes.join().expect("no panic");
    Output { status, stdout: all(stdout), stderr: all(stderr) }
}
