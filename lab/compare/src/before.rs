//! arc of another commit or folder, built with the servers and benchmarks of this one:
//! what is measured "commit against commit" differs in arc alone.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::options::Before;
use crate::{Failure, process};

/// How long it may take to lay a tree out.
const LIMIT: Duration = Duration::from_secs(60);

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
    let mut script = Command::new("bash");
    script.arg(root.join("lab/compare/before.sh")).arg(target);
    match (&before.commit, &before.folder) {
        (Some(commit), _) => script.arg("commit").arg(commit),
        (None, Some(folder)) => script.arg("folder").arg(folder),
        (None, None) => return Err(Failure("no commit and no folder is named".to_owned())),
    };
    let tree = PathBuf::from(process::output(script, LIMIT)?.trim());

    // One for each tree. In a folder that they share, cargo tells the packages of two trees apart
    // by the times of their files alone, and would give the programs of whichever was built last.
    let name = tree.file_name().expect("the tree has a name");
    let programs = target.join("before/target").join(name);
    process::build(&tree, package, Some(&programs))?;
    Ok(programs.join("release"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::workspace_root;
    use std::fs;

    #[test]
    fn a_tree_of_packages_at_the_top_builds_the_present_servers() {
        let target = std::env::temp_dir().join(format!("arc-before-{}", std::process::id()));
        let old = target.join("old");
        fs::create_dir_all(&old).unwrap();
        fs::write(old.join("Cargo.toml"), "members = [\"versus\", \"lab\"]").unwrap();
        let mut git = Command::new("git");
        git.args(["init", "-q"]).arg(&old);
        process::output(git, LIMIT).unwrap();

        let lay_out = || {
            let mut script = Command::new("bash");
            script.arg(workspace_root().join("lab/compare/before.sh"));
            script.arg(&target).arg("folder").arg(&old);
            PathBuf::from(process::output(script, LIMIT).unwrap())
        };
        // The tree is kept, and adapted again.
        lay_out();
        let tree = lay_out();
        let files = ["Cargo.toml", "lab/versus/Cargo.toml", "benches/Cargo.toml"];
        let texts = files.map(|file| fs::read_to_string(tree.join(file)).unwrap());
        fs::remove_dir_all(&target).unwrap();

        assert_eq!(texts[0], "members = [\"lab/versus\", \"lab\"]");
        assert!(texts[1].contains("arc-compat = { path = \"../../compat\" }"), "{}", texts[1]);
        assert!(texts[2].contains("arc-util = { path = \"../util\""), "{}", texts[2]);
    }
}
