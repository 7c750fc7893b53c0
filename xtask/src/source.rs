//! Source files, in an order and under names that are the same on every machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use walkdir::WalkDir;

/// A text file.
pub struct Source {
    /// Relative to the folder that was searched from, with `/` on every platform.
    pub name: String,
    pub text: String,
}

/// The names of all files of the repository: what git knows, and what it would add.
pub fn names(root: &Path) -> Result<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root).output().context("git")?;
    ensure!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let mut names: Vec<String> = text.split('\0').map(str::to_owned).collect();
    // One that was deleted is known until that is committed.
    names.retain(|name| root.join(name).is_file());
    names.sort();
    Ok(names)
}

/// Reads every Rust file below `folder` of `root`, sorted by name, also where git is not.
pub fn rust_files(root: &Path, folder: &str) -> Result<Vec<Source>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(root.join(folder)).sort_by_file_name() {
        let entry = entry?;
        if entry.path().extension().is_some_and(|it| it == "rs") {
            files.push(read(root, &name(root, entry.path()))?);
        }
    }
    Ok(files)
}

/// Reads one file.
pub fn read(root: &Path, name: &str) -> Result<Source> {
    let bytes = fs::read(root.join(name)).with_context(|| name.to_owned())?;
    // Checked out on Windows, lines may end otherwise.
    let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    Ok(Source { name: name.to_owned(), text })
}

/// The path below `root`, with `/`.
pub fn name(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    relative.to_string_lossy().replace('\\', "/")
}
