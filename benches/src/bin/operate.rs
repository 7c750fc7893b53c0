//! Does one workload on one runtime, for the script `instructions`, and prints how many operations
//! a run has. Without a runtime it lists the workloads.

use arc_benches::Runtime;
use arc_benches::runtimes::{Arc, Core, Smol, Tokio};
use arc_benches::suite::all;
use clap::Parser;

/// Does one workload on one runtime
#[derive(Parser)]
struct Options {
    /// How many workers it has
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// How often it does the workload
    #[arg(long, default_value_t = 1)]
    runs: usize,
    /// arc, core, tokio or smol; without one, list the workloads
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
        Core::NAME => operate::<Core>(&options),
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
    for _ in 0..options.runs {
        (workload.run)(&runtime, workload.count);
    }
    println!("{}", workload.count);
}
