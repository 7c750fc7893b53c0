//! Reads a stage: the bugs in its header, its gaps, and its lines of code.
//!
//! A bug in a header looks like this:
//!
//! ```text
//! name: what happens, in a sentence
//!     - a line that is taken out
//!     + a line that takes its place
//!     with: ARC_GAP=name
//!     shuttle: no, and why
//!     you see: what it prints
//! ```
//!
//! A `-` that follows a `+` begins another place. The lines between two places stay as they are. A
//! line `- ...` stands for all lines up to the first place where the `-` lines after it are.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// A program of `examples/`.
pub struct Stage {
    /// The name of its file, without `.rs`.
    pub name: String,
    /// The file as it is.
    pub text: String,
    /// The bugs of its header, in their order.
    pub bugs: Vec<Bug>,
    /// What counts for its length: see [`code_of`].
    pub code: Vec<String>,
}

/// A bug that the reader is to make.
#[derive(Debug, Default, PartialEq)]
pub struct Bug {
    /// What stands before the colon.
    pub name: String,
    /// What stands behind it.
    pub reason: String,
    /// What is taken out, and what takes its place.
    pub places: Vec<(Vec<String>, Vec<String>)>,
    /// What `ARC_GAP` is set to.
    pub gap: Option<String>,
    /// Whether it is a race, which shuttle has to find without any gap.
    pub is_for_shuttle: bool,
    /// A part of what it prints.
    pub symptom: String,
}

/// The folder of the stages, for the command that checks them.
pub fn folder() -> PathBuf {
    let folder = env::var("CARGO_MANIFEST_DIR");
    let folder = PathBuf::from(folder.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned()));
    // This package stands below it.
    if folder.ends_with("first") { folder.join("..") } else { folder }
}

/// All stages, in their order.
///
/// # Errors
/// A stage cannot be read, or its header is none.
pub fn read_all() -> Result<Vec<Stage>, String> {
    read_below(&folder())
}

/// All stages, in their order, of a copy of this package that stands in `folder`.
///
/// # Errors
/// A stage cannot be read, or its header is none.
pub fn read_below(folder: &Path) -> Result<Vec<Stage>, String> {
    let folder = folder.join("examples");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "rs"));
    files.sort();
    files.iter().map(|file| Stage::read(file)).collect()
}

impl Stage {
    fn read(file: &Path) -> Result<Self, String> {
        let in_file = |error: String| format!("{}: {error}", file.display());
        let text = fs::read_to_string(file).map_err(|error| in_file(error.to_string()))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let bugs = bugs_of(&text).map_err(in_file)?;
        Ok(Stage { name, bugs, code: code_of(&text), text })
    }

    /// The names of its gaps.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        for line in self.text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            if let Some((_, rest)) = line.split_once("gap(\"")
                && let Some((name, _)) = rest.split_once('"')
            {
                gaps.push(name.to_owned());
            }
        }
        gaps
    }

    /// 09_steps has no threads, and arc is not built over shuttle here.
    pub fn runs_under_shuttle(&self) -> bool {
        self.text.contains("inside::run(")
    }
}

impl Bug {
    /// The name of the program that has it.
    pub fn program(&self, stage: &Stage) -> String {
        format!("{}__{}", stage.name, self.name)
    }

    /// The text of the stage with the bug in it. Comments and blank lines between the lines of a
    /// place go with them.
    ///
    /// # Errors
    /// A place is not in the text, or more than once.
    pub fn make(&self, text: &str) -> Result<String, String> {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (old, new) in &self.places {
            let (first, last) = self.find(&lines, old)?;
            lines.splice(first..=last, new.iter().cloned());
        }
        Ok(lines.join("\n") + "\n")
    }

    /// Where the lines of a place are: the first and the last one.
    fn find(&self, lines: &[String], old: &[String]) -> Result<(usize, usize), String> {
        let is_code = |line: &str| !line.trim().is_empty() && !line.trim().starts_with("//");
        let code: Vec<usize> = (0..lines.len()).filter(|at| is_code(&lines[*at])).collect();

        let mut parts = old.split(|line| line == "...");
        let begin = parts.next().unwrap_or_default();
        let mut places = places_of(begin, lines, &code);
        let place = match places.as_slice() {
            [] => return Err(format!("{}: `{}` is not there", self.name, begin.join(" "))),
            [place] => *place,
            _ => {
                return Err(format!("{}: `{}` is there more than once", self.name, old[0]));
            }
        };

        let first = code[place];
        let mut end = place + begin.len();
        for part in parts {
            places = places_of(part, lines, &code);
            places.retain(|place| *place >= end);
            let place = places.first();
            let place = place.ok_or(format!("{}: `{}` is not there", self.name, part.join(" ")))?;
            end = place + part.len();
        }
        Ok((first, code[end - 1]))
    }
}

/// The places in `code` at which these lines begin.
fn places_of(old: &[String], lines: &[String], code: &[usize]) -> Vec<usize> {
    let is_here = |place: &[usize]| place.iter().zip(old).all(|(at, old)| lines[*at].trim() == old);
    let windows = code.windows(old.len().max(1)).enumerate();
    windows.filter(|(_, window)| is_here(window)).map(|(place, _)| place).collect()
}

/// The bugs in the header of a stage.
fn bugs_of(text: &str) -> Result<Vec<Bug>, String> {
    let header = text.lines().map_while(|line| line.strip_prefix("//!"));
    let list = header.map(str::trim).skip_while(|line| *line != "# Break it");
    let list = list.skip_while(|line| *line != "```text").skip(1);
    read_bugs(list.take_while(|line| *line != "```"))
}

/// The bugs that these lines describe.
///
/// # Errors
/// A line means nothing, or a bug lacks something.
pub fn read_bugs<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<Bug>, String> {
    let mut bugs: Vec<Bug> = Vec::new();
    for line in lines.filter(|line| !line.is_empty()) {
        if DETAILS.iter().any(|it| line.starts_with(it)) {
            let bug = bugs.last_mut().ok_or(format!("no bug begins before `{line}`"))?;
            bug.add(line)?;
            continue;
        }
        let told = format!("a bug without a name: {line}");
        let (name, reason) = line.split_once(": ").ok_or(told)?;
        bugs.push(Bug { name: name.to_owned(), reason: reason.to_owned(), ..Bug::default() });
    }
    for bug in &mut bugs {
        if bug.symptom.is_empty() || bug.places.is_empty() {
            return Err(format!("{} needs a `-` line and a line `you see:`", bug.name));
        }
    }
    Ok(bugs)
}

/// How the lines of a bug begin, but for the first.
const DETAILS: [&str; 5] = ["-", "+", "with: ", "shuttle: ", "you see: "];

impl Bug {
    /// Adds a line of its description.
    fn add(&mut self, line: &str) -> Result<(), String> {
        if let Some(old) = line.strip_prefix("- ") {
            let old = old.trim().to_owned();
            match self.places.last_mut() {
                Some((olds, news)) if news.is_empty() => olds.push(old),
                _ => self.places.push((vec![old], Vec::new())),
            }
        } else if let Some(new) = line.strip_prefix('+') {
            let place = self.places.last_mut().ok_or("a `+` line needs a `-` line before it")?;
            place.1.push(new.strip_prefix(' ').unwrap_or(new).to_owned());
        } else if let Some(gap) = line.strip_prefix("with: ARC_GAP=") {
            self.gap = Some(gap.to_owned());
            self.is_for_shuttle = true;
        } else if line.starts_with("shuttle: no") {
            self.is_for_shuttle = false;
        } else if let Some(symptom) = line.strip_prefix("you see: ") {
            self.symptom = symptom.to_owned();
        } else {
            return Err(format!("`{line}` of the bug {} means nothing", self.name));
        }
        Ok(())
    }
}

/// The lines that count for a stage's length. Comments and blank lines are free, and so are lines
/// with nothing but brackets or an attribute, imports, and the watchdog, which is no part of the
/// lesson.
pub fn code_of(text: &str) -> Vec<String> {
    let mut code = Vec::new();
    let (mut in_import, mut in_watchdog) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        in_watchdog |= trimmed.starts_with("/// Turns a hang into a sentence");
        if in_watchdog {
            in_watchdog = line != "    }";
            continue;
        }
        in_import |= line.starts_with("use ")
            || line.starts_with("#[path")
            || line.starts_with("mod ")
            || line.starts_with("pub mod ");
        if in_import {
            in_import = !(trimmed.ends_with(';') || trimmed.ends_with(']'));
            continue;
        }
        let is_bracket = trimmed.chars().all(|each| "()[]{},;".contains(each));
        let is_attribute = trimmed.starts_with("#[");
        if !is_bracket && !is_attribute && !trimmed.starts_with("//") {
            code.push(trimmed.to_owned());
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! A stage.
//!
//! # Break it
//!
//! ```text
//! swapped: the second comes first
//!     - one();
//!     - two();
//!     + two();
//!     + one();
//!     - three();
//!     with: ARC_GAP=between
//!     you see: hung: two and one
//! ```

use a::{
    b,
};

fn main() {
    // First things first.
    one();
    two();

    three();
}
";

    #[test]
    fn bug_is_read_and_made() {
        let bugs = bugs_of(TEXT).unwrap();
        assert_eq!(bugs.len(), 1);
        assert_eq!(bugs[0].gap.as_deref(), Some("between"));
        assert_eq!(bugs[0].symptom, "hung: two and one");
        assert!(bugs[0].is_for_shuttle);
        let made = bugs[0].make(TEXT).unwrap();
        assert!(made.ends_with("first.\ntwo();\none();\n\n}\n"), "{made}");
    }

    #[test]
    fn dots_stand_for_the_lines_up_to_the_next_place() {
        let mut bug = Bug { places: vec![(vec![], vec!["four();".into()])], ..Bug::default() };
        bug.places[0].0 = ["one();", "...", "three();"].map(str::to_owned).to_vec();
        let made = bug.make(TEXT).unwrap();
        assert!(made.ends_with("first.\nfour();\n}\n"), "{made}");
        bug.places[0].0 = ["three();", "...", "one();"].map(str::to_owned).to_vec();
        assert!(bug.make(TEXT).unwrap_err().ends_with("`one();` is not there"));
    }

    #[test]
    fn bug_that_does_not_fit_is_told() {
        let mut bug = Bug { places: vec![(vec!["four();".into()], vec![])], ..Bug::default() };
        assert!(bug.make(TEXT).unwrap_err().ends_with("is not there"));
        bug.places[0].0[0] = "one();".into();
        let twice = TEXT.replace("three();", "one();");
        assert!(bug.make(&twice).unwrap_err().ends_with("more than once"));
    }

    #[test]
    fn only_code_counts() {
        assert_eq!(code_of(TEXT), ["fn main() {", "one();", "two();", "three();"]);
    }
}
