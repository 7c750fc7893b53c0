//! The threads of a runtime: the workers', the monitor's, and those of the blocking pool.
//!
//! Each of them is signed on before it begins, and signs off as the last thing it does (`crew.rs`).
//! A thread in `block_on` that runs the worker of a current-thread runtime is signed on meanwhile.

use crate::builder::{Builder, Hook, RuntimeFlavor};
use crate::hooks::{sim, tell};
use crate::panic::ignore_panic;
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::Shared;
use crate::scheduler::worker::Worker;
use crate::scheduler::{end, monitor};
use crate::sync::{Arc, Duration, lock, thread};
use std::io;
use std::rc::Rc;

/// Starts the threads of a new runtime, and adds them to `threads`. If one does not start, the
/// caller ends those that did.
pub(crate) fn start_all(
    shared: &Arc<Shared>,
    threads: &mut Vec<thread::JoinHandle<()>>,
) -> io::Result<()> {
    if shared.config.flavor == RuntimeFlavor::MultiThread {
        // Those of a current-thread runtime are the program's own.
        for worker in 0..shared.workers.len() {
            // The worker does not run until its thread has called the hooks.
            let main = move |shared: &Arc<Shared>| run_worker(shared, worker);
            threads.push(start(shared, &format!("worker-{worker}"), with_hooks(main))?);
        }
    }

    // A simulation is to be the same each time, and the monitor's clock is not. A poll takes no
    // time there.
    if sim!(arc_sim_core::is_building(), false) {
        shared.mean_poll.learn(u32::MAX, Duration::ZERO);
    } else {
        threads.push(start(shared, "monitor", monitor::main)?);
    }
    Ok(())
}

/// Starts a thread. `purpose` is a part of its name.
pub(crate) fn start(
    shared: &Arc<Shared>,
    purpose: &str,
    main: impl FnOnce(&Arc<Shared>) + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    shared.crew.sign_on()?;

    // If no thread starts, this is dropped.
    let signed_on = SignedOn(shared.clone());

    let Builder { thread_name, thread_stack_size, .. } = &shared.config;
    let builder = thread::Builder::new().name(thread_name(purpose)).stack_size(*thread_stack_size);
    builder.spawn(move || {
        // It signs off when this closure is dropped, after all else.
        let shared = &signed_on.0;
        let role = Role::OwnThread(shared.id, None);

        // Hooks and jobs may spawn.
        let _context = context::enter(role, shared.clone(), None);
        main(shared);
    })
}

/// Returns `main` with the hooks around it. The thread itself calls them, as they may set what
/// belongs to a thread.
pub(crate) fn with_hooks(
    main: impl FnOnce(&Arc<Shared>) + Send + 'static,
) -> impl FnOnce(&Arc<Shared>) + Send + 'static {
    move |shared| {
        // A user's hook may panic, and the thread goes on. A hook must not wait for this worker,
        // which runs no task yet.
        let call = |hooks: &[Hook]| hooks.iter().for_each(|hook| ignore_panic(|| hook()));
        call(&shared.config.on_thread_start);
        main(shared);
        call(&shared.config.on_thread_stop);
    }
}

/// Stands for a thread that has signed on, and signs it off.
pub(crate) struct SignedOn(pub(crate) Arc<Shared>);

impl Drop for SignedOn {
    fn drop(&mut self) {
        self.0.crew.sign_off();
    }
}

/// The calling thread runs a worker: one of its own, or that of a current-thread runtime. What it
/// spawns and wakes meanwhile goes into the worker's queue.
pub(crate) struct InLoop {
    pub(crate) worker: Rc<Worker>,
    _context: context::Guard,
}

impl InLoop {
    /// L2 of `crew.rs`. `None` if the runtime ends, or if all workers have a thread.
    pub(crate) fn enter(shared: &Arc<Shared>, worker: usize) -> Option<Self> {
        if !shared.crew.enter_loop(shared.workers.len()) {
            return None;
        }

        // The context has the worker as well: for what is spawned in a poll.
        let worker = Rc::new(Worker::new(shared.clone(), worker));
        let running = Some(worker.clone());
        let context = context::enter(Role::Polling, shared.clone(), running);
        Some(Self { worker, _context: context })
    }
}

impl Drop for InLoop {
    /// V1 and V2 of `crew.rs`. No user code runs in here, but what the end wakes and drops. There
    /// is no worker in its context, so nothing comes into the queue of a worker that nobody runs.
    fn drop(&mut self) {
        let shared = &self.worker.shared;
        shared.sleepers.end(self.worker.index);
        tell!(leaves_worker(shared.id.0, self.worker.index));

        // Nobody else is in a loop, and none will be. Or the worker is free for another thread.
        if shared.crew.leave_loop() {
            end::close(shared);
        } else if shared.config.flavor == RuntimeFlavor::CurrentThread {
            lock(&shared.roots).iter().for_each(|root| root.thread.unpark());
        }

        // The end waits until here. A worker's own thread signs off once more when it ends.
        shared.crew.sign_off();
    }
}

/// The main function of a worker's thread.
pub(crate) fn run_worker(shared: &Arc<Shared>, worker: usize) {
    let Some(in_loop) = InLoop::enter(shared, worker) else { return };
    while !shared.is_ending() {
        in_loop.worker.run_one(&|| shared.is_ending());
    }
}
