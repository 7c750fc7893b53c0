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

/// Which format a file has, by the ending of its name.
pub(crate) fn format_of(path: &Path) -> Result<Format> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html") => Ok(Format::Html),
        Some("json") => Ok(Format::Json),
        Some("txt") => Ok(Format::Text),
        Some("svg") => Ok(Format::Svg),
        _ => {
            let text = "the name must end in .html, .json, .txt or .svg";
            Err(Error::new(ErrorKind::InvalidInput, text))
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
/// # std::fs::remove_file(path)
/// ```
pub fn write(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let format = format_of(path)?;
    let timeline = Timeline::new(&recorder::recording());
    fs::write(path, format.render(&timeline))
}
