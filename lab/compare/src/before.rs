//! arc of another commit or folder, built with the servers and benchmarks of this one:
//! what is measured "commit against commit" differs in arc alone.
//!
//! Its sources are mirrored to `target/before/`, where a build of their own follows; a
//! file that has not changed is not touched, so that it is not compiled again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::options::Before;
use crate::{Failure, process, say};

/// What is taken from the present workspace: it knows all options that are asked for.
const PRESENT: [&str; 2] = ["lab/versus", "benches"];

/// Builds a package with the arc of then; gives the folder of its programs.
///
/// # Errors
///
/// There is no such commit or folder, or its arc does not build with what is measured.
pub fn build(
    root: &Path,
    target: &Path,
    before: &Before,
    package: &str,
) -> Result<PathBuf, Failure> {
    let home = target.join("before");
    let tree = match (&before.commit, &before.folder) {
        (None, None) => root.to_owned(),
        (Some(name), _) => commit(root, &home, name)?,
        (None, Some(folder)) => {
            let name = folder.canonicalize().map_err(|error| failed(folder, error))?;
            let name = name.to_string_lossy().replace('/', "-");
            let tree = home.join(format!("folder{name}"));
            mirror(folder, &tree, "", true)?;
            tree
        }
    };
    for part in PRESENT {
        mirror(root, &tree, part, false)?;
    }
    if !tree.join("crates/compat/Cargo.toml").exists() {
        adapt(&tree)?;
    }

    // One for each tree. In a folder that they share, cargo tells the packages of two trees apart
    // by the times of their files alone, and would give the programs of whichever was built last.
    let programs = home.join("target").join(tree.file_name().expect("the tree has a name"));
    process::build(&tree, package, Some(&programs))?;
    Ok(programs.join("release"))
}

/// Lets a tree in which all packages stand at the top, as they once did, build the present
/// servers.
fn adapt(tree: &Path) -> Result<(), Failure> {
    for (file, old, new) in [
        ("Cargo.toml", "\"versus\"", "\"lab/versus\""),
        ("lab/versus/Cargo.toml", "../../crates/", "../../"),
        ("benches/Cargo.toml", "../crates/", "../"),
    ] {
        let path = tree.join(file);
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
        fs::write(&path, text.replace(old, new)).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// The files of a commit; they are unpacked once.
fn commit(root: &Path, home: &Path, name: &str) -> Result<PathBuf, Failure> {
    let object = format!("{name}^{{commit}}");
    let commit = say("git", &["rev-parse", "--verify", "--quiet", &object], root);
    if commit.is_empty() {
        return Err(Failure(format!("there is no commit {name}")));
    }
    let tree = home.join(&commit[..12]);
    let archive = home.join("archive.tar");
    if tree.join("Cargo.toml").exists() {
        return Ok(tree);
    }

    fs::create_dir_all(&tree).map_err(|error| failed(&tree, error))?;
    let mut git = Command::new("git");
    git.args(["archive", "--output"]).arg(&archive).arg(&commit).current_dir(root);
    let mut tar = Command::new("tar");
    // Without the commit's times, which may lie before those of an earlier build.
    tar.args(["--extract", "--touch", "--file"]).arg(&archive).arg("--directory").arg(&tree);
    process::run(git)?;
    process::run(tar)?;
    let _ = fs::remove_file(archive);
    Ok(tree)
}

/// Copies what git knows or would add of a part of a folder. With `exactly` it also
/// removes from the copy what is gone; a folder that is built in is left alone.
fn mirror(from: &Path, to: &Path, part: &str, exactly: bool) -> Result<(), Failure> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "--", part];
    let list = if part.is_empty() { &list[..4] } else { &list[..] };
    let files = say("git", list, from);
    if files.is_empty() {
        let message = format!("{}: git knows no files there", from.join(part).display());
        return Err(Failure(message));
    }
    if exactly {
        remove_others(to, to, &files)?;
    }
    for file in files.lines() {
        let (source, copy) = (from.join(file), to.join(file));
        let new = match fs::read(&source) {
            Ok(bytes) => bytes,
            // Removed, and not yet from the index; or a link to a folder.
            Err(error) if error.kind() == ErrorKind::NotFound || source.is_dir() => continue,
            Err(error) => return Err(failed(&source, error)),
        };
        if fs::read(&copy).is_ok_and(|old| old == new) {
            continue;
        }
        let folder = copy.parent().expect("a file is in a folder");
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        fs::write(&copy, new).map_err(|error| failed(&copy, error))?;
    }
    Ok(())
}

fn remove_others(tree: &Path, folder: &Path, files: &str) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.strip_prefix(tree).expect("it is in the tree");
        if path.is_dir() {
            remove_others(tree, &path, files)?;
        } else if !files.lines().any(|file| Path::new(file) == name) {
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

fn failed(path: &Path, error: std::io::Error) -> Failure {
    Failure(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace_root;

    #[test]
    fn a_tree_of_packages_at_the_top_builds_the_present_servers() {
        let tree = std::env::temp_dir().join(format!("arc-xtask-before-{}", std::process::id()));
        let manifests = ["lab/versus/Cargo.toml", "benches/Cargo.toml"];
        for (folder, manifest) in PRESENT.into_iter().zip(manifests) {
            fs::create_dir_all(tree.join(folder)).unwrap();
            fs::copy(workspace_root().join(manifest), tree.join(manifest)).unwrap();
        }
        fs::write(tree.join("Cargo.toml"), "members = [\"versus\", \"lab\"]").unwrap();

        // The tree of a commit is kept, and adapted again.
        adapt(&tree).unwrap();
        adapt(&tree).unwrap();
        let files = ["Cargo.toml", manifests[0], manifests[1]];
        let texts = files.map(|file| fs::read_to_string(tree.join(file)).unwrap());
        fs::remove_dir_all(&tree).unwrap();

        assert_eq!(texts[0], "members = [\"lab/versus\", \"lab\"]");
        assert!(texts[1].contains("arc-compat = { path = \"../../compat\" }"), "{}", texts[1]);
        assert!(texts[2].contains("arc-util = { path = \"../util\""), "{}", texts[2]);
    }
}
