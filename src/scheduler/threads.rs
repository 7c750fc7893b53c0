//! The threads of a runtime: the workers', the monitor's, and those of the blocking pool.
//!
//! Each of them is signed on before it begins, and signs off as the last thing it does. The end of
//! the runtime waits until all have signed off. A thread that has the lease signs on as well.

use crate::builder::RuntimeFlavor;
use crate::hooks::sim;
use crate::panic::ignore_panic;
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::Shared;
use crate::scheduler::worker::Worker;
use crate::scheduler::{end, monitor};
use crate::sync::{Arc, Duration, lock, thread};
use std::io;
use std::rc::Rc;

/// Starts the threads of a new runtime, and adds them to `threads`.
pub(crate) fn start_all(
    shared: &Arc<Shared>,
    threads: &mut Vec<thread::JoinHandle<()>>,
) -> io::Result<()> {
    if shared.config.flavor == RuntimeFlavor::MultiThread {
        // A worker whose thread does not start leaves its loop when this is dropped.
        let all = 0..shared.workers.len();
        let workers: Vec<_> = all.map(|index| InLoop(shared.clone(), index)).collect();
        for worker in workers {
            // If this fails, those that are left are dropped.
            let name = (shared.config.thread_name)(&format!("worker-{}", worker.1));
            threads.push(start(shared, name, move |_| run_worker(worker))?);
        }
    }

    if sim::is_building() {
        // A simulation is to be the same each time, and the monitor's clock is not. A poll takes no
        // time there.
        shared.mean_poll.learn(u32::MAX, Duration::ZERO);
    } else {
        let name = (shared.config.thread_name)("monitor");
        threads.push(start(shared, name, monitor::main)?);
    }
    Ok(())
}

/// Starts a thread that calls the hooks around `main`.
pub(crate) fn start(
    shared: &Arc<Shared>,
    name: String,
    main: impl FnOnce(&Arc<Shared>) + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    // If no thread starts, this is dropped, which signs off.
    let signed_on = SignedOn::new(shared.clone())?;

    // The thread calls the hooks itself, as they may set what belongs to a thread.
    let stack_size = shared.config.thread_stack_size;
    thread::Builder::new().stack_size(stack_size).name(name).spawn(move || {
        let shared = &signed_on.0;
        let _context = context::enter_as(Role::OwnThread(shared.id, None), shared.clone(), None);

        // A hook of the user's may panic, and the thread goes on.
        for hook in &shared.config.on_thread_start {
            ignore_panic(|| hook());
        }

        // What the thread is for.
        main(shared);
        for hook in &shared.config.on_thread_stop {
            ignore_panic(|| hook());
        }
    })
}

/// Stands for a thread that has not signed off.
pub(crate) struct SignedOn(pub(crate) Arc<Shared>);

impl SignedOn {
    /// # Errors
    ///
    /// The runtime ends, and perhaps nobody waits for its threads any more.
    pub(crate) fn new(shared: Arc<Shared>) -> io::Result<Self> {
        let mut threads = lock(&shared.threads);
        if shared.is_ending() {
            return Err(io::Error::other("the runtime ends and starts no threads"));
        }

        // Counted under the lock under which the end says that it begins.
        *threads += 1;
        drop(threads);
        Ok(Self(shared))
    }
}

impl Drop for SignedOn {
    fn drop(&mut self) {
        *lock(&self.0.threads) -= 1;

        // Only the end waits for this, and a notification asks the kernel.
        if self.0.is_ending() {
            self.0.thread_ended.notify_all();
        }
    }
}

/// A worker that has not left its loop.
pub(crate) struct InLoop(pub(crate) Arc<Shared>, pub(crate) usize);

impl Drop for InLoop {
    fn drop(&mut self) {
        end::leave_loop(&self.0, self.1);
    }
}

/// The main function of a worker's thread.
pub(crate) fn run_worker(in_loop: InLoop) {
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
