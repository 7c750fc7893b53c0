//! Every workload on arc and its peers, interleaved: one run of each per round, the
//! order turned round by round, and the median of the rounds' ratios. On a noisy
//! machine neighbours in time are disturbed alike, so the ratios hold where times
//! do not.
//!
//! Each of these runs has a process of its own. There the workload is done once to warm
//! up, and once to be measured. In a common process, the time would also depend on what
//! ran before: a million tasks leave the allocator's memory in pieces, and what comes
//! next may take a tenth longer. And where the parts of a workload lie in memory is
//! settled early in a process. Two workers may write to one cache line in one process,
//! and not in another.

use arc_benches::Runtime;
use arc_benches::runtimes::{Arc, Smol, Tokio, TokioCurrentThread};
use arc_benches::stats::{cpu_time, median};
use arc_benches::suite::{all, set_smol_threads};

use clap::Parser;
use std::io::{BufRead, BufReader, Write};
use std::num::NonZero;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Every workload on arc and its peers, in interleaved rounds
#[derive(Parser)]
struct Options {
    /// Workers of each runtime that has more than one
    #[arg(long, default_value = "2")]
    workers: NonZero<usize>,
    /// Rounds
    #[arg(long, default_value = "9")]
    rounds: NonZero<usize>,
    /// Only workloads whose name has this in it; may be repeated
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Of tokio, tokio-current-thread, smol (all)
    #[arg(long, value_name = "LIST")]
    peers: Option<String>,
    /// This program built with another arc, as one more peer; `cargo xtask ratios --commit REV`
    /// builds it
    #[arg(long, value_name = "FILE")]
    before: Option<String>,
    /// Be the process of that runtime: run the workloads that stdin names
    #[arg(long, value_name = "NAME")]
    serve: Option<String>,
    /// Write the figures there as well
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

impl Options {
    fn wants(&self, peer: &str) -> bool {
        let peers = self.peers.as_deref();
        peer == Arc::NAME || peers.is_none_or(|peers| peers.split(',').any(|name| name == peer))
    }
}

/// A process that runs workloads on one runtime.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(program: &str, runtime: &str, workers: usize) -> Self {
        let child = Command::new(program)
            .args(["--serve", runtime, "--workers", &workers.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{program} does not start: {error}"));
        let input = child.stdin.take().expect("it was asked for");
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        Self { child, input, output }
    }

    /// Wall and CPU time of one run, in nanoseconds per operation.
    fn run(&mut self, workload: &str) -> [f64; 2] {
        writeln!(self.input, "{workload}").expect("the process is still there");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the process answers");
        let mut times = line.split_whitespace().map(|it| it.parse().expect("two times"));
        [times.next(), times.next()].map(|it| it.expect("the process knows the workload"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // If this process is killed, it ends with its input.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs on one runtime what the other process names, a line each, until there are no more.
fn serve<R: Runtime>(workers: usize) {
    let (runtime, workloads) = (R::start(workers), all::<R>());
    for line in std::io::stdin().lines() {
        let line = line.expect("names are text");
        let workload = workloads.iter().find(|workload| workload.name == line);
        let workload = workload.expect("the same workloads on both sides");
        let before = cpu_time();
        let wall = (workload.run)(&runtime, workload.count);
        let times = [wall, cpu_time() - before];
        let [wall, cpu] = times.map(|time| time.as_secs_f64() * 1e9 / workload.per as f64);
        println!("{wall} {cpu}");
    }
}

/// The peers, in the order of the tables.
const PEERS: [&str; 3] = [Tokio::NAME, TokioCurrentThread::NAME, Smol::NAME];

fn main() {
    let options = Options::parse();
    let (workers, rounds) = (options.workers.get(), options.rounds.get());
    set_smol_threads(workers);
    match options.serve.as_deref() {
        None => {}
        Some(Arc::NAME) => return serve::<Arc>(workers),
        Some(Tokio::NAME) => return serve::<Tokio>(workers),
        Some(TokioCurrentThread::NAME) => return serve::<TokioCurrentThread>(workers),
        Some(Smol::NAME) => return serve::<Smol>(workers),
        Some(other) => {
            eprintln!("there is no runtime `{other}` here");
            std::process::exit(2);
        }
    }

    let this = std::env::current_exe().expect("this program has a name");
    let this = this.to_str().expect("its name is text");
    // How tables call it, the program, and the runtime in that program.
    let mut entrants = vec![(Arc::NAME, this, Arc::NAME)];
    entrants.extend(options.before.as_deref().map(|program| ("before", program, Arc::NAME)));
    let peers = PEERS.into_iter().filter(|peer| options.wants(peer));
    entrants.extend(peers.map(|peer| (peer, this, peer)));
    println!(
        "{} workers, {} rounds; time: wall of one operation (or of the whole); ratios: \
         arc's time to the peer's, wall (least to most) and CPU\n",
        workers, rounds
    );
    let mut records = Vec::new();
    for workload in all::<Arc>() {
        let name = workload.name;
        if options.only.is_empty() || options.only.iter().any(|part| name.contains(part)) {
            let runs = run_rounds(&entrants, workers, name, rounds);
            let names = entrants.iter().map(|entrant| entrant.0);
            records.push(compare(name, workload.per == 1, names, runs));
        }
    }
    if let Some(file) = options.json {
        let text = format!("[\n{}\n]\n", records.join(",\n"));
        std::fs::write(&file, text).unwrap_or_else(|error| panic!("writing {file}: {error}"));
    }
}

/// Runs one workload on all, as many times. Returns the times of each, round by round.
///
/// They take turns at being the first, and the others follow forwards or backwards: what runs just
/// before another leaves its traces in the caches.
fn run_rounds(
    entrants: &[(&str, &str, &str)],
    workers: usize,
    workload: &str,
    rounds: usize,
) -> Vec<Vec<[f64; 2]>> {
    let count = entrants.len();
    let mut runs = vec![Vec::new(); count];
    for round in 0..rounds {
        for turn in 0..count {
            let is_forwards = (round / count).is_multiple_of(2);
            let turn = if is_forwards { turn } else { count - turn };
            let entrant = (turn + round) % count;
            let (_, program, runtime) = entrants[entrant];
            let mut process = Process::start(program, runtime, workers);
            process.run(workload); // warms it up
            runs[entrant].push(process.run(workload));
        }
    }
    runs
}

/// Prints the lines of a workload, and gives its JSON. `whole` says that the times are of a
/// whole run.
fn compare<'a>(
    workload: &str,
    whole: bool,
    names: impl Iterator<Item = &'a str>,
    runs: Vec<Vec<[f64; 2]>>,
) -> String {
    let ratios = |peer: usize, kind: usize| -> Vec<f64> {
        let rounds = runs[0].iter().zip(&runs[peer]);
        rounds.map(|(arc, peer)| arc[kind] / peer[kind]).collect()
    };
    let mut json = Vec::new();
    for (peer, name) in names.enumerate() {
        let time = median(&mut runs[peer].iter().map(|run| run[0]).collect::<Vec<_>>());
        let (mut wall, mut cpu) = (ratios(peer, 0), ratios(peer, 1));
        let (wall_median, cpu_median) = (median(&mut wall), median(&mut cpu));
        let (least, most) = (wall[0], wall[wall.len() - 1]);
        let label = if peer == 0 { workload } else { "" };
        print!("{label:34} {name:22} {:>12}", show(time));
        if peer == 0 {
            println!();
        } else {
            println!("   {wall_median:.2} ({least:.2} to {most:.2})   CPU {cpu_median:.2}");
        }
        json.push(format!(
            "{{\"runtime\":\"{name}\",\"nanoseconds\":{time:.1},\"ratio\":{wall_median:.3},\
             \"least\":{least:.3},\"most\":{most:.3},\"cpu_ratio\":{cpu_median:.3}}}"
        ));
    }
    let json = json.join(",");
    format!(" {{\"workload\":\"{workload}\",\"whole\":{whole},\"runtimes\":[{json}]}}")
}

fn show(nanoseconds: f64) -> String {
    match nanoseconds {
        0.0..1e4 => format!("{nanoseconds:.0} ns"),
        1e4..1e7 => format!("{:.1} us", nanoseconds / 1e3),
        _ => format!("{:.1} ms", nanoseconds / 1e6),
    }
}
