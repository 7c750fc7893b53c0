//! Packages outside of the workspace, which depend on arc as a user's package does.
//!
//! They are built with the versions of the workspace's lock file, all of which are on this machine,
//! so that cargo needs no network.

use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{env, fs, thread};

use std::io::{BufRead, BufReader};

/// Nothing that runs takes this long, even on a slow machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The workspace's own: what a package depends on with the same features is there already.
const PROFILE: &str = "[profile.dev]\ndebug = false\nincremental = false\n\n\
                       [profile.dev.package]\nproc-macro2.opt-level = 1\n";

/// A package that has been written.
pub struct Package {
    name: &'static str,
    manifest: PathBuf,
    /// The workspace's.
    target: PathBuf,
}

impl Package {
    /// Writes a package with these dependencies and programs.
    pub fn write(name: &'static str, dependencies: &str, programs: &[(&str, String)]) -> Self {
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let target = temporary.parent().expect("it is in the folder for what is built");
        let package = temporary.join("one_name").join(name);
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{dependencies}\n[workspace]\n\n{PROFILE}"
        );
        // What an older version of this test has left must not be built.
        let sources = package.join("src/bin");
        let _ = fs::remove_dir_all(&sources);
        fs::create_dir_all(&sources).expect("the folder can be made");
        fs::write(package.join("Cargo.toml"), manifest).expect("the manifest can be written");
        for (program, source) in programs {
            // Two packages have programs of the same name.
            let file = sources.join(format!("{name}-{program}.rs"));
            fs::write(file, source).expect("the program can be written");
        }
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
        fs::copy(lock, package.join("Cargo.lock")).expect("the lock file can be copied");
        Self { name, manifest: package.join("Cargo.toml"), target: target.to_owned() }
    }

    /// Writes a package with these dependencies and programs, and builds it.
    ///
    /// It fails if there is a warning.
    pub fn build(name: &'static str, dependencies: &str, programs: &[(&str, String)]) -> Self {
        let package = Self::write(name, dependencies, programs);
        let (is_built, errors) = package.cargo(&["build"]);
        assert!(is_built, "{errors}");
        assert_eq!(errors, "", "{name} builds without a warning");
        package
    }

    /// Returns what the compiler says of one of the programs: nothing if that compiles.
    pub fn errors(&self, program: &str) -> String {
        self.check(&["check", "--bin", &format!("{}-{program}", self.name)])
    }

    /// Returns what the compiler says of all programs: nothing if they compile.
    pub fn errors_of_all(&self) -> String {
        self.check(&["check"])
    }

    fn check(&self, arguments: &[&str]) -> String {
        let (is_right, errors) = self.cargo(arguments);
        assert_eq!(is_right, errors.is_empty(), "{} has no mere warnings: {errors}", self.name);
        errors
    }

    /// Runs a command of cargo's. Returns whether it succeeds, and what it says.
    fn cargo(&self, arguments: &[&str]) -> (bool, String) {
        let mut cargo = Command::new(env::var_os("CARGO").expect("cargo runs the tests"));
        cargo.args(arguments).args(["--quiet", "--offline", "--manifest-path"]);
        cargo.arg(&self.manifest).arg("--target-dir").arg(&self.target);
        let output = cargo.output().expect("cargo runs");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Starts one of the programs.
    pub fn start(&self, program: &str, arguments: &[&str]) -> Running {
        let file = format!("{}-{program}{}", self.name, env::consts::EXE_SUFFIX);
        let program = self.target.join("debug").join(file);
        let mut command = Command::new(&program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{program:?}: {error}"));

        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        thread::spawn(move || output.lines().try_for_each(|line| sender.send(line.unwrap())));
        let input = child.stdin.take();
        Running { child, input, lines }
    }

    /// Runs one of the programs to its end, and returns what it prints.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Vec<String> {
        self.start(program, arguments).end()
    }
}

/// A program that runs. Its drop kills it.
pub struct Running {
    child: Child,
    /// Its standard input, until that is closed.
    pub input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Running {
    /// Returns the next line that it prints.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).expect("another line")
    }

    /// Returns the address in the line that a server begins with.
    pub fn address(&self) -> String {
        let line = self.line();
        let address = line.strip_prefix("listening on ");
        address.unwrap_or_else(|| panic!("no address: {line}")).to_owned()
    }

    /// Ctrl-c.
    #[cfg(unix)]
    pub fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill").args(["-INT", &id]).status().expect("kill is there").success()
        );
    }

    /// Closes its input, waits for its end, which has to be a success, and returns what it prints
    /// until then.
    pub fn end(mut self) -> Vec<String> {
        drop(self.input.take());
        let mut lines = Vec::new();
        // The channel is closed by the end of the process.
        while let Ok(line) = self.lines.recv_timeout(DEADLINE) {
            lines.push(line);
        }
        let status = self.child.wait().expect("it is a child");
        assert!(status.success(), "{status} after {lines:?}");
        lines
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended if the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
