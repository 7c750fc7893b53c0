//! Makes the copies of arc-util that have a bug, for `tests/bugs.rs`.
//!
//! A bug is a piece of text that is replaced by another. If the piece is not there exactly once,
//! arc-util has changed, and the build fails: the bug must be adapted.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

struct Bug {
    name: &'static str,
    file: &'static str,
    right: &'static str,
    wrong: &'static str,
    /// Which of the programs in `tests/programs/mod.rs` finds it.
    program: &'static str,
}

const BUGS: [Bug; 5] = [
    Bug {
        name: "permit_that_was_dropped_is_lost",
        file: "sync/semaphore.rs",
        right: "self.semaphore.semaphore.add_permits(count);",
        wrong: "let _ = count;",
        program: "semaphore_counts_its_permits",
    },
    Bug {
        name: "value_is_lost_when_the_budget_is_used_up",
        file: "sync/wait.rs",
        right: "    if !has_budget_remaining() {\n        \
                ready!(pin!(consume_budget()).poll(context));\n    }\n\n    \
                let polled = poll(context);\n",
        wrong: "    let polled = poll(context);\n    if !has_budget_remaining() {\n        \
                ready!(pin!(consume_budget()).poll(context));\n    }\n",
        program: "channel_gives_a_burst_to_a_receiver_that_gives_up",
    },
    Bug {
        name: "shutdown_does_not_wait",
        file: "task/join_set.rs",
        right: "while self.join_next().await.is_some() {}",
        wrong: "while self.try_join_next().is_some() {}\n        self.tasks.clear();",
        program: "join_set_waits_for_its_tasks",
    },
    Bug {
        name: "child_of_a_cancelled_token_is_not_cancelled",
        file: "sync/cancel.rs",
        right: "child.cancel();\n            return child;",
        wrong: "return child;",
        program: "cancellation_reaches_everybody",
    },
    Bug {
        name: "skipped_ticks_leave_the_beat",
        file: "time.rs",
        right: "late > TICK_LATE => due + late - over,",
        wrong: "late > TICK_LATE => due + late,",
        program: "interval_keeps_its_beat",
    },
];

/// What of arc-util is copied.
const PARTS: [&str; 6] = ["no_tokio_rt.rs", "sync", "task", "time.rs", "timeout.rs", "wake.rs"];

/// How its parts are put together, as in its `lib.rs`.
const MODULES: &str = "pub mod sync;\npub mod task;\npub mod time;\nmod timeout;\n\
                       #[path = \"no_tokio_rt.rs\"]\nmod tokio_rt;\nmod wake;\n";

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let source = here.join("../../crates/arc-util/src");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", source.display());

    let mut tests = String::new();
    for bug in &BUGS {
        let folder = out.join(bug.name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        for part in PARTS {
            copy(&source.join(part), &folder.join(part), bug)?;
        }
        insert(&folder.join(bug.file), bug)?;
        let Bug { name, program, .. } = bug;
        fs::write(folder.join("mod.rs"), MODULES)?;
        let (util, programs) = (folder.join("mod.rs"), here.join("tests/programs/mod.rs"));
        write!(
            tests,
            "mod {name} {{\n    #[path = {util:?}]\n    pub mod util;\n    \
             #[path = {programs:?}]\n    mod programs;\n\n    #[test]\n    \
             fn is_found() {{\n        super::find(\"{name}\", programs::{program});\n    }}\n}}\n"
        )
        .expect("a String takes everything");
    }
    fs::write(out.join("bugs.rs"), tests)
}

/// Copies a file or a folder. What was the crate's root is a module here.
fn copy(from: &Path, to: &Path, bug: &Bug) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name), bug)?;
        }
        return Ok(());
    }
    let text = fs::read_to_string(from)?;
    // Left out are its unit tests, and the export of its macros: only one copy could export them.
    let text = text.replace("#[macro_export]", "").replace("#[cfg(test)]", "#[cfg(any())]");
    let text = text.replace("crate::", &format!("crate::{}::util::", bug.name));
    fs::write(to, text)
}

/// Puts the bug into its file.
fn insert(file: &Path, bug: &Bug) -> io::Result<()> {
    let text = fs::read_to_string(file)?;
    let count = text.matches(bug.right).count();
    assert!(count == 1, "{} has {count} times: {}", bug.file, bug.right);
    fs::write(file, text.replace(bug.right, bug.wrong))
}
