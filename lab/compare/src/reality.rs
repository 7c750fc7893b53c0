//! `reality`: what the simulation says of a cell, beside what real servers do.
//!
//! The handlers sleep in the kernel, which holds a worker up and not its core, so that one core
//! plays as many as there are workers. How long a poll really takes (the sleep, hyper, and the
//! system calls around them) is measured first, on a server whose only worker is never idle.

use clap::{Args, Parser};
use lab::cell::{Cell, Load, Polls};
use lab::costs::Costs;
use lab::rules::Rules;
use lab::system::Figures;

use crate::Failure;
use crate::options::Options;
use crate::record::{Series, Server};
use crate::statistics::{MEAN, Metric, P99, PER_SECOND};
use crate::versus::Versus;
use crate::workload::Workload;

/// Workers, what a handler does, and the load.
type Real = (usize, &'static str, Load);

/// Few and many workers, handlers around and far above the cost of waking a worker, light and
/// heavy load, open and closed. They are in the order of the handlers, so that each handler's poll
/// is measured once.
const CELLS: [Real; 12] = [
    (1, "300us", Load::Open(0.3)),
    (2, "300us", Load::Open(0.3)),
    (2, "300us", Load::Open(0.7)),
    (8, "300us", Load::Open(0.3)),
    (16, "300us", Load::Open(0.1)),
    (1, "1ms", Load::Open(0.6)),
    (2, "1ms", Load::Closed(8)),
    (8, "1ms", Load::Closed(8)),
    (8, "1ms", Load::Closed(64)),
    (8, "1ms", Load::Open(0.7)),
    (16, "1ms", Load::Open(0.5)),
    (16, "5ms", Load::Open(0.7)),
];

/// How many requests are simulated.
const REQUESTS: u64 = 40_000;

/// What the thread of the load needs for a request in a closed loop, in nanoseconds: about 10 µs of
/// CPU, most of them in the kernel.
const CLIENT_COST: u64 = 10_000;

/// What the command line asks for.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// How long each measurement takes
    #[arg(long, default_value = "3")]
    seconds: f64,
    /// How often each server is measured, in turns
    #[arg(long, default_value = "5")]
    rounds: usize,
}

/// Prints a line for each cell.
///
/// # Errors
///
/// Something cannot be built or measured, or ctrl-c.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut versus = Versus::prepare(options(arguments, &always_busy(CELLS[0].1))?)?;
    println!("| workers | handler | load | mean, µs: arc, tokio | simulated | ratio | simulated |");
    println!("|--:|--:|--:|--:|--:|--:|--:|");

    let mut known: Option<(&str, u64)> = None;
    for cell in CELLS {
        let (_, work, _) = cell;
        let poll = match known {
            Some((same, poll)) if same == work => poll,
            _ => {
                versus.options = options(arguments, &always_busy(work))?;
                poll_time(&versus.series(Workload::Hyper, 8)?)
            }
        };
        known = Some((work, poll));
        let (words, connections) = real(cell, poll);
        versus.options = options(arguments, &words)?;
        let series = versus.series(Workload::Hyper, connections)?;
        println!("{}", row(cell, poll, &series));
    }
    Ok(())
}

/// As `versus` would read them.
fn options(arguments: &Arguments, words: &str) -> Result<Options, Failure> {
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    let Arguments { seconds, rounds } = arguments;
    let line = format!("versus --peers tokio --seconds {seconds} --rounds {rounds} {words}");
    let Line { options } = Line::try_parse_from(line.split_whitespace())
        .map_err(|error| Failure(format!("{line}: {error}")))?;
    options.check()?;
    Ok(options)
}

/// A server with one worker that is never idle.
fn always_busy(work: &str) -> String {
    format!("--workers 1 --work {work} --work-sleeps --connections 8 --pin --load builtin")
}

/// How long a poll took on a worker that was never idle, in nanoseconds.
fn poll_time(series: &Series) -> u64 {
    let times = series.servers.iter().map(|server| 1e9 / median(server, &PER_SECOND));
    (times.sum::<f64>() / series.servers.len() as f64) as u64
}

/// The options that make a real server's load that of a cell, and the number of connections.
fn real((workers, work, load): Real, poll: u64) -> (String, usize) {
    let (words, connections) = match load {
        Load::Open(part) => {
            let rate = part * workers as f64 * 1e9 / poll as f64;
            (format!("--open {rate:.0}"), 256)
        }
        Load::Closed(connections) => ("--pin --load builtin".to_owned(), connections),
    };
    (format!("--workers {workers} --work {work} --work-sleeps {words}"), connections)
}

fn simulated((workers, _, load): Real, poll: u64, rules: Rules) -> Figures {
    let cell = Cell {
        workers,
        cores: None,
        polls: Polls::Equal(poll),
        load,
        client_threads: 1,
        client_cost: CLIENT_COST,
        requests: REQUESTS,
    };
    cell.run(rules, Costs::default(), 1)
}

fn row(cell: Real, poll: u64, series: &Series) -> String {
    let [arc, tokio] = &series.servers[..] else { panic!("arc and tokio are measured") };
    let [real_mean, real_p99] = [&MEAN, &P99].map(|it| ratio(it, arc, tokio));
    let [in_arc, in_tokio] = [Rules::Arc, Rules::Tokio].map(|rules| simulated(cell, poll, rules));
    let [mean_of_arc, mean_of_tokio] = [arc, tokio].map(|server| median(server, &MEAN));
    let (workers, work, load) = cell;
    format!(
        "| {workers} | {work} ({:.0} µs) | {} | {mean_of_arc:.0}, {mean_of_tokio:.0} \
         | {:.0}, {:.0} | {real_mean:.2}, p99 {real_p99:.2} | {:.2}, p99 {:.2} |",
        poll as f64 / 1e3,
        load.name(),
        in_arc.mean,
        in_tokio.mean,
        in_arc.mean / in_tokio.mean,
        in_arc.p99 / in_tokio.p99,
    )
}

/// Not a number if nothing was measured.
fn median(server: &Server, metric: &Metric) -> f64 {
    metric.spread(server).map_or(f64::NAN, |spread| spread.median)
}

fn ratio(metric: &Metric, server: &Server, baseline: &Server) -> f64 {
    metric.ratio(server, baseline).map_or(f64::NAN, |spread| spread.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Round;

    const ARGUMENTS: Arguments = Arguments { seconds: 1.0, rounds: 1 };

    #[test]
    fn each_cell_can_be_measured() {
        for cell in CELLS {
            assert!(options(&ARGUMENTS, &always_busy(cell.1)).is_ok());
            let (words, _) = real(cell, 360_000);
            let options = options(&ARGUMENTS, &words).unwrap();
            assert_eq!(options.workers, cell.0);
            assert!(options.work_sleeps && options.pins(), "{words}");
        }
    }

    #[test]
    fn an_open_loop_keeps_the_workers_as_busy_as_the_cell_says() {
        // 4 workers at 50 %: 2 polls of 1 ms at any time.
        let (words, _) = real((4, "1ms", Load::Open(0.5)), 1_000_000);
        assert!(words.ends_with("--open 2000"), "{words}");
    }

    #[test]
    fn a_line_has_both() {
        let server = |name: &str, mean| Server {
            name: name.to_owned(),
            rounds: vec![Round { mean, p99: mean, answers: 1, seconds: 1.0, ..Round::default() }],
            ..Server::default()
        };
        let series = Series {
            servers: vec![server("arc", 90.0), server("tokio", 100.0)],
            ..Series::default()
        };
        let row = row((1, "1ms", Load::Closed(1)), 1_000_000, &series);
        // One connection and one worker: nothing but the poll, and what it takes to get there.
        assert!(row.starts_with("| 1 | 1ms (1000 µs) | 1 conn. | 90, 100 | 1"), "{row}");
        assert!(row.contains("| 0.90, p99 0.90 | 1.00, p99 1.00 |"), "{row}");
    }
}
