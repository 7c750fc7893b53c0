//! tokio's public paths are all here, or stand in `missing.rs` with the reason.
//!
//! The file `present.rs` imports each path that is here, so a path that goes away does not compile.
//! Together with those in `missing.rs` they are the paths of tokio's source, in the version of the
//! lock file: when a newer tokio has more, a test here lists them. Most users need none of the
//! missing ones. docs/TOKIO.md has those that programs write. (`cargo xtask compare` compares what
//! the types have.)

extern crate arc_async as arc;

mod extract;
mod missing;
#[rustfmt::skip]
#[allow(unused_imports, reason = "that they can be imported is what is tested")]
mod present;

use std::collections::{BTreeMap, BTreeSet};

/// What tokio has on Windows or FreeBSD alone. It is not part of the share.
const OTHER_SYSTEMS: [&str; 5] =
    ["fs::symlink_dir", "fs::symlink_file", "io::bsd", "net::windows", "signal::windows"];

/// Returns the paths that `present.rs` imports.
fn present() -> BTreeSet<String> {
    let (_, modules) = include_str!("present.rs").split_once("present! {").expect("its macro");
    let mut paths = BTreeSet::new();
    for module in modules.split(';') {
        let words = module.split_whitespace().filter(|word| !word.starts_with("#["));
        let mut words = words.skip_while(|word| !word.ends_with(':'));
        let module = words.next().unwrap_or_default().trim_end_matches(':');
        paths.extend(words.map(|name| format!("{module}::{name}").replacen("arc::", "", 1)));
    }
    paths
}

/// Returns the reason of each path that is missing.
fn missing() -> BTreeMap<&'static str, &'static str> {
    let rows = missing::MISSING.iter();
    rows.flat_map(|(paths, reason)| paths.iter().map(|path| (*path, *reason))).collect()
}

#[test]
fn each_path_of_tokios_is_here_or_has_a_reason() {
    let (_, folder) = extract::source();
    let tokio = extract::paths(&folder);
    let present = present();
    let missing = missing();

    for path in &tokio {
        let (is_here, is_missing) = (present.contains(path), missing.contains_key(&**path));
        assert!(
            is_here || is_missing,
            "tokio has {path}: import it in present.rs, or say in missing.rs why not"
        );
        assert!(!is_here || !is_missing, "{path} is here: it is not missing");
    }
    for path in present.iter().map(|it| &**it).chain(missing.keys().copied()) {
        assert!(tokio.contains(path), "tokio has no {path}: take it out of the list");
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

    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/TOKIO.md");
    let page = std::fs::read_to_string(file).expect("the page is there");
    let words: Vec<_> = page.split_whitespace().collect();
    let percent = 100 * here / all;
    let share =
        format!("tokio {version} has {all} public paths on Linux. {here} of them ({percent} %)");
    let other = format!("{others} more are on Windows or FreeBSD alone");
    for sentence in [share, other] {
        assert!(words.join(" ").contains(&sentence), "the page should say: {sentence}");
    }
}
