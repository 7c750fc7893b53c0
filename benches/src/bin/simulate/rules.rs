//! What each policy makes of a cell.

use crate::cell::Cell;
use crate::costs::Costs;
use crate::ideal::Ideal;
use crate::on_arc::Arc;
use crate::on_tokio::Tokio;
use crate::system::{self, Figures};

/// The rules by which workers are woken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rules {
    /// Those of `policy.rs`.
    Arc,
    /// Those of tokio's multi-thread runtime.
    Tokio,
    /// None: whoever is free begins at once.
    Ideal,
}

impl Cell {
    /// Simulates it.
    pub fn run(&self, rules: Rules, costs: Costs, seed: u64) -> Figures {
        match rules {
            Rules::Arc => system::run(self, costs, seed, Arc::new(self.workers)),
            Rules::Tokio => system::run(self, costs, seed, Tokio::new(self.workers)),
            Rules::Ideal => system::run(self, Costs::default(), seed, Ideal::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Load, Polls};
    use clap::Parser;

    /// Those of the command line.
    fn usual() -> Costs {
        crate::Options::parse_from(["simulate"]).costs
    }

    fn cell(workers: usize, polls: Polls, load: Load) -> Cell {
        Cell { workers, polls, load, requests: 150_000 }
    }

    /// The mean latency of M/M/k, in mean service times: Erlang's formula C.
    fn erlang(workers: usize, load: f64) -> f64 {
        let offered = load * workers as f64;
        let mut term = 1.0;
        let mut sum = 1.0;
        for index in 1..workers {
            term *= offered / index as f64;
            sum += term;
        }
        let last = term * offered / workers as f64 / (1.0 - load);
        let waits = last / (sum + last);
        1.0 + waits / (workers as f64 * (1.0 - load))
    }

    #[test]
    fn systems_without_costs_have_the_mean_latency_of_the_formula() {
        // One server, and two at 50 %: 1 / (1 - load^2).
        assert!((erlang(1, 0.75) - 4.0).abs() < 1e-9);
        assert!((erlang(2, 0.5) - 4.0 / 3.0).abs() < 1e-9);
        let mut cells = vec![(Rules::Arc, 1, 0.7), (Rules::Tokio, 1, 0.7)];
        for workers in [1, 2, 8, 64] {
            cells.extend([0.1, 0.5, 0.8].map(|load| (Rules::Ideal, workers, load)));
        }
        for (rules, workers, load) in cells {
            let cell = cell(workers, Polls::Exponential(100_000), Load::Open(load));
            let figures = cell.run(rules, Costs::default(), 1);
            let ratio = figures.mean / 100.0 / erlang(workers, load);
            assert!((ratio - 1.0).abs() < 0.03, "{rules:?}, {workers} at {load}: {ratio}");
        }
    }

    #[test]
    fn a_closed_loop_is_as_fast_as_what_limits_it() {
        for (polls, connections, expected) in [
            (100_000, 1, 1e9 / 104_000.0), // one request after the other, 4 µs of them the client's
            (100_000, 256, 40_000.0),      // four workers
            (1_000, 256, 1_000_000.0),     // the client's four threads
        ] {
            let cell = cell(4, Polls::Mixed(polls, polls), Load::Closed(connections));
            let figures = cell.run(Rules::Ideal, Costs::default(), 5);
            assert!((figures.per_second / expected - 1.0).abs() < 0.01, "{figures:?}");
        }
    }

    #[test]
    fn arc_polls_in_the_order_of_arrival_while_polls_are_long() {
        let cell = cell(8, Polls::Mixed(300_000, 300_000), Load::Closed(256));
        let Figures { mean, p99, .. } = cell.run(Rules::Arc, usual(), 5);
        assert!(p99 < 1.05 * mean, "mean {mean}, p99 {p99}");
    }

    #[test]
    fn a_seed_repeats_itself() {
        let cell = cell(8, Polls::Mixed(5_000, 2_000_000), Load::Open(0.3));
        for rules in [Rules::Arc, Rules::Tokio] {
            let run = |seed| cell.run(rules, usual(), seed);
            assert_eq!(run(7), run(7));
            assert_ne!(run(7), run(8));
        }
    }
}
