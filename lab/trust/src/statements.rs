//! Takes out the statements of the core one by one, and says which of them nobody misses.
//!
//! A statement that can go without any test's or model's noticing is dead, or a test is missing, or
//! it makes something faster: docs/RELIABILITY.md has the reason for each.
//!
//! To build the tests takes far longer than to run them. So they are built once, in a copy of the
//! sources, with all statements wrapped (`wrap.rs`). Then each run leaves out another statement
//! (`programs.rs`): of the tests first, then of the loom models, then of the shuttle models, until
//! one of them fails. Two run at a time.

mod programs;
mod wrap;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, thread};

use serde_json::Value;

use self::programs::{Missed, Program};
use self::wrap::{Statement, Wrapped};

/// Where the statements are, below `src`, that are tried if no file is named.
const FOLDERS: [&str; 5] = ["scheduler", "driver", "driver/kernel", "task", "runtime"];

/// This file is compiled on other systems than Linux.
const ELSEWHERE: &str = "portable.rs";

/// How many statements are tried at once.
const AT_ONCE: usize = 2;

/// What notices: a program or two, and whether these are of models.
struct Net {
    name: &'static str,
    is_model: bool,
    /// What is built.
    what: &'static str,
}

/// The nets, the cheapest first.
const NETS: [Net; 3] = [
    Net {
        name: "tests",
        is_model: false,
        what: "-p arc-runtime --features observe --lib --test scenarios",
    },
    Net { name: "loom", is_model: true, what: "-p arc-models --release --test loom" },
    Net { name: "shuttle", is_model: true, what: "-p arc-models --release --test shuttle" },
];

/// The crates that the sources are compiled into, each of which has the function that is asked.
const CRATES: [&str; 3] =
    ["src/lib.rs", "lab/models/tests/loom/main.rs", "lab/models/tests/shuttle/main.rs"];

/// A source, with its statements by their numbers.
struct Source {
    file: String,
    text: String,
    statements: BTreeMap<usize, Statement>,
}

/// A statement that is tried.
struct Tried<'a> {
    number: usize,
    file: &'a str,
    statement: &'a Statement,
    /// A test of an earlier net runs it.
    is_run: bool,
}

/// What became of a statement that was taken out.
enum Fate {
    /// By which net, and which of its tests.
    Caught(&'static str, String),
    /// It does not compile in an `if`: what comes after it needs it.
    Needed,
    /// No test and no model runs it.
    NeverRun,
    Survives,
    /// docs/RELIABILITY.md has the reason.
    Listed,
}

/// Tries the statements of the files, and prints a line for each, and how many there were. The same
/// lines are in `target/trust/statements.txt`.
///
/// # Errors
/// A file cannot be read, written or parsed; the copy cannot be built; a test fails though nothing
/// is left out.
pub fn run(root: &Path) -> Result<(), String> {
    let wanted: Vec<_> = env::args().skip(2).collect();
    let work = root.join("target/trust");
    let copy = work.join("statements");
    check_out(root, &copy)?;
    let sources = sources(&copy, &wanted)?;
    let count = sources.iter().map(|source| source.statements.len()).sum();
    append_keeps(&copy, count)?;

    let file = fs::File::create(work.join("statements.txt")).map_err(text)?;
    let told = Mutex::new(Told { file, totals: BTreeMap::new() });
    let mut rest = chosen(&sources, &wanted);
    let mut needed = BTreeSet::new();
    for Net { name, is_model, what } in NETS {
        if rest.is_empty() {
            break;
        }
        let built = build(root, &copy, &sources, what, &mut needed)?;
        let mut programs = programs(&built, is_model)?;
        for program in &mut programs {
            program.measure(&work.join("statements.run")).map_err(text)?;
        }
        println!("{name}: {} statements are tried", rest.len());
        rest = try_all(rest, &Trial { net: name, programs, needed: &needed, told: &told })?;
    }

    let page = fs::read_to_string(root.join("docs/RELIABILITY.md")).map_err(text)?;
    let mut told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    for it in rest {
        let fate = match is_listed(&page, it.file, &it.statement.text) {
            true => Fate::Listed,
            false if it.is_run => Fate::Survives,
            false => Fate::NeverRun,
        };
        told.tell(&it, &fate)?;
    }
    told.sum_up()
}

/// The sources of the files that are named, or of all folders that are tried without a name. They
/// have statements with numbers from 1.
fn sources(copy: &Path, wanted: &[String]) -> Result<Vec<Source>, String> {
    let mut files = BTreeSet::new();
    for name in wanted {
        files.insert(name.split(':').next().unwrap_or(name).to_owned());
    }
    for folder in FOLDERS.iter().filter(|_| wanted.is_empty()) {
        for entry in fs::read_dir(copy.join("src").join(folder)).map_err(text)? {
            let name = entry.map_err(text)?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".rs") && name != ELSEWHERE {
                files.insert(format!("src/{folder}/{name}"));
            }
        }
    }

    let mut sources = Vec::new();
    let mut number = 0;
    for file in files {
        let text = fs::read_to_string(copy.join(&file)).map_err(|why| format!("{file}: {why}"))?;
        let found = wrap::statements(&text).map_err(|why| format!("{file}: {why}"))?;
        let numbers = number + 1..;
        number += found.len();
        sources.push(Source { file, text, statements: numbers.zip(found).collect() });
    }
    Ok(sources)
}

/// The statements that are tried: all, or those of the lines that are named, as in `FILE:LINE`.
fn chosen<'a>(sources: &'a [Source], wanted: &[String]) -> Vec<Tried<'a>> {
    let mut chosen = Vec::new();
    for Source { file, statements, .. } in sources {
        for (&number, statement) in statements {
            let place = format!("{file}:{}", statement.line);
            if wanted.is_empty() || wanted.contains(file) || wanted.contains(&place) {
                chosen.push(Tried { number, file, statement, is_run: false });
            }
        }
    }
    chosen
}

/// Gives each crate the function that wrapped statements ask.
fn append_keeps(copy: &Path, count: usize) -> Result<(), String> {
    for file in CRATES {
        let path = copy.join(file);
        let source = fs::read_to_string(&path).map_err(text)?;
        fs::write(&path, source + &wrap::keeps(count)).map_err(text)?;
    }
    Ok(())
}

/// Builds a net with the statements wrapped, and returns what cargo says of it. Those that cannot
/// be wrapped, because something does not compile then, are added to `needed`.
fn build(
    root: &Path,
    copy: &Path,
    sources: &[Source],
    what: &str,
    needed: &mut BTreeSet<usize>,
) -> Result<Vec<u8>, String> {
    loop {
        let mut wrapped = BTreeMap::new();
        for Source { file, text, statements } in sources {
            let kept = statements.iter().filter(|(number, _)| !needed.contains(*number));
            let kept: Vec<_> = kept.map(|(&number, statement)| (number, statement)).collect();
            let it = wrap::wrap(text, &kept);
            write_new(&copy.join(file), &it.text)?;
            wrapped.insert(&**file, it);
        }

        let built = cargo(root, copy, what)?;
        if built.status.success() {
            return Ok(built.stdout);
        }
        let blamed = blamed(&built.stdout, &wrapped);
        if blamed.is_empty() {
            return Err(format!("the copy: {}", String::from_utf8_lossy(&built.stderr)));
        }
        needed.extend(blamed);
    }
}

/// The statements that the compiler's errors are about. An error names places: it is about the
/// innermost statement around one of them, or else about the last one in one of them.
fn blamed(messages: &[u8], wrapped: &BTreeMap<&str, Wrapped>) -> BTreeSet<usize> {
    let mut blamed = BTreeSet::new();
    for line in String::from_utf8_lossy(messages).lines() {
        let Ok(Value::Object(it)) = serde_json::from_str(line) else { continue };
        let message = it.get("message").unwrap_or(&Value::Null);
        if message["level"] != "error" {
            continue;
        }

        let mut spans: Vec<_> = message["spans"].as_array().into_iter().flatten().collect();
        // What the error is about comes first.
        spans.sort_by_key(|span| span["is_primary"] != true);
        let places: Vec<_> = spans.into_iter().filter_map(|span| place(span, wrapped)).collect();
        let around = places.iter().find_map(|(source, place)| source.around(place));
        let within = || places.iter().find_map(|(source, place)| source.last_in(place));
        blamed.extend(around.or_else(within));
    }
    blamed
}

/// A place that the compiler names, if it is in one of the sources.
fn place<'a>(
    span: &Value,
    wrapped: &'a BTreeMap<&str, Wrapped>,
) -> Option<(&'a Wrapped, Range<usize>)> {
    // The models have their own way to the same file.
    let file = span["file_name"].as_str()?.rsplit("../").next()?;
    let byte = |which: &str| Some(span[which].as_u64()? as usize);
    Some((wrapped.get(file)?, byte("byte_start")?..byte("byte_end")?))
}

/// Builds a net in the copy. Not where the workspace is built: the programs would have the same
/// names there, and each would be taken for the other.
fn cargo(root: &Path, copy: &Path, what: &str) -> Result<Output, String> {
    let mut command = Command::new("cargo");
    command.args(["test", "--no-run", "--offline", "--message-format=json"]);
    command.args(what.split_whitespace()).arg("--target-dir").arg(root.join("target/trust/built"));
    command.current_dir(copy).output().map_err(text)
}

/// The programs that cargo says it has built.
fn programs(messages: &[u8], is_model: bool) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for line in String::from_utf8_lossy(messages).lines() {
        let it: Value = serde_json::from_str(line).map_err(text)?;
        let (Some(path), Some(manifest)) =
            (it["executable"].as_str(), it["manifest_path"].as_str())
        else {
            continue;
        };
        let folder = Path::new(manifest).parent().unwrap_or(Path::new("."));
        programs.push(Program::new(PathBuf::from(path), folder.into(), is_model).map_err(text)?);
    }
    Ok(programs)
}

/// What the threads that try statements on a net share.
struct Trial<'a> {
    net: &'static str,
    programs: Vec<Program>,
    needed: &'a BTreeSet<usize>,
    told: &'a Mutex<Told>,
}

/// Tries the statements, and returns those that the net does not miss.
fn try_all<'a>(all: Vec<Tried<'a>>, trial: &Trial<'_>) -> Result<Vec<Tried<'a>>, String> {
    let next = Mutex::new(all.into_iter());
    let mut rest = Vec::new();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for _ in 0..AT_ONCE {
            threads.push(scope.spawn(|| trial.try_some(&next)));
        }
        for thread in threads {
            rest.extend(thread.join().expect("it does not panic")?);
        }
        Ok::<(), String>(())
    })?;
    rest.sort_by_key(|it| it.number);
    Ok(rest)
}

impl Trial<'_> {
    /// Tries what no other thread has taken.
    fn try_some<'a>(
        &self,
        next: &Mutex<impl Iterator<Item = Tried<'a>>>,
    ) -> Result<Vec<Tried<'a>>, String> {
        let mut rest = Vec::new();
        loop {
            // In a statement of its own, or the lock would be held meanwhile.
            let it = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(mut it) = it else { return Ok(rest) };
            match self.fate(&mut it).map_err(text)? {
                None => rest.push(it),
                Some(fate) => {
                    let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                    told.tell(&it, &fate)?;
                }
            }
        }
    }

    /// `None` if nobody misses it.
    fn fate(&self, it: &mut Tried<'_>) -> std::io::Result<Option<Fate>> {
        if self.needed.contains(&it.number) {
            return Ok(Some(Fate::Needed));
        }
        for program in self.programs.iter().filter(|program| program.runs(it.number)) {
            it.is_run = true;
            if let Missed::By(test) = program.misses(it.number)? {
                return Ok(Some(Fate::Caught(self.net, test)));
            }
        }
        Ok(None)
    }
}

/// What is printed.
struct Told {
    file: fs::File,
    /// How many statements had which fate.
    totals: BTreeMap<String, usize>,
}

impl Told {
    fn tell(&mut self, it: &Tried<'_>, fate: &Fate) -> Result<(), String> {
        *self.totals.entry(fate.to_string()).or_default() += 1;
        let test = match fate {
            Fate::Caught(_, test) => format!(" [{test}]"),
            _ => String::new(),
        };
        let Statement { line, text, .. } = it.statement;
        self.line(&format!("{fate}: {}:{line}: {text}{test}", it.file))
    }

    fn sum_up(&mut self) -> Result<(), String> {
        self.line(&sum(&self.totals))
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        println!("{line}");
        writeln!(self.file, "{line}").map_err(text)
    }
}

fn sum(totals: &BTreeMap<String, usize>) -> String {
    let mut line = format!("{} statements", totals.values().sum::<usize>());
    for (fate, count) in totals {
        line += &format!(", {count} {fate}");
    }
    line
}

/// Whether a row of the page's table has the statement.
fn is_listed(page: &str, file: &str, statement: &str) -> bool {
    listed(page).iter().any(|it| *it == (file.to_owned(), statement.to_owned()))
}

/// The files and the statements in the page's table of those that nobody misses.
fn listed(page: &str) -> Vec<(String, String)> {
    const HEAD: &str = "| file | statement | why nobody misses it |";
    let rows = page.lines().skip_while(|line| *line != HEAD).take_while(|line| !line.is_empty());
    let cells = rows.filter_map(|row| {
        let (file, rest) = row.strip_prefix("| `")?.split_once("` | `")?;
        let (statement, _) = rest.split_once("` | ")?;
        // In a table, a bar of the statement's has a mark.
        Some((format!("src/{file}"), statement.replace("\\|", "|")))
    });
    cells.collect()
}

impl fmt::Display for Fate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(net, _) => write!(formatter, "caught by {net}"),
            Self::Needed => formatter.write_str("cannot be taken out"),
            Self::NeverRun => formatter.write_str("NEVER RUN"),
            Self::Survives => formatter.write_str("SURVIVES"),
            Self::Listed => formatter.write_str("survives, as listed"),
        }
    }
}

/// The commit that is checked out, as a tree of its own.
fn check_out(root: &Path, copy: &Path) -> Result<(), String> {
    // What was moved or removed since an earlier run must not be left in it.
    let _ = fs::remove_dir_all(copy);
    fs::create_dir_all(copy).map_err(text)?;
    let line = "git archive HEAD | tar -x -C \"$0\"";
    let unpacked = Command::new("sh").args(["-c", line]).arg(copy).current_dir(root).status();
    if unpacked.map_err(text)?.success() { Ok(()) } else { Err("git archive failed".to_owned()) }
}

/// Writes what is new. What is the same already is not built again.
fn write_new(path: &Path, new: &str) -> Result<(), String> {
    if fs::read_to_string(path).is_ok_and(|old| old == new) {
        return Ok(());
    }
    fs::write(path, new).map_err(text)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
| `a.rs` | `b();` | another table |

| file | statement | why nobody misses it |
|---|---|---|
| `scheduler/a.rs` | `b(\\|c\\| d);` | it is faster |

| `scheduler/a.rs` | `e();` | behind it |
";

    #[test]
    fn rows_of_one_table_are_listed() {
        assert_eq!(listed(PAGE), [("src/scheduler/a.rs".to_owned(), "b(|c| d);".to_owned())]);
        assert!(is_listed(PAGE, "src/scheduler/a.rs", "b(|c| d);"));
        assert!(!is_listed(PAGE, "src/scheduler/a.rs", "e();"));
        assert!(!is_listed(PAGE, "src/driver/a.rs", "b(|c| d);"));
    }

    #[test]
    fn what_is_listed_is_there() {
        let root = crate::workspace_root();
        let page = fs::read_to_string(root.join("docs/RELIABILITY.md")).unwrap();
        for (file, statement) in listed(&page) {
            let source = fs::read_to_string(root.join(&file)).unwrap();
            let found = wrap::statements(&source).unwrap();
            assert!(
                found.iter().any(|it| it.text == statement),
                "docs/RELIABILITY.md says why nobody misses a statement that is not in {file} any \
                 more. Change or remove its row:\n{statement}"
            );
        }
    }

    #[test]
    fn errors_are_blamed_on_statements() {
        let source = "fn f() { let a; a = 1; g(a); }";
        let found = wrap::statements(source).unwrap();
        let numbered: Vec<_> = found.iter().enumerate().collect();
        let it = wrap::wrap(source, &numbered);
        let use_of_a = it.text.find("(a)").unwrap() + 1;
        let name = "lab/models/tests/loom/../../../../src/a.rs";
        let span = |start: usize, end: usize, is_primary: bool| {
            serde_json::json!({
                "file_name": name,
                "byte_start": start,
                "byte_end": end,
                "is_primary": is_primary,
            })
        };
        let message = |level: &str, spans: &[Value]| {
            serde_json::json!({ "message": { "level": level, "spans": spans } }).to_string()
        };
        let wrapped = BTreeMap::from([("src/a.rs", it)]);

        // The place that the error is about counts, if it is a statement's.
        let condition = span(wrapped["src/a.rs"].text.find("crate::keeps(0)").unwrap(), 21, false);
        let both = [condition.clone(), span(use_of_a, use_of_a + 1, true)];
        let blame = |line: String| blamed(line.as_bytes(), &wrapped);
        assert_eq!(blame(message("error", &both)), BTreeSet::from([1]));
        let elsewhere = [condition, span(0, 2, true)];
        assert_eq!(blame(message("error", &elsewhere)), BTreeSet::from([0]));
        assert!(blame(message("warning", &both)).is_empty());
    }

    #[test]
    fn totals_have_each_fate() {
        let mut totals = BTreeMap::new();
        for fate in [Fate::Survives, Fate::Caught("loom", "a".to_owned()), Fate::Survives] {
            *totals.entry(fate.to_string()).or_default() += 1;
        }
        assert_eq!(sum(&totals), "3 statements, 2 SURVIVES, 1 caught by loom");
    }
}
