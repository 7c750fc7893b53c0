//! Writes a timeline into a file.

use crate::{Timeline, html, json, picture, recorder, text};
use std::io::{Error, ErrorKind, Result};
use std::{fs, path::Path};

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
    Timeline::new(&recorder::recording()).write(path)
}

impl Timeline {
    /// Writes the timeline into a file, as [`write()`] does.
    ///
    /// # Errors
    ///
    /// Those of [`write()`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        fs::write(path, Format::of(path)?.render(self))
    }
}
