//! Reads what rustdoc has written of several libraries as JSON, and compares two of them.
//!
//! A type of arc's is the one at the same path, whichever library it comes from. It has what its
//! own blocks `impl` give it, what a trait of arc's gives it as a method, and what the type has to
//! which it dereferences. Of a type with parameters only the blocks count that fit its arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The version of the format that this was written for. Most changes do not matter here; the crate
/// rustdoc-types lists them.
const FORMAT: u64 = 57;

/// Traits that nobody calls or asks for.
const OF_NO_USE: [&str; 4] = ["Drop", "Freeze", "StructuralPartialEq", "UnsafeUnpin"];

/// What rustdoc says of each library.
pub struct Docs(BTreeMap<String, Library>);

struct Library {
    json: Value,
    /// The number of each of its own items, by its path.
    numbers: BTreeMap<String, String>,
}

/// An item or a type, and the library that describes it.
#[derive(Clone, Copy)]
struct In<'docs> {
    library: &'docs str,
    json: &'docs Value,
}

/// A type, by one of its public names.
struct Named<'docs> {
    item: In<'docs>,
    /// Its arguments, if the name is an alias, or else what its parameters are by default.
    arguments: Vec<In<'docs>>,
}

impl Docs {
    pub fn read(folder: &Path, libraries: &[&str]) -> Result<Self> {
        let mut docs = BTreeMap::new();
        for name in libraries {
            let file = folder.join(name).with_extension("json");
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let json: Value = serde_json::from_str(&text)?;
            let format = &json["format_version"];
            if *format != FORMAT {
                println!("{name}: rustdoc writes version {format} of its format, not {FORMAT}");
            }

            let own = entries(&json["paths"]).filter(|(_, it)| it["crate_id"] == 0);
            let numbers = own.map(|(number, it)| (path_of(it), number.clone())).collect();
            docs.insert((*name).to_owned(), Library { json, numbers });
        }
        Ok(Self(docs))
    }

    /// What tokio's types have and arc's have not: a type and what it lacks.
    pub fn missing(&self) -> Result<BTreeSet<String>> {
        let (tokio, arc) = (self.types_of("tokio"), self.types_of("arc_async"));
        ensure!(tokio.len() > 100 && arc.len() > 100, "rustdoc describes hardly any type");

        let mut missing = BTreeSet::new();
        for (path, theirs) in tokio {
            // A path that is missing as a whole is the business of the test of paths. And some
            // types are tokio's own.
            let Some(ours) = arc.get(&path).filter(|it| it.item.library != "tokio") else {
                continue;
            };
            let (theirs, ours) = (self.abilities(&theirs), self.abilities(ours));
            missing.extend(theirs.difference(&ours).map(|it| format!("{path} {it}")));
        }
        Ok(missing)
    }

    /// The public types and traits of a library, by their paths.
    fn types_of(&self, library: &str) -> BTreeMap<String, Named<'_>> {
        let (library, Library { json, .. }) = self.0.get_key_value(library).expect("it was read");
        let root = In { library, json: &json["index"][json["root"].to_string()] };
        let mut found = BTreeMap::new();
        self.add_all(root, "", &mut found);
        found
    }

    fn add_all<'docs>(
        &'docs self,
        module: In<'docs>,
        prefix: &str,
        found: &mut BTreeMap<String, Named<'docs>>,
    ) {
        let items = list(&module.json["inner"]["module"]["items"]);
        let items = items.filter_map(|number| self.find(module.library, number));
        for item in items.filter(|it| it.json["visibility"] == "public") {
            self.add(item, text(&item.json["name"]), prefix, found);
        }
    }

    fn add<'docs>(
        &'docs self,
        item: In<'docs>,
        name: &str,
        prefix: &str,
        found: &mut BTreeMap<String, Named<'docs>>,
    ) {
        let (kind, inner) = kind(&item.json["inner"]);
        let within = |json: &'docs Value| In { json, ..item };
        match kind {
            "module" => self.add_all(item, &format!("{prefix}{name}::"), found),
            "use" => match self.find(item.library, &inner["id"]) {
                Some(target) if inner["is_glob"] == true => self.add_all(target, prefix, found),
                Some(target) => self.add(target, text(&inner["name"]), prefix, found),
                None => {}
            },
            "type_alias" => {
                let written = &inner["type"]["resolved_path"];
                if let Some(item) = self.find(item.library, &written["id"]) {
                    let arguments = types(written).map(within).collect();
                    found.insert(format!("{prefix}{name}"), Named { item, arguments });
                }
            }
            "struct" | "enum" | "trait" => {
                let parameters = list(&inner["generics"]["params"]);
                let parameters = parameters.filter_map(|it| it["kind"].get("type"));
                let arguments = parameters.map(|it| within(&it["default"])).collect();
                found.insert(format!("{prefix}{name}"), Named { item, arguments });
            }
            _ => {}
        }
    }

    /// The item with a number. What another library has is only named here, and described there.
    fn find<'docs>(&'docs self, library: &'docs str, number: &Value) -> Option<In<'docs>> {
        let Library { json, .. } = self.0.get(library)?;
        let number = number.to_string();
        if let Some(json) = json["index"].get(&number) {
            return Some(In { library, json });
        }
        let path = path_of(json["paths"].get(&number)?);
        let (library, other) = self.0.get_key_value(path.split("::").next()?)?;
        Some(In { library, json: &other.json["index"][other.numbers.get(&path)?] })
    }

    /// All that a type or a trait has.
    fn abilities(&self, of: &Named<'_>) -> BTreeSet<String> {
        let inner = kind(&of.item.json["inner"]).1;
        let parts = [&inner["variants"], &inner["items"], &inner["kind"]["plain"]["fields"]];
        let mut all: BTreeSet<_> =
            parts.iter().flat_map(|parts| self.public_parts(of.item.library, parts)).collect();
        for block in self.blocks(of) {
            self.add_abilities(of, block, &mut all);
        }
        all
    }

    /// Adds what a block `impl` gives a type.
    fn add_abilities(&self, of: &Named<'_>, block: In<'_>, all: &mut BTreeSet<String>) {
        let In { library, json: block } = block;
        let implemented = &block["trait"];
        if implemented.is_null() {
            return all.extend(self.public_parts(library, &block["items"]));
        }

        let described = self.find(library, &implemented["id"]);
        match described {
            // A trait of arc's gives methods that tokio's type has itself.
            Some(it) if it.library != "tokio" => {
                all.extend(self.public_parts(it.library, &it.json["inner"]["trait"]["items"]));
            }
            Some(it) if it.json["visibility"] != "public" => {}
            // What a type has because it has something else is nothing of its own.
            _ if !block["blanket_impl"].is_null() => {}
            _ => {
                let actual = |it| shown_type(actual(of, block, In { library, json: it }).json);
                let name = shown(last(text(&implemented["path"])), types(implemented).map(actual));
                if !OF_NO_USE.contains(&&*name) {
                    all.insert(format!("impl {name}"));
                }
            }
        }

        if last(text(&implemented["path"])) == "Deref" {
            let mut items = list(&block["items"]).filter_map(|it| self.find(library, it));
            let target = items.find(|it| it.json["name"] == "Target").and_then(|it| {
                let target = In { json: &it.json["inner"]["assoc_type"]["type"], ..it };
                let target = actual(of, block, target);
                let item = self.find(target.library, &target.json["resolved_path"]["id"])?;
                Some(self.abilities(&Named { item, arguments: Vec::new() }))
            });
            let not_traits = |it: &String| !it.starts_with("impl ");
            all.extend(target.unwrap_or_default().into_iter().filter(not_traits));
        }
    }

    /// The blocks `impl` of a type: those of its own library, and those of the libraries above it,
    /// which have traits for it.
    fn blocks<'docs>(&'docs self, of: &Named<'docs>) -> Vec<In<'docs>> {
        let In { library: home, json: described } = of.item;
        let mut all: Vec<_> = list(&kind(&described["inner"]).1["impls"])
            .filter_map(|number| self.find(home, number))
            .collect();
        for (library, Library { json, .. }) in self.0.iter().filter(|it| it.0 != home) {
            all.extend(entries(&json["index"]).map(|(_, json)| In { library, json }).filter(
                |it| {
                    let path = &it.json["inner"]["impl"]["for"]["resolved_path"];
                    !path.is_null()
                        && self
                            .find(library, &path["id"])
                            .is_some_and(|it| std::ptr::eq(it.json, described))
                },
            ));
        }

        let blocks = all.into_iter().map(|it| In { json: &it.json["inner"]["impl"], ..it });
        let fits = |block: &In<'_>| {
            let own = types(&block.json["for"]["resolved_path"]).map(shown_type);
            let mut pairs = own.zip(of.arguments.iter().map(|it| shown_type(it.json)));
            pairs.all(|(own, argument)| own == "_" || argument == "_" || own == argument)
        };
        blocks.filter(|it| it.json["is_negative"] != true && fits(it)).collect()
    }

    /// Those of some items that are public and have a name of their own.
    fn public_parts(&self, library: &str, numbers: &Value) -> Vec<String> {
        let part = |number| {
            let item = self.find(library, number)?.json;
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
        };
        list(numbers).filter_map(part).collect()
    }
}

/// What stands for a type in a block: an argument, if it is a parameter.
fn actual<'docs>(of: &Named<'docs>, block: &Value, written: In<'docs>) -> In<'docs> {
    let mut parameters = types(&block["for"]["resolved_path"]);
    let at = parameters.position(|it| it == written.json);
    at.and_then(|at| of.arguments.get(at)).copied().unwrap_or(written)
}

/// The types among the arguments of a path.
fn types(path: &Value) -> impl Iterator<Item = &Value> {
    list(&path["args"]["angle_bracketed"]["args"]).filter_map(|it| it.get("type"))
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

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn path_of(summary: &Value) -> String {
    list(&summary["path"]).map(text).collect::<Vec<_>>().join("::")
}

/// The last name of a path.
fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

fn shown(name: &str, types: impl Iterator<Item = String>) -> String {
    let types: Vec<_> = types.collect();
    if types.is_empty() { name.to_owned() } else { format!("{name}<{}>", types.join(", ")) }
}

/// A type, without modules and lifetimes. `_` stands for what two libraries may call differently.
fn shown_type(of: &Value) -> String {
    let (kind, inner) = kind(of);
    match kind {
        "resolved_path" => shown(last(text(&inner["path"])), types(inner).map(shown_type)),
        "primitive" => text(inner).to_owned(),
        "borrowed_ref" => format!("&{}", shown_type(&inner["type"])),
        "slice" => format!("[{}]", shown_type(inner)),
        "array" => format!("[{}; _]", shown_type(&inner["type"])),
        "tuple" => format!("({})", list(inner).map(shown_type).collect::<Vec<_>>().join(", ")),
        _ => "_".to_owned(),
    }
}
