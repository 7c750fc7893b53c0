//! The cost of one more, on arc and its peers: tasks alive, connections, timers,
//! workers. Every measurement is made by a fresh process, which this program starts
//! from itself, so that memory is clean; a round has one measurement of each
//! runtime, the order turned round by round.
//!
//! Times are medians over rounds; ratios are taken round by round. Bytes are what
//! the resident memory grew by, divided by the size: exact to the page (4 KiB), so
//! that they mean something from some hundred items on. What the kernel keeps for a
//! socket is not in it.
//!
//! `--json` writes what `cargo xtask chart` draws; null is what was not measured:
//!
//! ```text
//! { "growth": 1,              the version of this format
//!   "cores": 2, "workers": 2, "rounds": 5,
//!   "series": [ {
//!     "name": "tasks",        as in --series
//!     "item": "tasks alive",  what a size counts
//!     "operation": "spawn, wake and join a task",   what the time is of
//!     "points": [ {
//!       "size": 100,
//!       "runtimes": [ {       arc first; those that failed are missing
//!         "runtime": "arc",
//!         "nanoseconds": 1.0, of one operation
//!         "bytes": 1.0,       of one item, or null
//!         "ratio": null,      arc's time to this one's; null for arc itself
//!         "least": null, "most": null             of the rounds' ratios
//! } ] } ] } ] }
//! ```

use arc_benches::Runtime;
use arc_benches::growth::{Figures, SERIES, Series, measure, room_for_connections};
use arc_benches::runtimes::{Arc, Smol, Tokio, TokioCurrentThread};
use arc_benches::stats::median;
use std::process::{Command, exit};
use std::time::Duration;

const HELP: &str = "\
What one more task, connection, timer or worker costs, on arc and its peers.

  --series LIST  of tasks, connections, timers, expiries, workers (all)
  --max N        no size is larger than this
  --rounds N     rounds (5)
  --workers N    workers of each runtime that has more than one (2)
  --peers LIST   of tokio, tokio-current-thread, smol (tokio)
  --json FILE    write the figures there as well";

/// The word by which this program starts itself.
const CHILD: &str = "--child";

/// No measurement takes longer: it ends itself then.
const LIMIT: Duration = Duration::from_secs(120);

const PEERS: [&str; 3] = [Tokio::NAME, TokioCurrentThread::NAME, Smol::NAME];

struct Options {
    series: Vec<&'static Series>,
    max: usize,
    rounds: usize,
    workers: usize,
    /// arc, and its peers.
    runtimes: Vec<String>,
    json: Option<String>,
}

impl Options {
    fn parse() -> Result<Self, String> {
        let mut options = Self {
            series: SERIES.iter().collect(),
            max: usize::MAX,
            rounds: 5,
            workers: 2,
            runtimes: vec![Arc::NAME.to_owned(), Tokio::NAME.to_owned()],
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
                "--series" => options.series = series_of(&value()?)?,
                "--max" => options.max = number(value()?)?,
                "--rounds" => options.rounds = number(value()?)?,
                "--workers" => options.workers = number(value()?)?,
                "--peers" => options.runtimes = runtimes_of(&value()?)?,
                "--json" => options.json = Some(value()?),
                "--help" => return Err(HELP.to_owned()),
                _ => return Err(format!("unknown option {name}\n\n{HELP}")),
            }
        }
        Ok(options)
    }
}

fn series_of(list: &str) -> Result<Vec<&'static Series>, String> {
    let find = |name| SERIES.iter().find(|series| series.name == name);
    list.split(',')
        .map(|name| find(name).ok_or_else(|| format!("there is no series `{name}`\n\n{HELP}")))
        .collect()
}

fn runtimes_of(list: &str) -> Result<Vec<String>, String> {
    let mut runtimes = vec![Arc::NAME.to_owned()];
    for name in list.split(',') {
        if !PEERS.contains(&name) {
            return Err(format!("there is no peer `{name}`\n\n{HELP}"));
        }
        runtimes.push(name.to_owned());
    }
    Ok(runtimes)
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == CHILD) {
        return child(&arguments[1..]);
    }
    let options = Options::parse().unwrap_or_else(|text| {
        eprintln!("{text}");
        exit(2);
    });
    println!(
        "{} workers, {} rounds; time: of one operation; ratios: arc's time to the peer's \
         (least to most); B: resident bytes of one item",
        options.workers, options.rounds
    );
    let mut failures = Vec::new();
    let mut series = Vec::new();
    for one in &options.series {
        series.push(grow(one, &options, &mut failures));
    }
    if let Some(file) = &options.json {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let text = format!(
            "{{\"growth\":1,\"cores\":{cores},\"workers\":{},\"rounds\":{},\"series\":[\n{}\n]}}\n",
            options.workers,
            options.rounds,
            series.join(",\n")
        );
        std::fs::write(file, text).unwrap_or_else(|error| {
            eprintln!("writing {file}: {error}");
            exit(1);
        });
    }
    if !failures.is_empty() {
        eprintln!("\nfailed:\n  {}", failures.join("\n  "));
        exit(1);
    }
}

/// Measures one series, prints its table, and gives its JSON.
fn grow(series: &Series, options: &Options, failures: &mut Vec<String>) -> String {
    let mut most = series.sizes.1.min(options.max);
    println!("\n{}: {}", series.name, series.operation);
    if series.name == "connections" {
        let room = room_for_connections();
        if room < most {
            println!("not more than {room}: the limit of open files (ulimit -Hn) allows no more");
            most = room;
        }
    }
    print_heading(series, &options.runtimes);
    let mut points = Vec::new();
    for size in series.sizes(most) {
        let runs = rounds(series, size, options, failures);
        points.push(point(size, &options.runtimes, &runs));
    }
    format!(
        " {{\"name\":\"{}\",\"item\":\"{}\",\"operation\":\"{}\",\"points\":[\n  {}\n ]}}",
        series.name,
        series.item,
        series.operation,
        points.join(",\n  ")
    )
}

/// The rounds of each runtime. A runtime that fails is not asked again, and has none.
fn rounds(
    series: &Series,
    size: usize,
    options: &Options,
    failures: &mut Vec<String>,
) -> Vec<Vec<Figures>> {
    let runtimes = &options.runtimes;
    let mut runs: Vec<Vec<Figures>> = runtimes.iter().map(|_| Vec::new()).collect();
    let mut has_failed = vec![false; runtimes.len()];
    for round in 0..options.rounds {
        for turn in 0..runtimes.len() {
            let index = (turn + round) % runtimes.len();
            if has_failed[index] {
                continue;
            }
            match measured(series, size, &runtimes[index], options.workers) {
                Ok(figures) => runs[index].push(figures),
                Err(reason) => {
                    let place = format!("{}, {size}, {}", series.name, runtimes[index]);
                    eprintln!("{place}: {reason}");
                    failures.push(place);
                    has_failed[index] = true;
                    runs[index].clear();
                }
            }
        }
    }
    runs
}

/// One measurement, in a process of its own.
fn measured(
    series: &Series,
    size: usize,
    runtime: &str,
    workers: usize,
) -> Result<Figures, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let threads = if series.name == "workers" { size } else { workers };
    let (size, workers) = (size.to_string(), workers.to_string());
    let output = Command::new(program)
        .args([CHILD, series.name, runtime, &size, &workers])
        .env("SMOL_THREADS", threads.to_string())
        .output()
        .map_err(|error| format!("it does not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, said.trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    let nanoseconds = words.next().and_then(|word| word.parse().ok());
    let bytes = words.next().and_then(|word| word.parse().ok());
    let nanoseconds = nanoseconds.ok_or_else(|| format!("it printed `{}`", text.trim()))?;
    Ok(Figures { nanoseconds, bytes })
}

/// One measurement, in this process: prints the time, and the bytes if there are any.
fn child(arguments: &[String]) {
    let [series, runtime, size, workers] = arguments else {
        panic!("{CHILD} is for this program itself");
    };
    let size = size.parse().expect("the size is a number");
    let workers = workers.parse().expect("the workers are a number");
    std::thread::spawn(|| {
        std::thread::sleep(LIMIT);
        eprintln!("not done after {} s", LIMIT.as_secs());
        exit(1);
    });
    let measure = match runtime.as_str() {
        Arc::NAME => measure::<Arc>,
        Tokio::NAME => measure::<Tokio>,
        TokioCurrentThread::NAME => measure::<TokioCurrentThread>,
        Smol::NAME => measure::<Smol>,
        _ => panic!("there is no runtime {runtime}"),
    };
    let figures = measure(series, size, workers);
    let bytes = figures.bytes.map_or(String::new(), |bytes| bytes.to_string());
    println!("{} {bytes}", figures.nanoseconds);
}

fn print_heading(series: &Series, runtimes: &[String]) {
    print!("{:>17}", series.item);
    for name in runtimes {
        print!(" {name:>width$}", width = columns(name));
    }
    for name in &runtimes[1..] {
        print!(" {:>24}", format!("arc/{name}"));
    }
    for name in runtimes {
        print!(" {:>width$}", format!("{name} B"), width = columns(name));
    }
    println!();
}

/// How wide a runtime's columns are.
fn columns(name: &str) -> usize {
    12.max(name.len() + 2)
}

/// Prints the row of a size, and gives its JSON.
fn point(size: usize, runtimes: &[String], runs: &[Vec<Figures>]) -> String {
    let (mut times, mut ratios, mut memory) = (String::new(), String::new(), String::new());
    let mut json = Vec::new();
    for (index, (name, runs_of_it)) in runtimes.iter().zip(runs).enumerate() {
        let time = middle(runs_of_it.iter().map(|run| run.nanoseconds));
        let bytes = middle(runs_of_it.iter().filter_map(|run| run.bytes));
        let ratio = ratio(&runs[0], runs_of_it).filter(|_| index > 0);
        let width = columns(name);
        let cell = time.map_or("failed".to_owned(), show);
        times += &format!(" {cell:>width$}");
        let cell = ratio.map_or(String::new(), |[least, ratio, most]| {
            format!("{ratio:.2} ({least:.2} to {most:.2})")
        });
        if index > 0 {
            ratios += &format!(" {cell:>24}");
        }
        let cell = bytes.map_or("-".to_owned(), |bytes| format!("{bytes:.0}"));
        memory += &format!(" {cell:>width$}");
        let Some(time) = time else { continue };
        let [least, ratio, most] = ratio.map_or([None; 3], |ratio| ratio.map(Some));
        json.push(format!(
            "{{\"runtime\":\"{name}\",\"nanoseconds\":{time:.1},\"bytes\":{},\"ratio\":{},\
             \"least\":{},\"most\":{}}}",
            or_null(bytes, 1),
            or_null(ratio, 3),
            or_null(least, 3),
            or_null(most, 3)
        ));
    }
    println!("{size:>17}{times}{ratios}{memory}");
    format!("{{\"size\":{size},\"runtimes\":[{}]}}", json.join(","))
}

/// Least, median and most of the ratios of rounds; none if one of the two failed.
fn ratio(arc: &[Figures], peer: &[Figures]) -> Option<[f64; 3]> {
    let rounds = arc.iter().zip(peer);
    let mut ratios: Vec<_> = rounds.map(|(arc, peer)| arc.nanoseconds / peer.nanoseconds).collect();
    let middle = (!ratios.is_empty()).then(|| median(&mut ratios))?;
    Some([ratios[0], middle, ratios[ratios.len() - 1]])
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<_> = values.collect();
    (!values.is_empty()).then(|| median(&mut values))
}

fn or_null(value: Option<f64>, digits: usize) -> String {
    value.map_or("null".to_owned(), |value| format!("{value:.digits$}"))
}

fn show(nanoseconds: f64) -> String {
    match nanoseconds {
        0.0..1e4 => format!("{nanoseconds:.0} ns"),
        1e4..1e7 => format!("{:.1} us", nanoseconds / 1e3),
        _ => format!("{:.1} ms", nanoseconds / 1e6),
    }
}
