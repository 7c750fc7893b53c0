//! Whether a command that a page shows exists: its package, its example, its gap.

use std::path::{Path, PathBuf};
use std::process::Command;

use inside::stage::Stage;
use serde_json::Value;
use syn::Item;

/// What a command may name.
pub struct Workspace {
    root: PathBuf,
    packages: Vec<Package>,
    /// The commands of `cargo xtask`.
    tasks: Vec<String>,
    /// The stages, and what `ARC_GAP` may name in each.
    gaps: Vec<(String, Vec<String>)>,
}

struct Package {
    name: String,
    features: Vec<String>,
    /// The kind of each target, as an option names it, and its name.
    targets: Vec<(String, String)>,
}

impl Workspace {
    /// # Errors
    /// cargo cannot say what is in the workspace.
    pub fn read(root: &Path, stages: &[Stage]) -> Result<Self, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root);
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let metadata: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("cargo metadata is not read: {error}"))?;
        let packages = list(&metadata["packages"]).map(Package::read).collect();

        let gaps = stages.iter().map(|stage| (stage.name.clone(), gaps_of(stage))).collect();
        let tasks = tasks(&crate::read(root, "xtask/src/main.rs")?);
        Ok(Workspace { root: root.to_owned(), packages, tasks, gaps })
    }

    /// What is wrong with a line of a shell, if anything.
    ///
    /// # Errors
    /// Something that the line names does not exist, or nobody knows whether it does.
    pub fn check(&self, line: &str) -> Result<(), String> {
        let line = line.split(" #").next().unwrap_or_default();
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let mut gap = None;
        while let Some((name, value)) = words.first().and_then(|word| word.split_once('=')) {
            if name == "ARC_GAP" {
                gap = Some(value);
            }
            words.remove(0);
        }
        match words[..] {
            [] => Ok(()),
            [word, ..] if word.starts_with('#') => Ok(()),
            ["cargo", "xtask", task, ..] => self.task(task),
            ["cargo", ref arguments @ ..] => self.cargo(arguments, gap),
            ["git", "checkout" | "diff", path] if self.root.join(path).exists() => Ok(()),
            _ => Err(format!("nobody knows whether `{line}` works: teach commands.rs")),
        }
    }

    fn task(&self, task: &str) -> Result<(), String> {
        match self.tasks.iter().any(|it| it == task) {
            true => Ok(()),
            false => Err(format!("there is no `cargo xtask {task}`")),
        }
    }

    fn cargo(&self, arguments: &[&str], gap: Option<&str>) -> Result<(), String> {
        let own = arguments.iter().take_while(|word| **word != "--");
        let words: Vec<&str> = own.copied().collect();
        let after = |names: &[&str]| {
            let at = words.iter().position(|word| names.contains(word))?;
            words.get(at + 1).copied()
        };

        let known = ["run", "test", "build", "doc"];
        if !words.first().is_some_and(|word| known.contains(word)) {
            return Err(format!("nobody knows `cargo {}`: teach commands.rs", words.join(" ")));
        }
        let package = after(&["-p", "--package"]);
        if let Some(name) = package
            && !self.packages.iter().any(|it| it.name == name)
        {
            return Err(format!("there is no package `{name}`"));
        }

        let mut packages =
            self.packages.iter().filter(|it| package.is_none_or(|name| it.name == name));
        for kind in ["example", "bin", "test", "bench"] {
            let Some(name) = after(&[&format!("--{kind}")]) else { continue };
            if !packages.clone().any(|it| it.has_target(kind, name)) {
                return Err(format!(
                    "there is no {kind} `{name}` in {}",
                    package.unwrap_or("any package")
                ));
            }
            if let Some(gap) = gap {
                self.gap(name, gap)?;
            }
        }
        if let Some(feature) = after(&["--features"])
            && !packages.any(|it| it.features.iter().any(|it| it == feature))
        {
            return Err(format!("there is no feature `{feature}`"));
        }
        Ok(())
    }

    /// What `ARC_GAP` names is a gap of the stage, or of one of its bugs.
    fn gap(&self, stage: &str, wanted: &str) -> Result<(), String> {
        let found = self.gaps.iter().find(|(name, _)| name == stage);
        let gaps = found.map_or(&[][..], |(_, gaps)| gaps);
        for name in wanted.split(',') {
            if name != "all" && !gaps.iter().any(|it| it == name) {
                return Err(format!("{stage} has no gap `{name}`, but `{}`", gaps.join("`, `")));
            }
        }
        Ok(())
    }
}

impl Package {
    fn read(value: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let features = value["features"].as_object().into_iter().flatten();
        let mut targets = Vec::new();
        for target in list(&value["targets"]) {
            for kind in list(&target["kind"]) {
                targets.push((text(kind), text(&target["name"])));
            }
        }
        let features = features.map(|(name, _)| name.clone()).collect();
        Package { name: text(&value["name"]), features, targets }
    }

    fn has_target(&self, kind: &str, name: &str) -> bool {
        self.targets.iter().any(|it| it.0 == kind && it.1 == name)
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// What `ARC_GAP` may name: the gaps of a stage, and those that its bugs bring along.
fn gaps_of(stage: &Stage) -> Vec<String> {
    let mut gaps = stage.gaps();
    gaps.extend(stage.bugs.iter().filter_map(|bug| bug.gap.clone()));
    gaps.sort();
    gaps.dedup();
    gaps
}

/// The commands of `cargo xtask`: the variants of its enum `Task`, in lower case.
fn tasks(source: &str) -> Vec<String> {
    let syntax = syn::parse_file(source);
    let mut names = Vec::new();
    for item in syntax.map_or_else(|_| Vec::new(), |file| file.items) {
        if let Item::Enum(item) = item
            && item.ident == "Task"
        {
            names.extend(item.variants.iter().map(|it| it.ident.to_string().to_lowercase()));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_exist_pass() {
        let root = crate::root();
        let stages = inside::stage::read_below(&root.join("inside")).unwrap();
        let workspace = Workspace::read(&root, &stages).unwrap();
        for (line, expected) in [
            ("cargo run -p arc-inside --example 01_block_on", ""),
            ("ARC_GAP=look,wake cargo run -q -p arc-inside --example 01_block_on # a comment", ""),
            ("ARC_GAP=stop cargo run -p arc-inside --example 05_task", ""),
            ("cargo run -q -p arc-inside --bin check -- --diff 03", ""),
            ("cargo xtask inside --quick", ""),
            ("cargo run --release --example http", ""),
            ("cargo test -p arc-models --release --test loom", ""),
            ("cargo doc -p arc-book --open", ""),
            ("git checkout inside", ""),
            ("# a comment", ""),
            ("", ""),
            (
                "cargo run -p arc-inside --example 01_gone",
                "there is no example `01_gone` in arc-inside",
            ),
            ("cargo run -p arc-gone", "there is no package `arc-gone`"),
            ("cargo run --bin gone", "there is no bin `gone` in any package"),
            ("cargo test -p arc-runtime --test gone", "there is no test `gone` in arc-runtime"),
            ("cargo build -p arc-inside --features gone", "there is no feature `gone`"),
            ("cargo xtask gone", "there is no `cargo xtask gone`"),
            (
                "ARC_GAP=gone cargo run -p arc-inside --example 01_block_on",
                "01_block_on has no gap `gone`, but `look`, `wake`",
            ),
            ("cargo gone", "nobody knows `cargo gone`: teach commands.rs"),
            (
                "git checkout gone",
                "nobody knows whether `git checkout gone` works: teach commands.rs",
            ),
            ("make", "nobody knows whether `make` works: teach commands.rs"),
        ] {
            let found = workspace.check(line).err().unwrap_or_default();
            assert_eq!(found, expected, "{line}");
        }
    }
}
