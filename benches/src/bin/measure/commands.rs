//! Runs a program, and says what went wrong.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Runs a program to its end; gives what it printed. What it says on standard error is shown.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A script of this package, with what it is told.
pub fn script(name: &str) -> Command {
    let mut command = Command::new("bash");
    let path = format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
    command.arg(path).env("RUSTUP_AUTO_INSTALL", "0");
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::{env, fs};

    #[test]
    fn a_tree_that_knows_nothing_of_this_package_gets_it() {
        let target = env::temp_dir().join(format!("arc-before-{}", std::process::id()));
        let old = target.join("old");
        fs::create_dir_all(&old).unwrap();
        let manifest = "[workspace]\nmembers = [\n    \"versus\",\n]\ndefault-members = [\".\"]\n";
        fs::write(old.join("Cargo.toml"), manifest).unwrap();
        output(Command::new("git").args(["init", "-q"]).arg(&old)).unwrap();

        let lay_out = || {
            let mut before = script("before.sh");
            PathBuf::from(output(before.arg(&target).arg("folder").arg(&old)).unwrap().trim())
        };
        // The tree is kept, and adapted again.
        lay_out();
        let tree = lay_out();
        let manifest = fs::read_to_string(tree.join("Cargo.toml")).unwrap();
        let has_program = tree.join("benches/src/bin/operate.rs").exists();
        fs::remove_dir_all(&target).unwrap();

        assert_eq!(manifest, "[workspace]\nmembers = [\"benches\"]\n");
        assert!(has_program);
    }
}
