//! Has cargo build the stages and the bugs, and runs what it built.

use inside::stage::{Bug, Stage, folder};
use std::env::consts::EXE_SUFFIX;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

/// A program that has not ended after this long is stopped. The watchdogs are much faster.
const SECONDS_MAX: u32 = 300;

/// The package that holds the bugs. Its lock file is the workspace's.
const MANIFEST: &str = r#"[package]
name = "arc-inside-bugs"
edition = "2024"
publish = false

[workspace]

# For the exercises alone: it takes a while to compile.
[features]
default = ["dep:loom"]
shuttle = ["inside/shuttle"]

[dependencies]
inside = { package = "arc-first", path = '@/first', features = ["kernel"] }
async-task = "4.7.1"
loom = { version = "0.7", optional = true }
slab = "0.4.10"

# Each program is built once.
[profile.dev]
debug = false
incremental = false

# It tries each of thousands of orders in a program that has a small part of it: not optimized, that
# takes half as long again.
[profile.dev.package]
generator.opt-level = 2
loom.opt-level = 2

# What is wrong on purpose may well have a variable that nobody uses.
[lints.rust]
warnings = "allow"
"#;

pub struct Builder {
    /// The folder that cargo has built this program in.
    target: PathBuf,
}

/// Another platform, for which the stages are built.
pub struct Platform<'a> {
    /// Its name, such as `aarch64-unknown-linux-gnu`.
    pub name: &'a str,
    /// What cargo is told besides.
    pub options: &'a [&'a str],
}

/// A folder of programs.
pub struct Built {
    folder: PathBuf,
    suffix: &'static str,
    /// The words that come before a program, if it does not run by itself here.
    runner: Vec<String>,
}

/// What came of a run.
pub struct Ran {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// All that was printed.
    pub fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

impl Builder {
    pub fn new() -> Self {
        let program = env::current_exe().unwrap_or_default();
        let target = program.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
        Builder { target: target.to_owned() }
    }

    /// Builds programs that are given by name and text.
    pub fn build_texts(&self, programs: &[(String, String)]) -> Result<Built, String> {
        let package = self.target.join("inside/exercises");
        self.write_package(&package, programs)?;
        build(&package, false, self.target.join("inside/std"))
    }

    /// Builds those of the programs that compile. What was built before under their names is gone.
    pub fn build_what_compiles(&self, programs: &[(String, String)]) -> Result<Built, String> {
        let package = self.target.join("inside/variants");
        let target = self.target.join("inside/std");
        let built = Built::new(&target);
        for (program, _) in programs {
            let _ = fs::remove_file(built.file(program));
        }
        self.write_package(&package, programs)?;
        // That some do not compile is no error.
        let _ = build(&package, false, target);
        Ok(built)
    }

    /// Builds a program that somebody else has written, and the files that it needs, given by name
    /// and text as well. What was built before under its name is gone first.
    pub fn build_one(&self, program: &str, texts: &[(String, String)]) -> Result<Built, String> {
        let package = self.target.join("inside/grade");
        let target = self.target.join("inside/std");
        let built = Built::new(&target);
        let _ = fs::remove_file(built.file(program));
        self.write_package(&package, texts)?;
        cargo_build(&package, &["--example", program], &target)?;
        Ok(built)
    }

    /// Builds the stages as they are.
    pub fn build_stages(&self, shuttle: bool) -> Result<Built, String> {
        let target = if shuttle { self.target.join("inside/shuttle") } else { self.target.clone() };
        build(&folder().join("first"), shuttle, target.clone())?;
        build(&folder(), shuttle, target)
    }

    /// Builds the stages for another platform. As with cargo itself, a variable such as
    /// `CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER` has the program that runs them.
    pub fn build_stages_for(&self, platform: &Platform<'_>) -> Result<Built, String> {
        let Platform { name, options } = platform;
        let mut words = vec!["--examples", "--target", name];
        words.extend_from_slice(options);
        cargo_build(&folder().join("first"), &words, &self.target)?;
        cargo_build(&folder(), &words, &self.target)?;

        let variable = format!("CARGO_TARGET_{}_RUNNER", name.to_uppercase().replace('-', "_"));
        let runner = env::var(variable).unwrap_or_default();
        Ok(Built {
            folder: self.target.join(name).join("debug/examples"),
            suffix: if name.contains("windows") { ".exe" } else { "" },
            runner: runner.split_whitespace().map(str::to_owned).collect(),
        })
    }

    /// Makes the bugs in copies of the stages, and builds these.
    pub fn build_bugs(
        &self,
        stages: &[Stage],
        bugs: &[(&Stage, &Bug)],
        shuttle: bool,
    ) -> Result<Built, String> {
        // Some stages use parts of an earlier one.
        let used = stages.iter().filter(|stage| stage.runs_under_shuttle());
        let mut programs: Vec<_> =
            used.map(|stage| (stage.name.clone(), stage.text.clone())).collect();
        for (stage, bug) in bugs {
            let told = |error| format!("examples/{}.rs, under `# Break it`: {error}", stage.name);
            let text = bug.make(&stage.text).map_err(told)?;
            programs.push((bug.program(stage), text));
        }

        // Each of the two kinds has a folder: then no text changes between two runs.
        let package = self.target.join(if shuttle { "inside/races" } else { "inside/bugs" });
        self.write_package(&package, &programs)?;
        let target = self.target.join(if shuttle { "inside/shuttle" } else { "inside/std" });
        build(&package, shuttle, target)
    }

    /// Writes a package whose examples are these programs, given by name and text.
    fn write_package(&self, package: &Path, programs: &[(String, String)]) -> Result<(), String> {
        // What has not changed need not be built again.
        let write = |file: PathBuf, text: &str| {
            let told = |error| format!("{}: {error}", file.display());
            if fs::read_to_string(&file).is_ok_and(|old| old == text) {
                return Ok(());
            }
            fs::create_dir_all(file.parent().unwrap_or(package)).map_err(told)?;
            fs::write(&file, text).map_err(told)
        };
        let root = folder();
        let lock = fs::read_to_string(root.join("../Cargo.lock")).unwrap_or_default();
        write(package.join("Cargo.lock"), &lock)?;
        write(package.join("Cargo.toml"), &MANIFEST.replace('@', &root.to_string_lossy()))?;
        write(package.join("src/lib.rs"), "")?;

        let examples = package.join("examples");
        let files: Vec<PathBuf> =
            programs.iter().map(|(name, _)| examples.join(format!("{name}.rs"))).collect();
        for entry in fs::read_dir(&examples).into_iter().flatten().flatten() {
            if entry.path().is_file() && !files.contains(&entry.path()) {
                let _ = fs::remove_file(entry.path());
            }
        }
        for (file, (_, text)) in files.into_iter().zip(programs) {
            write(file, text)?;
        }
        Ok(())
    }
}

/// Has cargo build all examples of a package, for this platform.
fn build(package: &Path, shuttle: bool, target: PathBuf) -> Result<Built, String> {
    let options: &[&str] =
        if shuttle { &["--no-default-features", "--features", "shuttle"] } else { &[] };
    let words = [&["--examples", "--keep-going"], options].concat();
    cargo_build(package, &words, &target)?;
    Ok(Built::new(&target))
}

fn cargo_build(package: &Path, options: &[&str], target: &Path) -> Result<(), String> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--quiet", "--target-dir"]).arg(target).args(options);
    let output = command.current_dir(package).stdout(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} does not compile:\n{errors}", package.display()));
    }
    Ok(())
}

impl Built {
    /// What was built for this platform.
    fn new(target: &Path) -> Self {
        Built { folder: target.join("debug/examples"), suffix: EXE_SUFFIX, runner: Vec::new() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{}", self.suffix))
    }

    pub fn is_built(&self, name: &str) -> bool {
        self.file(name).is_file()
    }

    /// Runs a program to its end.
    pub fn run(&self, name: &str, arguments: &[&str], gap: &str) -> Ran {
        let program = self.file(name);
        let mut command = match self.runner.split_first() {
            None => Command::new(program),
            Some((runner, options)) => {
                let mut command = Command::new(runner);
                command.args(options).arg(program);
                command
            }
        };
        command.args(arguments).env("ARC_GAP", gap).env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                let stderr = format!("{name} cannot be started: {error}\n");
                return Ran { success: false, stdout: String::new(), stderr };
            }
        };

        // Both are read while it runs: it would wait for us if a pipe were full.
        let stdout = read_to_end(child.stdout.take());
        let stderr = read_to_end(child.stderr.take());
        let success = wait(&mut child);
        let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
        Ran { success, stdout: text(stdout), stderr: text(stderr) }
    }
}

fn read_to_end(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).replace('\r', "")
    })
}

/// Waits until it has ended, and stops it if it does not. True: it has succeeded.
fn wait(child: &mut Child) -> bool {
    for _ in 0..SECONDS_MAX * 50 {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(_) => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}
