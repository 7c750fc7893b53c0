//! Takes out the statements of the runtime one by one, and says which of them nobody misses.
//!
//! A statement that can go without any test's or model's noticing is dead, or a test is missing, or
//! it makes something faster: docs/RELIABILITY.md has the reason for each. It takes a minute or two
//! for each statement, so this is run on demand, for some files at a time.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ItemMod, Stmt};

/// Where the statements are that can be taken out: those that give no value and bind no name.
#[derive(Default)]
struct Statements(Vec<Range<usize>>);

impl<'ast> Visit<'ast> for Statements {
    fn visit_block(&mut self, block: &'ast Block) {
        for statement in &block.stmts {
            let is_step = match statement {
                Stmt::Expr(_, Some(_)) => true,
                // Without an `else` it has no value, nor has a loop that ends by itself.
                Stmt::Expr(Expr::If(it), None) => it.else_branch.is_none(),
                Stmt::Expr(it, None) => matches!(it, Expr::ForLoop(_) | Expr::While(_)),
                // A name is used behind it. And macros tell observers, or check.
                Stmt::Local(_) | Stmt::Item(_) | Stmt::Macro(_) => false,
            };
            if is_step {
                self.0.push(statement.span().byte_range());
            }
        }
        visit::visit_block(self, block);
    }

    fn visit_item_mod(&mut self, _: &'ast ItemMod) {
        // Tests.
    }
}

/// The nets, the cheapest first: a name, how many seconds it may take, and what it runs.
const NETS: [(&str, &str, &[&str]); 3] = [
    ("tests", "75", &["-p", "arc-runtime", "--lib", "--test", "scenarios"]),
    ("loom", "120", &["-p", "arc-models", "--release", "--test", "loom"]),
    ("shuttle", "120", &["-p", "arc-models", "--release", "--test", "shuttle"]),
];

/// Tries each statement of the files that are named (all of the folders that schedule, wait, and
/// end, if none is), and appends a line for each to `target/trust/statements.txt`.
///
/// # Errors
/// A file cannot be read, written or parsed.
pub fn run(root: &Path, files: &[String]) -> Result<(), String> {
    let copy = root.join("target/trust/statements");
    check_out(root, &copy)?;
    let told = root.join("target/trust/statements.txt");
    let mut told = fs::File::options().create(true).append(true).open(&told).map_err(text)?;

    for file in files {
        let path = copy.join(file);
        let source = fs::read_to_string(&path).map_err(text)?;
        let mut statements = Statements::default();
        statements.visit_file(&syn::parse_file(&source).map_err(text)?);
        for place in statements.0 {
            let line = 1 + source[..place.start].matches('\n').count();
            let statement = source[place.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
            fs::write(&path, format!("{}{}", &source[..place.start], &source[place.end..]))
                .map_err(text)?;
            let outcome = caught_by(&copy);
            fs::write(&path, &source).map_err(text)?;

            let line = format!("{outcome:<16} {file}:{line}: {statement}");
            println!("{line}");
            writeln!(told, "{line}").map_err(text)?;
        }
    }
    Ok(())
}

/// Which net notices, if any.
fn caught_by(copy: &Path) -> String {
    let cargo = |limit: &str, what: &[&str], more: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", limit, "cargo", "test", "-q", "--offline"]);
        command.args(what).args(more).current_dir(copy);
        // What is not used any more is no mistake here.
        command.env("RUSTFLAGS", "--cap-lints warn").env("CARGO_TARGET_DIR", copy.join("target"));
        command.env("CARGO_INCREMENTAL", "1").env("ARC_SCHEDULES", "20");
        command.output().is_ok_and(|output| output.status.success())
    };
    for (name, limit, what) in NETS {
        if !cargo("600", what, &["--no-run"]) {
            return "does not compile".to_owned();
        }
        if !cargo(limit, what, &[]) {
            return format!("caught by {name}");
        }
    }
    "SURVIVES".to_owned()
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

/// The files that are tried if none is named.
pub fn files(root: &Path) -> Vec<String> {
    let named: Vec<_> = env::args().skip(2).collect();
    if !named.is_empty() {
        return named;
    }
    let mut files = Vec::new();
    for folder in ["scheduler", "task", "runtime", "driver"] {
        let entries = fs::read_dir(root.join("src").join(folder)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let sources = names.filter(|name| name.ends_with(".rs"));
        files.extend(sources.map(|name| format!("src/{folder}/{name}")));
    }
    files.sort();
    files
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_out_and_no_names_or_values() {
        let source = "fn f() -> u8 { let a = 1; g(a); if a > 0 { h(); } for _ in 0..a {} a }";
        let mut statements = Statements::default();
        statements.visit_file(&syn::parse_file(source).unwrap());
        let found: Vec<_> = statements.0.into_iter().map(|place| &source[place]).collect();
        assert_eq!(found, ["g(a);", "if a > 0 { h(); }", "for _ in 0..a {}", "h();"]);
    }
}
