//! `cargo xtask audit` prints the counts of `audit.rs`, and checks that `audit.toml` allows them.
//! `cargo xtask report` writes LOC_REPORT.md from the same counts, when a version is released: if
//! that page had to be up to date, two changes that have nothing in common would conflict in it.
//!
//! The report is a function of the sources and the lock files alone: no times, no paths of a
//! machine, no version of a compiler.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::audit::{Audit, budgets_table, crates_table, unsafes_of};
use crate::limits::{self, Limits};
use crate::lines::{self, Lines};
use crate::table::{Table, number};
use crate::tree::{self, PEERS};
use crate::workspace_root;

const FILE: &str = "LOC_REPORT.md";

/// The design's model, as its own README gives tokei's row:
/// <https://github.com/conradludgate/arc-discharge>.
const MODEL: Lines = Lines { files: 17, code: 2235, comments: 172, blanks: 514 };

/// Runs `cargo xtask audit`.
pub fn check() -> Result<()> {
    let root = workspace_root();
    let limits = Limits::read(&root)?;
    let audit = Audit::collect(&root, &limits)?;
    println!("{}\n{}", budgets_table(&audit.budgets(&limits)), audit.air_table());
    limits::settle("audit", &audit.complaints(&limits))
}

/// Runs `cargo xtask report`.
pub fn write() -> Result<()> {
    let root = workspace_root();
    let limits = Limits::read(&root)?;
    let audit = Audit::collect(&root, &limits)?;
    fs::write(root.join(FILE), text(&root, &limits, &audit)?)?;
    println!("{FILE} is written");
    Ok(())
}

fn text(root: &Path, limits: &Limits, audit: &Audit) -> Result<String> {
    Ok(format!(
        "# Lines and `unsafe`\n\n{LINES}\n{}\n\
         ## What is compiled\n\n{COMPILED}\n{}\n\
         ## The limits\n\n{LIMITS}\n{}\n\
         ## `unsafe` in all that a build consists of\n\n{TREE}\n{}\n\
         tokio, with the features that do the same, has {} in {} crates.\n",
        lines_table(root, audit)?,
        audit.files_table(),
        budgets_table(&audit.budgets(limits)),
        crates_table(&audit.arc),
        number(unsafes_of(&audit.tokio)),
        audit.tokio.len(),
    ))
}

/// tokei's columns for arc, its model and tokio, and for the crates above the runtime.
fn lines_table(root: &Path, audit: &Audit) -> Result<Table> {
    let mut table = Table::new(&["Rust", "Files", "Lines", "Code", "Comments", "Blanks"]);
    let mut add = |name: String, lines: Lines| {
        let numbers = [lines.files, lines.all(), lines.code, lines.comments, lines.blanks];
        table.cells([name].into_iter().chain(numbers.map(number)).collect());
    };
    add(format!("**arc**: {}", audit.own.name()), audit.own.sum());
    add("arc-discharge, the model, as its README says".to_owned(), MODEL);

    let peers = tree::packages(&root.join(PEERS))?;
    let tokio = peers.iter().find(|it| it.name == "tokio").context("tokio is a peer")?;
    let folder = tokio.folder().join("src");
    let folder = folder.to_str().context("the registry's folder")?;
    let lines = lines::count(root, &[folder])?.values().sum();
    add(format!("tokio {}: src", tokio.version), lines);

    let is_above = |it: &&str| !audit.own.folders.iter().any(|own| own == it);
    for folder in audit.folders().filter(is_above) {
        add(folder.to_owned(), lines::count(root, &[folder])?.values().sum());
    }
    Ok(table)
}

const LINES: &str = "\
What [tokei](https://crates.io/crates/tokei) counts, in its own columns. The first row is the
runtime: everything of its own that `cargo build -p arc-runtime` compiles, on whatever platform. Its
limit is a number of lines of code: comments, blank lines and documentation are free. The second row
is the small runtime after which that limit was chosen. Then come tokio, and the crates of arc that
stand above the runtime.

This page is written when a version is released, by `cargo xtask report`. `cargo xtask audit` prints
the numbers of today, and CI checks by it that `audit.toml` allows them.
";

const COMPILED: &str = "\
Of the two kernels, Linux compiles one and other systems the other; both are counted. The
percentages are of the lines in functions of 8 lines and more: so many are blank, or have a comment.
";

const LIMITS: &str = "\
The word `unsafe` is counted as a token: comments, strings and names such as `unsafe_code` do not
count. All other libraries of arc have none, and clippy asks for a `SAFETY:` comment above each
block.
";

const TREE: &str = "\
The crates of the default build on x86_64 Linux, without dev-dependencies, proc-macros included. In
each crate all Rust files of `src/` count, also those for other platforms or features. libc and
linux-raw-sys only declare what the system offers.
";
