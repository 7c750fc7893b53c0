//! Reads the paths of tokio's public items from tokio's source.
//!
//! The source is read as it is written: a module is followed into its file, a macro such as
//! `cfg_rt! { .. }` is followed into its braces, and names are taken from `pub use` lines. What is
//! unstable or hidden from tokio's documentation is left out. What tokio has on Windows or FreeBSD
//! alone is in the list on all systems.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use syn::{Attribute, File, Item, ItemMacro, Meta, UseTree, Visibility};

/// The modules of tokio that are read.
const MODULES: [&str; 9] =
    ["fs", "io", "net", "process", "runtime", "signal", "sync", "task", "time"];

/// Macros that hold what a stable build with all features leaves out.
const LEFT_OUT: [&str; 7] = [
    "cfg_io_uring",
    "cfg_metrics_variant",
    "cfg_schedule_latency",
    "cfg_taskdump",
    "cfg_trace",
    "cfg_unstable",
    "cfg_unstable_metrics",
];

/// Parts of a `cfg` that a stable build with all features does not satisfy.
const UNSATISFIED: [&str; 6] = ["(test)", "loom", "fuzzing", "tokio_unstable", "docsrs", "not("];

/// Returns the version of tokio in the lock file, and the folder of its source.
pub fn source() -> (String, PathBuf) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--offline"]);
    cargo.args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo's answer is text");

    // The manifest is the only path of a package that ends like this.
    let folder = text.split('"').filter_map(|it| it.strip_suffix("Cargo.toml"));
    let mut folders = folder.filter_map(|it| {
        let path = PathBuf::from(it.replace("\\\\", "/"));
        let version = path.file_name()?.to_str()?.strip_prefix("tokio-")?.to_owned();
        version.starts_with(|it: char| it.is_ascii_digit()).then_some((version, path))
    });
    folders.next().expect("tokio is a dependency")
}

/// Returns the paths of all public items, without `tokio::`, from the folder of its source.
pub fn paths(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let root = folder.join("src");
    let file = parse(&root.join("lib.rs"));
    read(&file.items, &root, "", &mut found);
    exported_macros(&root, &mut found);
    found
}

fn parse(file: &Path) -> File {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"))
}

/// Adds the public items of a module. `folder` is where the files of its modules are.
fn read(items: &[Item], folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for item in items {
        let mut add = |name: &dyn std::fmt::Display| {
            found.insert(format!("{prefix}{name}"));
        };
        match item {
            Item::Mod(module) if is_public(&module.vis, &module.attrs) => {
                let name = module.ident.to_string();
                if prefix.is_empty() && !MODULES.contains(&&*name) {
                    continue;
                }
                add(&name);
                let folder = folder.join(&name);
                let prefix = format!("{prefix}{name}::");
                match &module.content {
                    Some((_, items)) => read(items, &folder, &prefix, found),
                    None => read(&file_of(&folder).items, &folder, &prefix, found),
                }
            }
            Item::Use(item) if is_public(&item.vis, &item.attrs) => {
                names(&item.tree, &mut |name| add(&name));
            }
            Item::Macro(item) => read(&inside(item), folder, prefix, found),
            Item::Const(item) if is_public(&item.vis, &item.attrs) => add(&item.ident),
            Item::Enum(item) if is_public(&item.vis, &item.attrs) => add(&item.ident),
            Item::Fn(item) if is_public(&item.vis, &item.attrs) => add(&item.sig.ident),
            Item::Struct(item) if is_public(&item.vis, &item.attrs) => add(&item.ident),
            Item::Trait(item) if is_public(&item.vis, &item.attrs) => add(&item.ident),
            Item::Type(item) if is_public(&item.vis, &item.attrs) => add(&item.ident),
            _ => {}
        }
    }
}

/// Returns the parsed file of a module whose own modules are in `folder`.
fn file_of(folder: &Path) -> File {
    let file = folder.with_extension("rs");
    parse(&if file.exists() { file } else { folder.join("mod.rs") })
}

/// Returns the items inside the braces of a macro that only says when they are there.
fn inside(item: &ItemMacro) -> Vec<Item> {
    let name = item.mac.path.segments.last().map(|it| it.ident.to_string()).unwrap_or_default();
    // Only "not on this system" holds on the systems that count.
    let holds = !name.starts_with("cfg_not_") || name.starts_with("cfg_not_wasi");
    let is_condition = name.starts_with("cfg_") && holds;
    if !is_condition || LEFT_OUT.contains(&&*name) || !is_stable(&item.attrs) {
        return Vec::new();
    }
    item.mac.parse_body::<File>().map(|it| it.items).unwrap_or_default()
}

/// Calls `add` with each name that a `use` declares.
fn names(tree: &UseTree, add: &mut dyn FnMut(String)) {
    match tree {
        UseTree::Path(path) => names(&path.tree, add),
        UseTree::Name(name) => add(name.ident.to_string()),
        UseTree::Rename(rename) => add(rename.rename.to_string()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, add)),
        UseTree::Glob(_) => panic!("tokio exports everything of a module: follow it here"),
    }
}

/// Whether the item is public, stable and in the documentation.
fn is_public(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    matches!(visibility, Visibility::Public(_)) && is_stable(attributes)
}

fn is_stable(attributes: &[Attribute]) -> bool {
    attributes.iter().all(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("doc") => list.tokens.to_string() != "hidden",
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = format!("({})", list.tokens).replace(' ', "");
            !UNSATISFIED.iter().any(|part| condition.contains(part))
        }
        _ => true,
    })
}

/// Adds the exported macros, each of which is at the root wherever it is written.
///
/// tokio writes some of them inside another macro, `doc!`, once as the documentation shows them.
fn exported_macros(folder: &Path, found: &mut BTreeSet<String>) {
    let entries = fs::read_dir(folder).expect("the folder is there");
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            exported_macros(&path, found);
            continue;
        }
        for item in parse(&path).items {
            let Item::Macro(item) = item else { continue };
            let is_exported = item.attrs.iter().any(|it| it.path().is_ident("macro_export"));
            if is_exported && is_stable(&item.attrs) {
                found.extend(item.ident.map(|it| it.to_string()));
            } else if item.mac.path.is_ident("doc") {
                let inner = item.mac.parse_body::<ItemMacro>().expect("`doc!` holds a macro");
                found.extend(inner.ident.map(|it| it.to_string()));
            }
        }
    }
}
