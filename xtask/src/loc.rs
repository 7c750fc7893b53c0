//! `cargo xtask loc`: lines, by the rules of tokei, functions by length, and the air in them.
//!
//! A line of a doc comment is Markdown to tokei, and in no Rust column: it is
//! told apart from code, comments and blanks here as well.

use std::path::Path;

use crate::count::{self, Air, Function, Lines, SHORTEST_WITH_AIR};
use crate::limits::Limits;
use crate::source::{Source, rust_files};
use crate::table::{Table, number};
use crate::tree::{self, PEERS, Package, READ};
use crate::{Failure, workspace_root};

/// The runtime, which has one budget of lines and one of code.
pub const SRC: &str = "src";

/// Its macros, which have a budget of their own.
pub const MACROS: &str = "crates/macros/src";

/// Its list of tasks, which has one, too.
pub const TASKS: &str = "crates/tasks/src";

/// Its threads for jobs, which have one as well.
pub const POOL: &str = "crates/pool/src";

/// The libraries that stand beside it. What tests, measures or checks is none of what ships,
/// and is not counted, so that a change there leaves the report alone.
const BESIDE: [&str; 3] = ["crates/arc/src", "crates/compat/src", "crates/util/src"];

/// How many of the longest functions are named.
const LONGEST_NAMED: usize = 10;

/// What arc's functions are to have of blank lines and of lines with comments, in percent:
/// about what the crates have that read well.
const AIR_AIMED_AT: (usize, usize) = (8, 10);

/// The crates whose air is counted beside arc's.
const READ_BESIDE: [&str; 3] = ["smol", "lilos", "mini-redis"];

/// The lengths by which functions are told apart: up to so many lines.
const LENGTHS: [usize; 6] = [5, 10, 20, 40, 70, usize::MAX];

/// Everything that is counted.
pub struct Loc {
    src: Vec<(String, Lines)>,
    macros: Vec<(String, Lines)>,
    tasks: Vec<(String, Lines)>,
    pool: Vec<(String, Lines)>,
    beside: Vec<(String, Lines)>,
    /// tokio's version, and its folders.
    pub tokio: (String, Vec<(String, Lines)>),
    functions: Vec<(String, Function)>,
    /// arc and the crates beside it, by name.
    air: Vec<(String, Air)>,
    limits: LineLimits,
}

/// The limits of lines in audit.toml.
pub struct LineLimits {
    /// Of `src/`: code, comments and blanks.
    pub src: usize,
    /// Of `src/`: code alone.
    pub code: usize,
    /// Of `crates/macros/src/`: code, comments and blanks.
    pub macros: usize,
    /// Of `crates/tasks/src/`: code, comments and blanks.
    pub tasks: usize,
    /// Of `crates/pool/src/`: code, comments and blanks.
    pub pool: usize,
}

impl LineLimits {
    /// # Errors
    /// One of them is missing.
    pub fn of(limits: &Limits) -> Result<Self, Failure> {
        Ok(LineLimits {
            src: limits.number("lines", "src")?,
            code: limits.number("lines", "code")?,
            macros: limits.number("lines", "macros")?,
            tasks: limits.number("lines", "tasks")?,
            pool: limits.number("lines", "pool")?,
        })
    }
}

/// Runs `cargo xtask loc`.
///
/// # Errors
/// Something cannot be read.
pub fn run() -> Result<(), Failure> {
    let root = workspace_root();
    let loc = Loc::collect(&root, &Limits::read(&root)?)?;
    print!("{}", loc.text());
    Ok(())
}

impl Loc {
    /// Reads and counts everything.
    ///
    /// # Errors
    /// Something cannot be read, or is not Rust.
    pub fn collect(root: &Path, limits: &Limits) -> Result<Self, Failure> {
        let runtime = rust_files(root, &[SRC, MACROS, TASKS, POOL])?;
        let mut beside = Vec::new();
        for folder in BESIDE {
            beside.push((folder.to_owned(), sum(&rust_files(root, &[folder])?)));
        }

        let mut air = vec![("arc".to_owned(), air(&runtime)?)];
        let read = tree::packages(&root.join(READ))?;
        for name in READ_BESIDE {
            let package = find(&read, name)?;
            let files = rust_files(&package.folder, &["src"])?;
            air.push((format!("{name} {}", package.version), self::air(&files)?));
        }

        Ok(Loc {
            src: by_file(&rust_files(root, &[SRC])?),
            macros: by_file(&rust_files(root, &[MACROS])?),
            tasks: by_file(&rust_files(root, &[TASKS])?),
            pool: by_file(&rust_files(root, &[POOL])?),
            beside,
            tokio: tokio(root)?,
            functions: functions(&runtime)?,
            air,
            limits: LineLimits::of(limits)?,
        })
    }

    /// The sum over the runtime, its macros, its list of tasks and its threads for jobs.
    pub fn total(&self) -> Lines {
        let mut sum = total(&self.src);
        sum += total(&self.macros);
        sum += total(&self.tasks);
        sum += total(&self.pool);
        sum
    }

    pub fn text(&self) -> String {
        let src = lines_table("runtime", &self.src, true);
        let macros = lines_table("its macros", &self.macros, true);
        let tasks = lines_table("its list of tasks", &self.tasks, true);
        let pool = lines_table("its threads for jobs", &self.pool, true);
        let beside = lines_table("beside it", &self.beside, false);
        let (version, folders) = &self.tokio;
        let tokio = lines_table(&format!("tokio {version}"), folders, false);

        let counted = total(&self.src);
        let limits = &self.limits;
        format!(
            "{src}\n{} lines of at most {}: code, comments and blanks, as tokei counts them. \
             {} lines of\ncode of at most {}. Doc comments are free.\n\n\
             {macros}\n{} lines of at most {}.\n\n{tasks}\n{} lines of at most {}.\n\n\
             {pool}\n{} lines of at most {}.\n\n\
             {beside}\n{tokio}\n{}\n{}",
            number(counted.total()),
            number(limits.src),
            number(counted.code),
            number(limits.code),
            number(total(&self.macros).total()),
            number(limits.macros),
            number(total(&self.tasks).total()),
            number(limits.tasks),
            number(total(&self.pool).total()),
            number(limits.pool),
            self.functions_text(),
            self.air_text(),
        )
    }

    /// How much of the functions is blank or has a comment.
    fn air_text(&self) -> String {
        let title = format!("Air in functions of {SHORTEST_WITH_AIR} lines and more");
        let head = [&title, "functions", "lines", "blank %", "comments %"];
        let mut table = Table::new(1, &head);
        for (name, air) in &self.air {
            let functions = number(air.functions);
            let lines = number(air.lines);
            let blanks = percent(air.blanks, air.lines);
            let comments = percent(air.comments, air.lines);
            table.row([name, &functions, &lines, &blanks, &comments], &[]);
        }

        let (blanks, comments) = AIR_AIMED_AT;
        format!("{table}\narc aims at {blanks} % blank lines and {comments} % with comments.\n")
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
            .map_err(|reason| Failure(format!("{}: {reason}", file.name)))?;
        functions.extend(syntax.functions.into_iter().map(|it| (file.name.clone(), it)));
    }
    // Stable: those of one length stay in the order of the files.
    functions.sort_by_key(|it| std::cmp::Reverse(it.1.length));
    Ok(functions)
}

/// The air in all functions of some files.
fn air(files: &[Source]) -> Result<Air, Failure> {
    let mut sum = Air::default();
    for file in files {
        sum +=
            count::air(&file.text).map_err(|reason| Failure(format!("{}: {reason}", file.name)))?;
    }
    Ok(sum)
}

/// A share in percent, with one decimal.
fn percent(part: usize, whole: usize) -> String {
    let tenths = (part * 1_000 + whole / 2) / whole.max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// tokio as it is published, its runtime and its macros.
fn tokio(root: &Path) -> Result<(String, Vec<(String, Lines)>), Failure> {
    let packages = tree::packages(&root.join(PEERS))?;
    let tokio = find(&packages, "tokio")?;
    let macros = find(&packages, "tokio-macros")?;
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

fn find<'all>(packages: &'all [Package], name: &str) -> Result<&'all Package, Failure> {
    let found = packages.iter().find(|it| it.name == name);
    found.ok_or_else(|| Failure(format!("no {name} among the peers of xtask")))
}

fn by_file(files: &[Source]) -> Vec<(String, Lines)> {
    files.iter().map(|it| (it.name.clone(), count::lines(&it.text))).collect()
}

fn total(rows: &[(String, Lines)]) -> Lines {
    let mut sum = Lines::default();
    for (_, lines) in rows {
        sum += *lines;
    }
    sum
}

/// The lines of all files together.
pub fn sum(files: &[Source]) -> Lines {
    total(&by_file(files))
}

fn lines_table(title: &str, rows: &[(String, Lines)], with_total: bool) -> Table {
    let head = [title, "lines", "code", "comments", "blanks", "doc comments"];
    let mut table = Table::new(1, &head);
    let mut add = |name: &str, lines: Lines| {
        let Lines { code, comments, blanks, documentation } = lines;
        table.row([name], &[lines.total(), code, comments, blanks, documentation]);
    };
    for (name, lines) in rows {
        add(name, *lines);
    }
    if with_total {
        add("total", total(rows));
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
        let files = [source("src/a.rs", "//! A.\n\nfn a() {\n}\n")];
        let loc = Loc {
            src: by_file(&files),
            macros: Vec::new(),
            tasks: Vec::new(),
            pool: Vec::new(),
            beside: Vec::new(),
            tokio: ("1.0.0".to_owned(), Vec::new()),
            functions: functions(&files).unwrap(),
            air: vec![("arc".to_owned(), Air { functions: 1, lines: 8, blanks: 1, comments: 2 })],
            limits: LineLimits { src: 3_000, code: 2_400, macros: 150, tasks: 400, pool: 70 },
        };
        let text = loc.text();
        let row = "| src/a.rs |     3 |    2 |        0 |      1 |            1 |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("3 lines of at most 3,000"), "{text}");
        assert!(text.contains("2 lines of\ncode of at most 2,400"), "{text}");
        assert!(text.contains("0 lines of at most 150"), "{text}");
        assert!(text.contains("0 lines of at most 70"), "{text}");
        assert!(text.contains("| src/a.rs:3 a     |     2 |"), "{text}");
        assert!(text.contains("|    12.5 |       25.0 |"), "{text}");
    }
}
