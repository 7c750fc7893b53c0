//! The test's own program, to be started as a process of its own, and what processes print.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, Output};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
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
    fn all(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.map(|mut it| it.read_to_end(&mut bytes).expect("a pipe"));
            // Nobody hears it if somebody else has kept the pipe for too long.
            let _ = sender.send(bytes);
        });
        receiver
    }
    child.stdin.take();
    let (stdout, stderr) = (all(child.stdout.take()), all(child.stderr.take()));
    let start = Instant::now();
    let mut is_late = false;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if start.elapsed() > limit && !is_late {
            is_late = true;
            child.kill().expect("it can be killed");
        }
        thread::sleep(Duration::from_millis(2));
    };
    let all = |bytes: Receiver<_>| bytes.recv_timeout(limit).expect("the end of its output");
    let output = Output { status, stdout: all(stdout), stderr: all(stderr) };
    let text = String::from_utf8_lossy;
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!is_late, "process {} hangs, for {limit:?}: {out}{err}", child.id());
    output
}
