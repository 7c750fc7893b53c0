//! No rule: what imports what, in each crate.
//!
//! A file imports another one if it has a path that leads there: from `crate`, `super` or
//! `self`, from a module that is its own, or from one that it has imported. The longest
//! beginning of the path that is a module says which file. The crate's root, `lib.rs` or
//! `main.rs`, knows all and is none.

use std::collections::BTreeMap;

use quote::ToTokens;

use super::file::File;
use super::paths::{Path, paths};

/// The names of a module, from the crate's root.
type Module = Vec<String>;

/// What imports what, with a word about each import.
pub type Arrows<T> = BTreeMap<String, BTreeMap<String, T>>;

/// The folder of the runtime's files.
pub const RUNTIME: &str = "src/";

/// The graphs of all crates, by the folder of each one's root.
pub struct Graphs(BTreeMap<String, Graph>);

impl Graphs {
    pub fn of(files: &[File]) -> Self {
        let mut graphs = BTreeMap::from([(RUNTIME.to_owned(), Vec::new())]);
        for file in files {
            let root = ["lib.rs", "main.rs"].iter().find_map(|it| file.name.strip_suffix(it));
            if let Some(root) = root.filter(|it| it.ends_with('/')) {
                graphs.insert(root.to_owned(), Vec::new());
            }
        }

        for file in files.iter().filter(|it| it.syntax.is_some()) {
            let roots = graphs.iter_mut().filter(|it| file.name.starts_with(it.0));
            if let Some((root, members)) = roots.max_by_key(|it| it.0.len()) {
                members.push((file, &file.name[root.len()..]));
            }
        }
        let graph = |(root, members): (String, Vec<_>)| (root, Graph::of(&members));
        Graphs(graphs.into_iter().map(graph).collect())
    }

    /// The runtime's.
    pub fn runtime(&self) -> &Graph {
        &self.0[RUNTIME]
    }

    /// The graph that has a file, and the file's name in it.
    pub fn with<'file>(&self, file: &'file File) -> Option<(&Graph, &'file str)> {
        let graphs = self.0.iter().filter_map(|(root, graph)| {
            let name = file.name.strip_prefix(root.as_str())?;
            Some((graph, name)).filter(|it| it.0.files.contains_key(it.1))
        });
        graphs.min_by_key(|it| it.1.len())
    }
}

/// The files of a crate, named from its root's folder, and their imports.
#[derive(Default)]
pub struct Graph {
    /// In the order of lib.rs's table; those that it lacks come last.
    pub order: Vec<String>,
    /// What each file imports, and the first line that does.
    pub files: Arrows<usize>,
    /// What each folder, or file beside lib.rs, imports, and where one sees it.
    pub rooms: Arrows<String>,
}

impl Graph {
    /// `files` stand with their names from the root's folder.
    fn of(files: &[(&File, &str)]) -> Self {
        let mut modules = BTreeMap::new();
        for (_, name) in files {
            modules.insert(module_of(name), (*name).to_owned());
        }

        let mut graph = Graph::default();
        for (file, name) in files {
            match *name {
                "lib.rs" => {
                    graph.order = map_of(&file.text).into_iter().map(|it| it.1).collect();
                }
                "main.rs" => {}
                name => graph.add(name, imports_of(file, name, &modules)),
            }
        }

        graph.order.retain(|it| graph.files.contains_key(it));
        for name in graph.files.keys() {
            if !graph.order.contains(name) {
                graph.order.push(name.clone());
            }
        }
        graph
    }

    fn add(&mut self, name: &str, imports: BTreeMap<String, usize>) {
        let room = self.rooms.entry(room_of(name).to_owned()).or_default();
        for (import, line) in &imports {
            if room_of(import) != room_of(name) {
                let place = || format!("{name}:{line}");
                room.entry(room_of(import).to_owned()).or_insert_with(place);
            }
        }
        self.files.insert(name.to_owned(), imports);
    }

    /// The rooms, each before all that it imports, as far as that can be.
    pub fn rooms_downwards(&self) -> Vec<String> {
        let mut left: Vec<String> = Vec::new();
        for name in &self.order {
            if !left.iter().any(|it| it == room_of(name)) {
                left.push(room_of(name).to_owned());
            }
        }

        let mut rooms = Vec::new();
        while !left.is_empty() {
            let is_imported = |room: &String| {
                left.iter().any(|it| it != room && self.rooms[it].contains_key(room))
            };
            // All are imported by some other only if there is a circle, which is an error.
            let next = left.iter().position(|it| !is_imported(it)).unwrap_or(0);
            rooms.push(left.remove(next));
        }
        rooms
    }
}

/// The rows of lib.rs's table, which name a file each: its line, and the name from `src/`.
pub fn map_of(text: &str) -> Vec<(usize, String)> {
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(row) = line.strip_prefix("//! |") else { continue };
        let first_cell = row.split('|').next().unwrap_or("");
        let spans = first_cell.split('`').skip(1).step_by(2);
        for name in spans.filter(|it| it.ends_with(".rs")) {
            rows.push((index + 1, name.to_owned()));
        }
    }
    rows
}

/// The folder of a file, or the file itself if it stands beside the root.
pub fn room_of(name: &str) -> &str {
    let room = name.split('/').next().unwrap_or(name);
    room.strip_suffix(".rs").unwrap_or(room)
}

fn module_of(name: &str) -> Module {
    let path = name.strip_suffix(".rs").unwrap_or(name);
    let mut names: Module = path.split('/').map(str::to_owned).collect();
    if path == "lib" || path == "main" || path.ends_with("/mod") {
        names.pop();
    }
    names
}

/// The files that one imports, each with the first line that does.
fn imports_of(
    file: &File,
    name: &str,
    modules: &BTreeMap<Module, String>,
) -> BTreeMap<String, usize> {
    let own = module_of(name);
    let paths = paths(file.syntax.to_token_stream());

    // A module that is imported by its name is the beginning of other paths.
    let mut imported = BTreeMap::new();
    for path in &paths {
        let Some(mut target) = target_of(path, &own, modules, &BTreeMap::new()) else { continue };
        if target.last().is_some_and(|it| it == "self") {
            target.pop();
        }
        if let Some(last) = target.last().filter(|_| modules.contains_key(&target)) {
            imported.insert(last.clone(), target.clone());
        }
    }

    let mut imports = BTreeMap::new();
    for path in &paths {
        let Some(target) = target_of(path, &own, modules, &imported) else { continue };
        let mut beginnings = (1..=target.len()).rev().map(|length| &target[..length]);
        let import = beginnings.find_map(|it| modules.get(it));
        if let Some(import) = import.filter(|it| *it != name) {
            imports.entry(import.clone()).or_insert(path.line);
        }
    }
    imports
}

/// The names of a path from the crate's root, if it leads to something of the crate.
fn target_of(
    path: &Path,
    own: &Module,
    modules: &BTreeMap<Module, String>,
    imported: &BTreeMap<String, Module>,
) -> Option<Module> {
    let mut target = [own.as_slice(), &path.inside].concat();
    let mut names = path.names.as_slice();
    match names[0].as_str() {
        "crate" => {
            target.clear();
            names = &names[1..];
        }
        "self" | "super" => {
            while let Some(first) = names.first().filter(|it| *it == "self" || *it == "super") {
                if first == "super" {
                    target.pop();
                }
                names = &names[1..];
            }
        }
        // A name that stands alone is a variable, or a module that is only declared.
        _ if names.len() == 1 => return None,
        first => {
            let child = [target.as_slice(), &[first.to_owned()]].concat();
            if !modules.contains_key(&child) {
                target.clone_from(imported.get(first)?);
                names = &names[1..];
            }
        }
    }
    target.extend_from_slice(names);
    Some(target)
}
