//! `cargo xtask loc`: lines, counted by tokei, and functions by length.
//!
//! A line of a doc comment is Markdown to tokei, and in no Rust column: it is
//! told apart from code, comments and blanks here as well.

use std::path::Path;

use crate::count::{self, Function, Lines};
use crate::limits::Limits;
use crate::source::{Source, rust_files};
use crate::table::{Table, number};
use crate::tree::{self, PEERS};
use crate::{Failure, workspace_root};

/// The runtime, which has the budget of lines.
pub const RUNTIME: [&str; 2] = ["src", "macros/src"];

/// What stands beside it, each counted apart.
const BESIDE: [&str; 10] = [
    "compat", "util", "redis", "tests", "models", "examples", "benches", "versus", "trials",
    "xtask",
];

/// How many of the longest functions are named.
const LONGEST_NAMED: usize = 10;

/// The lengths by which functions are told apart: up to so many lines.
const LENGTHS: [usize; 6] = [5, 10, 20, 40, 70, usize::MAX];

const HELP: &str = "\
Count the lines of every file by tokei, and the functions by length.

usage: cargo xtask loc
";

/// Everything that is counted.
pub struct Loc {
    pub runtime: Vec<(String, Lines)>,
    beside: Vec<(String, Lines)>,
    /// tokio's version, and its folders.
    pub tokio: (String, Vec<(String, Lines)>),
    functions: Vec<(String, Function)>,
    limit: usize,
}

/// Runs `cargo xtask loc` with the arguments that follow these words.
///
/// # Errors
/// The arguments are not understood, or something cannot be read.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [] => {
            let root = workspace_root();
            let loc = Loc::collect(&root, &Limits::read(&root)?)?;
            print!("{}", loc.text());
            Ok(())
        }
        [only] if only == "--help" || only == "-h" => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(Failure::Usage(format!("unknown arguments\n\n{HELP}"))),
    }
}

impl Loc {
    /// Reads and counts everything.
    ///
    /// # Errors
    /// Something cannot be read, or is not Rust.
    pub fn collect(root: &Path, limits: &Limits) -> Result<Self, Failure> {
        let runtime = rust_files(root, &RUNTIME)?;
        let mut beside = Vec::new();
        for folder in BESIDE {
            let files = rust_files(root, &[folder])?;
            if !files.is_empty() {
                beside.push((folder.to_owned(), sum(&files)));
            }
        }
        Ok(Loc {
            functions: functions(&runtime)?,
            runtime: runtime.iter().map(|it| (it.name.clone(), count::lines(&it.text))).collect(),
            beside,
            tokio: tokio(root)?,
            limit: limits.number("lines", "runtime")?,
        })
    }

    /// The sum over the runtime.
    pub fn total(&self) -> Lines {
        self.runtime.iter().fold(Lines::default(), |mut sum, it| {
            sum += it.1;
            sum
        })
    }

    pub fn text(&self) -> String {
        let runtime = lines_table("runtime", &self.runtime, true);
        let beside = lines_table("beside it", &self.beside, false);
        let (version, folders) = &self.tokio;
        let tokio = lines_table(&format!("tokio {version}"), folders, false);
        let (lines, limit) = (number(self.total().total()), number(self.limit));
        format!(
            "{runtime}\n{lines} lines of at most {limit}: code, comments and blanks, as \
             tokei counts them.\nDoc comments are free.\n\n{beside}\n{tokio}\n{}",
            self.functions_text()
        )
    }

    /// How many functions of the runtime are how long, and which are the longest.
    fn functions_text(&self) -> String {
        let mut lengths = Table::new(1, &["lines of a function", "functions"]);
        let mut shortest = 1;
        for longest in LENGTHS {
            let is_within = |it: &&(String, Function)| (shortest..=longest).contains(&it.1.length);
            let name = match longest {
                usize::MAX => format!("{shortest} and more"),
                _ => format!("{shortest} to {longest}"),
            };
            let count = self.functions.iter().filter(is_within).count();
            lengths.row([&name], &[count]);
            shortest = longest.saturating_add(1);
        }
        let mut named = Table::new(1, &["longest function", "lines"]);
        for (file, function) in self.functions.iter().take(LONGEST_NAMED) {
            let place = format!("{file}:{} {}", function.line, function.name);
            named.row([&place], &[function.length]);
        }
        format!("{lengths}\n{named}")
    }
}

/// The runtime's functions, the longest first.
fn functions(files: &[Source]) -> Result<Vec<(String, Function)>, Failure> {
    let mut functions = Vec::new();
    for file in files {
        let syntax = count::syntax(&file.text)
            .map_err(|reason| Failure::Check(format!("{}: {reason}", file.name)))?;
        functions.extend(syntax.functions.into_iter().map(|it| (file.name.clone(), it)));
    }
    // Stable: those of one length stay in the order of the files.
    functions.sort_by_key(|it| std::cmp::Reverse(it.1.length));
    Ok(functions)
}

/// tokio as it is published, its runtime and its macros.
fn tokio(root: &Path) -> Result<(String, Vec<(String, Lines)>), Failure> {
    let packages = tree::packages(&root.join(PEERS))?;
    let find = |name: &str| {
        let found = packages.iter().find(|it| it.name == name);
        found.ok_or_else(|| Failure::Check(format!("{PEERS} has no {name}")))
    };
    let (tokio, macros) = (find("tokio")?, find("tokio-macros")?);
    let mut folders = Vec::new();
    for (title, package, folder) in [
        ("src", tokio, "src"),
        ("of these src/runtime", tokio, "src/runtime"),
        ("tokio-macros/src", macros, "src"),
    ] {
        let files = rust_files(&package.folder, &[folder])?;
        folders.push((title.to_owned(), sum(&files)));
    }
    Ok((tokio.version.clone(), folders))
}

fn sum(files: &[Source]) -> Lines {
    files.iter().fold(Lines::default(), |mut sum, file| {
        sum += count::lines(&file.text);
        sum
    })
}

fn lines_table(title: &str, rows: &[(String, Lines)], with_total: bool) -> Table {
    let head = [title, "lines", "code", "comments", "blanks", "doc comments"];
    let mut table = Table::new(1, &head);
    let mut add = |name: &str, lines: Lines| {
        let Lines { code, comments, blanks, documentation } = lines;
        table.row([name], &[lines.total(), code, comments, blanks, documentation]);
    };
    let mut total = Lines::default();
    for (name, lines) in rows {
        add(name, *lines);
        total += *lines;
    }
    if with_total {
        add("total", total);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> Source {
        Source { name: name.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn the_longest_function_comes_first() {
        let files = [source("a.rs", "fn a() {}\n"), source("b.rs", "fn b() {\n}\nfn c() {}\n")];
        let names: Vec<_> = functions(&files).unwrap();
        let names: Vec<_> = names.iter().map(|it| it.1.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "c"]);
    }

    #[test]
    fn a_text_tells_lines_and_lengths() {
        let file = source("src/a.rs", "//! A.\n\nfn a() {\n}\n");
        let loc = Loc {
            runtime: vec![("src/a.rs".to_owned(), count::lines(&file.text))],
            beside: Vec::new(),
            tokio: ("1.0.0".to_owned(), Vec::new()),
            functions: functions(&[file]).unwrap(),
            limit: 3_000,
        };
        let text = loc.text();
        let row = "| src/a.rs |     3 |    2 |        0 |      1 |            1 |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("3 lines of at most 3,000"), "{text}");
        assert!(text.contains("| src/a.rs:3 a     |     2 |"), "{text}");
    }
}
