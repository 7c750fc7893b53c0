//! The test's own program, to be started as a process of its own, and what processes print.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, Command, Output, Stdio};
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

/// The command that runs the test `name` of this program in a process of its own, behind a line of
/// shell such as `ulimit -n 64`. In that process there is none: it is to run the test.
pub fn own_process(name: &str, shell: &str) -> Option<Command> {
    const MARK: &str = "ARC_TEST_IN_OWN_PROCESS";
    if std::env::var_os(MARK).is_some() {
        return None;
    }
    let words = words();
    let mut command = Command::new(&words[0]);
    if !shell.is_empty() {
        command = Command::new("sh");
        command.arg("-c").arg(format!("{shell}\nexec \"$0\" \"$@\"")).arg(&words[0]);
    }
    command.args(&words[1..]).args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command.env(MARK, "1").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command)
}

/// Waits for such a process, up to a limit, and gives what it printed.
#[track_caller]
pub fn expect_passed(child: Child, limit: Duration) -> (String, String) {
    let output = output(child, limit);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let went_well = output.status.success() && out.contains("1 passed");
    assert!(went_well, "{}:\n{out}\n{err}", output.status);
    (out, err)
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

/// Looks for test files of a package that nobody runs, by the text of the file that has the
/// others as modules. `programs` are those that cargo builds as programs of their own.
#[cfg(unix)]
#[track_caller]
pub fn expect_all_files(package: &str, modules: &str, programs: &[&str]) {
    let folder = std::path::Path::new(package).join("tests");
    for entry in std::fs::read_dir(&folder).expect("the package has tests") {
        let path = entry.expect("an entry").path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        let is_run = name == "main" || programs.contains(&name);
        let is_module = modules.lines().any(|line| line == format!("mod {name};"));
        assert!(!is_source || is_run || is_module, "nobody runs {}", path.display());
    }
}
