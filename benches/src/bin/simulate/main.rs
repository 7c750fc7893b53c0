//! arc's policy of waking workers in virtual time, beside tokio's and an ideal one.
//!
//! | file | purpose |
//! |---|---|
//! | `main.rs` | the command line, and a line for each cell |
//! | `cell.rs` | one combination of workers, polls and load |
//! | `rules.rs` | what each policy makes of a cell |
//! | `costs.rs` | what looking, waking and sleeping cost |
//! | `machine.rs` | virtual time and threads |
//! | `system.rs` | the kernel's events, the load, and what is measured |
//! | `on_arc.rs` | arc's workers: `src/scheduler/policy.rs` itself, in a loop like `worker.rs` |
//! | `on_tokio.rs` | the workers of tokio's multi-thread runtime |
//! | `ideal.rs` | one queue, and workers that begin at once (M/G/k) |
//!
//! A request is one event of the kernel and one poll. Nothing here is random but the arrivals, the
//! lengths of polls and the order in which thieves look, and all three repeat themselves with the
//! seed.

mod cell;
mod costs;
mod ideal;
mod machine;
mod on_arc;
mod on_tokio;
mod rules;
mod system;

// The policy, as arc compiles it.
#[path = "../../../../src/scheduler/policy.rs"]
mod policy;

/// What the policy takes from arc.
mod sync {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use std::time::{Duration, Instant};
}

use arc_benches::figures::geometric_mean;
use cell::{Cell, Load, Polls};
use clap::Parser;
use costs::Costs;
use rules::Rules;
use std::num::NonZero;
use std::thread;
use system::Figures;

/// arc's policy beside tokio's and an ideal one, in virtual time
///
/// A line has arc / tokio / ideal of the mean and p99 latency in us, and of the requests per
/// second; arc / tokio of the workers' CPU and of wake-ups per request; ratios arc to tokio.
#[derive(Parser)]
struct Options {
    /// How many workers
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,32,64")]
    workers: Vec<NonZero<usize>>,
    /// How long polls take: 300us; exp:100us, at random; 5us+2ms, one in 100 the longer
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1us,8us,30us,exp:100us,300us,1ms,5ms,5us+2ms"
    )]
    polls: Vec<Polls>,
    /// How busy an open loop keeps the workers, in percent (5,10,30,50,70,90)
    #[arg(long, value_delimiter = ',')]
    load: Vec<NonZero<u32>>,
    /// Of a closed loop (1,8,16,64,256,1000)
    #[arg(long, value_delimiter = ',')]
    connections: Vec<NonZero<usize>>,
    /// Requests of a cell
    #[arg(long, default_value_t = 60_000)]
    requests: u64,
    /// Of arrivals and lengths
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the last line alone
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    costs: Costs,
}

impl Options {
    fn cells(&self) -> Vec<Cell> {
        let open = self.load.iter().map(|percent| Load::Open(f64::from(percent.get()) / 100.0));
        let closed = self.connections.iter().map(|count| Load::Closed(count.get()));
        let mut loads: Vec<Load> = open.chain(closed).collect();
        if loads.is_empty() {
            loads.extend([0.05, 0.1, 0.3, 0.5, 0.7, 0.9].map(Load::Open));
            loads.extend([1, 8, 16, 64, 256, 1000].map(Load::Closed));
        }
        let mut cells = Vec::new();
        for workers in &self.workers {
            for &polls in &self.polls {
                for &load in &loads {
                    let requests = self.requests;
                    cells.push(Cell { workers: workers.get(), polls, load, requests });
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
    if !options.quiet {
        println!(
            "  w {:>14} {:>10} | {:>29}       | {:>29}       | {:>29}       | {:>15}       | wakes",
            "polls", "load", "mean us", "p99 us", "requests/s", "CPU us"
        );
        for (cell, figures) in cells.iter().zip(&all) {
            println!("{}", line(cell, figures));
        }
    }
    println!("{}", summary(&all));
}

/// On as many threads as there are cores.
fn simulate(cells: &[Cell], options: &Options) -> Vec<[Figures; 3]> {
    let run = |cell: &Cell| {
        let rules = [Rules::Arc, Rules::Tokio, Rules::Ideal];
        rules.map(|rules| cell.run(rules, options.costs, options.seed))
    };
    let run_all = |cells: &[Cell]| cells.iter().map(run).collect::<Vec<_>>();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let parts = cells.chunks(cells.len().div_ceil(threads));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || run_all(part))).collect();
        let done = threads.into_iter().map(|it| it.join().expect("a cell loses nothing"));
        done.flatten().collect()
    })
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

/// Whether arc answers more than 10 % later than tokio, or fewer.
fn is_behind([arc, tokio, _]: &[Figures; 3]) -> bool {
    arc.mean / tokio.mean > 1.10 || tokio.per_second / arc.per_second > 1.10
}

/// All cells in a line: geometric means of ratios.
fn summary(all: &[[Figures; 3]]) -> String {
    let mean = |ratio: fn(&[Figures; 3]) -> f64| {
        geometric_mean(&all.iter().map(ratio).collect::<Vec<_>>())
    };
    let behind = all.iter().filter(|figures| is_behind(figures)).count();
    format!(
        "mean latency to the ideal: arc {:.3}, tokio {:.3}; p99 the same: {:.3}, {:.3}; \
         CPU to tokio {:.3}; behind tokio by more than 10 %: {behind} of {} cells",
        mean(|[arc, _, ideal]| arc.mean / ideal.mean),
        mean(|[_, tokio, ideal]| tokio.mean / ideal.mean),
        mean(|[arc, _, ideal]| arc.p99 / ideal.p99),
        mean(|[_, tokio, ideal]| tokio.p99 / ideal.p99),
        mean(|[arc, tokio, _]| arc.cpu / tokio.cpu),
        all.len()
    )
}
