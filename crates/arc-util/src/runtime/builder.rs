//! How a runtime is configured. What builds one stands with what is built: `build` in `runtime.rs`,
//! and `build_local` in `local.rs`.

use super::panics::UnhandledPanic;
use super::watch::Reports;
use crate::task::TaskInfo;
use crate::tokio_rt;
use arc::runtime as core;
use std::borrow::{Borrow, BorrowMut};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Configures and builds a [`Runtime`](super::Runtime).
///
/// It is arc's [builder](core::Builder), with what watches the runtime: the list of tasks, reports
/// of polls that last for too long, counts of each worker, and what a shutdown has ended. Its
/// methods have tokio's names, where tokio has them.
///
/// With the feature `tokio-rt`, the runtime's tasks and jobs, its `block_on`, and what its end
/// drops, are in the context of a tokio runtime: crates that call tokio work there.
///
/// Each method changes the builder and returns it. So calls can be chained, or made one by one.
///
/// # Examples
///
/// ```
/// use arc_util::runtime::Builder;
/// let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone)]
pub struct Builder {
    pub(super) core: core::Builder,
    pub(super) reports: Reports,
    pub(super) unhandled_panic: UnhandledPanic,
}

/// For types around it that derive this. It shows nothing of what is set.
impl fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Builder").finish_non_exhaustive()
    }
}

impl Builder {
    /// Configures a runtime with several workers, each on a thread of its own. By default there is
    /// one per core.
    pub fn new_multi_thread() -> Self {
        core::Builder::new_multi_thread().into()
    }

    /// Configures a runtime with one worker, which the thread in
    /// [`block_on`](super::Handle::block_on) runs: see
    /// [`new_current_thread`](core::Builder::new_current_thread) of the core.
    pub fn new_current_thread() -> Self {
        core::Builder::new_current_thread().into()
    }

    /// Sets how many workers run tasks at once. By default there are as many as the process may use
    /// cores, but at most 64. A current-thread runtime always has one.
    ///
    /// # Panics
    ///
    /// When the number is 0 or more than 64.
    #[track_caller]
    pub fn workers(&mut self, workers: usize) -> &mut Self {
        self.core.workers(workers);
        self
    }

    /// tokio's name for [`workers`](Self::workers).
    ///
    /// # Panics
    ///
    /// When the number is 0 or more than 64.
    #[track_caller]
    pub fn worker_threads(&mut self, workers: usize) -> &mut Self {
        self.workers(workers)
    }

    /// Does nothing: IO and timers are always enabled.
    pub fn enable_all(&mut self) -> &mut Self {
        self
    }

    /// Does nothing: IO is always enabled.
    pub fn enable_io(&mut self) -> &mut Self {
        self
    }

    /// Does nothing: timers are always enabled.
    pub fn enable_time(&mut self) -> &mut Self {
        self
    }

    /// Sets what the names of the runtime's threads begin with; "arc" by default.
    ///
    /// A name with a null byte, which the system does not take, makes `build` panic.
    pub fn thread_name(&mut self, name: impl Into<String>) -> &mut Self {
        let name = name.into();
        self.core.thread_name_fn(move |purpose| format!("{name}-{purpose}"));
        self
    }

    /// Sets a function that names the runtime's threads. It is called once for each thread, and
    /// takes the place of [`thread_name`](Self::thread_name). For its panics see
    /// [`thread_name_fn`](core::Builder::thread_name_fn) of the core.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let started = AtomicUsize::new(0);
    /// let runtime = arc_util::runtime::Builder::new_multi_thread()
    ///     .thread_name_fn(move || format!("server-{}", started.fetch_add(1, Ordering::Relaxed)))
    ///     .build()?;
    /// let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) });
    /// assert!(runtime.block_on(name)?.unwrap().starts_with("server-"));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn thread_name_fn(
        &mut self,
        name: impl Fn() -> String + Send + Sync + 'static,
    ) -> &mut Self {
        self.core.thread_name_fn(move |_| name());
        self
    }

    /// Sets the stack size of the runtime's threads, in bytes; 2 MiB by default.
    ///
    /// # Panics
    ///
    /// When the size is 0.
    #[track_caller]
    pub fn thread_stack_size(&mut self, bytes: usize) -> &mut Self {
        self.core.thread_stack_size(bytes);
        self
    }

    /// Sets how many jobs of [`spawn_blocking`](arc::task::spawn_blocking) may run at once, each on
    /// a thread of its own; 512 by default. Further jobs wait until one of them ends. Name lookups
    /// are such jobs, too.
    ///
    /// # Panics
    ///
    /// When the number is 0.
    #[track_caller]
    pub fn max_blocking_threads(&mut self, threads: usize) -> &mut Self {
        self.core.max_blocking_threads(threads);
        self
    }

    /// Sets for how long a thread of `spawn_blocking` that has no job stays for the next one; 10 s
    /// by default.
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.core.thread_keep_alive(duration);
        self
    }

    /// Sets a hook that each thread of the runtime calls when it starts.
    ///
    /// A worker runs no task before its call has returned, although a task may have been handed to
    /// it: keep the hook short. A panic in it is printed and otherwise ignored.
    pub fn on_thread_start(&mut self, hook: impl Fn() + Send + Sync + 'static) -> &mut Self {
        self.core.on_thread_start(hook);
        self
    }

    /// Sets a hook that each thread of the runtime calls before it ends. A panic in it is printed
    /// and otherwise ignored.
    pub fn on_thread_stop(&mut self, hook: impl Fn() + Send + Sync + 'static) -> &mut Self {
        self.core.on_thread_stop(hook);
        self
    }

    /// Sets after how many polls a busy worker looks at sockets, timers and the tasks from outside;
    /// 61 by default, as in tokio. A smaller number favours them, a greater one favours the tasks
    /// that are in the worker's queue already.
    ///
    /// # Panics
    ///
    /// When the number is 0.
    #[track_caller]
    pub fn event_interval(&mut self, polls: u32) -> &mut Self {
        self.core.event_interval(polls);
        self
    }

    /// Sets what happens to the runtime when a task or a job of `spawn_blocking` panics, whether or
    /// not anybody awaits its handle. By default the runtime goes on.
    ///
    /// # Examples
    ///
    /// ```should_panic
    /// use arc_util::runtime::{Builder, UnhandledPanic};
    /// let runtime = Builder::new_multi_thread()
    ///     .unhandled_panic(UnhandledPanic::ShutdownRuntime)
    ///     .build()?;
    /// runtime.block_on(async { arc::spawn(async { panic!("oh") }).await });
    /// # std::io::Result::Ok(())
    /// ```
    pub fn unhandled_panic(&mut self, policy: UnhandledPanic) -> &mut Self {
        self.unhandled_panic = policy;
        self
    }

    /// Sets for how long a poll may last before it is [reported](Self::on_long_poll); 100 ms by
    /// default. `Duration::MAX` switches the reports off. A report may come some milliseconds late,
    /// 7 on a busy runtime.
    ///
    /// # Panics
    ///
    /// When the limit is 0.
    #[track_caller]
    pub fn long_poll_limit(&mut self, limit: Duration) -> &mut Self {
        assert!(!limit.is_zero(), "long_poll_limit must be in 1ns..={:?}, not 0ns", Duration::MAX);
        self.reports.limit = limit;
        self
    }

    /// Sets a hook that is called when one poll of a task, or of the future in a `block_on`, has
    /// lasted for [`long_poll_limit`](Self::long_poll_limit). By default a debug build prints a
    /// line to standard error ([`report_long_polls`](Self::report_long_polls)).
    ///
    /// The hook is called once for each such poll, while the poll still lasts, on a thread of its
    /// own. If it blocks, it delays nothing else: no worker, not the end of the runtime, but only
    /// other reports, which are made one after the other. The end of the runtime does not wait for
    /// a call that goes on. A panic in it is printed and otherwise ignored.
    ///
    /// On a machine that is far too busy, a poll may be reported whose thread only waited for a
    /// core. The time in which a panic is printed, with its backtrace, does not count.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod log { pub fn warn(_: String) {} }
    /// let runtime = arc_util::runtime::Builder::new_multi_thread()
    ///     // it should use spawn_blocking: task 12 has been blocking worker 1 for 100 ms (spawn ..
    ///     .on_long_poll(|task| log::warn(format!("it should use spawn_blocking: {task:#}")))
    ///     .build()?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_long_poll(&mut self, hook: impl Fn(&TaskInfo) + Send + Sync + 'static) -> &mut Self {
        self.reports.hook = Some(Arc::new(hook));
        self
    }

    /// Sets whether long polls are [reported](Self::on_long_poll) on standard error. A line, in
    /// full width, is
    ///
    /// ```text
    /// arc: task 12 has been blocking worker 1 for 100 ms
    ///     (spawned at src/main.rs:44:13, polled 3 times)
    /// ```
    ///
    /// By default a program that was built without optimization (`debug_assertions`) reports them,
    /// and a release build does not: what a library prints unasked would be in the way of a
    /// command-line tool. The environment variable `ARC_LONG_POLLS` sets another default: `report`
    /// or `off`. Any other value changes nothing, and standard error says so once.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::runtime::Builder;
    /// let runtime = Builder::new_multi_thread().report_long_polls(true).build()?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn report_long_polls(&mut self, report: bool) -> &mut Self {
        self.reports = Reports::new(self.reports.limit, report);
        self
    }
}

/// Long polls are reported as by default.
impl From<core::Builder> for Builder {
    fn from(mut core: core::Builder) -> Self {
        tokio_rt::enter_threads(&mut core);
        Self { core, reports: Reports::by_default(), unhandled_panic: UnhandledPanic::Ignore }
    }
}

/// What it builds is not watched.
impl From<Builder> for core::Builder {
    fn from(builder: Builder) -> Self {
        builder.core
    }
}

/// For functions that configure either kind of builder, by `impl BorrowMut<arc::runtime::Builder>`.
impl Borrow<core::Builder> for Builder {
    fn borrow(&self) -> &core::Builder {
        &self.core
    }
}

impl BorrowMut<core::Builder> for Builder {
    fn borrow_mut(&mut self) -> &mut core::Builder {
        &mut self.core
    }
}
