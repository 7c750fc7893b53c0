//! `cargo xtask report` writes LOC_REPORT.md, from the counts of `audit.rs`. `cargo xtask audit`
//! checks that it is up to date, and that `audit.toml` allows what was counted.
//!
//! The report is a function of the sources and the lock files alone: no times, no paths of a
//! machine, no version of a compiler.

use std::fs;

use anyhow::Result;

use crate::audit::{Audit, budgets_table, crates_table, unsafes_of};
use crate::limits::{self, Limits};
use crate::source;
use crate::table::number;
use crate::workspace_root;

const FILE: &str = "LOC_REPORT.md";

/// Runs `cargo xtask report`.
pub fn write() -> Result<()> {
    let root = workspace_root();
    fs::write(root.join(FILE), text(&Limits::read(&root)?, &Audit::collect(&root)?))?;
    println!("{FILE} is written");
    Ok(())
}

/// Runs `cargo xtask audit`.
pub fn check() -> Result<()> {
    let root = workspace_root();
    let limits = Limits::read(&root)?;
    let audit = Audit::collect(&root)?;
    println!("{}", budgets_table(&audit.budgets(&limits)));
    let mut complaints = audit.complaints(&limits);
    if source::read(&root, FILE)?.text != text(&limits, &audit) {
        complaints.push(format!("{FILE} is stale: `cargo xtask report` writes it"));
    }
    limits::settle("audit", &complaints)
}

fn text(limits: &Limits, audit: &Audit) -> String {
    format!(
        "# Lines and `unsafe`\n\n\
         **{} lines**, of at most {}: everything of its own that `cargo build -p arc-runtime`\n\
         compiles, on whatever platform. That is all of {}.\n\
         Code, comments and blanks are counted as tokei counts them, and doc comments are not.\n\
         `cargo xtask report` writes this page. CI runs `cargo xtask audit`, which checks that it\n\
         is up to date, and the limits in `audit.toml`.\n\n\
         {}\n{OWN}\n## What is compiled\n\n{COMPILED}\n{}\n\
         ## `unsafe` in all that a build consists of\n\n{TREE}\n{}\n\
         tokio, with the features that do the same, has {} in {} crates.\n",
        number(audit.own.sum().lines()),
        number(limits.lines["most"]),
        audit.own.folders.join(" and "),
        budgets_table(&audit.budgets(limits)),
        audit.own.table(),
        crates_table(&audit.arc),
        number(unsafes_of(&audit.tokio)),
        audit.tokio.len(),
    )
}

const COMPILED: &str = "\
Of the two kernels, Linux compiles one and other systems the other; both are counted. The
percentages are of the lines in functions of 8 lines and more: so many are blank, or have a comment.
";

const OWN: &str = "\
The word `unsafe` is counted as a token: comments, strings and names such as `unsafe_code` do not
count. All other libraries of arc have none, and clippy asks for a `SAFETY:` comment above each
block.
";

const TREE: &str = "\
The crates of the default build on x86_64 Linux, without dev-dependencies, proc-macros included. In
each crate all Rust files of `src/` count, also those for other platforms or features. libc and
linux-raw-sys only declare what the system offers.
";
