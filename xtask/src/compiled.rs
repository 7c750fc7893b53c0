//! `cargo xtask audit --compiled`: the `unsafe` that a build compiles, in arc's tree and in
//! tokio's with the features that do the same job.
//!
//! cargo checks each tree with this program in the place of rustc. It runs rustc, and once
//! more to have it print the crate with all `cfg` decided and all macros expanded; what is
//! printed is counted. The counts depend on the compiler a little, because macros of the
//! standard library are expanded, too: audit.toml has them, and the compiler's version.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use crate::count::{KINDS, Tally};
use crate::limits::{self, FILE, Limits, Remark};
use crate::table::{Table, number};
use crate::tree::{self, PEERS, TARGET};
use crate::{Failure, cargo, finish};

/// The environment variable that has this program stand in for rustc, and names the folder
/// for what it prints.
pub const FOLDER: &str = "ARC_COMPILED";

/// The tables of audit.toml, and whose they are.
const TREES: [(&str, &str); 2] =
    [("compiled-arc", "arc"), ("compiled-tokio", "tokio, the same features")];

/// Runs `rustc ARGUMENT...`, and has a library printed as it is compiled.
pub fn stand_in_for_rustc(folder: &Path) -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [rustc, arguments @ ..] = arguments.as_slice() else { return ExitCode::FAILURE };
    let is_fine = Command::new(rustc).args(arguments).status().is_ok_and(|it| it.success());

    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let is_library = matches!(after("--crate-type"), Some("lib" | "rlib"));
    if let (true, true, Ok(package)) = (is_fine, is_library, env::var("CARGO_PKG_NAME")) {
        let mut command = Command::new(rustc);
        // Only a compiler that says it is unstable prints this.
        command.env("RUSTC_BOOTSTRAP", "1").args(arguments).arg("-Zunpretty=expanded");
        let printed = command.output().map_or(Vec::new(), |output| output.stdout);
        if fs::write(folder.join(package), printed).is_err() {
            return ExitCode::FAILURE;
        }
    }
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The `unsafe` of each crate that ends up in a program.
type Counted = BTreeMap<String, Tally>;

/// Counts both trees, and compares them with audit.toml.
///
/// # Errors
/// Something does not build, or there is more `unsafe` than is allowed.
pub fn check(root: &Path, limits: &Limits) -> Result<(), Failure> {
    let arc = count(root, &root.join("Cargo.toml"), "arc-runtime", &[])?;
    let tokio = count(root, &root.join(PEERS), "arc-peers", &["--no-default-features"])?;

    let mut remarks = Vec::new();
    let unparsed = KINDS.len() - 1;
    for (name, tally) in arc.iter().chain(&tokio).filter(|it| it.1.0[unparsed] > 0) {
        let text = format!("{name}: syn cannot parse it, {} words are counted", tally.total());
        remarks.push(Remark::note(text));
    }
    for ((section, title), counted) in TREES.into_iter().zip([&arc, &tokio]) {
        let known = limits.numbers(section)?;
        println!("{}", table(title, &numbers(counted)));
        remarks.extend(differences(section, &numbers(counted), &known));
    }
    limits::settle("audit --compiled", &remarks)
}

fn numbers(counted: &Counted) -> Vec<(String, usize)> {
    counted.iter().map(|(name, tally)| (name.clone(), tally.total())).collect()
}

/// Has cargo check a package and all that it is built of, anew, and counts what is printed.
fn count(
    root: &Path,
    manifest: &Path,
    package: &str,
    features: &[&str],
) -> Result<Counted, Failure> {
    let target = root.join("target/compiled").join(package);
    let folder = target.join("printed");
    let fail = |error: std::io::Error| Failure(format!("{}: {error}", target.display()));
    if target.exists() {
        fs::remove_dir_all(&target).map_err(fail)?;
    }
    fs::create_dir_all(&folder).map_err(fail)?;

    let own = env::current_exe().map_err(fail)?;
    let mut command = cargo();
    command.args(["check", "--release", "--locked", "--package", package, "--target", TARGET]);
    command.args(features).arg("--manifest-path").arg(manifest).arg("--target-dir").arg(&target);
    command.env("RUSTC_WRAPPER", own).env(FOLDER, &folder);
    finish(&mut command)?;

    let mut counted = Counted::new();
    for name in in_program(manifest, package, features)? {
        let path: PathBuf = folder.join(&name);
        let text = fs::read_to_string(&path)
            .map_err(|error| Failure(format!("{name} was not printed: {error}")))?;
        counted.insert(name, Tally::of_expanded(&text));
    }
    // It has nothing of its own.
    counted.remove("arc-peers");
    Ok(counted)
}

/// The names of the crates that end up in a program: not those that run at build time.
fn in_program(
    manifest: &Path,
    package: &str,
    features: &[&str],
) -> Result<BTreeSet<String>, Failure> {
    let mut arguments = vec!["tree", "--locked", "--package", package, "--target", TARGET];
    arguments.extend(["--edges", "normal,no-proc-macro", "--prefix", "none"]);
    arguments.extend(features);
    let lines = tree::cargo(&arguments, manifest)?;
    let names = lines.lines().filter_map(|line| line.split_whitespace().next());
    Ok(names.map(str::to_owned).collect())
}

/// What differs from audit.toml: a ratchet.
fn differences(
    section: &str,
    counted: &[(String, usize)],
    known: &[(String, usize)],
) -> Vec<Remark> {
    if counted == known {
        return Vec::new();
    }
    let total = |numbers: &[(String, usize)]| numbers.iter().map(|it| it.1).sum::<usize>();
    let (now, allowed) = (total(counted), total(known));
    let lines: Vec<_> = counted.iter().map(|(name, number)| format!("{name} = {number}")).collect();
    let text = format!(
        "{now} unsafe are compiled, and [{section}] of {FILE} allows {allowed}: read what is \
         new, or write into it\n{}",
        lines.join("\n")
    );
    // What tokio has is no concern of this repository, but its figures are to be true.
    let is_more = now > allowed || section != TREES[0].0;
    vec![if is_more { Remark::complaint(text) } else { Remark::note(text) }]
}

fn table(title: &str, numbers: &[(String, usize)]) -> Table {
    let mut table = Table::new(1, &[title, "compiled `unsafe`"]);
    for (name, number) in numbers.iter().filter(|it| it.1 > 0) {
        table.row([name], &[*number]);
    }
    table.row(["total"], &[numbers.iter().map(|it| it.1).sum()]);
    table
}

/// The figures of audit.toml, for the report.
///
/// # Errors
/// They are not there.
pub fn text(limits: &Limits) -> Result<String, Failure> {
    let mut text = "\
What ends up in a program on x86_64 Linux: the same syntax as above, in each crate of the
default build as the compiler sees it, with every `cfg` decided and every macro expanded
(`rustc -Zunpretty=expanded`), without what the compiler derives and without what runs only
at build time. tokio has the features that do what arc's default build does: `io-util`,
`macros`, `net`, `rt-multi-thread` and `time`. `cargo xtask audit --compiled` counts anew.
"
    .to_owned();
    let mut sums = Vec::new();
    for (section, title) in TREES {
        let numbers = limits.numbers(section)?;
        let sum: usize = numbers.iter().map(|it| it.1).sum();
        sums.push(format!("{title}: {} in {} crates", number(sum), numbers.len()));
        text += &format!("\n{}", table(title, &numbers));
    }
    Ok(format!("{text}\n{}.\n", sums.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(section: &str, counted: usize) -> Option<bool> {
        let one = |number| [("a".to_owned(), number)];
        differences(section, &one(counted), &one(5)).first().map(|it| it.is_complaint)
    }

    #[test]
    fn the_ratchet_fails_for_more_and_tells_of_less() {
        assert_eq!(told("compiled-arc", 5), None);
        assert_eq!(told("compiled-arc", 6), Some(true));
        assert_eq!(told("compiled-arc", 4), Some(false));
        assert_eq!(told("compiled-tokio", 4), Some(true));
    }

    #[test]
    fn what_runs_at_build_time_is_in_no_program() {
        let manifest = crate::workspace_root().join("Cargo.toml");
        let names = in_program(&manifest, "arc-runtime", &[]).unwrap();
        assert!(names.contains("async-task") && names.contains("arc-runtime"));
        assert!(!names.contains("syn") && !names.contains("arc-macros"), "{names:?}");
    }
}
