//! No rule: what imports what, in each crate.
//!
//! A file imports another one if it has a path that leads there: from `crate`, `super` or `self`,
//! from a module that is its own, or from one that it has imported. The longest beginning of the
//! path that is a module says which file. The crate's root, `lib.rs` or `main.rs`, knows all and is
//! none.

use std::collections::BTreeMap;

use crate::rust::Rust;

/// The names of a module or of an item, from the crate's root.
type Path = Vec<String>;

/// What imports what, with a word about each import.
pub type Arrows<T> = BTreeMap<String, BTreeMap<String, T>>;

/// The graphs of all crates, by the folder of each one's root.
pub struct Graphs(BTreeMap<String, Graph>);

impl Graphs {
    /// `files` are those that are Rust, with their names.
    pub fn of(files: &[(&str, &Rust)]) -> Self {
        let mut crates = BTreeMap::from([("src/".to_owned(), Vec::new())]);
        for (name, _) in files {
            let root = ["lib.rs", "main.rs"].iter().find_map(|it| name.strip_suffix(it));
            if let Some(root) = root.filter(|it| it.ends_with('/')) {
                crates.insert(root.to_owned(), Vec::new());
            }
        }
        for (name, rust) in files {
            let roots = crates.iter_mut().filter(|it| name.starts_with(it.0));
            if let Some((root, members)) = roots.max_by_key(|it| it.0.len()) {
                members.push((&name[root.len()..], *rust));
            }
        }
        Graphs(crates.iter().map(|(root, files)| (root.clone(), Graph::of(files))).collect())
    }

    /// The runtime's.
    pub fn runtime(&self) -> &Graph {
        &self.0["src/"]
    }

    /// The graph that has a file, and the file's name in it.
    pub fn with<'name>(&self, file: &'name str) -> Option<(&Graph, &'name str)> {
        let graphs = self.0.iter().filter_map(|(root, graph)| {
            let name = file.strip_prefix(root.as_str())?;
            Some((graph, name)).filter(|it| it.0.files.contains_key(it.1))
        });
        graphs.min_by_key(|it| it.1.len())
    }
}

/// The files of a crate, named from its root's folder, and their imports.
#[derive(Default)]
pub struct Graph {
    /// What each file imports, and the first line that does.
    pub files: Arrows<usize>,
    /// What each folder, or file beside the root, imports, and where one sees it.
    pub rooms: Arrows<String>,
}

impl Graph {
    fn of(files: &[(&str, &Rust)]) -> Self {
        let modules = files.iter().map(|(name, _)| (module_of(name), (*name).to_owned())).collect();
        let mut graph = Graph::default();
        for (name, rust) in files.iter().filter(|it| !["lib.rs", "main.rs"].contains(&it.0)) {
            let imports = imports_of(rust, name, &modules);
            let room = graph.rooms.entry(room_of(name).to_owned()).or_default();
            for (import, line) in &imports {
                if room_of(import) != room_of(name) {
                    let place = || format!("{name}:{line}");
                    room.entry(room_of(import).to_owned()).or_insert_with(place);
                }
            }
            graph.files.insert((*name).to_owned(), imports);
        }
        graph
    }
}

/// The folder of a file, or the file itself if it stands beside the root.
pub fn room_of(name: &str) -> &str {
    let room = name.split('/').next().unwrap_or(name);
    room.strip_suffix(".rs").unwrap_or(room)
}

fn module_of(name: &str) -> Path {
    let path = name.strip_suffix(".rs").unwrap_or(name);
    let mut names: Path = path.split('/').map(str::to_owned).collect();
    if ["lib", "main", "mod"].contains(&names[names.len() - 1].as_str()) {
        names.pop();
    }
    names
}

/// The files that one imports, each with the first line that does.
fn imports_of(
    rust: &Rust,
    name: &str,
    modules: &BTreeMap<Path, String>,
) -> BTreeMap<String, usize> {
    let own = module_of(name);
    let paths = paths(rust);

    // A module that is imported by its name is the beginning of other paths.
    let mut imported = BTreeMap::new();
    for (_, path) in &paths {
        let Some(mut target) = target_of(path, &own, modules, &BTreeMap::new()) else { continue };
        target.retain(|it| it != "self");
        if let Some(last) = target.last().filter(|_| modules.contains_key(&target)) {
            imported.insert(last.clone(), target.clone());
        }
    }

    let mut imports = BTreeMap::new();
    for (line, path) in &paths {
        let Some(target) = target_of(path, &own, modules, &imported) else { continue };
        let mut beginnings = (1..=target.len()).rev().map(|length| &target[..length]);
        let import = beginnings.find_map(|it| modules.get(it));
        if let Some(import) = import.filter(|it| *it != name) {
            imports.entry(import.clone()).or_insert(*line);
        }
    }
    imports
}

/// The names of a path from the crate's root, if it leads to something of the crate.
fn target_of(
    path: &[String],
    own: &[String],
    modules: &BTreeMap<Path, String>,
    imported: &BTreeMap<String, Path>,
) -> Option<Path> {
    // A name that stands alone is a variable, or a module that is only declared.
    let (first, rest) = path.split_first().filter(|it| !it.1.is_empty())?;
    let child = [own, &path[..1]].concat();
    let (mut target, mut rest) = match first.as_str() {
        "crate" => (Vec::new(), rest),
        "self" => (own.to_vec(), rest),
        "super" => (own.to_vec(), path),
        _ if modules.contains_key(&child) => (child, rest),
        first => (imported.get(first)?.clone(), rest),
    };
    while let Some(("super", others)) = rest.split_first().map(|it| (it.0.as_str(), it.1)) {
        target.pop();
        rest = others;
    }
    target.extend_from_slice(rest);
    Some(target)
}

/// All paths of a text, with their lines. The entries of `use a::{b, c}` are two, `a::b` and
/// `a::c`. In a module with braces, `super` is the file itself.
fn paths(rust: &Rust) -> Vec<(usize, Path)> {
    let mut found = Vec::new();
    // Where groups that continue a path end, and the path that they continue.
    let mut open: Vec<(usize, Path)> = Vec::new();
    // Where modules with braces end.
    let mut modules: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < rust.words.len() {
        open.retain(|it| it.0 > at);
        modules.retain(|it| *it > at);
        if rust.word(at) == "mod" && rust.word(at + 2) == "{" {
            modules.push(rust.words[at + 2].close);
        }
        // A visibility such as `pub(in crate::driver)` imports nothing.
        if rust.has(at, &["pub", "("]) {
            at = rust.words[at + 1].close;
        }
        // `$crate` is that of whoever defines the macro, and behind `::` stands the rest of a path.
        let is_rest = at > 0 && ["::", "$"].contains(&rust.word(at - 1));
        if !rust.is_name(at) || is_rest {
            at += 1;
            continue;
        }

        let line = rust.words[at].line;
        let mut path = open.last().map_or(Vec::new(), |it| it.1.clone());
        path.push(rust.word(at).to_owned());
        while rust.word(at + 1) == "::" && rust.is_name(at + 2) {
            path.push(rust.word(at + 2).to_owned());
            at += 2;
        }
        if rust.has(at + 1, &["::", "{"]) {
            open.push((rust.words[at + 2].close, path));
            at += 2;
        } else {
            for _ in &modules {
                if path.len() > 1 && path[0] == "super" {
                    path[0] = "self".to_owned();
                }
                if path.len() > 1 && path[1] == "super" {
                    path.remove(0);
                }
            }
            found.push((line, path));
        }
        at += 1;
    }
    found
}
