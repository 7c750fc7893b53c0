//! Simulates many cells, prints a line for each, and tells where arc is behind tokio.

use lab::cell::{Cell, Load, Polls};
use lab::costs::Costs;
use lab::rules::Rules;
use lab::system::Figures;
use std::io::IsTerminal;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const HELP: &str = "\
arc's policy beside tokio's and an ideal one, in virtual time.

usage: simulate [OPTION...]

  --workers LIST    how many workers (1,2,4,8,16,32,64)
  --polls LIST      how long polls take: 300us; exp:100us; 5us+2ms, one in 100 the
                    longer (1us,8us,30us,exp:100us,300us,1ms,5ms,5us+2ms)
  --load LIST       how busy an open loop keeps the workers, in percent
                    (5,10,30,50,70,90)
  --connections LIST  of a closed loop (1,8,16,64,256,1000)
  --client-cost T   how long a thread of the client needs for a request (4us)
  --client-threads N  how many it has (as many as there are workers)
  --cores N         workers and client share so many cores (each has its own)
  --requests N      requests of a cell (60000)
  --seed N          of arrivals and lengths (1)
  --COST NANOS      wake, delay, queue, sleep, cold, look, event, steal, search, poll,
                    clock, tick

A line has arc / tokio / ideal of the mean and p99 latency in us, and of the requests per
second; arc / tokio of the workers' CPU and of wake-ups per request; ratios arc to tokio.
";

/// More than this behind tokio is listed at the end.
const BEHIND: f64 = 1.10;

struct Options {
    workers: Vec<usize>,
    polls: Vec<Polls>,
    loads: Vec<Load>,
    client_cost: u64,
    client_threads: Option<usize>,
    cores: Option<usize>,
    requests: u64,
    seed: u64,
    costs: Costs,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            workers: vec![1, 2, 4, 8, 16, 32, 64],
            polls: list("1us,8us,30us,exp:100us,300us,1ms,5ms,5us+2ms", polls)?,
            loads: Vec::new(),
            client_cost: 4_000,
            client_threads: None,
            cores: None,
            requests: 60_000,
            seed: 1,
            costs: Costs::default(),
        };
        let mut open = None;
        let mut closed = None;
        while let Some(name) = arguments.next() {
            if name == "--help" {
                return Err(HELP.to_owned());
            }
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--workers" => options.workers = list(&value, count)?,
                "--polls" => options.polls = list(&value, polls)?,
                "--load" => open = Some(list(&value, percent)?),
                "--connections" => closed = Some(list(&value, count)?),
                "--client-cost" => options.client_cost = time(&value).ok_or(HELP)?,
                "--client-threads" => options.client_threads = Some(count(&value).ok_or(HELP)?),
                "--cores" => options.cores = Some(count(&value).ok_or(HELP)?),
                "--requests" => options.requests = count(&value).ok_or(HELP)? as u64,
                "--seed" => options.seed = value.parse().map_err(|_| HELP)?,
                _ => {
                    let cost = name.strip_prefix("--").and_then(|it| options.costs.named(it));
                    let cost = cost.ok_or_else(|| format!("unknown option {name}\n\n{HELP}"))?;
                    *cost = value.parse().map_err(|_| format!("{name} takes nanoseconds"))?;
                }
            }
        }
        if open.is_none() && closed.is_none() {
            open = Some(list("5,10,30,50,70,90", percent)?);
            closed = Some(list("1,8,16,64,256,1000", count)?);
        }
        options.loads.extend(open.into_iter().flatten().map(Load::Open));
        options.loads.extend(closed.into_iter().flatten().map(Load::Closed));
        Ok(options)
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &workers in &self.workers {
            for &polls in &self.polls {
                for &load in &self.loads {
                    cells.push(Cell {
                        workers,
                        cores: self.cores,
                        polls,
                        load,
                        client_threads: self.client_threads.unwrap_or(workers),
                        client_cost: self.client_cost,
                        requests: self.requests,
                    });
                }
            }
        }
        cells
    }
}

fn list<T>(text: &str, each: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let items = text.split(',').map(each).collect::<Option<_>>();
    items.ok_or_else(|| format!("not understood: {text}\n\n{HELP}"))
}

fn count(text: &str) -> Option<usize> {
    text.parse().ok().filter(|count| *count > 0)
}

fn percent(text: &str) -> Option<f64> {
    text.parse().ok().filter(|percent| *percent > 0.0).map(|percent: f64| percent / 100.0)
}

/// In nanoseconds.
fn time(text: &str) -> Option<u64> {
    let units = [("us", 1e3), ("ms", 1e6)];
    let (number, unit) =
        units.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))?;
    number.parse().ok().map(|number: f64| (number * unit) as u64)
}

fn polls(text: &str) -> Option<Polls> {
    if let Some(mean) = text.strip_prefix("exp:") {
        return time(mean).map(Polls::Exponential);
    }
    match text.split_once('+') {
        Some((common, long)) => Some(Polls::Mixed(time(common)?, time(long)?)),
        None => time(text).map(Polls::Equal),
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    let cells = options.cells();
    let all = simulate(&cells, &options);
    println!(
        "{:>3} {:>14} {:>10} | {:>29} {:>5} | {:>29} {:>5} | {:>29} {:>5} | {:>15} {:>5} | wakes",
        "w", "polls", "load", "mean us", "", "p99 us", "", "requests/s", "", "CPU us", ""
    );
    for (cell, figures) in cells.iter().zip(&all) {
        println!("{}", line(cell, figures));
    }
    list_losses(&cells, &all);
    ExitCode::SUCCESS
}

/// On as many threads as there are cores.
fn simulate(cells: &[Cell], options: &Options) -> Vec<[Figures; 3]> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut all = vec![[Figures::default(); 3]; cells.len()];
    thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            loop {
                // Relaxed: the cells were there before the threads.
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(cell) = cells.get(index) else {
                    return done;
                };
                let run = |rules| cell.run(rules, options.costs, options.seed);
                done.push((index, [Rules::Arc, Rules::Tokio, Rules::Ideal].map(run)));
                if std::io::stderr().is_terminal() {
                    eprint!("\r{} of {} cells", index + 1, cells.len());
                }
            }
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            for (index, figures) in thread.join().expect("a cell loses nothing") {
                all[index] = figures;
            }
        }
    });
    eprintln!();
    all
}

fn line(cell: &Cell, figures: &[Figures; 3]) -> String {
    let three = |value: fn(&Figures) -> f64| {
        let [arc, tokio, ideal] = figures.each_ref().map(value);
        format!("{arc:>9.1} {tokio:>9.1} {ideal:>9.1} {:>5.2}", arc / tokio)
    };
    let [arc, tokio, _] = figures;
    format!(
        "{:>3} {:>14} {:>10} | {} | {} | {} | {:>7.2} {:>7.2} {:>5.2} | {:.2} {:.2}",
        cell.workers,
        cell.polls.name(),
        cell.load.name(),
        three(|it| it.mean),
        three(|it| it.p99),
        three(|it| it.per_second),
        arc.cpu,
        tokio.cpu,
        arc.cpu / tokio.cpu,
        arc.wakes,
        tokio.wakes,
    )
}

/// The cells in which arc is behind.
fn list_losses(cells: &[Cell], all: &[[Figures; 3]]) {
    println!("\nmore than 10 % behind tokio in mean latency or requests per second:");
    let mut losses = 0;
    for (cell, [arc, tokio, ideal]) in cells.iter().zip(all) {
        let later = arc.mean / tokio.mean;
        let slower = tokio.per_second / arc.per_second;
        if later > BEHIND || slower > BEHIND {
            losses += 1;
            println!(
                "  {:>2} workers, {:>14}, {:>10}: mean {later:.2}, requests/s {:.2}, CPU {:.2}; \
                 mean to the ideal: arc {:.2}, tokio {:.2}",
                cell.workers,
                cell.polls.name(),
                cell.load.name(),
                1.0 / slower,
                arc.cpu / tokio.cpu,
                arc.mean / ideal.mean,
                tokio.mean / ideal.mean,
            );
        }
    }
    println!("{losses} of {} cells", cells.len());
}
