//! What the variables of the environment ask for: a process of its own for each.

use arc_trace::{is_on, tell};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);
const PATH: &str = "ARC_TRACE";

/// Runs a test of this program in another process, with variables.
fn apart(test: &str, variables: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn file(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("arc-trace-{}-{name}.txt", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

fn path_of_this_process() -> Option<PathBuf> {
    std::env::var_os(PATH).map(PathBuf::from)
}

/// A poll of a task of this number.
fn poll(task: u64) {
    let name = Some(format!("number {task}").into());
    tell::spawned(task, 0, &name, std::panic::Location::caller(), 0);
    tell::step(task, 1);
    tell::step(task, 2);
    tell::polled(task);
}

/// The program never ends its runtime: it hangs until the file is there.
#[test]
fn file_is_written_after_some_seconds() {
    if let Some(path) = path_of_this_process() {
        assert!(is_on());
        poll(1);
        let start = Instant::now();
        while !fs::read_to_string(&path).is_ok_and(|text| text.contains("What waited at the end")) {
            assert!(start.elapsed() < MINUTE, "nothing is written");
            std::thread::yield_now();
        }
        return;
    }
    let path = file("after");
    let variables = [(PATH, path.to_str().unwrap()), ("ARC_TRACE_AFTER", "0.1")];
    apart("file_is_written_after_some_seconds", &variables);
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(path).unwrap();
    assert!(text.contains("\"number 1\""), "{text}");
}

/// The first poll is more than a tenth of a second older than the file, and the last one is not,
/// unless the machine stood still in between: then the program tries again.
#[test]
fn only_the_last_seconds_are_written() {
    if let Some(path) = path_of_this_process() {
        assert!(is_on());
        poll(1);
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(120) {
            std::hint::spin_loop();
        }
        for task in 2..1_000 {
            poll(task);
            tell::runtime_ended();
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains("\"number 1\""), "{text}");
            if text.contains(&format!("\"number {task}\"")) {
                return;
            }
        }
        panic!("the last poll is never in the file");
    }
    let path = file("last");
    let variables = [(PATH, path.to_str().unwrap()), ("ARC_TRACE_LAST", "0.1")];
    apart("only_the_last_seconds_are_written", &variables);
    fs::remove_file(path).unwrap();
}
