//! Every workload on every runtime, by criterion: `cargo bench -p arc-lab`.
//! `ARC_WORKERS` in the environment says with how many workers; 2 by default.

use arc_lab::Runtime;
use arc_lab::runtimes::{Arc, Smol, Tokio};
use arc_lab::suite::all;
use criterion::Criterion;
use std::time::Duration;

fn bench<R: Runtime>(criterion: &mut Criterion, workers: usize) {
    let runtime = R::start(workers);
    for workload in all::<R>() {
        let mut group = criterion.benchmark_group(workload.name);
        group.bench_function(R::NAME, |bencher| {
            bencher.iter_custom(|iterations| {
                let runs = (0..iterations).map(|_| (workload.run)(&runtime, workload.count));
                runs.sum::<Duration>() / u32::try_from(workload.per).expect("it is small")
            });
        });
    }
}

fn main() {
    let workers = std::env::var("ARC_WORKERS")
        .map_or(2, |text| text.parse().expect("ARC_WORKERS is a number of workers"));
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    bench::<Arc>(&mut criterion, workers);
    bench::<Tokio>(&mut criterion, workers);
    bench::<Smol>(&mut criterion, workers);
    criterion.final_summary();
}
