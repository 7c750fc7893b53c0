//! Source files, in an order and under names that are the same on every machine.

use std::fs;
use std::path::Path;

use walkdir::{DirEntry, WalkDir};

use crate::Failure;

/// A text file.
pub struct Source {
    /// Relative to the folder that was searched from, with `/` on every platform.
    pub name: String,
    pub text: String,
}

/// Reads every Rust file below `folders` of `root`, sorted by name. A folder that
/// is not there has no files.
///
/// # Errors
/// A file or folder cannot be read.
pub fn rust_files(root: &Path, folders: &[&str]) -> Result<Vec<Source>, Failure> {
    let mut files = Vec::new();
    for folder in folders {
        files.extend(files_below(root, folder, &["rs"])?);
    }
    Ok(files)
}

/// Reads every file below `folder` of `root` whose name ends in one of
/// `extensions`, but what cargo and git keep for themselves; sorted by name.
///
/// # Errors
/// A file or folder cannot be read.
pub fn files_below(root: &Path, folder: &str, extensions: &[&str]) -> Result<Vec<Source>, Failure> {
    let start = root.join(folder);
    let mut files = Vec::new();
    if !start.exists() {
        return Ok(files);
    }

    let is_kept_apart =
        |it: &DirEntry| it.depth() > 0 && (it.file_name() == "target" || it.file_name() == ".git");
    for entry in WalkDir::new(start).into_iter().filter_entry(|it| !is_kept_apart(it)) {
        let entry = entry.map_err(|error| Failure(error.to_string()))?;
        let path = entry.path();
        let is_wanted = extensions.iter().any(|it| path.extension().is_some_and(|end| end == *it));
        if entry.file_type().is_dir() || !is_wanted {
            continue;
        }
        let fail = |error| Failure(format!("{}: {error}", path.display()));
        let bytes = fs::read(path).map_err(fail)?;
        files.push(Source {
            name: name(root, path),
            // Checked out on Windows, lines may end otherwise.
            text: String::from_utf8_lossy(&bytes).replace("\r\n", "\n"),
        });
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

/// The path below `root`, with `/`.
pub fn name(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    relative.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_extension_and_sorted() {
        let root = std::env::temp_dir().join(format!("arc-xtask-source-{}", std::process::id()));
        for folder in ["src/deep", "src/target"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["src/b.rs", "src/deep/a.rs", "src/c.md", "src/target/d.rs"] {
            fs::write(root.join(file), "text\r\n").unwrap();
        }
        let files = rust_files(&root, &["src", "gone"]).unwrap();
        fs::remove_dir_all(&root).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["src/b.rs", "src/deep/a.rs"]);
        assert_eq!(files[0].text, "text\n");
    }
}
