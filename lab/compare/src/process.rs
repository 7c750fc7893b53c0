//! Processes that end: by themselves, by their deadline, on ctrl-c, or when this
//! program fails, and in any case together with the guard that holds them.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::Failure;

/// How often a process that is waited for is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on ctrl-c and SIGTERM end what runs in good order; the second one ends
/// it at once, and the servers see to it themselves that they do not outlive it.
pub fn catch_interrupts() -> Result<(), Failure> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let flag = INTERRUPTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag not yet set.
        signal_hook::flag::register_conditional_shutdown(signal, 1, flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()))
            .map_err(|error| Failure(format!("no handler for ctrl-c: {error}")))?;
    }
    Ok(())
}

/// Fails after ctrl-c.
pub fn check_interrupt() -> Result<(), Failure> {
    // Relaxed: nothing else is passed on by the flag.
    match INTERRUPTED.get() {
        Some(flag) if flag.load(Ordering::Relaxed) => Err(Failure("interrupted".to_owned())),
        _ => Ok(()),
    }
}

/// A process that was started here, and is killed with this guard.
pub struct Process {
    child: Child,
    name: String,
    lines: mpsc::Receiver<String>,
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        // Its group first: cargo has started compilers.
        let group = format!("-{}", self.pid());
        let mut kill = Command::new("kill");
        let _ = kill.args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    /// Starts a program; its standard output is read here.
    pub fn start(mut command: Command) -> Result<Self, Failure> {
        let name = display(&command);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        // Ctrl-c at the terminal is for this program alone, which ends the others.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command
            .spawn()
            .map_err(|error| Failure(format!("{name} cannot be started: {error}")))?;
        let output = child.stdout.take().expect("it was asked for");
        let (sender, lines) = mpsc::channel();
        // Pipes have no deadlines, channels have. It ends with the process.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, name, lines })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it prints.
    pub fn line(&mut self, limit: Duration) -> Result<String, Failure> {
        let end = Instant::now() + limit;
        loop {
            check_interrupt()?;
            match self.lines.recv_timeout(LOOK_EVERY) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
                Err(RecvTimeoutError::Timeout) => return Err(self.late(limit)),
                Err(RecvTimeoutError::Disconnected) => {
                    let message = format!("{} ended too early", self.name);
                    return Err(Failure(message));
                }
            }
        }
    }

    /// Waits for its end; gives the rest of what it printed.
    pub fn finish(mut self, limit: Duration) -> Result<String, Failure> {
        let end = Instant::now() + limit;
        let status = loop {
            check_interrupt()?;
            let status = self.child.try_wait();
            match status.map_err(|error| self.failed(&error.to_string()))? {
                Some(status) => break status,
                None if Instant::now() >= end => return Err(self.late(limit)),
                None => thread::sleep(LOOK_EVERY),
            }
        };
        if !status.success() {
            return Err(self.failed(&status.to_string()));
        }
        Ok(self.lines.iter().collect::<Vec<_>>().join("\n"))
    }

    fn late(&self, limit: Duration) -> Failure {
        self.failed(&format!("not done after {} s", limit.as_secs()))
    }

    fn failed(&self, message: &str) -> Failure {
        Failure(format!("{}: {message}", self.name))
    }
}

/// Runs a program to its end; gives what it printed.
pub fn output(command: Command, limit: Duration) -> Result<String, Failure> {
    Process::start(command)?.finish(limit)
}

/// Runs a program to its end, which prints by itself.
pub fn run(mut command: Command) -> Result<(), Failure> {
    let name = display(&command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure(format!("{name}: {status}"))),
        Err(error) => Err(Failure(format!("{name} cannot be started: {error}"))),
    }
}

/// Has cargo build a package of a workspace, into a target folder of its own if one is given.
pub fn build(workspace: &Path, package: &str, target: Option<&Path>) -> Result<(), Failure> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--package", package]);
    cargo.env("RUSTUP_AUTO_INSTALL", "0").current_dir(workspace);
    if let Some(target) = target {
        cargo.env("CARGO_TARGET_DIR", target);
    }
    eprintln!("$ {}, in {}", display(&cargo), workspace.display());
    run(cargo)
}

/// A command line as one would type it.
pub fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Whether there is such a program on PATH.
pub fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| is_file(&folder.join(program)))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_program_prints_is_given() {
        let limit = Duration::from_secs(10);
        assert_eq!(output(shell("echo a; echo b"), limit).unwrap(), "a\nb");
        assert!(output(shell("exit 3"), limit).is_err());
    }

    #[test]
    fn a_deadline_ends_it() {
        let start = Instant::now();
        let result = output(shell("exec sleep 60"), Duration::from_millis(50));
        assert!(matches!(result, Err(Failure(text)) if text.contains("not done")));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn it_is_killed_with_its_guard() {
        let mut process = Process::start(shell("echo up; exec sleep 60")).unwrap();
        assert_eq!(process.line(Duration::from_secs(10)).unwrap(), "up");
        let folder = format!("/proc/{}", process.pid());
        drop(process);
        assert!(!Path::new(&folder).exists());
    }

    #[test]
    fn programs_are_looked_for_on_path() {
        assert!(is_on_path("sh"));
        assert!(!is_on_path("no such program"));
    }
}
