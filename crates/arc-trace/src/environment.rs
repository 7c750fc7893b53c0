//! `ARC_TRACE=run.html` makes a program write its timeline when a runtime ends.

use crate::privileges;
use crate::recorder;
use crate::switch::{self, Options};
use std::io::{self, Write};
use std::panic::{UnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs};

/// Where to write, if the environment says so.
static PATH: OnceLock<PathBuf> = OnceLock::new();

/// Whether anybody wants to know what happens: it is recorded or, with the feature `waits`, what
/// tasks wait for is kept. The first call looks at the environment.
#[inline]
pub fn is_on() -> bool {
    switch::state().unwrap_or_else(begin) || cfg!(feature = "waits")
}

#[cold]
fn begin() -> bool {
    // Several threads may come here at once, and a mistake is told only once.
    static ASKED_FOR: OnceLock<Option<Options>> = OnceLock::new();
    switch::begin(*ASKED_FOR.get_or_init(options))
}

/// What the environment asks for. None: it does not ask for a timeline.
fn options() -> Option<Options> {
    let path = PathBuf::from(env::var_os("ARC_TRACE").filter(|path| !path.is_empty())?);

    // Told before the program has run for an hour, and not after it.
    let path = match check(&path) {
        Ok(path) => PATH.get_or_init(|| path),
        Err(error) => {
            complain(&path, &error);
            return None;
        }
    };

    // A program that hangs never ends its runtime.
    if let Some(seconds) = seconds("ARC_TRACE_AFTER") {
        let wait_and_write = move || {
            std::thread::sleep(seconds);
            write();
        };
        let thread = std::thread::Builder::new().name("arc-trace".to_owned());
        // Without that thread, the file is still written at the end.
        if let Err(error) = thread.spawn(wait_and_write) {
            complain(path, &error);
        }
    }

    Some(Options { last: seconds("ARC_TRACE_LAST"), ..Options::default() })
}

/// Whether a file can be written there later, as far as one can tell. Returns its absolute path,
/// as the program may change its folder.
fn check(path: &Path) -> io::Result<PathBuf> {
    privileges::check()?;
    crate::Format::of(path)?;
    let path = std::path::absolute(path)?;

    // The file itself may be there or not. Without its folder, nothing can be written.
    if let Some(folder) = path.parent()
        && !fs::metadata(folder)?.is_dir()
    {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(path)
}

/// Writes the timeline where the environment says. An error is told, and harms nobody.
pub(crate) fn write() {
    // The runtimes of a simulation end on a thread that has a recording of its own: theirs is not
    // the program's timeline.
    if let Some(path) = PATH.get()
        && !recorder::is_apart()
        && let Err(error) = contain(|| crate::write(path))
    {
        complain(path, &error);
    }
}

/// A panic becomes an error: a defect of this crate must not come out of the end of a runtime.
fn contain(write: impl FnOnce() -> io::Result<()> + UnwindSafe) -> io::Result<()> {
    catch_unwind(write).unwrap_or_else(|_| Err(io::Error::other("the writer panicked")))
}

fn complain(path: &Path, error: &io::Error) {
    // Where nobody reads standard error, there is nobody to complain to.
    let path = path.display();
    let _ = writeln!(io::stderr(), "arc: no timeline is written to {path}: {error}");
}

fn seconds(variable: &str) -> Option<Duration> {
    let text = env::var_os(variable)?;
    let number = text.to_str().and_then(|text| text.parse().ok());
    let seconds = number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());

    // A mistake is told, and the program runs without that limit.
    if seconds.is_none() {
        let what = "must be a number of seconds";
        let _ = writeln!(io::stderr(), "arc: {variable} {what}, not {text:?}");
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_of_the_writer_is_an_error() {
        let error = contain(|| panic!("a defect")).unwrap_err();
        assert_eq!(error.to_string(), "the writer panicked");
        assert!(contain(|| Ok(())).is_ok());
    }
}
