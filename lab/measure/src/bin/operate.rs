//! Does one workload on one runtime: once to warm up, and once to be measured. Prints the wall and
//! CPU time of an operation, in nanoseconds.
//!
//! Each of these runs has a process of its own. In a common process, the time would also depend on
//! what ran before: a million tasks leave the allocator's memory in pieces, and what comes next may
//! take a tenth longer. And where the parts of a workload lie in memory is settled early in a
//! process. Two workers may write to one cache line in one process, and not in another.

use arc_lab::Runtime;
use arc_lab::runtimes::{Arc, Smol, Tokio};
use arc_lab::suite::all;
use clap::Parser;
use cpu_time::ProcessTime;

/// Does one workload on one runtime
#[derive(Parser)]
struct Options {
    /// How many workers it has
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// arc, tokio or smol; without one, list the workloads
    #[arg(requires = "workload")]
    runtime: Option<String>,
    /// As it is listed
    workload: Option<String>,
}

fn main() {
    let options = Options::parse();
    let Some(runtime) = options.runtime.as_deref() else {
        return all::<Arc>().iter().for_each(|workload| println!("{}", workload.name));
    };
    match runtime {
        Arc::NAME => operate::<Arc>(&options),
        Tokio::NAME => operate::<Tokio>(&options),
        Smol::NAME => operate::<Smol>(&options),
        other => panic!("there is no runtime `{other}` here"),
    }
}

fn operate<R: Runtime>(options: &Options) {
    let workloads = all::<R>();
    let workload = workloads.iter().find(|it| Some(it.name) == options.workload.as_deref());
    let workload = workload.expect("the workload is one of the suite");
    let runtime = R::start(options.workers);
    (workload.run)(&runtime, workload.count);

    let cpu = ProcessTime::now();
    let wall = (workload.run)(&runtime, workload.count);
    let times = [wall, cpu.elapsed()];
    let [wall, cpu] = times.map(|time| time.as_secs_f64() * 1e9 / workload.per as f64);
    println!("{wall} {cpu}");
}
