//! Configure a runtime, build it, and start its threads.

use crate::config::{Config, Flavor, UnhandledPanic, WORKERS_MAX};
use crate::net::explain;
use crate::registry::info::TaskInfo;
use crate::runtime::handle::Runtime;
use crate::runtime::monitor;
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::Shared;
use crate::scheduler::worker::Worker;
use crate::scheduler::{end, threads};
use crate::sync::{Arc, Duration, thread};
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// Configures and builds a [`Runtime`].
///
/// # Examples
///
/// ```
/// let runtime = arc::runtime::Builder::new_multi_thread()
///     .workers(2)
///     .thread_name("server")
///     .build()?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # std::io::Result::Ok(())
/// ```
#[must_use = "nothing is built before `build`"]
pub struct Builder {
    config: Config,
}

impl Builder {
    /// Configures a runtime with several workers, each on a thread of its own. By default there
    /// is one per core.
    pub fn new_multi_thread() -> Self {
        Self { config: Config::new(Flavor::MultiThread) }
    }

    /// Configures a runtime with one worker, which the thread in
    /// [`block_on`](crate::runtime::Handle::block_on) runs.
    ///
    /// Tasks run only while some thread is in `block_on`. If several are, one of them runs all
    /// tasks, and each polls its own future. A thread that leaves `block_on` hands the tasks on to
    /// another one.
    pub fn new_current_thread() -> Self {
        Self { config: Config { workers: 1, ..Config::new(Flavor::CurrentThread) } }
    }

    /// Sets how many workers run tasks at once. By default there are as many as the process may
    /// use cores, but at most 64. A current-thread runtime always has one.
    ///
    /// # Panics
    ///
    /// When the number is 0 or more than 64.
    #[track_caller]
    pub fn workers(mut self, workers: usize) -> Self {
        let workers = within("workers", workers, 1..=WORKERS_MAX);
        self.config.workers = if self.config.is_current_thread() { 1 } else { workers };
        self
    }

    /// Sets how many threads run jobs of [`spawn_blocking`](crate::task::spawn_blocking) at once,
    /// at most; 512 by default. More jobs wait in a queue.
    ///
    /// # Panics
    ///
    /// When the number is 0.
    #[track_caller]
    pub fn max_blocking_threads(mut self, threads: usize) -> Self {
        let range = 1..=usize::MAX;
        self.config.max_blocking_threads = within("max_blocking_threads", threads, range);
        self
    }

    /// Sets what the names of the runtime's threads begin with; "arc" by default.
    ///
    /// A name with a null byte, which the system does not take, makes `build` panic.
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.config.thread_name = name.into();
        self
    }

    /// Sets the stack size of the runtime's threads, in bytes; 2 MiB by default.
    ///
    /// # Panics
    ///
    /// When the size is 0.
    #[track_caller]
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        self.config.thread_stack_size = within("thread_stack_size", bytes, 1..=usize::MAX);
        self
    }

    /// Sets a hook that each thread of the runtime calls when it starts.
    ///
    /// A worker runs no task before its call has returned, although a task may have been handed to
    /// it: keep the hook short. A panic in it is printed and otherwise ignored.
    pub fn on_thread_start(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.on_thread_start = Box::new(hook);
        self
    }

    /// Sets a hook that each thread of the runtime calls before it ends. A panic in it is printed
    /// and otherwise ignored.
    pub fn on_thread_stop(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.on_thread_stop = Box::new(hook);
        self
    }

    /// Sets after how many polls a busy worker looks at sockets, timers and the tasks from outside;
    /// 61 by default. A smaller number favours them, a greater one favours the tasks that are in
    /// the worker's queue already.
    ///
    /// # Panics
    ///
    /// When the number is 0.
    #[track_caller]
    pub fn event_interval(mut self, polls: u32) -> Self {
        self.config.event_interval = within("event_interval", polls, 1..=u32::MAX);
        self
    }

    /// Sets for how long a poll may last before it is [reported](Self::on_long_poll); 100 ms by
    /// default. `Duration::MAX` switches the reports off. The precision is 5 ms.
    ///
    /// # Panics
    ///
    /// When the limit is 0.
    #[track_caller]
    pub fn long_poll_limit(mut self, limit: Duration) -> Self {
        let range = Duration::from_nanos(1)..=Duration::MAX;
        self.config.long_poll_limit = within("long_poll_limit", limit, range);
        self
    }

    /// Sets a hook that is called when one poll of a task, or of the future in a `block_on`, has
    /// lasted for [`long_poll_limit`](Self::long_poll_limit). By default it prints a line to
    /// standard error.
    ///
    /// The hook is called once for each such poll, while the poll still lasts, by a thread that runs
    /// no tasks. It must not block: nobody watches over the workers meanwhile. (Other tasks, sockets
    /// and timers are served meanwhile, unless all workers are stuck.)
    ///
    /// # Examples
    ///
    /// ```
    /// # mod log { pub fn warn(_: String) {} }
    /// let builder = arc::runtime::Builder::new_multi_thread()
    ///     .on_long_poll(|task| log::warn(format!("it should use spawn_blocking: {task}")));
    /// # builder.build()?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_long_poll(mut self, hook: impl Fn(&TaskInfo) + Send + Sync + 'static) -> Self {
        self.config.on_long_poll = Box::new(hook);
        self
    }

    /// Sets what happens to the runtime when a task or a job of `spawn_blocking` panics, whether or
    /// not anybody awaits its handle. By default the runtime goes on.
    ///
    /// # Examples
    ///
    /// ```should_panic
    /// use arc::runtime::{Builder, UnhandledPanic};
    /// let builder = Builder::new_multi_thread().unhandled_panic(UnhandledPanic::ShutdownRuntime);
    /// builder.build()?.block_on(async {
    ///     arc::spawn(async { panic!("oh") }).await
    /// });
    /// # std::io::Result::Ok(())
    /// ```
    pub fn unhandled_panic(mut self, policy: UnhandledPanic) -> Self {
        self.config.unhandled_panic = policy;
        self
    }

    /// Builds the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// When the system has no descriptors left for the reactor, or does not start the threads. The
    /// error says which. The threads that were started already have ended when this returns.
    pub fn build(self) -> io::Result<Runtime> {
        let failed = |error| explain("starting an arc runtime:", &"the reactor", &error);
        let shared = Arc::new(Shared::new(self.config).map_err(failed)?);
        shared.publish();

        let mut threads = Vec::new();
        let started = start_threads(&shared, &mut threads);
        if started.is_err() {
            end::begin(&shared);
        }
        if !shared.config.is_current_thread() {
            // This thread has counted as a worker, so that the workers that were started do not
            // take themselves for all that there are.
            end::leave(&shared);
        }
        match started {
            Ok(()) => Ok(Runtime::new_started(shared, threads)),
            Err(error) => {
                end::wait(&shared, threads, Duration::MAX);
                Err(error)
            }
        }
    }
}

impl Runtime {
    /// Builds a runtime with one worker per core. See [`Builder`] for more.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn new() -> io::Result<Self> {
        Builder::new_multi_thread().build()
    }
}

fn start_threads(
    shared: &Arc<Shared>,
    threads: &mut Vec<thread::JoinHandle<()>>,
) -> io::Result<()> {
    if !shared.config.is_current_thread() {
        for index in 0..shared.workers.len() {
            let name = format!("worker-{index}");
            end::enter(shared);
            match threads::start(shared, &name, move |shared| run_worker(shared, index)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    end::leave(shared);
                    return Err(error);
                }
            }
        }
    }
    threads.push(threads::start(shared, "monitor", monitor::main)?);
    Ok(())
}

/// The main function of a worker's thread.
fn run_worker(shared: &Arc<Shared>, index: usize) {
    let worker = Rc::new(Worker::new(shared.clone(), index));
    let context = context::enter_as(Role::Polling, shared.clone(), Some(worker.clone()));
    while !shared.is_ending() {
        worker.run_one(&|| shared.is_ending());
    }

    // What is scheduled on this thread from now on goes to the injector.
    drop(context);
    end::leave(shared);
}

#[track_caller]
fn within<T: PartialOrd + fmt::Debug>(what: &str, value: T, range: RangeInclusive<T>) -> T {
    assert!(range.contains(&value), "{what} must be in {range:?}, not {value:?}");
    value
}
