//! Simulates many cells, prints a line for each, and tells where arc is behind tokio.

use clap::Parser;
use lab::cell::{Cell, Load, Polls, time};
use lab::costs::Costs;
use lab::rules::Rules;
use lab::system::Figures;
use std::io::IsTerminal;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// More than this behind tokio is listed at the end.
const BEHIND: f64 = 1.10;

/// arc's policy beside tokio's and an ideal one, in virtual time
///
/// A line has arc / tokio / ideal of the mean and p99 latency in us, and of the requests per
/// second; arc / tokio of the workers' CPU and of wake-ups per request; ratios arc to tokio.
#[derive(Parser)]
struct Options {
    /// How many workers
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,32,64")]
    workers: Vec<NonZero<usize>>,
    /// How long polls take: 300us; exp:100us; 5us+2ms, one in 100 the longer
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1us,8us,30us,exp:100us,300us,1ms,5ms,5us+2ms"
    )]
    polls: Vec<Polls>,
    /// How busy an open loop keeps the workers, in percent (5,10,30,50,70,90)
    #[arg(long, value_delimiter = ',', value_parser = percent)]
    load: Vec<f64>,
    /// Of a closed loop (1,8,16,64,256,1000)
    #[arg(long, value_delimiter = ',')]
    connections: Vec<NonZero<usize>>,
    /// How long a thread of the client needs for a request
    #[arg(long, value_parser = time, default_value = "4us")]
    client_cost: u64,
    /// How many it has (as many as there are workers)
    #[arg(long)]
    client_threads: Option<NonZero<usize>>,
    /// Requests of a cell
    #[arg(long, default_value_t = 60_000)]
    requests: u64,
    /// Of arrivals and lengths
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    costs: Costs,
}

/// As a part of 1.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| *percent > 0.0);
    percent.map(|percent: f64| percent / 100.0).ok_or_else(|| "it takes more than 0".to_owned())
}

impl Options {
    fn cells(&self) -> Vec<Cell> {
        let mut loads: Vec<Load> = self.load.iter().copied().map(Load::Open).collect();
        loads.extend(self.connections.iter().map(|count| Load::Closed(count.get())));
        if loads.is_empty() {
            loads.extend([0.05, 0.1, 0.3, 0.5, 0.7, 0.9].map(Load::Open));
            loads.extend([1, 8, 16, 64, 256, 1000].map(Load::Closed));
        }
        let mut cells = Vec::new();
        for workers in &self.workers {
            for &polls in &self.polls {
                for &load in &loads {
                    cells.push(Cell {
                        workers: workers.get(),
                        polls,
                        load,
                        client_threads: self.client_threads.unwrap_or(*workers).get(),
                        client_cost: self.client_cost,
                        requests: self.requests,
                    });
                }
            }
        }
        cells
    }
}

fn main() {
    let options = Options::parse();
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
