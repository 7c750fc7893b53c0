//! Writes a timeline into a file.

use crate::{Timeline, html, json, picture, text, waits};
use std::fs::{self, File, Metadata};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A page for the browser, in one file.
    Html,
    /// For Perfetto and `chrome://tracing`.
    Json,
    /// For a terminal.
    Text,
    /// A picture.
    Svg,
}

impl Format {
    /// Which format a file has, by the ending of its name.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when no format has this ending.
    pub fn of(path: impl AsRef<Path>) -> Result<Self> {
        match path.as_ref().extension().and_then(|ending| ending.to_str()) {
            Some("html") => Ok(Self::Html),
            Some("json") => Ok(Self::Json),
            Some("txt") => Ok(Self::Text),
            Some("svg") => Ok(Self::Svg),
            _ => {
                let text = "the name must end in .html, .json, .txt or .svg";
                Err(Error::new(ErrorKind::InvalidInput, text))
            }
        }
    }

    /// Turns a timeline into the contents of a file.
    pub fn render(self, timeline: &Timeline) -> String {
        match self {
            Self::Html => html::render(timeline),
            Self::Json => json::render(timeline),
            Self::Text => text::render(timeline),
            Self::Svg => picture::render(timeline),
        }
    }
}

/// Writes what is recorded so far into a file. The ending of its name says what is written:
/// `.html`, `.json`, `.txt` or `.svg`. The program goes on, and so does the recording.
///
/// An earlier file of this name is replaced at once, when the new one is whole. If that cannot be
/// written, as on a full disk, the earlier one stays as it is.
///
/// # Errors
///
/// * `InvalidInput` when the name ends otherwise.
/// * The system's, when the file cannot be written.
///
/// # Examples
///
/// ```
/// let path = std::env::temp_dir().join("arc-trace-write.svg");
/// arc_trace::write(&path)?;
/// assert!(arc_trace::write("run.doc").is_err());
/// # std::fs::remove_file(path)?;
/// # std::io::Result::Ok(())
/// ```
pub fn write(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    // A wrong name costs no time.
    Format::of(path)?;
    Timeline::new(&waits::recording()).write(path)
}

impl Timeline {
    /// Writes the timeline into a file, as [`write()`] does.
    ///
    /// # Errors
    ///
    /// Those of [`write()`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        replace(path, Format::of(path)?.render(self).as_bytes())
    }
}

/// Writes a file beside another one, which it then replaces.
fn replace(path: &Path, contents: &[u8]) -> Result<()> {
    // A link goes on to lead to the file.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = fs::metadata(&path).ok();
    let leads_nowhere = before.is_none() && fs::symlink_metadata(&path).is_ok();
    if leads_nowhere || before.as_ref().is_some_and(|before| !before.is_file()) {
        return fs::write(path, contents); // a pipe, for example: nothing can take its place
    }

    let beside = beside(&path);
    // Nobody can have put a link there, which would lead somewhere else.
    let Ok(mut file) = File::create_new(&beside) else {
        // The folder allows no new file. This one may be there, or the error says what is wrong.
        return fs::write(path, contents);
    };
    let result = write_whole(&mut file, contents, before.as_ref());
    drop(file);

    if let Err(error) = result {
        let _ = fs::remove_file(&beside);
        return Err(error);
    }

    // Whoever reads the file finds the earlier contents or the new ones.
    if fs::rename(&beside, &path).is_err() {
        // The other one cannot be replaced: in a container it may be mounted by itself.
        let _ = fs::remove_file(&beside);
        return fs::write(path, contents);
    }
    Ok(())
}

/// A name in the same folder that no other write uses, of this process or of another one.
fn beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{number}.new", std::process::id()));
    path.with_file_name(name)
}

/// Who may read the file before may read the new one, but for its owner: that is now the process's
/// user.
fn write_whole(file: &mut File, contents: &[u8], before: Option<&Metadata>) -> Result<()> {
    if let Some(before) = before {
        let _ = file.set_permissions(before.permissions()); // some file systems have none
    }
    file.write_all(contents)
}
