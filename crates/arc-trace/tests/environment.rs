//! What the variables of the environment ask for: a process of its own for each.

use arc_trace::{is_on, tell};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);
const PATH: &str = "ARC_TRACE";
const NOTHING: [&str; 0] = [];

/// Runs a test of this program in another process, with variables. Returns what arc has told.
fn apart(test: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.envs(variables.iter().copied());
    told(command, test)
}

/// A process that is being started has all files of this one open, until its own program runs. And
/// no program can be run while anybody has its file open to write. So who starts a process and who
/// writes a program take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn told(mut command: Command, test: &str) -> Vec<String> {
    command.args([test, "--exact", "--nocapture"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let turn = turn();
    let process = command.spawn().unwrap();
    drop(turn);

    let output = process.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    told.lines().filter(|line| line.starts_with("arc: ")).map(str::to_owned).collect()
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
    assert_eq!(apart("file_is_written_after_some_seconds", &variables), NOTHING);
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
    assert_eq!(apart("only_the_last_seconds_are_written", &variables), NOTHING);
    fs::remove_file(path).unwrap();
}

/// A program that runs for an hour says at its beginning that it can write nothing.
#[test]
fn folder_that_is_not_there_is_told_at_once() {
    if path_of_this_process().is_some() {
        // It records nothing, and has told why. The end of a runtime adds nothing to that.
        assert!(!is_on());
        tell::runtime_ended();
        return;
    }
    let no_folder = std::env::current_exe().unwrap().join("run.txt");
    for (path, why) in [
        ("/nowhere/at/all/run.txt", if cfg!(unix) { "os error 2" } else { "" }),
        (no_folder.to_str().unwrap(), "not a directory"),
    ] {
        let told = apart("folder_that_is_not_there_is_told_at_once", &[(PATH, path)]);
        let [line] = &told[..] else { panic!("not one line: {told:?}") };
        assert!(line.starts_with(&format!("arc: no timeline is written to {path}: ")), "{line}");
        assert!(line.to_lowercase().contains(why), "{line}");
    }
}

#[test]
fn file_is_written_in_the_folder_in_which_the_program_began() {
    if path_of_this_process().is_some() {
        assert!(is_on());
        std::env::set_current_dir(std::env::current_exe().unwrap().parent().unwrap()).unwrap();
        tell::runtime_ended();
        return;
    }
    let path = file("relative");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.current_dir(path.parent().unwrap()).env(PATH, path.file_name().unwrap());
    let told = told(command, "file_is_written_in_the_folder_in_which_the_program_began");
    assert_eq!(told, NOTHING);
    fs::remove_file(path).unwrap();
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    use std::path::Path;

    #[test]
    fn seconds_that_are_no_text_are_told() {
        if path_of_this_process().is_some() {
            assert!(is_on());
            return;
        }
        for variable in ["ARC_TRACE_LAST", "ARC_TRACE_AFTER"] {
            for (seconds, shown) in [(&b"1\xff"[..], "\"1\\xFF\""), (b"abc", "\"abc\"")] {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.env(PATH, file("no-text")).env(variable, OsStr::from_bytes(seconds));
                let told = told(command, "unix::seconds_that_are_no_text_are_told");
                let line = format!("arc: {variable} must be a number of seconds, not {shown}");
                assert_eq!(told, [line]);
            }
        }
    }

    /// Who starts a setuid program must not choose which of its owner's files is overwritten.
    #[test]
    fn program_with_the_rights_of_another_user_writes_nothing() {
        let has_own_rights = |probe: &Path| {
            fs::metadata(probe).is_ok_and(|probe| (probe.uid(), probe.gid()) == (4_000, 4_000))
        };
        if let Some(path) = path_of_this_process() {
            let probe = path.with_extension("probe");
            fs::write(&probe, "whose is it?").unwrap();
            assert!(!is_on() || has_own_rights(&probe));
            tell::runtime_ended();
            return;
        }
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        if !cfg!(target_os = "linux") || !is_root {
            return eprintln!("SKIPPED: only root can give a program to somebody else");
        }
        let folder = std::env::temp_dir().join(format!("arc-trace-{}-setuid", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let program = folder.join("program");
        let turn = turn();
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        drop(turn);
        for (user, group, mode) in [(4_001, 4_000, 0o4755), (4_000, 4_001, 0o2755)] {
            chown(&program, Some(user), Some(group)).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
            let mut command = Command::new(&program);
            command.uid(4_000).gid(4_000).env(PATH, folder.join("run.txt"));
            let test = "unix::program_with_the_rights_of_another_user_writes_nothing";
            let told = told(command, test);
            let probe = folder.join("run.probe");
            if has_own_rights(&probe) {
                eprintln!("SKIPPED: nothing is setuid here");
                break;
            }
            fs::remove_file(probe).unwrap();
            let [line] = &told[..] else { panic!("not one line: {told:?}") };
            assert!(
                line.ends_with("the program has the rights of another user or group"),
                "{line}"
            );
            assert!(!folder.join("run.txt").exists());
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
