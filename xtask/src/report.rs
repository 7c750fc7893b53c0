//! `cargo xtask report`: LOC_REPORT.md, from the counts of `audit.rs`.
//!
//! The report is a function of the sources and the lock files alone: no times, no paths of a
//! machine, no version of a compiler.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use clap::Args;

use crate::audit::{Audit, Crate, budgets_table, crates_table};
use crate::limits::Limits;
use crate::rust::{Count, Rust};
use crate::source::{self, rust_files};
use crate::table::{Table, number};
use crate::tree::{self, PEERS};
use crate::workspace_root;

/// What the command line asks for.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Write nothing, and fail if the report is not up to date
    #[arg(long)]
    check: bool,
}

const FILE: &str = "LOC_REPORT.md";

/// Crates that only declare what the system offers, on every platform they know.
const INTERFACES: [&str; 2] = ["libc", "linux-raw-sys"];

/// Runs `cargo xtask report`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let root = workspace_root();
    let text = text(&root)?;
    if arguments.check {
        let stale = stale_line(&source::read(&root, FILE)?.text, &text);
        ensure!(stale.is_none(), "{FILE}:{}: stale: `cargo xtask report`", stale.unwrap_or(0));
        println!("{FILE} is up to date");
        return Ok(());
    }
    fs::write(root.join(FILE), text)?;
    println!("{FILE} is written");
    Ok(())
}

/// Where the committed report differs from what is counted now.
fn stale_line(committed: &str, counted: &str) -> Option<usize> {
    let pairs = committed.lines().zip(counted.lines());
    let same = pairs.take_while(|(old, new)| old == new).count();
    (committed != counted).then_some(same + 1)
}

fn text(root: &Path) -> Result<String> {
    let limits = Limits::read(root)?;
    let audit = Audit::collect(root)?;
    let places = audit.libraries.iter().flat_map(|it| &it.1);
    let places: Vec<_> = places.map(|it| format!("`{it}`")).collect();
    Ok(format!(
        "# Lines and `unsafe`\n\n\
         **{} lines**, of at most {}: everything of its own that `cargo build -p arc-runtime`\n\
         compiles, on whatever platform. That is all of {}.\n\
         Code, comments and blanks are counted as tokei counts them, and doc comments are not.\n\
         `cargo xtask report` writes this page, `cargo xtask audit` checks the limits, and\n\
         `audit.toml` has them. CI runs both.\n\n\
         {}\n{}\n## What is compiled\n\n{COMPILED}\n{}\n## What is not\n\n{}\n\
         ## `unsafe` in arc's own code\n\n{OWN}{}.\n\n\
         ## `unsafe` in all that a build consists of\n\n{TREE}\n{}\n{}\n{}\n",
        number(audit.own.sum().lines()),
        number(limits.lines["most"]),
        audit.own.folders.join(" and "),
        budgets_table(&audit.budgets(&limits)),
        house(&audit, &limits),
        audit.own.table(),
        beside(root, &audit)?,
        places.join(", "),
        crates_table("arc", &audit.arc),
        crates_table("tokio", &audit.tokio),
        verdict(&audit),
    ))
}

const COMPILED: &str = "\
Of the two kernels, Linux compiles one and other systems the other; both are counted. Wide lines
are lines of code with 90 columns and more. The percentages are of the lines in functions of 8
lines and more: so many are blank, or have a comment.
";

const OWN: &str = "\
The word is counted as a token: comments, strings and names such as `unsafe_code` do not count.
All other libraries have none, and clippy asks for a `SAFETY:` comment above each block. It is at
";

const TREE: &str = "\
The crates of the default build on x86_64 Linux, without dev-dependencies, proc-macros included,
and those of tokio with the features that do the same: `io-util`, `macros`, `net`,
`rt-multi-thread` and `time`. In each crate all Rust files of `src/` count, also those for other
platforms or features.
";

/// What stands around the runtime, in thousands: the exact counts would make the report stale with
/// every page and test.
fn house(audit: &Audit, limits: &Limits) -> Table {
    let mut table = Table::new(&["around it, by `wc`", "allowed", "counted"]);
    for budget in audit.house_budgets(limits) {
        let thousands = (budget.counted / 1_000 + 1) * 1_000;
        budget.row(&mut table, format!("under {}", number(thousands)));
    }
    table
}

/// The libraries that are built on the runtime, or in it by features, and tokio.
fn beside(root: &Path, audit: &Audit) -> Result<Table> {
    let mut table = Table::new(&["not in the one count", "lines", "code"]);
    let mut add = |name: &str, root: &Path, folder: &str| {
        let mut sum = Count::default();
        for file in rust_files(root, folder)? {
            sum += Rust::of(&file.text).count();
        }
        table.row(name, &[sum.lines(), sum.code]);
        anyhow::Ok(())
    };

    for (folder, _) in audit.libraries.iter().filter(|it| !audit.own.folders.contains(&it.0)) {
        add(folder, root, folder)?;
    }
    for package in tree::packages(&root.join(PEERS))?.iter().filter(|it| it.name == "tokio") {
        let name = format!("tokio {}", package.version);
        add(&name, package.folder(), "src")?;
        add(&format!("{name}, of these src/runtime"), package.folder(), "src/runtime")?;
    }
    Ok(table)
}

/// Who has more.
fn verdict(audit: &Audit) -> String {
    let sums = |crates: &[Crate]| {
        let all: usize = crates.iter().map(|it| it.unsafes).sum();
        let interfaces = crates.iter().filter(|it| INTERFACES.contains(&it.name.as_str()));
        (all, all - interfaces.map(|it| it.unsafes).sum::<usize>())
    };
    let (arc, arc_rest) = sums(&audit.arc);
    let (tokio, tokio_rest) = sums(&audit.tokio);
    format!(
        "arc's build has {} `unsafe`, and tokio's has {}. Without {},\nwhich only declare the \
         system's interface, {} and {} are left.",
        number(arc),
        number(tokio),
        INTERFACES.join(" and "),
        number(arc_rest),
        number(tokio_rest)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_report_is_told_by_line() {
        assert_eq!(stale_line("one\ntwo\n", "one\ntwo\n"), None);
        assert_eq!(stale_line("one\ntwo\n", "one\n2\n"), Some(2));
        assert_eq!(stale_line("one\n", "one\ntwo\n"), Some(2));
    }
}
