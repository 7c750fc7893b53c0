//! What imports what: who may, and the tables of docs/ARCHITECTURE.md, which are drawn from
//! the source.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use super::file::{File, Found};
use super::graph::{Arrows, Graph, RUNTIME, room_of};
use super::repository::Repository;

/// The page that shows what imports what.
pub const DOCUMENT: &str = "docs/ARCHITECTURE.md";

/// The section of the page that has the tables, and the comments around them.
const SECTION: &str = "\n## What imports what\n";
const BEGIN: &str = "<!-- imports -->";
const END: &str = "<!-- /imports -->";

/// What must stay below all that runs tasks, and all that it may import. A name that ends in
/// a slash stands for all files of a folder.
const LOW: [(&str, &[&str]); 8] = [
    ("driver/", &["driver/", "hooks.rs", "panic.rs", "sync.rs"]),
    (
        "driver/reactor.rs",
        &["driver/kernel/", "driver/readiness.rs", "hooks.rs", "panic.rs", "sync.rs"],
    ),
    ("driver/timers.rs", &["driver/wheel.rs", "sync.rs"]),
    ("driver/wheel.rs", &[]),
    // What the driver stands on.
    ("sync.rs", &["hooks.rs"]),
    ("hooks.rs", &[]),
    ("panic.rs", &[]),
    // The policy is a page of its own.
    ("scheduler/policy.rs", &["sync.rs"]),
];

/// Neither files nor rooms import each other in a circle.
pub fn circles(file: &File, repository: &Repository) -> Vec<Found> {
    let Some((graph, name)) = repository.graphs.with(file) else {
        return Vec::new();
    };
    let imports = &graph.files[name];

    let mut found = Vec::new();
    if let Some(circle) = circle_of(name, &graph.files) {
        let text = format!(
            "files import each other in a circle, {}: move what both need below them",
            circle.join(" → ")
        );
        found.push(Found::new(imports[&circle[1]], text));
    }

    let room = room_of(name);
    if let Some(circle) = circle_of(room, &graph.rooms) {
        let mut steps = String::new();
        for pair in circle.windows(2) {
            steps += &format!("{} ({}) → ", pair[0], graph.rooms[&pair[0]][&pair[1]]);
        }
        // It is told where it begins, and not in every file of the room.
        let place = graph.rooms[room][&circle[1]].rsplit_once(':');
        let line = place.filter(|it| it.0 == name).and_then(|it| it.1.parse().ok());
        let text = format!(
            "rooms import each other in a circle, {steps}{room}: turn an import round, or move \
             what both need below them"
        );
        found.extend(line.map(|line| Found::new(line, text)));
    }
    found
}

/// The shortest circle through `start`, if `start` is the first of its names: so that one
/// circle is told once.
fn circle_of<T>(start: &str, arrows: &Arrows<T>) -> Option<Vec<String>> {
    let mut ways = VecDeque::from([vec![start.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in arrows.get(way.last()?)?.keys() {
            let mut longer = way.clone();
            longer.push(next.clone());
            if next == start {
                let is_first = way.iter().all(|it| it.as_str() >= start);
                return Some(longer).filter(|_| is_first);
            }
            if seen.insert(next) {
                ways.push_back(longer);
            }
        }
    }
    None
}

/// The files of the driver import what LOW allows.
pub fn low(file: &File, repository: &Repository) -> Vec<Found> {
    let files = &repository.graphs.runtime().files;
    let below = file.name.strip_prefix(RUNTIME);
    let Some((name, imports)) = below.and_then(|it| files.get_key_value(it)) else {
        return Vec::new();
    };
    let fits = |name: &str, pattern: &str| match pattern.ends_with('/') {
        true => name.starts_with(pattern),
        false => name == pattern,
    };

    let mut found = Vec::new();
    for (import, &line) in imports {
        let mut rules = LOW.iter().filter(|it| fits(name, it.0));
        if rules.any(|it| !it.1.iter().any(|allowed| fits(import, allowed))) {
            let text = format!(
                "{name} imports {import}: it must know nothing of what runs tasks, LOW in tidy \
                 says what it may import"
            );
            found.push(Found::new(line, text));
        }
    }
    found
}

impl Graph {
    /// What stands between the two comments on the page.
    fn draw(&self) -> String {
        let rooms = table("room", &self.rooms_downwards(), &self.rooms);
        let files = table("file", &self.order, &self.files);
        format!("\n\n{rooms}\n{files}\n")
    }

    /// The page with the tables as they should be, or none if it has no place for them.
    pub fn redraw(&self, page: &str) -> Option<String> {
        let Range { start, end } = place_of(page)?;
        Some(format!("{}{}{}", &page[..start], self.draw(), &page[end..]))
    }
}

/// A row for each of `names`, with what it imports in the same order.
fn table<T>(head: &str, names: &[String], arrows: &Arrows<T>) -> String {
    let mut text = format!("| {head} | imports |\n|---|---|\n");
    for name in names {
        let imports = names.iter().filter(|it| arrows[name].contains_key(*it));
        let imports: Vec<_> = imports.map(|it| format!("`{it}`")).collect();
        let imports = match imports.len() {
            0 => "nothing of arc".to_owned(),
            _ => imports.join(", "),
        };
        text += &format!("| `{name}` | {imports} |\n");
    }
    text
}

/// Where the tables stand on the page: between the two comments in their section.
fn place_of(page: &str) -> Option<Range<usize>> {
    let section = page.find(SECTION)? + SECTION.len();
    let section_end = page[section..].find("\n## ").map_or(page.len(), |it| section + it);
    let start = section + page[section..section_end].find(BEGIN)? + BEGIN.len();
    let end = start + page[start..section_end].find(END)?;
    Some(start..end)
}

/// The page shows the imports as they are.
pub fn drawn(file: &File, repository: &Repository) -> Vec<Found> {
    if file.name != DOCUMENT {
        return Vec::new();
    }
    let text = match repository.graphs.runtime().redraw(&file.text) {
        Some(text) if text == file.text => return Vec::new(),
        Some(_) => "the tables of imports are stale: run `cargo xtask tidy --write`".to_owned(),
        None => format!(
            "no place for the tables of imports: write the lines `{BEGIN}` and `{END}` below \
             \"{}\"",
            SECTION.trim()
        ),
    };
    let line = file.lines().find(|it| it.1.contains(BEGIN)).map_or(1, |it| it.0);
    vec![Found::new(line, text)]
}

#[cfg(test)]
mod tests {
    use super::super::graph::Graphs;
    use super::super::repository::tests::{files_of, found_in};
    use super::*;

    /// What the third file of a small crate imports, with the lines.
    fn imports(text: &str) -> Vec<(String, usize)> {
        let files = files_of(&[
            ("src/lib.rs", ""),
            ("src/a/mod.rs", "mod b;\n"),
            ("src/a/b.rs", text),
            ("src/a/b/c.rs", ""),
            ("src/d/mod.rs", ""),
            ("src/d/e.rs", ""),
            ("src/sync.rs", ""),
        ]);
        Graphs::of(&files).runtime().files["a/b.rs"].clone().into_iter().collect()
    }

    fn told(name: &str, line: usize) -> (String, usize) {
        (name.to_owned(), line)
    }

    #[test]
    fn the_longest_module_of_a_path_is_imported() {
        let text = "use crate::d::e::Item;\nuse crate::{Root, d::Item, sync};\n";
        assert_eq!(imports(text), [told("d/e.rs", 1), told("d/mod.rs", 2), told("sync.rs", 2)]);
        let text = "use super::Item;\nfn f() { vec![self::c::Item, super::super::sync::f()] }\n";
        assert_eq!(imports(text), [told("a/b/c.rs", 2), told("a/mod.rs", 1), told("sync.rs", 2)]);
    }

    #[test]
    fn modules_that_are_in_reach_begin_paths() {
        assert_eq!(imports("mod c;\npub(crate) use c::Item;\n"), [told("a/b/c.rs", 2)]);
        let text = "use crate::d;\nfn f() { d::e::g() }\n";
        assert_eq!(imports(text), [told("d/e.rs", 2), told("d/mod.rs", 1)]);
    }

    #[test]
    fn declarations_names_and_foreign_paths_are_no_imports() {
        let text = "mod c;\nuse std::sync::Arc;\npub(in crate::d) fn f(sync: u8, c: u8) {}\n";
        assert_eq!(imports(text), []);
        assert_eq!(imports("fn f() { self.d.e(crate::g(), super::b::h()) }\n"), []);
    }

    #[test]
    fn files_make_no_circle() {
        let files = [
            ("src/a/mod.rs", "\nuse b::Item;\n"),
            ("src/a/b.rs", "use super::c;\n"),
            ("src/a/c.rs", "use super::Item;\n"),
        ];
        let found = found_in(circles, &files);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("src/a/b.rs:1: files import"), "{found:?}");
        assert!(found[0].contains("a/b.rs → a/c.rs → a/mod.rs → a/b.rs"), "{found:?}");
        assert!(found_in(circles, &files[1..]).is_empty());
    }

    #[test]
    fn every_crate_is_without_circles() {
        let files = [
            ("lab/x/src/main.rs", "use b::Item;\nuse crate::c;\n"),
            ("lab/x/src/b.rs", "use crate::c::Item;\n"),
            ("lab/x/src/c.rs", ""),
            // A program with a folder of its own: its root is the nearest one.
            ("lab/x/src/bin/y/main.rs", ""),
            ("lab/x/src/bin/y/b.rs", "use crate::c;\n"),
            ("lab/x/src/bin/y/c.rs", "\nuse super::b;\n"),
        ];
        let found = found_in(circles, &files);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("lab/x/src/bin/y/b.rs:1: files import"), "{found:?}");
        assert!(found[1].contains("b (b.rs:1) → c (c.rs:2) → b"), "{found:?}");
        assert!(found_in(circles, &files[..5]).is_empty());
    }

    #[test]
    fn rooms_make_no_circle() {
        let files = [
            ("src/a/mod.rs", ""),
            ("src/a/b.rs", "\nuse crate::d::Item;\n"),
            ("src/d/mod.rs", ""),
            ("src/d/e.rs", "use crate::a::Item;\n"),
        ];
        let found = found_in(circles, &files);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("src/a/b.rs:2: rooms import"), "{found:?}");
        assert!(found[0].contains("a (a/b.rs:2) → d (d/e.rs:1) → a:"), "{found:?}");
        assert!(found_in(circles, &files[..3]).is_empty());
    }

    #[test]
    fn the_driver_knows_nothing_of_tasks() {
        let allowed = [
            ("src/sync.rs", ""),
            ("src/scheduler/sleep.rs", ""),
            ("src/hooks.rs", ""),
            ("src/panic.rs", ""),
            ("src/driver/wheel.rs", ""),
            ("src/driver/timers.rs", "use crate::sync;\nuse super::wheel::Wheel;\n"),
            ("src/driver/kernel/mod.rs", ""),
            ("src/driver/reactor.rs", "use super::kernel::Kernel;\nuse crate::panic::wake;\n"),
        ];
        assert!(found_in(low, &allowed).is_empty());

        for (name, text) in [
            ("src/driver/mod.rs", "use crate::scheduler::sleep::Sleepers;\n"),
            ("src/driver/reactor.rs", "use super::timers::Timers;\n"),
            ("src/driver/timers.rs", "use super::kernel;\n"),
            ("src/driver/wheel.rs", "use crate::sync;\n"),
            ("src/panic.rs", "use crate::sync;\n"),
            ("src/scheduler/policy.rs", "use crate::scheduler::sleep::Sleepers;\n"),
        ] {
            let mut files: Vec<_> = allowed.into();
            files.push((name, text));
            let found = found_in(low, &files);
            assert!(found.iter().any(|it| it.starts_with(&format!("{name}:1: "))), "{name}");
        }
    }

    const SOURCES: [(&str, &str); 5] = [
        ("src/lib.rs", "//! | `sync.rs` | |\n//! | `z.rs` | |\n//! | `a/b.rs` | |\n"),
        ("src/sync.rs", ""),
        ("src/z.rs", "use crate::sync;\n"),
        ("src/a/b.rs", "use crate::{sync, z};\n"),
        ("src/a/c.rs", ""),
    ];

    const PAGE: &str = "
## What imports what

<!-- imports -->

| room | imports |
|---|---|
| `a` | `z`, `sync` |
| `z` | `sync` |
| `sync` | nothing of arc |

| file | imports |
|---|---|
| `sync.rs` | nothing of arc |
| `z.rs` | `sync.rs` |
| `a/b.rs` | `sync.rs`, `z.rs` |
| `a/c.rs` | nothing of arc |

<!-- /imports -->

## Next
";

    fn drawn_on(page: &str) -> Vec<String> {
        let mut files = SOURCES.to_vec();
        files.push((DOCUMENT, page));
        found_in(drawn, &files)
    }

    #[test]
    fn the_page_shows_the_imports() {
        let graphs = Graphs::of(&files_of(&SOURCES));
        let graph = graphs.runtime();
        assert_eq!(graph.redraw(PAGE).unwrap(), PAGE);
        let stale = PAGE.replace("| `z` | `sync` |", "| `z` | nothing of arc |");
        assert_eq!(graph.redraw(&stale).unwrap(), PAGE);

        assert!(drawn_on(PAGE).is_empty());
        assert!(drawn_on(&stale)[0].contains(":4: the tables of imports are stale"));
        for (old, new) in
            [("What imports", "What else"), ("<!-- imports", "\n## Too late\n<!-- imports")]
        {
            let elsewhere = PAGE.replace(old, new);
            assert!(drawn_on(&elsewhere)[0].contains("no place for the tables"), "{new}");
        }
    }
}
