//! Who waits, and who knows neither clock nor lock: the invariants of docs/ARCHITECTURE.md that can
//! be read off single calls and names. audit.toml has the files.

use super::file::{File, Found, Repository};
use super::orderings::STRONG;

/// How one waits for the kernel or for a condition, and how a thread is parked.
const CALLS: [&str; 7] =
    ["wait", "wait_while", "wait_timeout", "wait_timeout_while", "park", "park_timeout", "sleep"];

/// Only the files that [waits] names wait.
pub fn waits(file: &File, repository: &Repository) -> Vec<Found> {
    let Some(rust) = file.runtime() else { return Vec::new() };
    let mut found = Vec::new();
    for at in 2..rust.words.len() {
        let (word, on) = (rust.word(at), rust.word(at - 2));
        let call = match rust.word(at - 1) {
            _ if !CALLS.contains(&word) => continue,
            // That of a future is another thing.
            "::" if word == "wait" || on == "thread" => format!("{on}::{word}"),
            "." if word == "wait" => format!("{on}.{word}"),
            "." if word.starts_with("wait_") => word.to_owned(),
            _ => continue,
        };
        let files = repository.limits.waits.get(&call);
        let is_allowed = |it: &String| file.name.strip_prefix("src/") == Some(it);
        if !files.is_some_and(|it| it.iter().any(is_allowed)) {
            let text = format!("`{call}` is not for this file: [waits] of audit.toml says whose");
            found.push(Found::new(rust.words[at].line, text));
        }
    }
    found
}

/// The files of [pure] take times as values, and know nothing that other threads wait for.
pub fn pure(file: &File, repository: &Repository) -> Vec<Found> {
    let foreign = file.name.strip_prefix("src/").and_then(|it| repository.limits.pure.get(it));
    let (Some(foreign), Some(rust)) = (foreign, &file.rust) else { return Vec::new() };
    let mut found = Vec::new();
    for (at, word) in rust.words.iter().enumerate() {
        let is_foreign = |it: &String| match it.split_once("::") {
            Some((first, last)) => rust.has(at, &[first, "::", last]),
            None => *it == word.text,
        };
        if foreign.iter().any(is_foreign) || STRONG.contains(&word.text.as_str()) {
            let text = format!("`{}` in a pure file: take the value as an argument", word.text);
            found.push(Found::new(word.line, text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::{NONE, lines_found};
    use super::*;

    #[test]
    fn only_the_seat_waits() {
        let text =
            "fn f() {\n    self.seat.wait(1);\n    thread::park();\n    time::sleep(a);\n}\n";
        assert_eq!(lines_found(waits, "src/driver/mod.rs", text), [3]);
        assert_eq!(lines_found(waits, "src/driver/b.rs", text), [2, 3]);
        assert_eq!(lines_found(waits, "tests/a.rs", text), NONE);
        let text = "fn f() {\n    done.wait_timeout_while(a, b, c);\n    epoll::wait(a)\n}\n";
        assert_eq!(lines_found(waits, "src/a.rs", text), [2, 3]);
    }

    #[test]
    fn the_wheel_is_pure() {
        let text = "// Instant\nuse std::time::{Duration, Instant};\nfn f() { a.load(Release) }\n";
        assert_eq!(lines_found(pure, "src/driver/wheel.rs", text), [2, 3]);
        assert_eq!(lines_found(pure, "src/driver/timers.rs", text), NONE);
    }
}
