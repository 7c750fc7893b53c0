//! Makes the mutations of `lab/models/mutations.toml`, one after the other: a model that cannot
//! fail proves nothing. It is a trial of `cargo xtask trust`, whose others are the scripts beside.
//!
//! Each mutation is made in a copy of the sources, which is built: that must succeed. Then the
//! model alone is run: it must begin, and fail. (That it passes unbroken is another trial's.) What
//! one thread does by itself has no model, but a unit test of its module, which is run instead.

#[cfg(unix)]
mod statements;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use serde::Deserialize;

/// What is broken on purpose.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Mutation {
    file: String,
    /// Which of the places that have the text, from 1; 0: there must be only one.
    #[serde(default)]
    place: usize,
    old: String,
    #[serde(default)]
    new: String,
}

/// The mutations of each model, by the program and by the model's name in it.
type Mutations = BTreeMap<String, BTreeMap<String, Vec<Mutation>>>;

/// The unit tests, beside the programs of models. Their names begin with the module in `src`.
const UNIT: &str = "unit";

/// How many seconds a mutated model may take. One that neither fails nor ends has not caught it.
const LIMIT: &str = "60";

/// What `timeout` ends with when it had to end the program, or to kill it.
const LATE: [Option<i32>; 2] = [Some(124), Some(137)];

fn main() -> ExitCode {
    if let Err(why) = run() {
        eprintln!("{why}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Makes the mutations, and prints how many were caught. Or takes out statements, if that is asked
/// for.
///
/// # Errors
/// One was not.
fn run() -> Result<(), String> {
    let root = workspace_root();
    #[cfg(unix)]
    if env::args().nth(1).is_some_and(|name| name == "statements") {
        return statements::run(&root);
    }
    let copy = root.join("target/trust/mutations");
    // What was moved or removed since an earlier run must not be left in it.
    let _ = fs::remove_dir_all(&copy);
    copy_sources(&root, &copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    // For a developer: only those of the models with this in their names.
    let part = env::var("ARC_MUTATIONS").unwrap_or_default();

    let mut all = 0;
    let mut failures = Vec::new();
    for (program, models) in all_mutations(&root)? {
        for (model, mutations) in models.iter().filter(|(model, _)| model.contains(&part)) {
            for mutation in mutations {
                println!("{model}: {}", mutation.old.trim());
                all += 1;
                if let Err(why) = is_caught(mutation, &program, model, &copy) {
                    failures.push(format!("{model}: {}: {}: {why}", mutation.file, mutation.old));
                }
            }
        }
    }
    if all == 0 || !failures.is_empty() {
        return Err(format!("{} of {all} mutations: {}", failures.len(), failures.join("; ")));
    }
    println!("{all} mutations, {all} caught");
    Ok(())
}

fn is_caught(mutation: &Mutation, program: &str, model: &str, copy: &Path) -> Result<(), String> {
    let path = copy.join(&mutation.file);
    let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let mutated = mutation.apply(&text)?;
    let write = |text: &str| fs::write(&path, text).map_err(|error| error.to_string());
    write(&mutated)?;
    let outcome = fails(program, model, copy);
    write(&text)?;
    outcome
}

/// Whether the model fails by itself after it has begun: not before, and not because it takes too
/// long.
fn fails(program: &str, model: &str, copy: &Path) -> Result<(), String> {
    let cargo = |limit: &str, more: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", limit, "cargo", "test", "-q", "--offline", "--release"]);
        if program == UNIT {
            command.args(["-p", "arc-runtime", "--lib"]);
        } else {
            command.args(["-p", "arc-models", "--test", program]);
        }
        command.arg("--manifest-path").arg(copy.join("Cargo.toml")).arg("--target-dir");
        command.arg(workspace_root().join("target")).args(more);
        command.env("CARGO_INCREMENTAL", "1").env("RUST_BACKTRACE", "0");
        command.output().map_err(|error| format!("timeout: {error}"))
    };
    let built = cargo("600", &["--no-run"])?;
    if !built.status.success() {
        println!("{}", String::from_utf8_lossy(&built.stderr));
        return Err("it does not compile".to_owned());
    }

    let ran = cargo(LIMIT, &["--", "--exact", model])?;
    let printed = String::from_utf8_lossy(&ran.stdout);
    let is_begun = printed.contains("running 1 test");
    if is_begun && !ran.status.success() && !LATE.contains(&ran.status.code()) {
        return Ok(());
    }
    println!("{printed}{}", String::from_utf8_lossy(&ran.stderr));
    Err("it was not caught".to_owned())
}

impl Mutation {
    fn apply(&self, text: &str) -> Result<String, String> {
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        if letters(&self.new) == letters(&self.old) {
            return Err("it changes nothing".to_owned());
        }
        let found = places(text, &self.old);
        let place = match (self.place, found.len()) {
            (0, 1) => 0,
            (0, count) => return Err(format!("{count} places have the text, not one")),
            (place, count) if place <= count => place - 1,
            (place, count) => return Err(format!("no place {place} of {count} has the text")),
        };
        let Range { start, end } = found[place].clone();
        Ok(format!("{}{}{}", &text[..start], self.new, &text[end..]))
    }
}

/// A word of a source text, or one of its marks.
#[derive(Clone, Copy)]
struct Token<'text> {
    text: &'text str,
    at: usize,
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

/// Where `wanted` stands in a text, however its lines are broken.
fn places(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let (code, wanted) = (tokens(text), tokens(wanted));
    let mut found = Vec::new();
    for window in code.windows(wanted.len().max(1)) {
        let is_here = window.iter().zip(&wanted).all(|(here, wanted)| here.text == wanted.text);
        if is_here && !wanted.is_empty() {
            let last = window[window.len() - 1];
            found.push(window[0].at..last.at + last.text.len());
        }
    }
    found
}

/// What all models must notice.
fn all_mutations(root: &Path) -> Result<Mutations, String> {
    let text = fs::read_to_string(root.join("lab/models/mutations.toml"));
    toml::from_str(&text.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// The workspace's root folder. cargo says at run time where this manifest is; the folder
/// it was built in is the fallback for a program that is started by hand.
fn workspace_root() -> PathBuf {
    let manifest =
        env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let root = Path::new(&manifest).ancestors().nth(2);
    root.expect("the manifest is two folders below the workspace").to_owned()
}

/// The crates that the runtime and the models need.
const CRATES: [&str; 5] = [
    "crates/arc-hint",
    "crates/arc-macros",
    "crates/arc-observe",
    "crates/arc-sim-core",
    "crates/arc-trace",
];

/// The runtime, the models and what they are made of, as a workspace of its own. With the same
/// settings for the dependencies, so that these need not be built again.
fn copy_sources(root: &Path, copy: &Path) -> Result<(), std::io::Error> {
    fs::create_dir_all(copy)?;
    for folder in ["src", "tests/unit", "lab/models"].iter().chain(&CRATES) {
        copy_folder(&root.join(folder), &copy.join(folder))?;
    }
    // Their tests need packages that are not there.
    for needed in CRATES {
        let manifest = fs::read_to_string(root.join(needed).join("Cargo.toml"))?;
        let mut manifest: toml::Table = manifest.parse().map_err(std::io::Error::other)?;
        manifest.retain(|name, _| name != "dev-dependencies" && name != "test");
        write_new(&copy.join(needed).join("Cargo.toml"), manifest.to_string().as_bytes())?;
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let mut manifest: toml::Table = manifest.parse().map_err(std::io::Error::other)?;
    // Of the tests, the unit tests alone are there.
    manifest.retain(|name, _| name != "bench" && name != "test");
    let members = toml::toml! { members = ["lab/models"] };
    if let Some(toml::Value::Table(workspace)) = manifest.get_mut("workspace") {
        workspace.extend(members);
        workspace.remove("default-members");
    }
    let unoptimized = toml::toml! {
        arc-models = { opt-level = 0 }
        arc-runtime = { opt-level = 0 }
    };
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
[[loom.'parking::model']]
file = 'src/scheduler/sleep.rs'
place = 2
old = '''
a +
    b;'''
new = 'c'
";

    fn mutation() -> Mutation {
        let mutations: Mutations = toml::from_str(TEXT).unwrap();
        mutations["loom"]["parking::model"][0].clone()
    }

    #[test]
    fn a_mutation_replaces_one_place_and_no_comment() {
        let text = "// a + b;\nx = a+b; a\n  + b;\ny";
        assert_eq!(mutation().apply(text).unwrap(), "// a + b;\nx = a+b; c\ny");
        let only = Mutation { place: 0, ..mutation() };
        assert!(only.apply(text).is_err_and(|why| why.starts_with("2 places")));
        assert!(mutation().apply("a + b;").is_err());
        let vain = Mutation { new: only.old.clone(), ..only };
        assert!(vain.apply("a + b;").is_err_and(|why| why == "it changes nothing"));
    }

    #[test]
    fn what_is_to_be_mutated_is_there() {
        let root = workspace_root();
        for (model, mutations) in all_mutations(&root).unwrap().into_values().flatten() {
            for mutation in mutations {
                let text = fs::read_to_string(root.join(&mutation.file)).unwrap();
                assert!(
                    mutation.apply(&text).is_ok(),
                    "the text that a mutation takes out is not in {} any more. Change it in \
                     lab/models/mutations.toml below {model} as you changed the source:\n{}",
                    mutation.file,
                    mutation.old
                );
            }
        }
    }

    #[test]
    fn what_is_to_notice_is_there() {
        let root = workspace_root();
        for (program, models) in all_mutations(&root).unwrap() {
            for model in models.keys() {
                let (module, name) = model.rsplit_once("::").unwrap();
                let module = module.trim_end_matches("::tests").rsplit("::").next().unwrap();
                let folder = match &*program {
                    UNIT => "tests/unit".to_owned(),
                    program => format!("lab/models/tests/{program}"),
                };
                let text = fs::read_to_string(root.join(folder).join(format!("{module}.rs")));
                let text = text.unwrap().replace("\n    ", "\n");
                assert!(text.contains(&format!("#[test]\nfn {name}(")), "{program}: {model}");
            }
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_scripts_count_right() {
        let script = workspace_root().join("lab/trust/test.sh");
        let output = Command::new("bash").arg(script).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.ends_with("OK\n"), "{printed}");
    }
}
