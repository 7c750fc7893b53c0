//! What a runtime tells of its tasks: a report of the poll that is stuck, the list, and
//! what a shutdown ended.
//!
//! ```text
//! $ cargo run --example inspect
//! a poll blocks its worker: miner, spawned in examples/inspect.rs
//! now there is listener, Idle, polled 1x
//! the shutdown ended listener, Idle
//! the shutdown ended a job, Blocking
//! ```

use arc::runtime::Builder;
use arc::task::{TaskInfo, spawn_named};
use std::future::pending;
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{error::Error, thread};

fn main() -> Result<(), Box<dyn Error>> {
    let (report, reports) = channel();
    let runtime = Builder::new_multi_thread()
        .workers(2)
        .long_poll_limit(Duration::from_millis(50))
        .on_long_poll(move |task| {
            // Nobody hears it when the program ends.
            let _ = report.send(task.clone());
        })
        .build()?;
    let _guard = runtime.enter();

    spawn_named("listener", pending::<()>());
    // It should use `spawn_blocking`.
    let miner = spawn_named("miner", async { thread::sleep(Duration::from_millis(300)) });
    let stuck = reports.recv()?;
    println!(
        "a poll blocks its worker: {}, spawned in {}",
        name(&stuck),
        stuck.location.file().replace('\\', "/")
    );
    runtime.block_on(miner)?;

    while runtime.tasks().len() > 1 {
        thread::yield_now();
    }
    for task in runtime.tasks() {
        println!("now there is {}, {:?}, polled {}x", name(&task), task.state, task.polls);
    }

    let (begin, begun) = channel();
    runtime.spawn_blocking(move || {
        // Nobody hears it when the program ends.
        let _ = begin.send(());
        thread::sleep(Duration::from_secs(60));
    });
    begun.recv()?;
    for task in runtime.shutdown(Duration::from_millis(200)) {
        println!("the shutdown ended {}, {:?}", name(&task), task.state);
    }
    Ok(())
}

fn name(task: &TaskInfo) -> &str {
    task.name.as_deref().unwrap_or("a job")
}
