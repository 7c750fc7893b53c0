//! Build a runtime and start its threads.

use crate::builder::{Builder, RuntimeFlavor};
use crate::hooks::sim;
use crate::runtime::handle::{Handle, Runtime};
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::{RUNTIMES, Shared};
use crate::scheduler::worker::Worker;
use crate::scheduler::{end, monitor, threads};
use crate::sync::thread::JoinHandle;
use crate::sync::{Arc, Duration, PoisonError};
use std::io;
use std::mem::take;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

impl Builder {
    /// Builds the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// The system's, with its number: it has no descriptors left for the reactor ("Too many open
    /// files"), or does not start a thread ("Resource temporarily unavailable"). The threads that
    /// were started already have ended when this returns.
    pub fn build(&mut self) -> io::Result<Runtime> {
        #[cfg(feature = "hint")]
        arc_hint::explain_tokio_panics(); // here, as every program passes here

        let mut config = self.clone();
        if config.flavor == RuntimeFlavor::CurrentThread {
            config.workers = 1;
        }
        let shared = Arc::new(Shared::new(config)?);

        // Other threads find it by its id from now on.
        let mut runtimes = RUNTIMES.write().unwrap_or_else(PoisonError::into_inner);
        runtimes.insert(shared.id, shared.clone());
        drop(runtimes);

        // If a panic ends this function, the drop ends the runtime.
        let handle = Handle { shared: shared.clone() };
        let mut runtime = Runtime { handle, threads: AssertUnwindSafe(Vec::new()) };

        // A thread may not start: then those that did are ended again.
        let started = start_threads(&shared, &mut runtime.threads);
        if let Err(error) = started {
            end::begin(&shared);
            end::join(&shared, take(&mut *runtime.threads), Duration::MAX);
            return Err(error);
        }
        Ok(runtime)
    }
}

fn start_threads(shared: &Arc<Shared>, threads: &mut Vec<JoinHandle<()>>) -> io::Result<()> {
    if shared.config.flavor == RuntimeFlavor::MultiThread {
        // A worker whose thread does not start leaves its loop when this is dropped.
        let workers: Vec<_> =
            (0..shared.workers.len()).map(|index| InLoop(shared.clone(), index)).collect();
        for worker in workers {
            // Each gets the thread's hooks, its name, and its place in the count of threads.
            let suffix = format!("worker-{}", worker.1);
            threads.push(threads::start(shared, &suffix, move |_| run_worker(worker))?);
        }
    }

    if sim::is_building() {
        // A simulation is to be the same each time, and the monitor's clock is not. A poll takes no
        // time there.
        shared.mean_poll.learn(u32::MAX, Duration::ZERO);
        return Ok(());
    }

    threads.push(threads::start(shared, "monitor", monitor::main)?);
    Ok(())
}

/// A worker that has not left its loop.
struct InLoop(Arc<Shared>, usize);

impl Drop for InLoop {
    fn drop(&mut self) {
        end::leave_loop(&self.0, self.1);
    }
}

/// The main function of a worker's thread.
fn run_worker(in_loop: InLoop) {
    let InLoop(shared, index) = &in_loop;
    let worker = Rc::new(Worker::new(shared.clone(), *index));
    let context = context::enter_as(Role::Polling, shared.clone(), Some(worker.clone()));
    while !shared.is_ending() {
        worker.run_one(&|| shared.is_ending());
    }

    // From now on this thread pushes through the table `RUNTIMES`, as all others do. After `close`
    // it would otherwise put tasks into a queue that nobody empties.
    drop(context);
    worker.wake_collected();
}
