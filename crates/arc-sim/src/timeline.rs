//! The timeline of a seed that fails: a page to look into the run with.

use arc_trace::{Recording, Timeline};
use std::env;
use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

/// How many bytes of a name are in that of the file: systems allow 255 bytes for all of it, or
/// fewer.
const NAME_BYTES_MAX: usize = 120;

/// Writes the timeline of a test's seed, and prints where it is. A test fails because of its seed,
/// and not because no file can be written.
pub(crate) fn write(name: &str, seed: u64, recording: &Recording) {
    let path = asked_for().unwrap_or_else(|| path(name, seed));
    write_and_tell(&path, recording);
}

/// Writes the timeline where the environment says, if it does. A program may run many seeds that
/// fail, and each of them would leave a file.
pub(crate) fn write_if_asked(recording: &Recording) {
    match asked_for() {
        Some(path) => write_and_tell(&path, recording),
        None => eprintln!("arc-sim: to see its timeline, set ARC_TRACE=run.html"),
    }
}

/// The file that `ARC_TRACE` names.
fn asked_for() -> Option<PathBuf> {
    env::var_os("ARC_TRACE").filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn write_and_tell(path: &Path, recording: &Recording) {
    match write_to(path, recording) {
        Ok(()) => eprintln!("arc-sim: its timeline is {}", path.display()),
        Err(error) => eprintln!("arc-sim: no timeline is in {}: {error}", path.display()),
    }
}

fn write_to(path: &Path, recording: &Recording) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Timeline::new(recording).write(path)
}

/// A file of this seed's own.
fn path(name: &str, seed: u64) -> PathBuf {
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_';
    let parts: Vec<&str> = name.split(|letter| !is_plain(letter)).collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let name = parts.join("-");

    // The end says more than the beginning, which is the crate.
    let from = name.len().saturating_sub(NAME_BYTES_MAX);
    let from = (from..).find(|it| name.is_char_boundary(*it));
    let name = &name[from.unwrap_or(0)..];
    folder().join("arc-sim").join(format!("{name}-seed-{seed}.html"))
}

/// cargo's target folder, which is that with this file above the program, or the system's folder
/// for temporary files.
fn folder() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let is_target = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file();
    let target = program.ancestors().find(is_target);
    target.map_or_else(env::temp_dir, Path::to_owned)
}
