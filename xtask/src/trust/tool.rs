//! Programs that a trial runs: each within a limit, what it prints kept in a file.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::workspace_root;

thread_local! {
    /// The trial that runs.
    static TRIAL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Where the output of a trial's programs is kept.
pub fn log(trial: &str) -> PathBuf {
    workspace_root().join("target/trust").join(format!("{trial}.log"))
}

/// A trial begins, with an empty log.
pub fn begin(trial: &str) {
    let path = log(trial);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("target/ is writable");
    File::create(path).expect("target/trust is writable");
    TRIAL.set(trial.to_owned());
}

/// A program that is to be run.
pub struct Tool {
    words: Vec<String>,
    variables: Vec<(String, String)>,
    removed: Vec<&'static str>,
    limit: Duration,
    codes: Vec<i32>,
}

impl Tool {
    /// A program and its arguments, with spaces between them.
    pub fn new(line: &str) -> Self {
        let words = line.split_whitespace().map(str::to_owned).collect();
        let limit = Duration::from_secs(600);
        Tool { words, variables: Vec::new(), removed: Vec::new(), limit, codes: vec![0] }
            .env("RUSTUP_AUTO_INSTALL", "0")
    }

    pub fn arg(mut self, word: impl AsRef<Path>) -> Self {
        self.words.push(word.as_ref().to_string_lossy().into_owned());
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.variables.push((name.to_owned(), value.as_ref().to_string_lossy().into_owned()));
        self
    }

    pub fn without(mut self, names: &[&'static str]) -> Self {
        self.removed.extend(names);
        self
    }

    /// The program is killed when it takes longer: what hangs has failed.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// It is to end with one of these codes, and not with 0. 134 is an abort.
    pub fn codes(mut self, codes: &[i32]) -> Self {
        self.codes = codes.to_vec();
        self
    }

    /// Runs it in the workspace's root, and tells what it printed. An error is its
    /// status, or that it took too long, and the last lines.
    pub fn run(self) -> Result<String, String> {
        let (ended, printed, line) = self.end()?;
        match ended {
            Ended::Well => Ok(printed),
            Ended::Badly(why) | Ended::Late(why) => {
                let lines: Vec<_> = printed.lines().collect();
                println!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
                Err(format!("`{line}`: {why}"))
            }
        }
    }

    /// Runs it, and tells whether it failed by itself: not because it took too long.
    pub fn fails(self) -> Result<bool, String> {
        let (ended, ..) = self.end()?;
        Ok(matches!(ended, Ended::Badly(_)))
    }

    /// How it ended, what it printed, and its command line.
    fn end(self) -> Result<(Ended, String, String), String> {
        let line = self.words.join(" ");
        println!("$ {line}");
        let trial = TRIAL.with_borrow(Clone::clone);
        let path = log(&trial);
        let before = fs::read(&path).map_or(0, |text| text.len());
        let mut file = OpenOptions::new().append(true).create(true).open(&path).map_err(text)?;
        writeln!(file, "$ {line}").map_err(text)?;
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", &self.limit.as_secs().to_string()]).args(&self.words);
        command.envs(self.variables).current_dir(workspace_root()).stdin(Stdio::null());
        for name in self.removed {
            command.env_remove(name);
        }
        command.stdout(file.try_clone().map_err(text)?).stderr(file);
        let status = command.status().map_err(|error| format!("{line}: {error}"))?;
        let printed = fs::read(&path).map_err(text)?;
        let printed = String::from_utf8_lossy(&printed[before..]).into_owned();
        let is_abort = status.to_string().contains("SIGABRT");
        let ended = match status.code().unwrap_or(if is_abort { 134 } else { -1 }) {
            code if self.codes.contains(&code) => Ended::Well,
            124 | 137 => Ended::Late(format!("over {} s", self.limit.as_secs())),
            _ => Ended::Badly(status.to_string()),
        };
        Ok((ended, printed, line))
    }
}

enum Ended {
    Well,
    Badly(String),
    Late(String),
}

/// Prints a line, and keeps it beside what the trial's programs print.
pub fn note(line: &str) {
    println!("{line}");
    let path = log(&TRIAL.with_borrow(Clone::clone));
    let file = OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| writeln!(file, "{line}"));
    written.expect("target/trust is writable");
}

/// Whether there is a program of this name on the PATH.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}

/// How many tests passed, by what cargo's test programs printed, and in how many programs.
pub fn passed(printed: &str) -> (usize, usize) {
    let results = printed.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    let counts: Vec<usize> =
        results.filter_map(|rest| rest.split(' ').next()?.parse().ok()).collect();
    (counts.iter().sum(), counts.len())
}

#[cfg(test)]
mod tests {
    use super::passed;

    #[test]
    fn passed_tests_are_added_up() {
        let printed = "test result: ok. 12 passed; 0 failed\nx\ntest result: ok. 3 passed; 0\n\
                       test result: FAILED. 9 passed; 1 failed\n";
        assert_eq!(passed(printed), (15, 2));
    }
}
