//! What imports what: who may, and whether docs/ARCHITECTURE.md says so.

use std::collections::{BTreeSet, VecDeque};

use super::file::{File, Found, Repository};
use super::graph::{Arrows, room_of};

/// The page that shows what imports what, and the comments around its table.
const DOCUMENT: &str = "docs/ARCHITECTURE.md";
const BEGIN: &str = "<!-- imports -->";
const END: &str = "<!-- /imports -->";

/// Neither files nor rooms import each other in a circle.
pub fn circles(file: &File, repository: &Repository) -> Vec<Found> {
    let Some((graph, name)) = repository.graphs.with(&file.name) else { return Vec::new() };
    let remedy = "move what both need below them, or turn an import round";
    let mut found = Vec::new();
    if let Some(circle) = circle_of(name, &graph.files) {
        let text = format!("files import each other in a circle, {}: {remedy}", circle.join(" → "));
        found.push(Found::new(graph.files[name][&circle[1]], text));
    }

    if let Some(circle) = circle_of(room_of(name), &graph.rooms) {
        let step =
            |pair: &[String]| format!("{} ({}) → ", pair[0], graph.rooms[&pair[0]][&pair[1]]);
        let steps: String = circle.windows(2).map(step).collect();
        // It is told where it begins, and not in every file of the room.
        let place = graph.rooms[room_of(name)][&circle[1]].rsplit_once(':');
        if let Some(line) = place.filter(|it| it.0 == name).and_then(|it| it.1.parse().ok()) {
            let text =
                format!("rooms import each other in a circle, {steps}{}: {remedy}", circle[0]);
            found.push(Found::new(line, text));
        }
    }
    found
}

/// The shortest circle through `start`, if `start` is the first of its names: so that one circle is
/// told once.
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

/// What [low] of audit.toml names must stay below all that runs tasks, and imports nothing else
/// than is said there. A name that ends in a slash stands for all files of a folder.
pub fn low(file: &File, repository: &Repository) -> Vec<Found> {
    let fits = |name: &str, pattern: &str| {
        name == pattern || pattern.ends_with('/') && name.starts_with(pattern)
    };
    let below = file.name.strip_prefix("src/").unwrap_or_default();
    let mut found = Vec::new();
    for (import, &line) in repository.graphs.runtime().files.get(below).into_iter().flatten() {
        let mut rules = repository.limits.low.iter().filter(|it| fits(below, it.0));
        if rules.any(|it| !it.1.iter().any(|allowed| fits(import, allowed))) {
            let text =
                format!("{below} imports {import}, which [low] of audit.toml does not allow");
            found.push(Found::new(line, text));
        }
    }
    found
}

/// The table of the page says of each room what it imports, no more and no less.
pub fn shown(file: &File, repository: &Repository) -> Vec<Found> {
    let mut found = Vec::new();
    if file.name != DOCUMENT {
        return found;
    }
    let mut rooms = repository.graphs.runtime().rooms.clone();
    let rows = file.lines().skip_while(|it| it.1 != BEGIN).take_while(|it| it.1 != END);
    for (line, row) in rows {
        let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let Some((room, told)) = names.split_first() else { continue };
        let imports = rooms.remove(*room).unwrap_or_default();
        let mut names: Vec<&str> = imports.keys().map(String::as_str).collect();
        names.retain(|it| !told.contains(it));
        names.extend(told.iter().filter(|it| !imports.contains_key(**it)));
        for name in names {
            let text = format!("whether `{room}` imports `{name}` is told wrongly: mend the row");
            found.push(Found::new(line, text));
        }
    }
    for room in rooms.keys() {
        found.push(Found::new(1, format!("`{room}` has no row between {BEGIN} and {END}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::{found_in, repository_of};
    use super::*;

    /// What a file of a small crate imports, with the lines.
    fn imports(text: &str) -> String {
        let (_, repository) = repository_of(&[
            ("src/lib.rs", ""),
            ("src/a/mod.rs", "mod b;\n"),
            ("src/a/b.rs", text),
            ("src/a/b/c.rs", ""),
            ("src/d/mod.rs", ""),
            ("src/d/e.rs", ""),
            ("src/sync.rs", ""),
        ]);
        let imports = &repository.graphs.runtime().files["a/b.rs"];
        imports.iter().map(|(name, line)| format!("{name}:{line} ")).collect()
    }

    #[test]
    fn the_longest_module_of_a_path_is_imported() {
        let text = "use crate::d::e::Item;\nuse crate::{Root, d::{Item, self}, sync};\n";
        assert_eq!(imports(text), "d/e.rs:1 d/mod.rs:2 sync.rs:2 ");
        let text = "use super::Item;\nfn f() { vec![self::c::Item, super::super::sync::f()] }\n";
        assert_eq!(imports(text), "a/b/c.rs:2 a/mod.rs:1 sync.rs:2 ");
        assert_eq!(imports("mod c;\npub(crate) use c::Item;\n"), "a/b/c.rs:2 ");
        assert_eq!(imports("use crate::d;\nfn f() { d::e::g() }\n"), "d/e.rs:2 d/mod.rs:1 ");
        assert_eq!(imports("mod m { use super::{Own, super::Item}; }\n"), "a/mod.rs:1 ");
    }

    #[test]
    fn declarations_names_and_foreign_paths_are_no_imports() {
        let text = "mod c;\nuse std::sync::Arc;\npub(in crate::d) fn f(sync: u8, c: u8) {}\n";
        assert_eq!(imports(text), "");
        let text = "fn f() { self.d.e(crate::g(), super::b::h(), <T as U>::d::e, $crate::d::e) }\n";
        assert_eq!(imports(text), "");
    }

    #[test]
    fn files_make_no_circle() {
        let files = [
            ("lab/x/src/main.rs", "use b::Item;\nuse crate::c;\n"),
            ("lab/x/src/a/mod.rs", "\nuse b::Item;\n"),
            ("lab/x/src/a/b.rs", "use super::c;\n"),
            ("lab/x/src/a/c.rs", "use super::Item;\n"),
        ];
        let found = found_in(circles, &files);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("lab/x/src/a/b.rs:1: files import"), "{found:?}");
        assert!(found[0].contains("a/b.rs → a/c.rs → a/mod.rs → a/b.rs"), "{found:?}");
        assert!(found_in(circles, &files[2..]).is_empty());
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
        let low_in = |name, text| {
            let files =
                ["src/sync.rs", "src/driver/wheel.rs", "src/scheduler.rs"].map(|it| (it, ""));
            found_in(low, &[&files[..], &[(name, text)]].concat())
        };
        let allowed = "use crate::sync;\nuse super::wheel::Wheel;\n";
        assert!(low_in("src/driver/mod.rs", allowed).is_empty());
        assert!(low_in("src/time.rs", "use crate::scheduler::Item;").is_empty());
        assert_eq!(low_in("src/driver/mod.rs", "use crate::scheduler::Item;").len(), 1);
        assert_eq!(low_in("src/driver/wheel.rs", "use crate::sync;").len(), 2);
    }

    #[test]
    fn the_page_shows_the_imports() {
        let page =
            format!("{BEGIN}\n| `a` | `sync`, `z` |\n| `sync` | `z` |\n| `z` | no |\n{END}\n");
        let told = |page: &str| {
            let sources = [("src/sync.rs", "use crate::z::A;"), ("src/z.rs", "")];
            let last = [("src/a/b.rs", "use crate::{sync, z};"), (DOCUMENT, page)];
            found_in(shown, &[sources, last].concat())
        };
        assert!(told(&page).is_empty());
        let row = "| `sync` | `z` |\n";
        for (wrong, place) in
            [("| `sync` | `a`, `z` |\n", ":3:"), ("| `sync` |\n", ":3:"), ("", ":1:")]
        {
            let told = told(&page.replace(row, wrong));
            assert!(told.len() == 1 && told[0].contains(place), "{told:?}");
        }
        assert_eq!(told("").len(), 3);
    }
}
