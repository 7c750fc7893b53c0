//! The limits that keep arc small, and the check against them.
//!
//! The line and `unsafe` budgets hold for the runtime: `src/` and `macros/src/`.
//! The length of functions holds for every library of the workspace and for xtask.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::Failure;
use crate::count::{self, Lines, Syntax};

/// The runtime stays under this many lines, so that one person can read it in an
/// afternoon.
const LINES_LIMIT: usize = 3_000;

/// What the first version should stay under, so that there is room to grow.
const LINES_FIRST_MARK: usize = 2_400;

/// As much `unsafe` as one person can check.
const UNSAFE_LIMIT: usize = 10;

/// A function fits a screen.
const FUNCTION_LINES_LIMIT: usize = 70;

/// The runtime, which has a budget of lines and of `unsafe`.
const RUNTIME_FOLDERS: [&str; 2] = ["src", "macros/src"];

/// What only has to keep its functions short.
const OTHER_FOLDERS: [&str; 4] = ["compat/src", "util/src", "versus/src", "xtask/src"];

/// A function that may be longer than the limit.
struct Exception {
    /// Relative to the workspace, with `/`.
    file: &'static str,
    function: &'static str,
    #[expect(dead_code, reason = "for the reader")]
    reason: &'static str,
}

/// Long functions that are better left whole.
const EXCEPTIONS: &[Exception] = &[];

/// One source file and its counts.
struct File {
    /// Relative to the workspace, with `/` on every platform.
    name: String,
    lines: Lines,
    syntax: Syntax,
}

/// Prints the counts of every file, and fails when a limit is passed.
///
/// # Errors
/// A limit is passed, an `unsafe` has no reason, or a file cannot be read.
pub fn check(root: &Path) -> Result<(), Failure> {
    let runtime = read_folders(root, &RUNTIME_FOLDERS)?;
    let others = read_folders(root, &OTHER_FOLDERS)?;
    print_table(&runtime);

    let mut complaints = runtime_complaints(&runtime);
    complaints.extend(function_complaints(
        runtime.iter().chain(&others),
        EXCEPTIONS,
    ));
    if complaints.is_empty() {
        return Ok(());
    }
    for complaint in &complaints {
        println!("{complaint}");
    }
    Err(Failure::Check(format!(
        "complaints about the budgets: {}",
        complaints.len()
    )))
}

fn read_folders(root: &Path, folders: &[&str]) -> Result<Vec<File>, Failure> {
    let mut paths = Vec::new();
    for folder in folders
        .iter()
        .map(|folder| root.join(folder))
        .filter(|path| path.exists())
    {
        find_sources(&folder, &mut paths)
            .map_err(|error| Failure::Check(format!("{}: {error}", folder.display())))?;
    }
    paths.sort();
    paths.iter().map(|path| read_file(root, path)).collect()
}

fn find_sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find_sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

fn read_file(root: &Path, path: &Path) -> Result<File, Failure> {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let name = relative.to_string_lossy().replace('\\', "/");
    let fail = |reason: String| Failure::Check(format!("{name}: {reason}"));
    let source = fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let syntax = count::syntax(&source).map_err(fail)?;
    Ok(File {
        lines: count::lines(&source),
        syntax,
        name,
    })
}

fn print_table(files: &[File]) {
    let width = files
        .iter()
        .map(|file| file.name.len())
        .max()
        .unwrap_or(0)
        .max(5);
    println!(
        "{:width$} {:>6} {:>6} {:>8} {:>6} {:>6} {:>7} {:>8}",
        "file", "lines", "code", "comments", "blanks", "docs", "unsafe", "longest"
    );
    let row = |name: &str, lines: Lines, unsafes: usize, longest: usize| {
        println!(
            "{name:width$} {:>6} {:>6} {:>8} {:>6} {:>6} {unsafes:>7} {longest:>8}",
            lines.total(),
            lines.code,
            lines.comments,
            lines.blanks,
            lines.documentation,
        );
    };
    for file in files {
        row(
            &file.name,
            file.lines,
            file.syntax.unsafes.len(),
            longest(file),
        );
    }
    let longest = files.iter().map(longest).max().unwrap_or(0);
    row("total", total_lines(files), total_unsafes(files), longest);
    println!(
        "limits: {LINES_LIMIT} lines ({LINES_FIRST_MARK} for the first version), \
         {UNSAFE_LIMIT} unsafe, {FUNCTION_LINES_LIMIT} lines a function"
    );
}

fn longest(file: &File) -> usize {
    file.syntax
        .functions
        .iter()
        .map(|function| function.length)
        .max()
        .unwrap_or(0)
}

fn total_lines(files: &[File]) -> Lines {
    let mut sum = Lines::default();
    for file in files {
        sum += file.lines;
    }
    sum
}

fn total_unsafes(files: &[File]) -> usize {
    files.iter().map(|file| file.syntax.unsafes.len()).sum()
}

/// What is wrong with the runtime's size and its `unsafe`.
fn runtime_complaints(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    let lines = total_lines(files).total();
    if lines >= LINES_LIMIT {
        complaints.push(format!(
            "{lines} lines: the runtime stays under {LINES_LIMIT}"
        ));
    } else if lines > LINES_FIRST_MARK {
        println!("note: {lines} lines are over the first version's mark of {LINES_FIRST_MARK}");
    }
    let unsafes = total_unsafes(files);
    if unsafes > UNSAFE_LIMIT {
        complaints.push(format!(
            "{unsafes} times unsafe: at most {UNSAFE_LIMIT} are allowed"
        ));
    }
    for file in files {
        for each in file.syntax.unsafes.iter().filter(|each| !each.explained) {
            complaints.push(format!(
                "{}:{}: unsafe ({}) without a SAFETY: comment directly above",
                file.name, each.line, each.kind
            ));
        }
    }
    complaints
}

/// Which functions are too long, and which exceptions are no longer needed.
fn function_complaints<'file>(
    files: impl Iterator<Item = &'file File>,
    exceptions: &[Exception],
) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut used = BTreeSet::new();
    for file in files {
        for function in &file.syntax.functions {
            if function.length <= FUNCTION_LINES_LIMIT {
                continue;
            }
            let exception = exceptions
                .iter()
                .position(|each| each.file == file.name && each.function == function.name);
            match exception {
                Some(index) => {
                    used.insert(index);
                }
                None => complaints.push(format!(
                    "{}:{}: fn {} has {} lines, at most {FUNCTION_LINES_LIMIT} are allowed",
                    file.name, function.line, function.name, function.length
                )),
            }
        }
    }
    for (index, exception) in exceptions.iter().enumerate() {
        if !used.contains(&index) {
            complaints.push(format!(
                "{}: fn {} is not too long: drop its exception",
                exception.file, exception.function
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, source: &str) -> File {
        let syntax = count::syntax(source).unwrap();
        File {
            name: name.to_owned(),
            lines: count::lines(source),
            syntax,
        }
    }

    fn exception(file: &'static str, function: &'static str) -> Exception {
        Exception {
            file,
            function,
            reason: "a test",
        }
    }

    fn long_function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    #[test]
    fn the_line_limit_is_the_first_number_that_fails() {
        let under = file("a.rs", &"// line\n".repeat(LINES_LIMIT - 1));
        assert_eq!(runtime_complaints(&[under]), Vec::<String>::new());
        let at = [
            file("a.rs", &"// line\n".repeat(LINES_LIMIT - 1)),
            file("b.rs", "// line\n"),
        ];
        assert_eq!(
            runtime_complaints(&at),
            ["3000 lines: the runtime stays under 3000"]
        );
    }

    #[test]
    fn unsafe_is_limited_and_explained() {
        let block = "fn f() {\n    // SAFETY: a test.\n    unsafe { g() }\n}\n";
        let at = file("a.rs", &block.repeat(UNSAFE_LIMIT));
        assert_eq!(runtime_complaints(&[at]), Vec::<String>::new());
        let over = file("a.rs", &block.repeat(UNSAFE_LIMIT + 1));
        assert_eq!(
            runtime_complaints(&[over]),
            ["11 times unsafe: at most 10 are allowed"]
        );
        let bare = file("a.rs", "fn f() {\n    unsafe { g() }\n}\n");
        assert_eq!(
            runtime_complaints(&[bare]),
            ["a.rs:2: unsafe (block) without a SAFETY: comment directly above"]
        );
    }

    #[test]
    fn functions_are_limited() {
        let files = [
            file("a.rs", &long_function(FUNCTION_LINES_LIMIT)),
            file("b.rs", &long_function(FUNCTION_LINES_LIMIT + 1)),
        ];
        let complaints = function_complaints(files.iter(), &[]);
        assert_eq!(
            complaints,
            ["b.rs:1: fn long has 71 lines, at most 70 are allowed"]
        );
    }

    #[test]
    fn exceptions_name_long_functions_only() {
        let files = [file("b.rs", &long_function(FUNCTION_LINES_LIMIT + 1))];
        let exceptions = [exception("b.rs", "long"), exception("b.rs", "gone")];
        assert_eq!(
            function_complaints(files.iter(), &exceptions),
            ["b.rs: fn gone is not too long: drop its exception"]
        );
    }
}
