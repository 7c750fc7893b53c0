//! Every workload on arc and its peers, interleaved: one run of each per round, the
//! order turned round by round, and the median of the rounds' ratios. On a noisy
//! machine neighbours in time are disturbed alike, so the ratios hold where times
//! do not.

use arc_benches::Runtime;
use arc_benches::runtimes::{Arc, Smol, Tokio, TokioCurrentThread};
use arc_benches::stats::{cpu_time, median};
use arc_benches::suite::{Workload, all, set_smol_threads};

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

const HELP: &str = "\
Every workload on arc and its peers, in interleaved rounds.

  --workers N   workers of each runtime that has more than one (2)
  --rounds N    rounds (9)
  --only TEXT   only workloads whose name has this in it; may be repeated
  --peers LIST  of tokio, tokio-current-thread, smol (all)
  --before FILE this program built with another arc, as one more peer;
                `cargo xtask ratios --commit REV` builds it
  --serve       be that program: run the workloads that stdin names
  --json FILE   write the figures there as well";

struct Options {
    workers: usize,
    rounds: usize,
    only: Vec<String>,
    peers: Option<String>,
    before: Option<String>,
    serve: bool,
    json: Option<String>,
}

impl Options {
    fn parse() -> Result<Self, String> {
        let mut options = Self {
            workers: 2,
            rounds: 9,
            only: Vec::new(),
            peers: None,
            before: None,
            serve: false,
            json: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} takes a value"));
            let number = |text: String| match text.parse() {
                Ok(number @ 1..) => Ok(number),
                _ => Err(format!("{name} takes a number from 1, not `{text}`")),
            };
            match name.as_str() {
                "--workers" => options.workers = number(value()?)?,
                "--rounds" => options.rounds = number(value()?)?,
                "--only" => options.only.push(value()?),
                "--peers" => options.peers = Some(value()?),
                "--before" => options.before = Some(value()?),
                "--serve" => options.serve = true,
                "--json" => options.json = Some(value()?),
                "--help" => return Err(HELP.to_owned()),
                _ => return Err(format!("unknown option {name}\n\n{HELP}")),
            }
        }
        Ok(options)
    }

    fn wants(&self, peer: &str) -> bool {
        let peers = self.peers.as_deref();
        peer == Arc::NAME || peers.is_none_or(|peers| peers.split(',').any(|name| name == peer))
    }
}

/// A runtime's workloads, with the type of the runtime forgotten.
struct Entrant {
    name: &'static str,
    workloads: Vec<Case>,
}

struct Case {
    name: &'static str,
    per: usize,
    /// Wall and CPU time of one run, in nanoseconds per operation.
    run: Box<dyn Fn() -> [f64; 2]>,
}

fn entrant<R: Runtime>(workers: usize) -> Entrant {
    let runtime = Rc::new(R::start(workers));
    let case = |workload: Workload<R>| {
        let runtime = runtime.clone();
        Case {
            name: workload.name,
            per: workload.per,
            run: Box::new(move || {
                let before = cpu_time();
                let wall = (workload.run)(&runtime, workload.count);
                let cpu = cpu_time() - before;
                [wall, cpu].map(|time| time.as_secs_f64() * 1e9 / workload.per as f64)
            }),
        }
    };
    Entrant { name: R::NAME, workloads: all::<R>().into_iter().map(case).collect() }
}

/// arc of another commit: a process that runs one workload after the other, whenever
/// it is that one's turn.
struct Before {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Before {
    fn start(program: &str, workers: usize) -> Self {
        let child = Command::new(program)
            .args(["--serve", "--workers", &workers.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{program} does not start: {error}"));
        let input = child.stdin.take().expect("it was asked for");
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        Self { child, input, output }
    }

    fn run(&mut self, workload: &str) -> [f64; 2] {
        writeln!(self.input, "{workload}").expect("arc of before is still there");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("arc of before answers");
        let mut times = line.split_whitespace().map(|it| it.parse().expect("two times"));
        [times.next(), times.next()].map(|it| it.expect("arc of before knows the workload"))
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        // If this process is killed, it ends with its input.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn before(program: &str, workers: usize) -> Entrant {
    let before = Rc::new(RefCell::new(Before::start(program, workers)));
    let case = |workload: Workload<Arc>| {
        let before = before.clone();
        let name = workload.name;
        let run = Box::new(move || before.borrow_mut().run(name));
        Case { name, per: workload.per, run }
    };
    Entrant { name: "before", workloads: all::<Arc>().into_iter().map(case).collect() }
}

/// Runs on arc what the other process names, a line each, until there are no more.
fn serve(workers: usize) {
    let entrant = entrant::<Arc>(workers);
    for line in std::io::stdin().lines() {
        let line = line.expect("names are text");
        let case = entrant.workloads.iter().find(|case| case.name == line);
        let [wall, cpu] = (case.expect("the same workloads on both sides").run)();
        println!("{wall} {cpu}");
    }
}

fn main() {
    let options = Options::parse().unwrap_or_else(|text| {
        eprintln!("{text}");
        std::process::exit(2);
    });
    if options.serve {
        return serve(options.workers);
    }
    set_smol_threads(options.workers);
    let mut entrants = vec![entrant::<Arc>(options.workers)];
    if let Some(program) = &options.before {
        entrants.push(before(program, options.workers));
    }
    if options.wants(Tokio::NAME) {
        entrants.push(entrant::<Tokio>(options.workers));
    }
    if options.wants(TokioCurrentThread::NAME) {
        entrants.push(entrant::<TokioCurrentThread>(options.workers));
    }
    if options.wants(Smol::NAME) {
        entrants.push(entrant::<Smol>(options.workers));
    }
    println!(
        "{} workers, {} rounds; time: wall of one operation (or of the whole); ratios: \
         arc's time to the peer's, wall (least to most) and CPU\n",
        options.workers, options.rounds
    );
    let mut records = Vec::new();
    for index in 0..entrants[0].workloads.len() {
        let name = entrants[0].workloads[index].name;
        if options.only.is_empty() || options.only.iter().any(|part| name.contains(part)) {
            records.push(compare(&entrants, index, options.rounds));
        }
    }
    if let Some(file) = options.json {
        let text = format!("[\n{}\n]\n", records.join(",\n"));
        std::fs::write(&file, text).unwrap_or_else(|error| panic!("writing {file}: {error}"));
    }
}

/// Runs one workload on all, prints its lines, and gives its JSON.
fn compare(entrants: &[Entrant], index: usize, rounds: usize) -> String {
    let case = &entrants[0].workloads[index];
    let mut runs = vec![Vec::new(); entrants.len()];
    for round in 0..rounds {
        for turn in 0..entrants.len() {
            let entrant = (turn + round) % entrants.len();
            runs[entrant].push((entrants[entrant].workloads[index].run)());
        }
    }
    let ratios = |peer: usize, kind: usize| -> Vec<f64> {
        let rounds = runs[0].iter().zip(&runs[peer]);
        rounds.map(|(arc, peer)| arc[kind] / peer[kind]).collect()
    };
    let mut json = Vec::new();
    for (peer, entrant) in entrants.iter().enumerate() {
        let time = median(&mut runs[peer].iter().map(|run| run[0]).collect::<Vec<_>>());
        let (mut wall, mut cpu) = (ratios(peer, 0), ratios(peer, 1));
        let (wall_median, cpu_median) = (median(&mut wall), median(&mut cpu));
        let (least, most) = (wall[0], wall[wall.len() - 1]);
        let label = if peer == 0 { case.name } else { "" };
        print!("{label:34} {:22} {:>12}", entrant.name, show(time));
        if peer == 0 {
            println!();
        } else {
            println!("   {wall_median:.2} ({least:.2} to {most:.2})   CPU {cpu_median:.2}");
        }
        json.push(format!(
            "{{\"runtime\":\"{}\",\"nanoseconds\":{time:.1},\"ratio\":{wall_median:.3},\
             \"least\":{least:.3},\"most\":{most:.3},\"cpu_ratio\":{cpu_median:.3}}}",
            entrant.name
        ));
    }
    let whole = case.per == 1;
    let (name, json) = (case.name, json.join(","));
    format!(" {{\"workload\":\"{name}\",\"whole\":{whole},\"runtimes\":[{json}]}}")
}

fn show(nanoseconds: f64) -> String {
    match nanoseconds {
        0.0..1e4 => format!("{nanoseconds:.0} ns"),
        1e4..1e7 => format!("{:.1} us", nanoseconds / 1e3),
        _ => format!("{:.1} ms", nanoseconds / 1e6),
    }
}
