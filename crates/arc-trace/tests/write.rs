//! How a file is written: beside the one that it replaces.
#![cfg(unix)]

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// A new folder.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("arc-trace-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).unwrap();
    path
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const BEFORE: &str = "the page before";

/// Runs in a process that may write no more than some hundred bytes into a file.
#[test]
fn apart_a_write_fails() {
    if let Some(path) = std::env::var_os("ARC_APART_FILE") {
        let error = arc_trace::write(path).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
    }
}

#[test]
fn write_that_fails_leaves_the_earlier_file_as_it_is() {
    let folder = folder("fails");
    let path = folder.join("run.html");
    fs::write(&path, BEFORE).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["apart_a_write_fails", "--exact", "--nocapture"]).env("ARC_APART_FILE", &path);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), BEFORE);
    assert_eq!(names(&folder), ["run.html"]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn file_is_replaced_at_once_and_nothing_is_left_beside_it() {
    let folder = folder("replaced");
    let (path, link) = (folder.join("run.txt"), folder.join("link.txt"));
    fs::write(&path, BEFORE).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&path, &link).unwrap();

    // Who has opened it sees it whole.
    let mut opened = fs::File::open(&path).unwrap();
    arc_trace::write(&link).unwrap();
    let mut seen = String::new();
    opened.read_to_string(&mut seen).unwrap();
    assert_eq!(seen, BEFORE);
    assert!(fs::read_to_string(&path).unwrap().contains("What stands out"));

    assert_eq!(names(&folder), ["link.txt", "run.txt"]);
    assert!(fs::symlink_metadata(link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_dir_all(folder).unwrap();
}

/// Nothing can take the place of a pipe.
#[test]
fn pipe_is_written_to() {
    let folder = folder("pipe");
    let path = folder.join("pipe.svg");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let seen = thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read_to_string(&path).unwrap());
        arc_trace::write(&path).unwrap();
        reader.join().unwrap()
    });
    assert!(seen.starts_with("<svg"), "{seen}");
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
    fs::remove_dir_all(folder).unwrap();
}
