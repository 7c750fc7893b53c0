//! A process in which no thread can be started, or only so many.
//!
//! Linux has a limit on the number of threads. It does not hold for root, so the process
//! runs as somebody else then; and as no process can be started either, it is the parent
//! that sets and lifts the limit. Where the tests are run by somebody else it is left out.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write, stdin};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

const MARK: &str = "ARC_TEST_WITH_LIMITED_THREADS";
const REQUEST: &str = "limit-the-threads-of-this-process-to ";

/// In the child: asks the parent, and waits until it is done.
fn limit_threads(limit: usize) {
    println!("{REQUEST}{limit}");
    let mut done = String::new();
    stdin().read_line(&mut done).unwrap();
    assert_eq!(done, "done\n");
}

/// Lets the child start so many threads beyond those that it has.
pub fn allow_threads(more: usize) {
    let now = std::fs::read_dir("/proc/self/task").unwrap().count();
    limit_threads(now + more);
    if more == 0 {
        let started = thread::Builder::new().spawn(|| ());
        assert!(started.is_err(), "the limit has no effect");
    }
}

/// In the parent: does what the child asks for until it ends. Tells whether a test passed.
fn serve(child: &mut Child, user: u32) -> bool {
    let mut has_passed = false;
    let pid = child.id().to_string();
    let mut answers = child.stdin.take().unwrap();
    let requests = BufReader::new(child.stdout.take().unwrap());
    for line in requests.lines().map(Result::unwrap) {
        // The harness may have written before it, on the same line.
        let Some((_, limit)) = line.split_once(REQUEST) else {
            has_passed |= line.contains("1 passed");
            println!("{line}");
            continue;
        };
        // Only the soft limit: the hard one could not be raised again.
        let limit = format!("--nproc={limit}:");
        let mut command = as_somebody_else("prlimit".as_ref(), user);
        let status = command.args(["--pid", &pid, &limit]).status();
        let status = status.expect("prlimit of util-linux");
        assert!(status.success());
        answers.write_all(b"done\n").unwrap();
    }
    has_passed
}

/// A number of a user that nobody else is, not even another test: threads are counted by user.
fn somebody_else() -> u32 {
    static TESTS: AtomicU32 = AtomicU32::new(0);
    1_000_000_000 + 64 * std::process::id() + TESTS.fetch_add(1, Ordering::Relaxed) % 64
}

/// A program as that user.
fn as_somebody_else(program: &OsStr, user: u32) -> Command {
    let mut command = Command::new(program);
    command.uid(user).gid(user);
    command
}

/// Only root is free to be somebody else.
fn is_root() -> bool {
    let all_users = "0 0 4294967295";
    let users = std::fs::read_to_string("/proc/self/uid_map").unwrap();
    let has_all = users.split_whitespace().eq(all_users.split(' '));
    has_all && std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Runs the test of this name, the one that calls this, in such a process. It is up to the
/// caller to put a limit of time around this.
pub fn with_limited_threads(name: &str, test: impl FnOnce()) {
    if std::env::var_os(MARK).is_some() {
        return test();
    }
    if !is_root() {
        eprintln!("SKIPPED {name}: who is not root shares the limit with all of his programs");
        return;
    }
    // Where everybody may run it, unlike the place where it was built.
    let file = format!("arc-{}-{}", std::process::id(), name.replace(':', "-"));
    let binary = std::env::temp_dir().join(file);
    // By a process: what another thread starts meanwhile would have our copy open for
    // writing until it is another program, and no such file can be run.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&binary).status();
    assert!(copied.expect("cp").success());
    let user = somebody_else();
    let mut command = as_somebody_else(binary.as_ref(), user);
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(MARK, "1")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::fs::remove_file(&binary).unwrap();
    let has_passed = serve(&mut child, user);
    let status = child.wait().unwrap();
    assert!(status.success() && has_passed, "the process of {name} failed: {status}");
}
