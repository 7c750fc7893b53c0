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

const BUGS: [Bug; 11] = [
    Bug {
        name: "permit_of_a_task_that_gave_up_is_lost",
        file: "sync/semaphore.rs",
        right: "Left::Served => self.give_back(count),",
        wrong: "Left::Served => {}",
        program: "semaphore_counts_its_permits",
    },
    Bug {
        name: "newcomer_overtakes_those_who_wait",
        file: "sync/semaphore.rs",
        right: "if count > available(word) {",
        wrong: "if count > permits(word) {",
        program: "semaphore_is_fair",
    },
    Bug {
        name: "end_of_a_channel_wakes_nobody",
        file: "sync/mpsc/channel.rs",
        right: "let waker = if state.senders == 0 { state.waker.take() } else { None };",
        wrong: "let waker = None::<Waker>;",
        program: "channel_keeps_what_was_sent",
    },
    Bug {
        name: "place_that_was_given_up_is_lost",
        file: "sync/mpsc/channel.rs",
        right: "drop(state);\n        self.places.give_back(count);\n        wake_all(waker);",
        wrong: "drop(state);\n        wake_all(waker);",
        program: "channel_has_all_its_places_again",
    },
    Bug {
        name: "value_is_lost_when_the_budget_is_used_up",
        file: "sync/mpsc/channel.rs",
        right: "let batch = ready!(self.poll_batch(context));\n        let value",
        wrong: "if self.poll_batch(context).is_pending() {\n            \
                self.batch().pop_front();\n            return Poll::Pending;\n        }\n        \
                let batch = self.batch();\n        let value",
        program: "channel_gives_a_burst_to_a_receiver_that_gives_up",
    },
    Bug {
        name: "notification_of_a_task_that_gave_up_is_lost",
        file: "sync/notify.rs",
        right: "if is_notified {\n            self.notify.notify_one();\n        }",
        wrong: "let _ = is_notified;",
        program: "notification_is_passed_on",
    },
    Bug {
        name: "two_changes_look_like_none",
        file: "sync/watch.rs",
        right: "value.version += 1;",
        wrong: "value.version ^= 1;",
        program: "watch_shows_the_last_value",
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
        name: "sender_that_is_dropped_wakes_nobody",
        file: "sync/oneshot.rs",
        right: "drop(state);\n        wake_all(receiver);",
        wrong: "let is_sent = state.value.is_some();\n        drop(state);\n        \
                wake_all(receiver.filter(|_| is_sent));",
        program: "one_shot_ends_in_one_way",
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
const PARTS: [&str; 4] = ["sync", "task", "time.rs", "wake.rs"];

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let source = here.join("../../crates/util/src");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", source.display());

    let mut tests = String::new();
    for bug in &BUGS {
        let folder = out.join(bug.name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        for part in PARTS {
            copy(&source.join(part), &folder.join(part), bug)?;
        }
        insert(&folder.join(bug.file), bug)?;
        let Bug { name, program, .. } = bug;
        let modules = "pub mod sync;\npub mod task;\npub mod time;\nmod wake;\n";
        fs::write(folder.join("mod.rs"), modules)?;
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
