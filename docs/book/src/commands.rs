//! Whether a command that a page shows exists: its package, its example, its gap.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use inside::stage::Stage;
use serde::Deserialize;

/// What a command may name.
pub struct Workspace {
    root: PathBuf,
    packages: Vec<Package>,
    /// The source of `cargo xtask`.
    xtask: String,
    /// The stages, and what `ARC_GAP` may name in each.
    gaps: Vec<(String, Vec<String>)>,
}

/// What cargo says of the workspace.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    features: BTreeMap<String, Vec<String>>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    /// As an option names it.
    kind: Vec<String>,
    name: String,
}

impl Workspace {
    /// # Errors
    /// cargo cannot say what is in the workspace.
    pub fn read(root: &Path, stages: &[Stage]) -> Result<Self, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root);
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let Metadata { packages } = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("cargo metadata is not read: {error}"))?;
        let gaps = stages.iter().map(|stage| (stage.name.clone(), gaps_of(stage))).collect();
        let xtask = crate::read(root, "xtask/src/main.rs")?;
        Ok(Workspace { root: root.to_owned(), packages, xtask, gaps })
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
            ["cargo", "xtask", task, ..] => {
                let variant = format!("Task::{}{}", task[..1].to_uppercase(), &task[1..]);
                let is_there = self.xtask.contains(&variant);
                is_there.then_some(()).ok_or(format!("there is no `cargo xtask {task}`"))
            }
            ["cargo", ref arguments @ ..] => self.cargo(arguments, gap),
            ["git", "checkout" | "diff", path] | ["bash", path]
                if self.root.join(path).exists() =>
            {
                Ok(())
            }
            _ => Err(format!("nobody knows whether `{line}` works: teach commands.rs")),
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
            let is_it = |it: &Target| it.name == name && it.kind.iter().any(|it| it == kind);
            if !packages.clone().any(|it| it.targets.iter().any(is_it)) {
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
            && !packages.any(|it| it.features.contains_key(feature))
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

/// What `ARC_GAP` may name: the gaps of a stage, and those that its bugs bring along.
fn gaps_of(stage: &Stage) -> Vec<String> {
    let mut gaps = stage.gaps();
    gaps.extend(stage.bugs.iter().filter_map(|bug| bug.gap.clone()));
    gaps.sort();
    gaps.dedup();
    gaps
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
            ("ARC_GAP=look,wake cargo run -q -p arc-first --example 01_block_on # a comment", ""),
            ("ARC_GAP=stop cargo run -p arc-inside --example 05_task", ""),
            ("cargo run -q -p arc-inside --bin check -- --diff 03", ""),
            ("cargo xtask inside --quick", ""),
            ("cargo run --release --example http", ""),
            ("cargo test -p arc-models --release --test loom", ""),
            ("git checkout inside", ""),
            ("bash docs/book/html", ""),
            ("# a comment", ""),
            ("", ""),
            ("cargo run -p arc-inside --example 01", "there is no example `01` in arc-inside"),
            ("cargo run -p arc-gone", "there is no package `arc-gone`"),
            ("cargo run --bin gone", "there is no bin `gone` in any package"),
            ("cargo build -p arc-inside --features gone", "there is no feature `gone`"),
            ("cargo xtask gone", "there is no `cargo xtask gone`"),
            ("ARC_GAP=a cargo run --example 00_future", "00_future has no gap `a`, but "),
            ("cargo gone", "nobody knows `cargo gone`: teach commands.rs"),
            ("git diff gone", "nobody knows whether `git diff gone` works: teach commands.rs"),
            ("make", "nobody knows whether `make` works: teach commands.rs"),
        ] {
            let found = workspace.check(line).err().unwrap_or_default();
            let is_told = found.starts_with(expected) && found.is_empty() == expected.is_empty();
            assert!(is_told, "{line}: {found}");
        }
    }
}
