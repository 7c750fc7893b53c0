//! A runtime and the handles to it: run futures on a runtime, look at it, and end it.

use crate::builder::{Builder, RuntimeFlavor};
use crate::hooks::note;
use crate::registry::Id;
use crate::runtime::block_on::block_on;
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::Shared;
use crate::scheduler::{end, threads};
use crate::sync::{Arc, Duration, thread};
use crate::task::JoinHandle;
use crate::task::spawn::{Boxed, FUTURE_SIZE_MAX, spawn_on};
use std::io;
use std::marker::PhantomData;
use std::mem::take;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

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

        // If a panic ends this function, the drop ends the runtime.
        let handle = Handle { shared: shared.clone() };
        let mut runtime = Runtime { handle, threads: AssertUnwindSafe(Vec::new()) };

        // A thread may not start: then those that did are ended again.
        if let Err(error) = threads::start_all(&shared, &mut runtime.threads) {
            end::begin(&shared);
            end::join(&shared, take(&mut *runtime.threads), Duration::MAX);
            return Err(error);
        }
        Ok(runtime)
    }
}

/// A runtime: the workers, the reactor, the timers, and the tasks.
///
/// Most programs have one and never see it, because [`#[arc::main]`](crate::main) builds it.
///
/// Dropping a runtime ends it, as [`shutdown`](Self::shutdown) does without a limit. Every task's
/// future is dropped at its next await point, or before its first poll. Jobs of `spawn_blocking`
/// that have begun are waited for, and all threads end: those that have run jobs perhaps a little
/// later, as they drop their thread-locals. A worker that is about to take a task may still poll it
/// once. A task that another thread wakes at the same time may be dropped a little later, on a
/// thread of its own.
///
/// On Windows, do not leave the drop of a runtime to a thread-local: it would wait for ever.
/// Windows drops thread-locals under a lock that other
/// threads need in order to end.
///
/// # Panics
///
/// When it is dropped inside a task or `block_on`, because waiting for its threads would block a
/// worker. The runtime ends all the same, in the background. Use
/// [`shutdown_background`](Self::shutdown_background) there. There is one exception: a task may
/// hold another runtime until its own one ends. That runtime is dropped without a panic, and its
/// polls and jobs are not waited for.
#[derive(Debug)]
pub struct Runtime {
    pub(crate) handle: Handle,
    pub(crate) threads: AssertUnwindSafe<Vec<thread::JoinHandle<()>>>,
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

    /// A handle to spawn and enter with, from any thread.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends the runtime, and waits for that, but no longer than `limit`.
    ///
    /// Every task's future is dropped at its next await point. The polls and the jobs of
    /// `spawn_blocking` that have begun are waited for. Those that go on after the limit are left
    /// to themselves, and the futures are dropped when the last poll has ended.
    ///
    /// If no thread runs a worker, this one drops the futures, and however long that takes, it
    /// stays here. So it is on a current-thread runtime while no thread is in `block_on`, and on
    /// any other one while all its threads still start. The thread-locals of threads that have
    /// nothing else to do are dropped without a limit, too.
    ///
    /// # Panics
    ///
    /// Inside a task or `block_on`, unless the limit is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// let runtime = arc::runtime::Runtime::new()?;
    /// let task = runtime.spawn(std::future::pending::<()>());
    /// runtime.shutdown(Duration::from_secs(10));
    /// assert!(task.is_finished());
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn shutdown(mut self, limit: Duration) {
        self.shut_down(limit);
    }

    /// Ends the runtime without waiting. This may be called inside a task, even one of its own.
    ///
    /// If no thread runs a worker, this one drops the futures, as for [`shutdown`](Self::shutdown).
    pub fn shutdown_background(mut self) {
        // The drop waits for none.
        self.threads.clear();
    }

    #[track_caller]
    fn shut_down(&mut self, limit: Duration) {
        // There are none if `shutdown` or `shutdown_background` was called before the drop.
        let threads = take(&mut *self.threads);
        if threads.is_empty() || context::role() == Role::Polling && !limit.is_zero() {
            end::begin(&self.shared);

            // A second panic while another one unwinds would abort the process.
            assert!(
                threads.is_empty() || thread::panicking(),
                "a Runtime was dropped inside a task or block_on, or shut down there. It ends in \
                 the background, because waiting for its threads would block a worker. Use \
                 `Runtime::shutdown_background`, or drop it elsewhere"
            );
            return;
        }

        // In the drop of what a runtime's tasks left: a task or job of this one may wait for
        // something that is dropped only after this.
        let limit = if context::role() == Role::Ending { Duration::ZERO } else { limit };

        // The threads sign off, and are joined.
        end::begin(&self.shared);
        end::join(&self.shared, threads, limit);
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.shut_down(Duration::MAX);
    }
}

/// A runtime can do everything that its handle can.
impl Deref for Runtime {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

/// Refers to a runtime, from any thread. A handle is cheap to clone, and does not keep the runtime
/// running.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
}

impl Handle {
    /// The runtime that this thread is in.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn current() -> Self {
        Self { shared: context::current("Handle::current was called").runtime.clone() }
    }

    /// The runtime that this thread is in, if it is in any.
    pub fn try_current() -> Option<Self> {
        context::try_current().map(|current| Self { shared: current.runtime.clone() })
    }

    /// Spawns a task, also from outside the runtime. See [`crate::spawn`].
    ///
    /// When the runtime has ended, the future is dropped, and the handle says that it was
    /// cancelled.
    #[track_caller]
    pub fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
        &self,
        future: F,
    ) -> JoinHandle<F::Output> {
        if const { size_of::<F>() > FUTURE_SIZE_MAX } {
            return self.spawn::<Boxed<F::Output>>(Box::pin(future));
        }
        spawn_on(&self.shared, note!(Task, None), future)
    }

    /// Runs a future to its end on the calling thread.
    ///
    /// On a multi-thread runtime the thread polls this future and nothing else. Tasks that the
    /// future spawns run on the workers. They go on after `block_on` returns. Several threads may
    /// be in `block_on` at once.
    ///
    /// On a current-thread runtime the thread also runs all tasks, and waits for sockets and
    /// timers. If another thread does so already, this one only polls its future, and takes over
    /// when the other one leaves.
    ///
    /// If the runtime ends meanwhile, the future goes on, but its tasks are cancelled, its
    /// sockets fail, and its timers panic.
    ///
    /// # Panics
    ///
    /// * Inside a task or another `block_on`, and in what is dropped when a runtime ends.
    /// * When the future panics.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = arc::runtime::Runtime::new()?;
    /// let answer = runtime.block_on(async {
    ///     arc::spawn(async { 42 }).await
    /// });
    /// assert_eq!(answer.unwrap(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        // The future may be large, and the stack of this thread small.
        if const { size_of::<F>() > FUTURE_SIZE_MAX } {
            let boxed: Pin<Box<dyn Future<Output = F::Output> + '_>> = Box::pin(future);
            return block_on(&self.shared, boxed);
        }
        block_on(&self.shared, future)
    }

    /// Makes this runtime the current one of the thread while the guard lives: `arc::spawn`,
    /// sockets and timers use it.
    ///
    /// Guards may be nested, and the innermost one counts. Drop them in the reverse order: in
    /// another order, the thread is left in one of their runtimes when all are dropped. Do not hold
    /// the guard across an `.await`: other tasks would run under it. Do not let it outlive the
    /// `block_on` that created it.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = arc::runtime::Runtime::new()?;
    /// let task = {
    ///     let _guard = runtime.enter();
    ///     arc::spawn(async { "spawned from outside" })
    /// };
    /// assert_eq!(runtime.block_on(task).unwrap(), "spawned from outside");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        let context = context::enter(context::role(), self.shared.clone(), context::worker());
        EnterGuard { _context: context, _handle: PhantomData }
    }

    /// Ends the runtime as [`Runtime::shutdown_background`] does, from any thread, even inside one
    /// of its tasks. The drop of the [`Runtime`] waits for its threads all the same.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::runtime::{Handle, Runtime};
    /// let runtime = Runtime::new()?;
    /// let waits = runtime.spawn(std::future::pending::<()>());
    /// drop(runtime.spawn(async { Handle::current().shutdown_background() }));
    /// assert!(runtime.block_on(waits).unwrap_err().is_cancelled());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn shutdown_background(&self) {
        end::begin(&self.shared);
    }

    /// Identifies the runtime. No two runtimes of a process have the same id.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::runtime::{Handle, Runtime};
    /// let runtime = Runtime::new()?;
    /// let id = runtime.block_on(async { Handle::current().id() });
    /// assert_eq!(id, runtime.id());
    /// assert_ne!(id, Runtime::new()?.id());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn id(&self) -> Id {
        self.shared.id
    }

    /// Which threads run the tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::runtime::{Handle, RuntimeFlavor};
    /// # #[arc::main(flavor = "current_thread")]
    /// # async fn main() {
    /// assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::CurrentThread);
    /// # }
    /// ```
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        self.shared.config.flavor
    }

    /// How many workers run tasks at once.
    pub fn workers(&self) -> usize {
        self.shared.config.workers
    }

    /// How many tasks wait in the queue that belongs to all workers. Tasks that are spawned or
    /// woken outside of the workers go there and, while polls are long, all tasks.
    pub fn global_queue_depth(&self) -> usize {
        self.shared.injector.len()
    }
}

/// Restores the thread's previous runtime when it is dropped.
#[must_use = "the runtime is current only while the guard lives"]
pub struct EnterGuard<'a> {
    _context: context::Guard,
    _handle: PhantomData<&'a Handle>,
}
