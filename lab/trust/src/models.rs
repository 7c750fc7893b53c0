//! Model checks: loom for the small protocols, shuttle for the composed runtime.
//!
//! And mutations: a model that cannot fail proves nothing. Above each model stand the
//! mutations that it must catch, in comments:
//!
//! ```text
//! // ~ src/scheduler/sleep.rs             the file; a number after it: which of several places
//! // - fence(Ordering::SeqCst);   what is taken out of it, whatever the spaces
//! // + let _ = 0;               what is put there, if anything
//! #[test]
//! fn model() {
//! ```
//!
//! One of the names in it may be another one by now, if it is clear where that is.
//!
//! Each is made in a copy of the sources, which is built: that must succeed. Then the
//! model alone is run: it must begin, and fail. (That it passes unbroken is another trial's.)

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::tool::{self, Tool};
use crate::workspace_root;
use crate::{Outcome, Trial};

pub fn trials() -> Vec<Trial> {
    let trial = |name, what, run| Trial { name, what, on_demand: false, missing: || None, run };
    vec![
        trial(
            "loom",
            "the protocols between threads, in all orders of up to four preemptions",
            loom,
        ),
        trial("shuttle", "the whole runtime over a kernel that is told, in random orders", shuttle),
        trial("mutations", "the models fail when what they guard is broken", mutations),
    ]
}

fn loom() -> Result<Outcome, String> {
    check("loom", "interleavings")
}

fn shuttle() -> Result<Outcome, String> {
    check("shuttle", "schedules")
}

/// Runs a program of models, each of which prints what it has tried.
fn check(program: &str, unit: &str) -> Result<Outcome, String> {
    let line = format!("cargo test -p arc-models --release --test {program}");
    let printed = Tool::new(&format!("{line} -- --nocapture --test-threads=1")).run()?;
    let (passed, _) = tool::passed(&printed);
    let tried = tried(&printed, unit);
    if passed == 0 || tried < passed {
        return Err(format!("{passed} models, {tried} {unit}: they did not run"));
    }
    Ok(Outcome { tried: format!("{passed} models, {tried} {unit}"), found: String::new() })
}

/// Adds up the numbers in `model NAME: NUMBER UNIT`, wherever on a line.
fn tried(printed: &str, unit: &str) -> usize {
    let counts = printed.lines().filter_map(|line| {
        let (_, rest) = line.split_once("model ")?.1.split_once(": ")?;
        rest.strip_suffix(unit)?.trim().parse::<usize>().ok()
    });
    counts.sum()
}

/// How long a mutated model may take. One that neither fails nor ends has not caught it.
const LIMIT: Duration = Duration::from_secs(60);

/// What is broken on purpose, and the model that is to notice.
#[derive(Debug, Default, PartialEq)]
struct Mutation {
    file: String,
    /// Which of the places that have the text, from 1; 0: there must be only one.
    place: usize,
    old: String,
    new: String,
    /// The program, and the model's name in it.
    program: String,
    model: String,
}

fn mutations() -> Result<Outcome, String> {
    let root = workspace_root();
    let copy = root.join("target/trust/mutations");
    copy_sources(&root, &copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    let mut mutations = all_mutations(&root)?;
    // For a developer: only those of the models with this in their names.
    if let Ok(part) = std::env::var("ARC_MUTATIONS") {
        mutations.retain(|mutation| mutation.model.contains(&part));
    }
    let mut failures = Vec::new();
    for mutation in &mutations {
        if let Err(why) = is_caught(mutation, &copy) {
            let Mutation { file, old, new, model, .. } = mutation;
            println!("{model}: {why}: {file}: {old} => {new}");
            failures.push(format!("{model}: {file}: {old}: {why}"));
        }
    }
    let all = mutations.len();
    let caught = all - failures.len();
    if caught < all || all == 0 {
        return Err(format!("{all} mutations, {caught} caught; {}", failures.join("; ")));
    }
    Ok(Outcome { tried: format!("{all} mutations, {caught} caught"), found: String::new() })
}

fn is_caught(mutation: &Mutation, copy: &Path) -> Result<(), String> {
    let path = copy.join(&mutation.file);
    let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let mutated = mutation.apply(&text)?;
    let write = |text: &str| fs::write(&path, text).map_err(|error| error.to_string());
    write(&mutated)?;
    let manifest = copy.join("Cargo.toml");
    let target = workspace_root().join("target");
    let program = &mutation.program;
    let cargo = |more: &str| {
        let tool = Tool::new("cargo test -q --offline -p arc-models --release").arg("--test");
        let tool = tool.arg(program).arg("--manifest-path").arg(&manifest);
        let tool = tool.arg("--target-dir").arg(&target);
        let tool = tool.env("CARGO_INCREMENTAL", "1").env("RUST_BACKTRACE", "0");
        more.split_whitespace().fold(tool, Tool::arg)
    };
    let compiles = cargo("--no-run").run().map_err(|_| "it does not compile".to_owned());
    let model = format!("-- --exact {}", mutation.model);
    let failed = compiles.and_then(|_| cargo(&model).limit(LIMIT).fails_after("running 1 test"));
    write(&text)?;
    if failed? { Ok(()) } else { Err("it was not caught".to_owned()) }
}

impl Mutation {
    fn apply(&self, text: &str) -> Result<String, String> {
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        if letters(&self.new) == letters(&self.old) {
            return Err("it changes nothing".to_owned());
        }
        let (code, wanted) = (tokens(text), tokens(&self.old));
        let mut found = places(&code, &wanted, None);
        let mut new = self.new.clone();

        // Something may have another name by now: if the text is there but for one name, and
        // in one place only, that is the place, and this the name.
        if found.is_empty() {
            let names = wanted.iter().filter(|it| it.is_name()).map(|it| it.text);
            for name in names.collect::<BTreeSet<_>>() {
                for (place, now) in places(&code, &wanted, Some(name)) {
                    found.push((place, now));
                    new = renamed(&self.new, name, now);
                }
            }
        }
        let place = match (self.place, found.len()) {
            (0, 1) => 0,
            (0, count) => return Err(format!("{count} places have the text, not one")),
            (place, count) if place <= count => place - 1,
            (place, count) => return Err(format!("no place {place} of {count} has the text")),
        };
        let Range { start, end } = found[place].0.clone();
        Ok(format!("{}{new}{}", &text[..start], &text[end..]))
    }
}

/// A word of a source text, or one of its marks.
#[derive(Clone, Copy)]
struct Token<'text> {
    text: &'text str,
    at: usize,
}

impl Token<'_> {
    fn is_name(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphabetic() || first == '_')
    }
}

/// The words and marks of the code; comments have none.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut tokens = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let mut at = 0;
        while !line.trim_start().starts_with("//") && at < line.len() {
            let rest = &line[at..];
            let word = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
            // One letter, if it is no part of a word.
            let length = word.max(rest.chars().next().map_or(1, char::len_utf8));
            let text = &rest[..length];
            if !text.trim().is_empty() {
                tokens.push(Token { text, at: start + at });
            }
            at += length;
        }
        start += line.len();
    }
    tokens
}

/// Where `wanted` stands in the code, but for one name, which is another one there: then with
/// that other name.
fn places<'text>(
    code: &[Token<'text>],
    wanted: &[Token<'_>],
    but: Option<&str>,
) -> Vec<(Range<usize>, &'text str)> {
    let mut found = Vec::new();
    let first_but = wanted.iter().position(|it| Some(it.text) == but);
    for window in code.windows(wanted.len().max(1)) {
        let now = first_but.map_or("", |at| window[at].text);
        let is_here = window.iter().zip(wanted).all(|(here, wanted)| match but {
            Some(name) if wanted.text == name => here.text == now && here.is_name(),
            _ => here.text == wanted.text,
        });
        if is_here && !wanted.is_empty() {
            let last = window[window.len() - 1];
            found.push((window[0].at..last.at + last.text.len(), now));
        }
    }
    found
}

/// The text with another name.
fn renamed(text: &str, old: &str, new: &str) -> String {
    let mut renamed = String::new();
    let mut from = 0;
    for token in tokens(text).iter().filter(|it| it.text == old) {
        renamed += &text[from..token.at];
        renamed += new;
        from = token.at + old.len();
    }
    renamed + &text[from..]
}

/// What all models say of themselves.
fn all_mutations(root: &Path) -> Result<Vec<Mutation>, String> {
    let mut mutations = Vec::new();
    for program in ["loom", "shuttle"] {
        let folder = root.join("lab/models/tests").join(program);
        let entries = fs::read_dir(&folder).map_err(|error| error.to_string())?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            mutations.extend(mutations_in(&text, program, &stem)?);
        }
    }
    Ok(mutations)
}

/// The mutations in one file of models.
fn mutations_in(text: &str, program: &str, module: &str) -> Result<Vec<Mutation>, String> {
    let mut mutations: Vec<Mutation> = Vec::new();
    let mut unnamed = 0;
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("// ~ ") {
            let mut words = head.split_whitespace();
            let file = words.next().unwrap_or_default().to_owned();
            let place = words.next().map_or(Ok(0), str::parse).map_err(|_| line.to_owned())?;
            let program = program.to_owned();
            mutations.push(Mutation { file, place, program, ..Mutation::default() });
            unnamed += 1;
        } else if let Some(mutation) = mutations.last_mut().filter(|_| unnamed > 0) {
            if let Some(old) = line.strip_prefix("// - ") {
                mutation.old += old;
                mutation.old.push('\n');
            } else if let Some(new) = line.strip_prefix("// + ") {
                mutation.new += new;
                mutation.new.push('\n');
            } else if let Some(rest) = line.strip_prefix("fn ") {
                let name = rest.split('(').next().unwrap_or_default();
                let first = mutations.len() - unnamed;
                for mutation in &mut mutations[first..] {
                    mutation.model = format!("{module}::{name}");
                }
                unnamed = 0;
            } else if !line.starts_with("#[test]") {
                return Err(format!("{module}: after a mutation: {line}"));
            }
        }
    }
    Ok(mutations)
}

/// The models and what they are made of, as a workspace of its own. With the same settings
/// for the dependencies, so that these need not be built again.
fn copy_sources(root: &Path, copy: &Path) -> Result<(), std::io::Error> {
    fs::create_dir_all(copy)?;
    for folder in ["src", "crates/trace", "lab/models"] {
        copy_folder(&root.join(folder), &copy.join(folder))?;
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let mut manifest: toml::Table = manifest.parse().map_err(std::io::Error::other)?;
    manifest.retain(|name, _| name == "workspace" || name == "profile");
    let members = toml::toml! { members = ["lab/models"] };
    if let Some(toml::Value::Table(workspace)) = manifest.get_mut("workspace") {
        workspace.extend(members);
        workspace.remove("default-members");
    }
    let unoptimized = toml::toml! { arc-models = { opt-level = 0 } };
    if let Some(toml::Value::Table(profile)) = manifest.get_mut("profile") {
        profile.retain(|name, _| name == "release");
        if let Some(toml::Value::Table(release)) = profile.get_mut("release") {
            release.insert("package".to_owned(), toml::Value::Table(unoptimized));
        }
    }
    write_new(&copy.join("Cargo.toml"), manifest.to_string().as_bytes())?;
    write_new(&copy.join("Cargo.lock"), &fs::read(root.join("Cargo.lock"))?)
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), std::io::Error> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            write_new(&to, &fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

/// What is the same already is left as it is, or cargo would build it again.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), std::io::Error> {
    if fs::read(path).is_ok_and(|old| old == bytes) { Ok(()) } else { fs::write(path, bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
/// A model.
// ~ src/scheduler/sleep.rs 2
// - a +
// -     b;
// + c
#[test]
fn model() {
";

    fn mutation() -> Mutation {
        let mut mutations = mutations_in(TEXT, "loom", "parking").unwrap();
        mutations.pop().unwrap()
    }

    #[test]
    fn mutations_are_read_and_belong_to_the_next_model() {
        let Mutation { file, place, old, new, program, model } = mutation();
        assert_eq!((file.as_str(), place), ("src/scheduler/sleep.rs", 2));
        assert_eq!((old.as_str(), new.as_str()), ("a +\n    b;\n", "c\n"));
        assert_eq!((program.as_str(), model.as_str()), ("loom", "parking::model"));
    }

    #[test]
    fn a_mutation_replaces_one_place_and_no_comment() {
        let text = "// a + b;\nx = a+b; a\n  + b;\ny";
        assert_eq!(mutation().apply(text).unwrap(), "// a + b;\nx = a+b; c\n\ny");
        let only = Mutation { place: 0, ..mutation() };
        assert!(only.apply(text).is_err_and(|why| why.starts_with("2 places")));
        assert!(mutation().apply("a + b;").is_err());
        let vain = Mutation { new: only.old.clone(), ..only };
        assert!(vain.apply("a + b;").is_err_and(|why| why == "it changes nothing"));
    }

    #[test]
    fn what_is_to_be_mutated_is_there() {
        let root = workspace_root();
        for mutation in all_mutations(&root).unwrap() {
            let text = fs::read_to_string(root.join(&mutation.file)).unwrap();
            let Mutation { file, old, program, model, .. } = &mutation;
            assert!(
                mutation.apply(&text).is_ok_and(|it| it != text),
                "the text that a mutation takes out is not in {file} any more. Change the `// -` \
                 lines above the model {model} in lab/models/tests/{program}/ as you changed the \
                 source:\n{old}"
            );
        }
    }

    /// Finds the names of all functions that are defined below a folder.
    fn find_functions(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                find_functions(&entry.path(), found);
                continue;
            }
            let text = fs::read_to_string(entry.path()).unwrap();
            let tokens = tokens(&text);
            let pairs = tokens.windows(2).filter(|pair| pair[0].text == "fn");
            found.extend(pairs.map(|pair| pair[1].text.to_owned()));
        }
    }

    #[test]
    fn a_renamed_function_breaks_no_mutation() {
        let root = workspace_root();
        let mut defined = BTreeSet::new();
        find_functions(&root.join("src"), &mut defined);
        let mut broken = Vec::new();
        for mutation in all_mutations(&root).unwrap() {
            // What a model has of its own is renamed together with its mutations.
            if mutation.file.starts_with("lab/") {
                continue;
            }
            let text = fs::read_to_string(root.join(&mutation.file)).unwrap();
            // One name is another one already: the next to change has to be told.
            if places(&tokens(&text), &tokens(&mutation.old), None).is_empty() {
                continue;
            }
            let expected = mutation.apply(&text).unwrap();
            let names = tokens(&mutation.old).into_iter().map(|it| it.text);
            for name in names.filter(|it| defined.contains(*it)) {
                let mutated = mutation.apply(&renamed(&text, name, "another"));
                if mutated != Ok(renamed(&expected, name, "another")) {
                    broken.push(format!("{}: {name} in\n{}", mutation.model, mutation.old));
                }
            }
        }
        assert!(broken.is_empty(), "a line of context is lacking:\n{}", broken.join("\n"));
    }

    #[test]
    fn what_models_tried_is_added_up() {
        let printed = "test a ... model a: 12 schedules\nmodel b: 30 schedules\nmodel c: 5 x\n";
        assert_eq!(tried(printed, "schedules"), 42);
    }
}
