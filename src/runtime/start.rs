//! Build a runtime and start its threads.

use crate::config::{Builder, RuntimeFlavor};
use crate::runtime::{handle::Handle, handle::Runtime, monitor};
use crate::scheduler::shared::{RUNTIMES, Shared};
use crate::scheduler::{context, context::Role, end, threads, worker::Worker};
use crate::sync::{Arc, Duration, PoisonError, thread::JoinHandle};
use std::{io, mem::take, panic::AssertUnwindSafe, rc::Rc};

impl Builder {
    /// Builds the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// The system's, with its number: it has no descriptors left for the reactor ("Too many open
    /// files"), or does not start a thread ("Resource temporarily unavailable"). The threads that
    /// were started already have ended when this returns.
    pub fn build(mut self) -> io::Result<Runtime> {
        if self.flavor == RuntimeFlavor::CurrentThread {
            self.workers = 1;
        }
        let shared = Arc::new(Shared::new(self)?);
        // Other threads find it by its id from now on.
        RUNTIMES.write().unwrap_or_else(PoisonError::into_inner).insert(shared.id, shared.clone());
        // If a panic ends this function, the drop ends the runtime.
        let handle = Handle { shared: shared.clone() };
        let mut runtime = Runtime { handle, threads: AssertUnwindSafe(Vec::new()) };
        if let Err(error) = start_threads(&shared, &mut runtime.threads) {
            end::begin(&shared);
            end::join(&shared, take(&mut *runtime.threads), Duration::MAX);
            return Err(error);
        }
        Ok(runtime)
    }
}

/// While this thread starts workers it holds the [`end::InLoop`] as well. Otherwise the workers
/// that were started first could take themselves for all that there are.
fn start_threads(shared: &Arc<Shared>, threads: &mut Vec<JoinHandle<()>>) -> io::Result<()> {
    if shared.config.flavor == RuntimeFlavor::MultiThread {
        let in_loop = Arc::new(end::InLoop(shared.clone()));
        for index in 0..shared.workers.len() {
            let in_loop = in_loop.clone();
            let main = move |shared: &_| run_worker(shared, index, in_loop);
            threads.push(threads::start(shared, &format!("worker-{index}"), main)?);
        }
    }
    #[cfg(feature = "sim")]
    if arc_sim_core::is_building() {
        shared.mean_poll.learn(u32::MAX, Duration::ZERO); // a poll takes no time there
        return Ok(()); // a simulation is to be the same each time, and the monitor's clock is not
    }
    threads.push(threads::start(shared, "monitor", monitor::main)?);
    Ok(())
}

/// The main function of a worker's thread.
fn run_worker(shared: &Arc<Shared>, index: usize, in_loop: Arc<end::InLoop>) {
    let worker = Rc::new(Worker::new(shared.clone(), index));
    let context = context::enter_as(Role::Polling, shared.clone(), Some(worker.clone()));
    while !shared.is_ending() {
        worker.run_one(&|| shared.is_ending());
    }

    // From now on this thread pushes through the table `RUNTIMES`, as all others do. After `close`
    // it would otherwise put tasks into a queue that nobody empties.
    drop(context);
    drop(in_loop);
}
