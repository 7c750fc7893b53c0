//! Programs that a trial runs: each within a limit, what it prints kept in a file.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::{debian, workspace_root};

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
        // The trials run what they have built in target/.
        let removed = vec!["CARGO_TARGET_DIR"];
        Tool { words, variables: Vec::new(), removed, limit, codes: vec![0] }
            .env("RUSTUP_AUTO_INSTALL", "0")
    }

    /// Debian's cargo with Debian's compiler, which can build the standard library for any
    /// target and with any flag.
    pub fn debian_cargo(line: &str) -> Self {
        let (variables, removed) = debian::environment();
        let mut tool = Tool::new("/usr/bin/cargo").without(&removed);
        tool.words.extend(line.split_whitespace().map(str::to_owned));
        tool.variables.extend(variables.map(|(name, value)| (name.to_owned(), value)));
        tool.env("CARGO_INCREMENTAL", "0")
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
        let (line, codes, limit) = (self.words.join(" "), self.codes.clone(), self.limit);
        let (status, printed) = self.outcome()?;
        let why = match code(status) {
            code if codes.contains(&code) => return Ok(printed),
            code if LATE.contains(&code) => format!("over {} s", limit.as_secs()),
            _ => status.to_string(),
        };
        let lines: Vec<_> = printed.lines().collect();
        println!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        Err(format!("`{line}`: {why}"))
    }

    /// Runs it, and tells whether it failed by itself after it had said `begun`: not before,
    /// and not because it took too long.
    pub fn fails_after(self, begun: &str) -> Result<bool, String> {
        let (status, printed) = self.outcome()?;
        let code = code(status);
        Ok(code != 0 && !LATE.contains(&code) && printed.contains(begun))
    }

    /// Runs it, and tells what it printed, whatever its status is; an error is that it
    /// could not be started.
    pub fn outcome(self) -> Result<(ExitStatus, String), String> {
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
        Ok((status, String::from_utf8_lossy(&printed[before..]).into_owned()))
    }
}

/// What `timeout` ends with when it had to end the program, or to kill it.
const LATE: [i32; 2] = [124, 137];

/// A status as a shell has it: an abort is 134.
fn code(status: ExitStatus) -> i32 {
    let is_abort = status.to_string().contains("SIGABRT");
    status.code().unwrap_or(if is_abort { 134 } else { -1 })
}

/// Writes a line of a table: what is broken, what is promised then, and what was seen.
pub fn row(fault: &str, promised: &str, seen: &str) {
    note(&format!("| {fault} | {promised} | {seen} |"));
}

/// Prints a line, and keeps it beside what the trial's programs print.
pub fn note(line: &str) {
    println!("{line}");
    let path = log(&TRIAL.with_borrow(Clone::clone));
    let file = OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| writeln!(file, "{line}"));
    written.expect("target/trust is writable");
}

/// Only root may make namespaces.
pub fn not_root() -> Option<String> {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|output| output.stdout == b"0\n");
    (!is_root).then(|| "root".to_owned())
}

/// What the machine lacks, of these programs, or else.
pub fn missing(programs: &[&str]) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("Linux".to_owned());
    }
    let lacks: Vec<_> = programs.iter().copied().filter(|it| !is_installed(it)).collect();
    (!lacks.is_empty()).then(|| lacks.join(", "))
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
/// A test may run itself in a process of its own, which has a result as well: where cargo
/// tells which program it runs, only the last result before the next program counts.
pub fn passed(printed: &str) -> (usize, usize) {
    let count = |line: &str| -> Option<usize> {
        line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse().ok()
    };
    let mut counts = Vec::new();
    let mut is_same_program = false;
    for line in printed.lines() {
        is_same_program &= !line.trim_start().starts_with("Running ");
        if let Some(count) = count(line) {
            if is_same_program {
                counts.pop();
            }
            counts.push(count);
            is_same_program = printed.contains("Running ");
        }
    }
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

    #[test]
    fn tests_of_processes_that_tests_start_are_not_counted_twice() {
        let printed = "     Running tests/a.rs (a)\ntest result: ok. 1 passed; 0 failed\n\
                       test result: ok. 7 passed; 0 failed\n     Running tests/b.rs (b)\n\
                       test result: ok. 2 passed; 0 failed\n";
        assert_eq!(passed(printed), (9, 2));
    }
}
