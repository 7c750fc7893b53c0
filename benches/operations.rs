//! `cargo bench`: single operations on arc and on tokio, by criterion, and a table of ratios.
//!
//! A sample is a run of some thousand operations. arc's and tokio's samples are taken in turns, ten
//! of one and ten of the other, so that what else the machine does disturbs both. A part of a name
//! restricts it to some: `cargo bench -- timer`. criterion keeps its own account of each round, and
//! compares it with that of the last time.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use arc_benches::Runtime;
use arc_benches::figures::Spread;
use arc_benches::runtimes::{Arc, Tokio};
use arc_benches::suite::{Workload, all};
use criterion::{Criterion, SamplingMode};

const WORKERS: usize = 2;

/// How often both take their turns.
const ROUNDS: usize = 3;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(500))
        .without_plots()
        .configure_from_args();
    let arc = Arc::start(WORKERS);
    let tokio = Tokio::start(WORKERS);

    let mut rows = Vec::new();
    for (on_arc, on_tokio) in all::<Arc>().iter().zip(&all::<Tokio>()) {
        let mut times = Vec::new();
        let mut ratios = Vec::new();
        for round in 1..=ROUNDS {
            let measured = bench(&mut criterion, &arc, on_arc, round);
            let peer = bench(&mut criterion, &tokio, on_tokio, round);
            // A filter may have left it out.
            if let (Some(measured), Some(peer)) = (measured, peer) {
                times.push(measured);
                ratios.push(measured / peer);
            }
        }
        if let (Some(times), Some(ratios)) = (Spread::of(times), Spread::of(ratios)) {
            rows.push((on_arc.name, times, ratios));
        }
    }
    criterion.final_summary();
    print_table(rows);
}

/// Takes some samples of a workload; gives the median time of an operation, in nanoseconds, if the
/// workload is one that the command line asks for.
fn bench<R: Runtime>(
    criterion: &mut Criterion,
    runtime: &R,
    workload: &Workload<R>,
    round: usize,
) -> Option<f64> {
    let samples = RefCell::new(Vec::new());
    let mut group = criterion.benchmark_group(workload.name);
    group.sampling_mode(SamplingMode::Flat);
    group.bench_function(format!("{}, round {round}", R::NAME), |bencher| {
        bencher.iter_custom(|iterations| {
            // What comes before a workload, such as to arm other timers, belongs to the time of a
            // sample, but not to that of an operation.
            let start = Instant::now();
            for _ in 0..iterations {
                let time = (workload.run)(runtime, workload.count);
                samples.borrow_mut().push(time.as_secs_f64() * 1e9 / workload.per as f64);
            }
            start.elapsed()
        });
    });
    group.finish();
    Spread::of(samples.into_inner()).map(|it| it.median)
}

/// Prints the medians of the rounds.
fn print_table(rows: Vec<(&str, Spread, Spread)>) {
    println!("\n| operation, {WORKERS} workers | arc's time | to tokio's (least to most) |");
    println!("|---|---:|---:|");
    for (name, time, Spread { median, least, most }) in rows {
        println!("| {name} | {} | {median:.2} ({least:.2} to {most:.2}) |", shown(time.median));
    }
    println!("\nBelow 1, arc takes less. Each ratio is the median of {ROUNDS} rounds.");
}

fn shown(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e4 => format!("{nanoseconds:.0} ns"),
        ..1e7 => format!("{:.1} µs", nanoseconds / 1e3),
        _ => format!("{:.1} ms", nanoseconds / 1e6),
    }
}
