//! Every workload on every runtime with two workers, by criterion: `cargo bench -p arc-lab`.

use arc_lab::Runtime;
use arc_lab::runtimes::{Arc, Smol, Tokio};
use arc_lab::suite::all;
use criterion::Criterion;
use std::time::Duration;

fn bench<R: Runtime>(criterion: &mut Criterion) {
    let runtime = R::start(2);
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
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    bench::<Arc>(&mut criterion);
    bench::<Tokio>(&mut criterion);
    bench::<Smol>(&mut criterion);
    criterion.final_summary();
}
