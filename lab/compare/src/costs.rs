//! What needs no clock, or no load: user instructions per request, the size of
//! programs, the cost of building them, memory per idle connection.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::measure::{start, start_within};
use crate::process::{self, Process, check_interrupt, is_on_path};
use crate::record::Cost;
use crate::{Failure, proc};

/// arc, and what it is compared with here.
const RUNTIMES: [&str; 2] = ["arc", "tokio"];

/// The difference of two runs has neither start-up nor connections in it.
const REQUESTS_FEW: u64 = 2_000;
const REQUESTS_MANY: u64 = 12_000;

/// As in the other workloads.
const INSTRUCTION_CONNECTIONS: &str = "64";

const IDLE_CONNECTIONS: u64 = 10_000;

const REPETITIONS: usize = 3;

/// A program under valgrind is some 50 times slower.
const VALGRIND_LIMIT: Duration = Duration::from_secs(120);
const BUILD_LIMIT: Duration = Duration::from_secs(600);
const IDLE_LIMIT: Duration = Duration::from_secs(60);

/// User instructions per request on one worker, counted by callgrind.
///
/// # Errors
///
/// There is no valgrind, or a run fails.
pub fn instructions(programs: &Path, costs: &mut Vec<Cost>) -> Result<(), Failure> {
    if !is_on_path("valgrind") {
        let message = "--instructions needs valgrind on PATH";
        return Err(Failure(message.to_owned()));
    }
    for kind in ["http", "echo"] {
        let what = format!(
            "user instructions per request, {kind}, 1 worker, {INSTRUCTION_CONNECTIONS} connections"
        );
        let measured = interleaved(&what, |runtime| {
            let few = count(programs, kind, runtime, REQUESTS_FEW)?;
            let many = count(programs, kind, runtime, REQUESTS_MANY)?;
            let requests = REQUESTS_MANY - REQUESTS_FEW;
            Ok(vec![many.saturating_sub(few) as f64 / requests as f64])
        })?;
        costs.extend(cost([(what.as_str(), "instructions")], measured));
    }
    Ok(())
}

/// The user instructions of a whole run.
fn count(programs: &Path, kind: &str, runtime: &str, requests: u64) -> Result<u64, Failure> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(programs.join(format!("{kind}-{runtime}")));
    command.args(["--with-parent", "--workers", "1", "--addr", "127.0.0.1:0"]);
    // It says there what it has counted.
    command.stderr(Stdio::piped());
    let (server, address) = start_within(command, VALGRIND_LIMIT)?;

    let mut command = Command::new(programs.join(format!("{kind}-load")));
    command.args(["--with-parent", "--json", "--addr", &address, "--seconds", "100"]);
    command.args(["--connections", INSTRUCTION_CONNECTIONS]);
    command.args(["--requests", &requests.to_string()]);
    process::output(command, VALGRIND_LIMIT)?;
    let said = server.terminate(VALGRIND_LIMIT)?;
    collected(&said)
        .ok_or_else(|| Failure(format!("valgrind did not say what it counted:\n{said}")))
}

/// The number of callgrind's line `==1== Collected : 123`.
fn collected(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let number = lines.find_map(|line| line.split_once("Collected : "))?.1;
    number.trim().parse().ok()
}

/// The size of stripped programs, the cost of a clean build of the smallest server,
/// and memory per idle connection.
///
/// # Errors
///
/// Something cannot be built, stripped or started.
pub fn sizes(root: &Path, programs: &Path, costs: &mut Vec<Cost>) -> Result<(), Failure> {
    let folder = programs.with_file_name("versus-hello");
    for kind in ["http", "echo"] {
        let what = format!("stripped program, {kind} server of lab/versus/");
        let measured =
            once(|runtime| stripped_kib(programs, &folder, &format!("{kind}-{runtime}")))?;
        costs.extend(cost([(what.as_str(), "KiB")], measured));
    }
    let measured =
        interleaved("clean release build", |runtime| build_hello(root, &folder, runtime))?;
    let names = [
        ("clean release build of a hello-world server without hyper, wall", "s"),
        ("clean release build of a hello-world server without hyper, CPU", "s"),
        ("stripped hello-world server without hyper", "KiB"),
    ];
    costs.extend(cost(names, measured));
    let what = format!("memory per idle connection, http, {IDLE_CONNECTIONS} of them");
    let measured = interleaved(&what, |runtime| idle(programs, "http", runtime))?;
    let (before, after) = (what.clone() + ", before a request", what + ", after one");
    costs.extend(cost([(before.as_str(), "KiB"), (after.as_str(), "KiB")], measured));
    Ok(())
}

/// What each runtime gave: for each figure, all repetitions.
type Measured = Vec<(String, Vec<Vec<f64>>)>;

/// Measures the runtimes in turns, each round the other way round.
fn interleaved(
    what: &str,
    mut measure: impl FnMut(&str) -> Result<Vec<f64>, Failure>,
) -> Result<Measured, Failure> {
    let mut measured: Measured = RUNTIMES.map(|it| (it.to_owned(), Vec::new())).into();
    for round in 0..REPETITIONS {
        let mut order: Vec<usize> = (0..RUNTIMES.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            eprintln!("{what}: round {} of {REPETITIONS}: {}", round + 1, RUNTIMES[index]);
            for (figure, value) in measure(RUNTIMES[index])?.into_iter().enumerate() {
                let figures = &mut measured[index].1;
                if figures.len() <= figure {
                    figures.push(Vec::new());
                }
                figures[figure].push(value);
            }
        }
    }
    Ok(measured)
}

/// Measures what is always the same.
fn once(mut measure: impl FnMut(&str) -> Result<f64, Failure>) -> Result<Measured, Failure> {
    let runtimes = RUNTIMES.iter();
    runtimes.map(|runtime| Ok(((*runtime).to_owned(), vec![vec![measure(runtime)?]]))).collect()
}

/// One record for each figure, with its name and unit.
fn cost<const FIGURES: usize>(
    names: [(&str, &str); FIGURES],
    measured: Measured,
) -> impl Iterator<Item = Cost> {
    let names = names.map(|(what, unit)| (what.to_owned(), unit.to_owned()));
    names.into_iter().enumerate().map(move |(figure, (what, unit))| Cost {
        what,
        unit,
        servers: measured
            .iter()
            .map(|(name, figures)| (name.clone(), figures[figure].clone()))
            .collect(),
    })
}

fn stripped_kib(programs: &Path, folder: &Path, program: &str) -> Result<f64, Failure> {
    let copy = folder.join(program);
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(programs.join(program), &copy))
        .map_err(|error| failed(&copy, &error.to_string()))?;
    let mut command = Command::new("strip");
    command.arg(&copy);
    process::output(command, IDLE_LIMIT)?;
    kib(&copy)
}

fn kib(path: &Path) -> Result<f64, Failure> {
    let metadata = fs::metadata(path).map_err(|error| failed(path, &error.to_string()))?;
    Ok(metadata.len() as f64 / 1024.0)
}

/// Wall and CPU seconds of a clean build of a server that needs nothing but the
/// runtime, and its stripped size in KiB.
fn build_hello(root: &Path, folder: &Path, runtime: &str) -> Result<Vec<f64>, Failure> {
    let project = folder.join(runtime);
    let fail = |error: std::io::Error| failed(&project, &error.to_string());
    let dependency = match runtime {
        "arc" => format!("arc-runtime = {{ path = {:?} }}", root.display()),
        _ => "tokio = { version = \"1\", features = \
              [\"io-util\", \"macros\", \"net\", \"rt-multi-thread\"] }"
            .to_owned(),
    };
    let manifest = format!(
        "[workspace]\n[package]\nname = \"hello\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\n{dependency}\n[profile.release]\nstrip = true\n"
    );
    let source = include_str!("hello.rs.txt").replace("RUNTIME", runtime);
    let build = project.join("target");
    fs::create_dir_all(project.join("src")).map_err(fail)?;
    fs::write(project.join("Cargo.toml"), manifest).map_err(fail)?;
    fs::write(project.join("src/main.rs"), source).map_err(fail)?;
    // The same versions as the servers have.
    fs::copy(root.join("Cargo.lock"), project.join("Cargo.lock")).map_err(fail)?;
    if build.exists() {
        fs::remove_dir_all(&build).map_err(fail)?;
    }
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(arguments).arg("--target-dir").arg(&build);
        command.env("RUSTUP_AUTO_INSTALL", "0").current_dir(&project);
        process::output(command, BUILD_LIMIT)
    };
    // What has to be downloaded is downloaded before the clock starts.
    let mut fetch = Command::new("cargo");
    fetch.args(["fetch", "--quiet"]).current_dir(&project);
    process::output(fetch, BUILD_LIMIT)?;
    let (start, cpu) = (Instant::now(), proc::own_cpu()?);
    cargo(&["build", "--release", "--quiet"])?;
    let (wall, cpu) = (start.elapsed().as_secs_f64(), proc::own_cpu()? - cpu);
    Ok(vec![wall, cpu, kib(&build.join("release/hello"))?])
}

/// KiB per connection, before and after its first request.
fn idle(programs: &Path, kind: &str, runtime: &str) -> Result<Vec<f64>, Failure> {
    let mut command = Command::new(programs.join(format!("{kind}-{runtime}")));
    command.args(["--with-parent", "--workers", "2", "--addr", "127.0.0.1:0"]);
    let (server, address) = start(command)?;
    let before = proc::resident_kib(server.pid())?;
    let open = proc::descriptors(server.pid());

    let mut command = Command::new(programs.join("http-load"));
    command.args(["--with-parent", "--idle", "--addr", &address]);
    command.args(["--connections", &IDLE_CONNECTIONS.to_string()]);
    let mut load = Process::start(command)?;
    load.line(IDLE_LIMIT)?;
    // Connected is not accepted yet.
    let end = Instant::now() + IDLE_LIMIT;
    while proc::descriptors(server.pid()) < open + IDLE_CONNECTIONS as usize {
        check_interrupt()?;
        if Instant::now() > end {
            let message = format!("{kind}-{runtime} did not accept {IDLE_CONNECTIONS} connections");
            return Err(Failure(message));
        }
        thread::sleep(Duration::from_millis(10));
    }
    // The last ones accepted have their tasks run.
    thread::sleep(Duration::from_millis(100));
    let connected = proc::resident_kib(server.pid())?;
    load.say("request")?;
    load.line(IDLE_LIMIT)?;
    let answered = proc::resident_kib(server.pid())?;
    let each = |kib: u64| kib.saturating_sub(before) as f64 / IDLE_CONNECTIONS as f64;
    Ok(vec![each(connected), each(answered)])
}

fn failed(path: &Path, message: &str) -> Failure {
    Failure(format!("{}: {message}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callgrinds_count_is_found() {
        let text = "==7== Events    : Ir\n==7== Collected : 123456\n==7==\n";
        assert_eq!(collected(text), Some(123_456));
        assert_eq!(collected("killed"), None);
    }

    #[test]
    fn figures_are_kept_apart_and_turns_alternate() {
        let mut turns = Vec::new();
        let measured = interleaved("a test", |runtime| {
            turns.push(runtime.to_owned());
            Ok(vec![turns.len() as f64, 7.0])
        });
        let costs: Vec<_> = cost([("turn", ""), ("seven", "")], measured.unwrap()).collect();
        assert_eq!(turns, ["arc", "tokio", "tokio", "arc", "arc", "tokio"]);
        assert_eq!(costs[0].servers[0], ("arc".to_owned(), vec![1.0, 4.0, 5.0]));
        assert_eq!(costs[1].servers[1], ("tokio".to_owned(), vec![7.0; 3]));
    }
}
