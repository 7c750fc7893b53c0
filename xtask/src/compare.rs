//! What tokio's public types can do and those of arc-async cannot: methods, constants, variants,
//! fields and traits. (`tests/tokio_paths` of arc-async compares the paths themselves.)
//!
//! rustdoc describes both as JSON, with all features, and this reads the descriptions. A type of
//! arc's is one at the same path, whichever crate it comes from. What a type lacks counts as there
//! if a trait of arc's adds it, or if the type dereferences to one that has it.
//!
//! docs/tokio-missing.toml has what is missing, with the reasons. It must have all of it, and no
//! more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::{cargo, finish, workspace_root};

/// The packages whose types are at tokio's paths, and tokio. rustdoc names the files by the library.
const PACKAGES: [(&str, &str); 5] = [
    ("tokio", "tokio"),
    ("arc-async", "arc_async"),
    ("arc-util", "arc_util"),
    ("arc-runtime", "arc"),
    ("arc-sim-core", "arc_sim_core"),
];

/// tokio's features, without those that only change what it is made of.
const TOKIO_FEATURES: &str = "fs io-std io-util macros net process rt-multi-thread signal sync \
                              test-util time";

/// Traits that nobody calls or asks for.
const OF_NO_USE: [&str; 5] = ["Drop", "Freeze", "StructuralPartialEq", "UnsafeUnpin", "UseCloned"];

/// The version of the format that is read here. A newer rustdoc may have another one: then compare
/// this file with the changes of the crate rustdoc-types.
const FORMAT: u64 = 57;

/// What is missing for one reason. An entry is a type and what it lacks; `*` stands for any of
/// either.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Missing {
    why: String,
    what: Vec<String>,
}

/// An item, and the library that describes it.
#[derive(Clone, Copy)]
struct Place<'docs> {
    library: &'docs str,
    item: &'docs Value,
    /// For another name of a generic type: the type as it is written there.
    written: Option<&'docs Value>,
}

/// What rustdoc says of one library.
struct Library {
    json: Value,
    /// The number of each of its own items, by its path.
    numbers: BTreeMap<String, String>,
}

struct Docs(BTreeMap<&'static str, Library>);

pub fn run() -> Result<()> {
    let docs = Docs::read(&describe()?)?;
    let found = docs.missing()?;
    let text = fs::read_to_string(workspace_root().join("docs/tokio-missing.toml"))?;
    let mut known: BTreeMap<String, Vec<Missing>> = toml::from_str(&text)?;
    let known = known.remove("missing").context("docs/tokio-missing.toml lists nothing")?;

    let complaints = complaints(&found, &known);
    for complaint in &complaints {
        println!("{complaint}");
    }
    ensure!(complaints.is_empty(), "docs/tokio-missing.toml does not say what is missing");
    println!("{} methods, traits and the like are missing, each with a reason", found.len());
    Ok(())
}

/// What is missing without a reason, and which reasons are for nothing.
fn complaints(found: &BTreeSet<String>, known: &[Missing]) -> Vec<String> {
    let is_it = |entry: &str, missing: &str| {
        let (entry, missing) = (entry.split_once(' '), missing.split_once(' '));
        let (Some(entry), Some(missing)) = (entry, missing) else { return false };
        let is_same = |entry: &str, missing: &str| entry == "*" || entry == missing;
        is_same(entry.0, missing.0) && is_same(entry.1, missing.1)
    };

    let entries = || known.iter().flat_map(|it| &it.what);
    let mut complaints = Vec::new();
    for missing in found {
        if !entries().any(|entry| is_it(entry, missing)) {
            complaints.push(format!("missing: {missing}"));
        }
    }
    for entry in entries() {
        if !found.iter().any(|missing| is_it(entry, missing)) {
            complaints.push(format!("not missing any more: {entry}"));
        }
    }
    let short = known.iter().filter(|it| it.why.len() < 20);
    complaints.extend(short.map(|it| format!("this is no reason: {:?}", it.why)));
    complaints
}

/// Has rustdoc describe all libraries. Returns the folder with the descriptions.
///
/// A package of its own asks for all features. It has the workspace's lock file, so that tokio is
/// the one that arc is built with.
fn describe() -> Result<PathBuf> {
    let root = workspace_root();
    let folder = root.join("target/compare");
    fs::create_dir_all(&folder)?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    fs::write(folder.join("lib.rs"), "")?;
    fs::write(folder.join("Cargo.toml"), manifest(&root)?.to_string())?;

    // The format is unstable, and a stable rustdoc writes it only when it is told to.
    let mut cargo = cargo();
    cargo.env("RUSTC_BOOTSTRAP", "1");
    // Types that only have a public name elsewhere are private where they are.
    let flags = "-Zunstable-options --output-format=json --document-private-items";
    cargo.env("RUSTDOCFLAGS", flags);
    cargo.args(["doc", "--quiet", "--no-deps", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(folder.join("target"));
    finish(cargo.args(PACKAGES.iter().flat_map(|(package, _)| ["--package", package])))?;
    Ok(folder.join("target/doc"))
}

fn manifest(root: &Path) -> Result<String> {
    let arc = root.join("crates/arc-async");
    let manifest: toml::Table = toml::from_str(&fs::read_to_string(arc.join("Cargo.toml"))?)?;
    let features = manifest["features"].as_table().context("arc-async has features")?;
    let features: Vec<_> = features.keys().collect();

    let tokios: Vec<_> = TOKIO_FEATURES.split_whitespace().collect();

    // What Rust prints of texts and lists of them is TOML, too.
    Ok(format!(
        "[workspace]\n\
         [package]\nname = \"arc-compared\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\npath = \"lib.rs\"\n\
         [dependencies]\n\
         tokio = {{ version = \"1\", features = {tokios:?} }}\n\
         arc-async = {{ path = {arc:?}, features = {features:?} }}\n"
    ))
}

impl Library {
    fn read(file: &Path) -> Result<Self> {
        let json: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
        let format = &json["format_version"];
        ensure!(*format == FORMAT, "rustdoc writes version {format} of its format, not {FORMAT}");

        let mut numbers = BTreeMap::new();
        for (number, summary) in entries(&json["paths"]) {
            if summary["crate_id"] == 0 {
                numbers.insert(path_of(summary), number.clone());
            }
        }
        Ok(Self { json, numbers })
    }
}

impl Docs {
    fn read(folder: &Path) -> Result<Self> {
        let read = |(_, name): (_, &'static str)| {
            let file = folder.join(name).with_extension("json");
            Ok((name, Library::read(&file).with_context(|| file.display().to_string())?))
        };
        Ok(Self(PACKAGES.into_iter().map(read).collect::<Result<_>>()?))
    }

    /// What tokio's types have and arc's have not: a type and what it lacks, in a line each.
    fn missing(&self) -> Result<BTreeSet<String>> {
        let (mut tokio, mut arc) = (BTreeMap::new(), BTreeMap::new());
        self.walk(self.root("tokio"), "", &mut tokio);
        self.walk(self.root("arc_async"), "", &mut arc);
        ensure!(tokio.len() > 100 && arc.len() > 100, "rustdoc describes hardly any type");

        let mut missing = BTreeSet::new();
        for (path, theirs) in tokio {
            // A path that is missing as a whole is the business of the test of paths. And some
            // types are tokio's own.
            let Some(ours) = arc.get(&path).filter(|it| it.library != "tokio") else { continue };
            let (theirs, ours) = (self.abilities(theirs), self.abilities(*ours));
            missing.extend(theirs.difference(&ours).map(|it| format!("{path} {it}")));
        }
        Ok(missing)
    }

    fn root(&self, library: &'static str) -> Place<'_> {
        let json = &self.0[library].json;
        Place { library, item: &json["index"][json["root"].to_string()], written: None }
    }

    /// The item with a number. What another library has is only named here, and described there.
    fn find<'docs>(&'docs self, library: &'docs str, number: &Value) -> Option<Place<'docs>> {
        let Library { json, .. } = self.0.get(library)?;
        let number = number.to_string();
        if let Some(item) = json["index"].get(&number) {
            return Some(Place { library, item, written: None });
        }
        let path = path_of(json["paths"].get(&number)?);
        let (library, other) = self.0.get_key_value(path.split("::").next()?)?;
        let item = &other.json["index"][other.numbers.get(&path)?];
        Some(Place { library, item, written: None })
    }

    /// Adds the types and traits of a module and of those below it, by their paths.
    fn walk<'docs>(
        &'docs self,
        module: Place<'docs>,
        prefix: &str,
        found: &mut BTreeMap<String, Place<'docs>>,
    ) {
        for number in list(&module.item["inner"]["module"]["items"]) {
            let Some(place) = self.find(module.library, number) else { continue };
            if place.item["visibility"] != "public" {
                continue;
            }
            let name = text(&place.item["name"]);
            self.add(place, name, prefix, found);
        }
    }

    fn add<'docs>(
        &'docs self,
        place: Place<'docs>,
        name: &str,
        prefix: &str,
        found: &mut BTreeMap<String, Place<'docs>>,
    ) {
        let (kind, inner) = kind(&place.item["inner"]);
        match kind {
            "module" => self.walk(place, &format!("{prefix}{name}::"), found),
            "use" => {
                let Some(target) = self.find(place.library, &inner["id"]) else { return };
                if inner["is_glob"] == true {
                    self.walk(target, prefix, found);
                } else {
                    let name = text(&inner["name"]);
                    self.add(target, name, prefix, found);
                }
            }
            "struct" | "enum" | "trait" => _ = found.insert(format!("{prefix}{name}"), place),
            "type_alias" => {
                let written = &inner["type"]["resolved_path"];
                if let Some(target) = self.find(place.library, &written["id"]) {
                    self.add(Place { written: Some(written), ..target }, name, prefix, found);
                }
            }
            _ => {}
        }
    }

    /// All that a type or a trait has.
    fn abilities<'docs>(&'docs self, place: Place<'docs>) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let (kind, inner) = kind(&place.item["inner"]);
        let parts = match kind {
            "enum" => list(&inner["variants"]),
            "trait" => list(&inner["items"]),
            _ => list(&inner["kind"]["plain"]["fields"]),
        };
        all.extend(parts.filter_map(|number| self.ability(place.library, number)));
        for block in self.blocks(place) {
            self.abilities_of_block(place, block, &mut all);
        }
        all
    }

    /// Adds what a block `impl` gives a type.
    fn abilities_of_block<'docs>(
        &'docs self,
        place: Place<'docs>,
        Place { library, item, .. }: Place<'docs>,
        all: &mut BTreeSet<String>,
    ) {
        let block = &item["inner"]["impl"];
        let Some(name) = block["trait"]["path"].as_str() else {
            let own = list(&block["items"]);
            return all.extend(own.filter_map(|number| self.ability(library, number)));
        };

        // A trait of arc's gives its methods, which tokio's type has itself.
        let of_arc = self.find(library, &block["trait"]["id"]).filter(|it| it.library != "tokio");
        if let Some(Place { library, item, .. }) = of_arc {
            let items = list(&item["inner"]["trait"]["items"]);
            return all.extend(items.filter_map(|number| self.ability(library, number)));
        }

        // What a type has because it has something else is nothing of its own.
        if block["blanket_impl"].is_null() && !OF_NO_USE.contains(&name) {
            all.insert(format!("impl {}", shown_path(&block["trait"])));
        }
        if last(name) == "Deref" {
            let mut items = list(&block["items"]).filter_map(|it| self.find(library, it));
            let target = items.find(|it| it.item["name"] == "Target").map_or(&Value::Null, |it| {
                let target = &it.item["inner"]["assoc_type"]["type"];
                // It may be a parameter of the type.
                let own = types(&block["for"]["resolved_path"]);
                let at = own.iter().position(|own| *own == target);
                at.and_then(|at| arguments(place).get(at).copied()).unwrap_or(target)
            });
            let target = &target["resolved_path"]["id"];
            let found = self.find(library, target).or_else(|| self.find(place.library, target));
            let all_of_target = found.map(|it| self.abilities(it)).unwrap_or_default();
            all.extend(all_of_target.into_iter().filter(|it| !it.starts_with("impl ")));
        }
    }

    /// The blocks `impl` of a type: those of its own library, and those of the crates above it,
    /// which have traits for it.
    fn blocks<'docs>(&'docs self, place: Place<'docs>) -> Vec<Place<'docs>> {
        let own = list(&kind(&place.item["inner"]).1["impls"]);
        let mut all: Vec<_> = own.filter_map(|it| self.find(place.library, it)).collect();
        for (library, Library { json, .. }) in &self.0 {
            for (_, item) in entries(&json["index"]).filter(|_| *library != place.library) {
                let of = &item["inner"]["impl"]["for"]["resolved_path"]["id"];
                let is_of = |it: Place<'_>| std::ptr::eq(it.item, place.item);
                if !of.is_null() && self.find(library, of).is_some_and(is_of) {
                    all.push(Place { library, item, written: None });
                }
            }
        }

        // A block may be for some arguments alone.
        all.retain(|it| {
            let block = &it.item["inner"]["impl"];
            let own = types(&block["for"]["resolved_path"]);
            let mut pairs = own.into_iter().zip(arguments(place));
            block["is_negative"] != true && pairs.all(|(own, argument)| fits(own, argument))
        });
        all
    }

    /// What a type has by one of its items, if it is public.
    fn ability(&self, library: &str, number: &Value) -> Option<String> {
        let item = self.find(library, number)?.item;
        let kind = match kind(&item["inner"]).0 {
            "function" => "fn",
            "assoc_const" => "const",
            "struct_field" => "field",
            "variant" => "variant",
            _ => return None,
        };
        // A variant and an item of a trait are as public as what they belong to.
        let is_public = item["visibility"] == "public" || item["visibility"] == "default";
        is_public.then(|| format!("{kind} {}", text(&item["name"])))
    }
}

/// What kind of an item or a type this is, and what is said of it.
fn kind(inner: &Value) -> (&str, &Value) {
    entries(inner).next().map_or(("", inner), |(kind, inner)| (kind, inner))
}

fn entries(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flatten()
}

fn list(values: &Value) -> std::slice::Iter<'_, Value> {
    values.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn path_of(summary: &Value) -> String {
    let parts: Vec<_> = list(&summary["path"]).filter_map(Value::as_str).collect();
    parts.join("::")
}

/// The types with which a generic type is written, or else those that it has by default.
fn arguments(place: Place<'_>) -> Vec<&Value> {
    if let Some(written) = place.written {
        return types(written);
    }
    let parameters = list(&kind(&place.item["inner"]).1["generics"]["params"]);
    parameters.filter_map(|it| it["kind"].get("type")).map(|it| &it["default"]).collect()
}

/// The types among the arguments of a path.
fn types(path: &Value) -> Vec<&Value> {
    let arguments = list(&path["args"]["angle_bracketed"]["args"]);
    arguments.filter_map(|it| it.get("type")).collect()
}

/// Whether what a block is for may be this type. A parameter of the block may be any.
fn fits(own: &Value, of: &Value) -> bool {
    let ((own_kind, own), (of_kind, of)) = (kind(own), kind(of));
    let is_any = own_kind == "generic" || of_kind == "generic" || of.is_null();
    is_any
        || own_kind == of_kind
            && match own_kind {
                "resolved_path" => {
                    let is_same = last(text(&own["path"])) == last(text(&of["path"]));
                    is_same && types(own).into_iter().zip(types(of)).all(|(own, of)| fits(own, of))
                }
                "borrowed_ref" => fits(&own["type"], &of["type"]),
                _ => own == of,
            }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The last name of a path.
fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// A path as Rust writes it, without modules and lifetimes.
fn shown_path(path: &Value) -> String {
    let name = last(text(&path["path"]));
    let types: Vec<_> = types(path).into_iter().map(shown_type).collect();
    if types.is_empty() { name.to_owned() } else { format!("{name}<{}>", types.join(", ")) }
}

/// A type. `_` stands for what two crates may call differently.
fn shown_type(of: &Value) -> String {
    let (kind, inner) = kind(of);
    match kind {
        "resolved_path" => shown_path(inner),
        "primitive" => text(inner).to_owned(),
        "borrowed_ref" => format!("&{}", shown_type(&inner["type"])),
        "slice" => format!("[{}]", shown_type(inner)),
        "array" => format!("[{}; _]", shown_type(&inner["type"])),
        "tuple" => format!("({})", list(inner).map(shown_type).collect::<Vec<_>>().join(", ")),
        _ => "_".to_owned(),
    }
}
