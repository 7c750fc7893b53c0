//! `cargo xtask report`: LOC_REPORT.md, from the counts of `audit.rs` and `loc.rs`.
//!
//! The report is a function of the sources and the lock files alone: no times, no
//! paths of a machine, no version of a compiler.

use std::fs;
use std::path::Path;

use clap::Args;

use crate::audit::Audit;
use crate::count::{self, Matches};
use crate::limits::Limits;
use crate::loc::Loc;
use crate::source::rust_files;
use crate::table::{Table, number};
use crate::tree::{self, ALL_TARGETS, PEERS, Package, READ};
use crate::{Failure, compiled, workspace_root};

/// What the command line asks for.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Write nothing, and fail if the report is not up to date
    #[arg(long)]
    check: bool,
}

const FILE: &str = "LOC_REPORT.md";

/// Runs `cargo xtask report`.
///
/// # Errors
/// Something cannot be read, or the report is stale.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let root = workspace_root();
    let text = text(&root)?;
    let path = root.join(FILE);
    if arguments.check {
        let committed = fs::read_to_string(&path).unwrap_or_default();
        return compare(&committed.replace("\r\n", "\n"), &text);
    }
    fs::write(&path, text).map_err(|error| Failure(format!("{FILE}: {error}")))?;
    println!("{FILE} is written");
    Ok(())
}

/// Says where the committed report differs from what is counted now.
fn compare(committed: &str, counted: &str) -> Result<(), Failure> {
    if committed == counted {
        println!("{FILE} is up to date");
        return Ok(());
    }
    let pairs = committed.lines().zip(counted.lines());
    let same = pairs.take_while(|(old, new)| old == new).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(its end)").to_owned();
    Err(Failure(format!(
        "{FILE}:{}: stale. It says\n  {}\nand should say\n  {}\n\
         Run `cargo xtask report` and commit the file.",
        same + 1,
        line(committed),
        line(counted)
    )))
}

fn text(root: &Path) -> Result<String, Failure> {
    let limits = Limits::read(root)?;
    let audit = Audit::collect(root, &limits)?;
    let loc = Loc::collect(root, &limits)?;
    Ok(format!(
        "# Lines and `unsafe`\n\n{}\n## Lines\n\n{}\n## `unsafe` in arc's own code\n\n{}\n\
         ## `unsafe` in all that a build consists of\n\n{}\n{}\n\
         ## `unsafe` that is compiled\n\n{}\n## Beside arc-discharge's figures\n\n{}",
        introduction(root, &loc)?,
        loc.text(),
        audit.own_text(),
        TREE_NOTE,
        audit.tree_text(),
        compiled::text(&limits)?,
        by_ripgrep(root, &loc)?
    ))
}

fn introduction(root: &Path, loc: &Loc) -> Result<String, Failure> {
    let packages = tree::packages(&root.join("Cargo.toml"))?;
    // xtask's syn, and not the older one of the macros.
    let version = |name: &str| {
        let versions = packages.iter().filter(|it| it.name == name);
        versions.map(|it| it.version.as_str()).max().unwrap_or("?")
    };
    Ok(format!(
        "Written by `cargo xtask report`, which repeats it; `cargo xtask ci` fails when \
         it is stale.\nCounted with syn {}, beside tokio {}. The versions of \
         all crates are those of\n`Cargo.lock`, `{}` and `{}`.\n",
        version("syn"),
        loc.tokio.0,
        PEERS.replace("toml", "lock"),
        READ.replace("toml", "lock"),
    ))
}

const TREE_NOTE: &str = "\
The crates of the default build on x86_64 Linux, without dev-dependencies, proc-macros
included, and the same for tokio with all features, each with all Rust files of its
`src/`: also what is for other platforms or features. Syntax is counted, comments and
strings are not. \"In macros\" is the word in a macro's definition or arguments, which are
not syntax yet. An extern block counts with or without the word; the type of an unsafe
function does not.
";

/// The method of arc-discharge's README: ripgrep's matches in the sources and in the
/// vendored dependencies, tests and examples of theirs included.
fn by_ripgrep(root: &Path, loc: &Loc) -> Result<String, Failure> {
    let manifest = root.join("Cargo.toml");
    let mut arc = tree::tree(&manifest, "arc-runtime", ALL_TARGETS)?;
    arc.retain(|it| it.source.is_some());
    let peers = tree::tree(&root.join(PEERS), "arc-peers", ALL_TARGETS)?;
    let (tokio, theirs): (Vec<_>, Vec<_>) =
        peers.into_iter().filter(|it| it.source.is_some()).partition(|it| it.name == "tokio");
    let mut table = Table::new(1, &["by ripgrep", "packages", "`unsafe`", "as a word"]);
    let mut add = |name: &str, packages: usize, found: Matches| {
        table.row([name], &[packages, found.anywhere, found.words]);
    };
    let (arc, theirs) = (counted_of(arc), counted_of(theirs));
    let mut own = Matches::default();
    for folder in &loc.own.folders {
        for file in rust_files(root, &[folder])? {
            own += count::matches(&file.text);
        }
    }
    let mut sum = own;
    let vendored = matches(&arc)?;
    sum += vendored;
    add(&format!("arc: {}", loc.own.folders.join(", ")), loc.own.folders.len(), own);
    add("arc: vendored dependencies", arc.len(), vendored);
    add("arc", arc.len() + loc.own.folders.len(), sum);
    let rest = arc.iter().filter(|it| it.name != "linux-raw-sys");
    let rest: Vec<_> = rest.cloned().collect();
    let mut sum = own;
    sum += matches(&rest)?;
    add("arc without linux-raw-sys", rest.len() + loc.own.folders.len(), sum);
    let mut sum = matches(&tokio)?;
    add("tokio: the package", 1, sum);
    let vendored = matches(&theirs)?;
    sum += vendored;
    add("tokio: vendored dependencies", theirs.len(), vendored);
    add("tokio, features = [\"full\"]", theirs.len() + 1, sum);
    let names: Vec<_> = arc.iter().map(|it| it.name.as_str()).collect();
    let total = loc.own.lines();
    Ok(format!(
        "arc-discharge published 2,921 lines by tokei, 2,235 of them code, and 1,023 matches of\n\
         `unsafe` by ripgrep against tokio's 8,340, in the sources and in the vendored\n\
         dependencies, without dev-dependencies and without the crates for Windows and libc.\n\
         The lines compare as they are: arc and its macros have {} by tokei, {} of them code.\n\
         The matches do not compare with the tables above: they include comments, strings and\n\
         names such as `unsafe_code`, the tests and examples inside the dependencies, and the\n\
         dependencies of every platform, and leave libc out. Counted by that method, in the Rust\n\
         files of whole packages (what was searched then is not published to the file).\n\
         linux-raw-sys is to rustix what libc is to tokio; without it, the two are treated\n\
         alike:\n\n\
         {table}\nThe dependencies of arc that are counted:\n{}.\n",
        number(total.total()),
        number(total.code),
        names.join(", "),
    ))
}

/// Without the crates for Windows and libc, which that method leaves out.
fn counted_of(mut packages: Vec<Package>) -> Vec<Package> {
    packages.retain(|it| !it.name.starts_with("windows") && it.name != "libc");
    packages
}

fn matches(packages: &[Package]) -> Result<Matches, Failure> {
    let mut sum = Matches::default();
    for package in packages {
        for file in rust_files(&package.folder, &["."])? {
            sum += count::matches(&file.text);
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_report_is_told_by_line() {
        assert_eq!(compare("one\ntwo\n", "one\ntwo\n"), Ok(()));
        let Err(Failure(text)) = compare("one\ntwo\n", "one\n2\n") else {
            panic!("the texts differ")
        };
        assert!(text.starts_with("LOC_REPORT.md:2: stale."), "{text}");
        assert!(compare("one\n", "one\ntwo\n").is_err());
    }

    #[test]
    fn windows_and_libc_are_left_out() {
        let package = |name: &str| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: None,
            source: None,
            folder: "folder".into(),
        };
        let counted = counted_of(["libc", "slab", "windows-sys"].map(package).into());
        assert_eq!(counted.len(), 1);
        assert_eq!(counted[0].name, "slab");
    }
}
