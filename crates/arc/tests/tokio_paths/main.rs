//! tokio's public paths are all here, or stand in docs/TOKIO_PATHS.md with the reason.
//!
//! The file `present.rs` imports each path that is here, so a path that goes away does not compile.
//! The page has a row for each path that is not. Together they are the paths of tokio's source, in
//! the version of the lock file: when a newer tokio has more, a test here lists them.

extern crate arc_async as arc;

mod extract;
#[rustfmt::skip]
#[allow(unused_imports, reason = "that they can be imported is what is tested")]
mod present;

use std::collections::{BTreeMap, BTreeSet};

/// What tokio has on Windows or FreeBSD alone. It is not part of the share.
const OTHER_SYSTEMS: [&str; 5] =
    ["fs::symlink_dir", "fs::symlink_file", "io::bsd", "net::windows", "signal::windows"];

/// Returns the paths that `present.rs` imports.
fn present() -> BTreeSet<&'static str> {
    let lines = include_str!("present.rs").lines();
    lines.filter_map(|line| line.strip_prefix("use arc::")?.strip_suffix(" as _;")).collect()
}

/// Returns the page, and its rows: each path that is missing, and the reason.
fn missing() -> (String, BTreeMap<String, String>) {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/TOKIO_PATHS.md");
    let page = std::fs::read_to_string(file).expect("the page is there");
    let mut rows = BTreeMap::new();
    for line in page.lines().take_while(|line| !line.starts_with("## ")) {
        let Some((paths, reason)) = line.strip_prefix("| `").and_then(|it| it.split_once(" | "))
        else {
            continue;
        };
        for path in paths.split(", ") {
            rows.insert(path.trim_matches('`').to_owned(), reason.to_owned());
        }
    }
    (page, rows)
}

#[test]
fn each_path_of_tokios_is_here_or_has_a_reason() {
    let (_, folder) = extract::source();
    let tokio = extract::paths(&folder);
    let present = present();
    let (_, missing) = missing();

    for path in &tokio {
        let (is_here, is_missing) = (present.contains(&**path), missing.contains_key(path));
        assert!(is_here || is_missing, "tokio has {path}: import it in present.rs, or say why not");
        assert!(!is_here || !is_missing, "{path} is here: it needs no row in the page");
    }
    for path in present.into_iter().chain(missing.keys().map(String::as_str)) {
        assert!(tokio.contains(path), "tokio has no {path}: take it out of the list or the page");
    }
    for (path, reason) in missing {
        assert!(reason.len() > 20, "{path} needs a reason: {reason:?}");
    }
}

#[test]
fn the_page_states_the_version_and_the_share() {
    let (version, folder) = extract::source();
    let tokio = extract::paths(&folder);
    let here = present().len();
    let is_of_other_system = |path: &&String| OTHER_SYSTEMS.iter().any(|it| path.starts_with(it));
    let others = tokio.iter().filter(is_of_other_system).count();
    let all = tokio.len() - others;

    let (page, _) = missing();
    let words: Vec<_> = page.split_whitespace().collect();
    let percent = 100 * here / all;
    let share =
        format!("tokio {version} has {all} public paths on Linux. {here} of them ({percent} %)");
    let other = format!("{others} more on Windows or FreeBSD alone");
    for sentence in [share, other] {
        assert!(words.join(" ").contains(&sentence), "the page should say: {sentence}");
    }
}
