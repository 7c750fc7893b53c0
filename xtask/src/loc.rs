//! `cargo xtask loc`: lines, by the rules of tokei, functions by length, and the air in them.
//!
//! A line of a doc comment is Markdown to tokei, and in no Rust column: it is
//! told apart from code, comments and blanks here as well.
//!
//! One count has a limit: everything of its own that `cargo build -p arc-runtime` compiles, on
//! whatever platform. cargo says which packages that are, so that code is counted wherever it
//! is moved.

use std::path::Path;

use crate::count::{self, Air, Function, Lines, SHORTEST_WITH_AIR, WIDE};
use crate::limits::{Bound, Budget, Limits};
use crate::source::{self, Source, rust_files};
use crate::table::{Table, number};
use crate::tree::{self, ALL_TARGETS, PEERS, Package, READ};
use crate::{Failure, workspace_root};

/// What a build of arc-runtime compiles only when it is asked for a feature, and the libraries
/// that are built on it. What tests, measures or checks is none of what ships, and is not
/// counted, so that a change there leaves the report alone.
const BESIDE: [(&str, &str); 6] = [
    ("crates/trace/src", "the feature `trace`"),
    ("crates/sim/core/src", "the feature `sim`"),
    ("crates/compat/hint/src", "the feature `hint`"),
    ("crates/arc/src", "built on it"),
    ("crates/compat/src", "built on it"),
    ("crates/util/src", "built on it"),
];

/// How many of the longest functions are named.
const LONGEST_NAMED: usize = 10;

/// The crates whose air is counted beside arc's.
const READ_BESIDE: [&str; 3] = ["smol", "lilos", "mini-redis"];

/// The lengths by which functions are told apart: up to so many lines.
const LENGTHS: [usize; 5] = [5, 10, 20, 40, usize::MAX];

/// What is counted of one file.
pub struct Counted {
    name: String,
    lines: Lines,
    functions: Vec<Function>,
    /// The functions that are long enough to need air, and what each has.
    longer: Vec<(Function, Air)>,
    /// The wide lines of code: their numbers and columns.
    wide: Vec<(usize, usize)>,
}

/// What a build of arc-runtime compiles of arc's own.
pub struct Own {
    /// The folders of the packages, the runtime's first.
    pub folders: Vec<String>,
    files: Vec<Counted>,
}

/// The limits of the count in audit.toml.
pub struct LineLimits {
    /// Code, comments and blanks.
    lines: usize,
    /// Of the lines of longer functions, at least so many percent are blank.
    blanks: usize,
    /// Of the same lines, at least so many percent have comments.
    comments: usize,
    /// Of the lines of code, at most so many percent are wide.
    wide: usize,
}

/// Everything that is counted.
pub struct Loc {
    pub own: Own,
    limits: LineLimits,
    /// Folders, and why they are none of it.
    beside: Vec<(String, Lines)>,
    /// tokio's version, and its folders.
    pub tokio: (String, Vec<(String, Lines)>),
    /// The crates that are read beside it.
    read: Vec<(String, Vec<Counted>)>,
}

/// Runs `cargo xtask loc`.
///
/// # Errors
/// Something cannot be read.
pub fn run() -> Result<(), Failure> {
    let root = workspace_root();
    let loc = Loc::collect(&root, &Limits::read(&root)?)?;
    println!("{}", loc.text());
    print!("{}", loc.own.short_of_air(&loc.limits));
    Ok(())
}

impl Counted {
    /// # Errors
    /// It is not Rust.
    fn of(file: &Source) -> Result<Self, Failure> {
        let fail = |reason| Failure(format!("{}: {reason}", file.name));
        Ok(Counted {
            name: file.name.clone(),
            lines: count::lines(&file.text),
            functions: count::syntax(&file.text).map_err(fail)?.functions,
            longer: count::air(&file.text).map_err(fail)?,
            wide: count::wide_lines(&file.text),
        })
    }

    fn air(&self) -> Air {
        let mut sum = Air::default();
        for (_, air) in &self.longer {
            sum += *air;
        }
        sum
    }
}

fn count_all(files: &[Source]) -> Result<Vec<Counted>, Failure> {
    files.iter().map(Counted::of).collect()
}

/// The lines, the air and the wide lines of files together.
fn sums(files: &[Counted]) -> (Lines, Air, usize) {
    let mut lines = Lines::default();
    let mut air = Air::default();
    let mut wide = 0;
    for file in files {
        lines += file.lines;
        air += file.air();
        wide += file.wide.len();
    }
    (lines, air, wide)
}

impl LineLimits {
    /// # Errors
    /// One of them is missing.
    pub fn of(limits: &Limits) -> Result<Self, Failure> {
        Ok(LineLimits {
            lines: limits.number("lines", "most")?,
            blanks: limits.number("air", "blanks_percent")?,
            comments: limits.number("air", "comments_percent")?,
            wide: limits.number("air", "wide_percent")?,
        })
    }
}

impl Own {
    /// Counts what a build of arc-runtime compiles of arc's own.
    ///
    /// # Errors
    /// Something cannot be read, or is not Rust.
    pub fn collect(root: &Path) -> Result<Self, Failure> {
        let tree = tree::tree(&root.join("Cargo.toml"), "arc-runtime", ALL_TARGETS)?;
        let mut folders = Vec::new();
        for package in tree.iter().filter(|it| it.source.is_none()) {
            folders.push(source::name(root, &package.folder.join("src")));
        }
        // That of the runtime itself has no other folder around it.
        folders.sort_by_key(|it| it.matches('/').count());

        let mut files = Vec::new();
        for folder in &folders {
            files.extend(count_all(&rust_files(root, &[folder])?)?);
        }
        Ok(Own { folders, files })
    }

    #[cfg(test)]
    pub fn of(files: &[Source]) -> Self {
        let files = count_all(files).expect("the text of a test is Rust");
        Own { folders: vec!["src".to_owned()], files }
    }

    /// The lines of all files.
    pub fn lines(&self) -> Lines {
        sums(&self.files).0
    }

    /// What is counted, beside what is allowed.
    pub fn budgets(&self, limits: &LineLimits) -> Vec<Budget> {
        let (lines, air, wide) = sums(&self.files);
        let longer = format!("functions of {SHORTEST_WITH_AIR} lines and more");
        let remedy = |what: &str| format!("`cargo xtask loc` tells {what}.");
        let budget = |what: String, bound, counted, remedy: String| Budget {
            what,
            bound,
            counted,
            remedy,
            is_ratchet: false,
        };
        vec![
            budget(
                format!("lines of {}", self.folders.join(" and ")),
                Bound::AtMost(limits.lines),
                lines.total(),
                "`cargo xtask loc` tells them by file: do less, or move what can be built on the \
                 public API to a crate beside it."
                    .to_owned(),
            ),
            budget(
                format!("blank lines in {longer}"),
                Bound::AtLeast((air.lines * limits.blanks).div_ceil(100)),
                air.blanks,
                remedy("which lack paragraphs: do less in them, and do not pack"),
            ),
            budget(
                format!("lines with comments in {longer}"),
                Bound::AtLeast((air.lines * limits.comments).div_ceil(100)),
                air.comments,
                remedy("which lack reasons at their lines"),
            ),
            budget(
                format!("lines of code with {WIDE} columns and more"),
                Bound::AtMost(lines.code * limits.wide / 100),
                wide,
                remedy("which they are: say less in a line"),
            ),
        ]
    }

    /// Every file, with its lines and its air.
    fn table(&self) -> Table {
        let head = [
            "file",
            "lines",
            "code",
            "comments",
            "blanks",
            "docs",
            "wide",
            "in functions",
            "blank %",
            "comment %",
        ];
        let mut table = Table::new(1, &head);
        for file in &self.files {
            file_row(&mut table, &file.name, file.lines, file.air(), file.wide.len());
        }
        let (lines, air, wide) = sums(&self.files);
        file_row(&mut table, "total", lines, air, wide);
        table
    }

    /// How many functions are how long, and which are the longest.
    fn functions_text(&self) -> String {
        let mut functions: Vec<(&str, &Function)> = Vec::new();
        for file in &self.files {
            functions.extend(file.functions.iter().map(|it| (file.name.as_str(), it)));
        }
        // Stable: those of one length stay in the order of the files.
        functions.sort_by_key(|it| std::cmp::Reverse(it.1.length));

        let mut lengths = Table::new(1, &["lines of a function", "functions"]);
        let mut shortest = 1;
        for longest in LENGTHS {
            let name = match longest {
                usize::MAX => format!("{shortest} and more"),
                _ => format!("{shortest} to {longest}"),
            };
            let is_within = |length: usize| (shortest..=longest).contains(&length);
            let count = functions.iter().filter(|it| is_within(it.1.length)).count();
            lengths.row([&name], &[count]);
            shortest = longest.saturating_add(1);
        }

        let mut named = Table::new(1, &["longest function", "lines"]);
        for (file, function) in functions.iter().take(LONGEST_NAMED) {
            let place = format!("{file}:{} {}", function.line, function.name);
            named.row([&place], &[function.length]);
        }
        format!("{lengths}\n{named}")
    }

    /// Which functions lack blank lines or comments, and which lines are wide: to work by.
    fn short_of_air(&self, limits: &LineLimits) -> String {
        let head = ["short of air", "lines", "blanks", "lacks", "comments", "lacks"];
        let mut table = Table::new(1, &head);
        for file in &self.files {
            for (function, air) in &file.longer {
                let blanks = lacks(air.blanks, air.lines, limits.blanks);
                let comments = lacks(air.comments, air.lines, limits.comments);
                if blanks + comments > 0 {
                    let place = format!("{}:{} {}", file.name, function.line, function.name);
                    let numbers = [air.lines, air.blanks, blanks, air.comments, comments];
                    table.row([&place], &numbers);
                }
            }
        }

        let mut text = format!("{table}\nLines of code with {WIDE} columns and more:\n\n");
        for file in &self.files {
            for (line, columns) in &file.wide {
                text += &format!("* {}:{line}: {columns} columns\n", file.name);
            }
        }
        text
    }
}

/// How many lines are missing to a share in percent, to the next whole line.
fn lacks(has: usize, lines: usize, percent: usize) -> usize {
    ((lines * percent + 50) / 100).saturating_sub(has)
}

fn file_row(table: &mut Table, name: &str, lines: Lines, air: Air, wide: usize) {
    let Lines { code, comments, blanks, documentation } = lines;
    let mut cells = vec![name.to_owned()];
    let numbers = [lines.total(), code, comments, blanks, documentation, wide, air.lines];
    cells.extend(numbers.map(number));
    cells.extend([percent(air.blanks, air.lines), percent(air.comments, air.lines)]);
    table.texts(cells);
}

impl Loc {
    /// Reads and counts everything.
    ///
    /// # Errors
    /// Something cannot be read, or is not Rust.
    pub fn collect(root: &Path, limits: &Limits) -> Result<Self, Failure> {
        let mut beside = Vec::new();
        for (folder, why) in BESIDE {
            beside.push((format!("{folder} ({why})"), sum(&rust_files(root, &[folder])?)));
        }

        let mut counted = Vec::new();
        let packages = tree::packages(&root.join(READ))?;
        for name in READ_BESIDE {
            let package = find(&packages, name)?;
            let files = count_all(&rust_files(&package.folder, &["src"])?)?;
            counted.push((format!("{name} {}", package.version), files));
        }

        Ok(Loc {
            own: Own::collect(root)?,
            limits: LineLimits::of(limits)?,
            beside,
            tokio: tokio(root)?,
            read: counted,
        })
    }

    pub fn text(&self) -> String {
        let lines = self.own.lines();
        let folders: Vec<_> = self.own.folders.iter().map(|it| format!("`{it}`")).collect();
        let mut limits = Table::new(1, &["limit", "allowed", "counted"]);
        for budget in self.own.budgets(&self.limits) {
            let bound = budget.bound.to_string();
            limits.texts(vec![budget.what, bound, number(budget.counted)]);
        }
        let beside = lines_table("not compiled by it", &self.beside);
        let (version, folders_of_tokio) = &self.tokio;
        let tokio = lines_table(&format!("tokio {version}"), folders_of_tokio);

        format!(
            "**{} lines**, of at most {}: everything of its own that `cargo build -p arc-runtime`\n\
             compiles. That is all of {},\nthe macros and both kernels included: Linux \
             compiles `epoll.rs`, and other systems\n`portable.rs`. Code, comments and blanks are \
             counted as tokei counts them, and doc\ncomments are not. \"In functions\" are the \
             lines of functions of {SHORTEST_WITH_AIR} lines and more, and\nwhat of these is \
             blank or has a comment. A wide line of code has {WIDE} columns or more.\n\n\
             {}\n{limits}\n{}\n{}\n{beside}\n{tokio}",
            number(lines.total()),
            number(self.limits.lines),
            folders.join(" and "),
            self.own.table(),
            self.own.functions_text(),
            self.air_text(),
        )
    }

    /// The air in arc beside that of others.
    fn air_text(&self) -> Table {
        let title = format!("air in functions of {SHORTEST_WITH_AIR} lines and more");
        let head = [&title, "functions", "lines", "blank %", "comment %", "wide % of code"];
        let mut table = Table::new(1, &head);
        let mut add = |name: &str, files: &[Counted]| {
            let (lines, air, wide) = sums(files);
            table.texts(vec![
                name.to_owned(),
                number(air.functions),
                number(air.lines),
                percent(air.blanks, air.lines),
                percent(air.comments, air.lines),
                percent(wide, lines.code),
            ]);
        };

        add("arc", &self.own.files);
        for (name, files) in &self.read {
            add(name, files);
        }
        table
    }
}

/// A share in percent, with one decimal; a dash if there is nothing to have a share of.
fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let tenths = (part * 1_000 + whole / 2) / whole;
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

/// The lines of all files together.
fn sum(files: &[Source]) -> Lines {
    let mut sum = Lines::default();
    for file in files {
        sum += count::lines(&file.text);
    }
    sum
}

fn lines_table(title: &str, rows: &[(String, Lines)]) -> Table {
    let head = [title, "lines", "code", "comments", "blanks", "doc comments"];
    let mut table = Table::new(1, &head);
    for (name, lines) in rows {
        let Lines { code, comments, blanks, documentation } = *lines;
        table.row([name], &[lines.total(), code, comments, blanks, documentation]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
//! A.

fn short() {}

fn long() {
    // Why.
    a();
    b();

    c();
    d();
    e();
    f();
    g();
}
";

    fn source(name: &str, text: &str) -> Source {
        Source { name: name.to_owned(), text: text.to_owned() }
    }

    const LIMITS: LineLimits = LineLimits { lines: 3_000, blanks: 8, comments: 15, wide: 2 };

    #[test]
    fn the_longest_function_comes_first() {
        let files = [source("a.rs", "fn a() {}\n"), source("b.rs", "fn b() {\n}\nfn c() {}\n")];
        let text = Own::of(&files).functions_text();
        let places: Vec<_> = ["b.rs:1 b", "a.rs:1 a", "b.rs:3 c"].map(|it| text.find(it)).into();
        assert!(places.is_sorted() && places[0].is_some(), "{text}");
    }

    #[test]
    fn a_text_tells_lines_lengths_and_air() {
        let files = [source("src/a.rs", TEXT)];
        let loc = Loc {
            own: Own::of(&files),
            limits: LIMITS,
            beside: vec![("crates/b/src".to_owned(), sum(&files))],
            tokio: ("1.0.0".to_owned(), Vec::new()),
            read: vec![("other 2.0.0".to_owned(), count_all(&files).unwrap())],
        };
        let text = loc.text();
        assert!(text.starts_with("**14 lines**, of at most 3,000"), "{text}");
        for row in [
            "| src/a.rs |    14 |   10 |        1 |      3 |    1 |    0 |           11 |     9.1",
            "| src/a.rs:5 long  |    11 |",
            "| crates/b/src       |    14 |   10 |",
            "|       9.1 |            0.0 |",
        ] {
            assert!(text.contains(row), "{row} in {text}");
        }
    }

    #[test]
    fn what_lacks_air_is_named() {
        let wide = format!("fn f() {{ {} }}\n", "x".repeat(WIDE));
        let text = TEXT.replace("    b();\n\n", "    b();\n") + &wide;
        let told = Own::of(&[source("src/a.rs", &text)]).short_of_air(&LIMITS);
        let row = "| src/a.rs:5 long |    10 |      0 |     1 |        1 |     1 |";
        assert!(told.contains(row), "{told}");
        assert!(told.contains("* src/a.rs:15: 101 columns"), "{told}");
        assert!(!told.contains("short() "), "{told}");

        let airy = TEXT.replace("    c();", "    // Why.\n    c();");
        let told = Own::of(&[source("src/a.rs", &airy)]).short_of_air(&LIMITS);
        assert!(!told.contains("src/a.rs"), "{told}");
    }

    #[test]
    fn each_limit_is_a_budget() {
        let broken = |text: &str, lines| {
            let limits = LineLimits { lines, ..LIMITS };
            let budgets = Own::of(&[source("src/a.rs", text)]).budgets(&limits);
            let broken = budgets.into_iter().filter(Budget::is_broken);
            broken.map(|it| it.what.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let airy = TEXT.replace("    c();", "    // Why.\n    c();");
        assert_eq!(broken(&airy, 15), [""; 0]);
        assert_eq!(broken(&airy, 14), ["lines"]);
        assert_eq!(broken(&TEXT.replace("    b();\n\n", "    b();\n"), 15), ["blank", "lines"]);
        let wide = format!("fn f() {{ {} }}\n", "x".repeat(WIDE));
        assert_eq!(broken(&wide, 15), ["lines"]);
    }

    #[test]
    fn own_is_what_a_build_compiles() {
        let own = Own::collect(&workspace_root()).unwrap();
        assert_eq!(own.folders, ["src", "crates/macros/src"]);
        let has = |name: &str| own.files.iter().any(|it| it.name == name);
        assert!(has("src/lib.rs") && has("crates/macros/src/expand.rs"));
        assert!(has("src/driver/kernel/epoll.rs") && has("src/driver/kernel/portable.rs"));
    }
}
