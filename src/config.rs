//! What a runtime can be configured with before it is built.

use crate::{registry::Reporter, registry::TaskInfo, sync::Duration};
use std::{fmt, ops::RangeInclusive, thread::available_parallelism};

/// Each worker has a bit in each of two 64-bit words, which say who sleeps (`scheduler/idle.rs`).
pub(crate) const WORKERS_MAX: usize = 64;

/// Which threads run the tasks of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// There is one worker, and a thread in `block_on` runs it.
    CurrentThread,
    /// Each worker has a thread of its own.
    MultiThread,
}

/// What happens to a runtime when one of its tasks panics. (The process's panic hook runs in each
/// case.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnhandledPanic {
    /// Only the task ends. Its handle gives the panic.
    Ignore,
    /// The runtime ends. Every `block_on` on it panics, even if its future is ready just then. So
    /// it does if the runtime is shut down meanwhile.
    ShutdownRuntime,
}

/// Makes the builder from the table of options below. Each row of the table has the documentation
/// of an option, its name and type, its default, and the argument of the method that sets it.
macro_rules! builder {
    ($(
        $(#[$doc:meta])*
        $name:ident: $kind:ty = $default:expr, |$argument:ident: $type:ty| $value:expr;
    )*) => {
        /// Configures and builds a [`Runtime`](crate::runtime::Runtime).
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
            pub(crate) flavor: RuntimeFlavor,
            $(pub(crate) $name: $kind,)*
        }

        impl Builder {
            /// Configures a runtime with several workers, each on a thread of its own. By default
            /// there is one per core.
            pub fn new_multi_thread() -> Self {
                Self { flavor: RuntimeFlavor::MultiThread, $($name: $default,)* }
            }

            /// Configures a runtime with one worker, which the thread in
            /// [`block_on`](crate::runtime::Handle::block_on) runs.
            ///
            /// Tasks run only while some thread is in `block_on`. If several are, one of them runs
            /// all tasks, and each polls its own future. A thread that leaves `block_on` hands the
            /// tasks on to another one.
            pub fn new_current_thread() -> Self {
                Self { flavor: RuntimeFlavor::CurrentThread, ..Self::new_multi_thread() }
            }

            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(mut self, $argument: $type) -> Self {
                    self.$name = $value;
                    self
                }
            )*
        }
    };
}

builder! {
    /// Sets how many workers run tasks at once. By default there are as many as the process may use
    /// cores, but at most 64. A current-thread runtime always has one.
    ///
    /// # Panics
    ///
    /// When the number is 0 or more than 64.
    workers: usize = available_parallelism().map_or(1, usize::from).min(WORKERS_MAX),
        |workers: usize| within("workers", workers, 1..=WORKERS_MAX);

    /// Sets what the names of the runtime's threads begin with; "arc" by default.
    ///
    /// A name with a null byte, which the system does not take, makes `build` panic.
    thread_name: String = "arc".to_owned(), |name: impl Into<String>| name.into();

    /// Sets a function that names the runtime's threads. It is called once for each thread, and
    /// takes the place of [`thread_name`](Self::thread_name). If it panics, so does `build`, after
    /// it has ended the threads that were started before. Later it is called when a job needs a new
    /// thread. If it panics then, it is as if the system had started none.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let started = AtomicUsize::new(0);
    /// let runtime = arc::runtime::Builder::new_multi_thread()
    ///     .thread_name_fn(move || format!("server-{}", started.fetch_add(1, Ordering::Relaxed)))
    ///     .build()?;
    /// let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) });
    /// assert!(runtime.block_on(name)?.unwrap().starts_with("server-"));
    /// # std::io::Result::Ok(())
    /// ```
    thread_name_fn: Option<Box<dyn Fn() -> String + Send + Sync>> = None,
        |name: impl Fn() -> String + Send + Sync + 'static| Some(Box::new(name));

    /// Sets the stack size of the runtime's threads, in bytes; 2 MiB by default.
    ///
    /// # Panics
    ///
    /// When the size is 0.
    thread_stack_size: usize = 2 << 20,
        |bytes: usize| within("thread_stack_size", bytes, 1..=usize::MAX);

    /// Sets how many jobs of [`spawn_blocking`](crate::task::spawn_blocking) may run at once, each
    /// on a thread of its own; 512 by default. Further jobs wait until one of them ends. Name
    /// lookups are such jobs, too.
    ///
    /// # Panics
    ///
    /// When the number is 0.
    max_blocking_threads: usize = 512,
        |threads: usize| within("max_blocking_threads", threads, 1..=usize::MAX);

    /// Sets for how long a thread of `spawn_blocking` that has no job stays for the next one; 10 s
    /// by default.
    thread_keep_alive: Duration = Duration::from_secs(10), |duration: Duration| duration;

    /// Sets a hook that each thread of the runtime calls when it starts.
    ///
    /// A worker runs no task before its call has returned, although a task may have been handed to
    /// it: keep the hook short. A panic in it is printed and otherwise ignored.
    on_thread_start: Box<dyn Fn() + Send + Sync> = Box::new(|| {}),
        |hook: impl Fn() + Send + Sync + 'static| Box::new(hook);

    /// Sets a hook that each thread of the runtime calls before it ends. A panic in it is printed
    /// and otherwise ignored.
    on_thread_stop: Box<dyn Fn() + Send + Sync> = Box::new(|| {}),
        |hook: impl Fn() + Send + Sync + 'static| Box::new(hook);

    /// Sets after how many polls a busy worker looks at sockets, timers and the tasks from outside;
    /// 61 by default, as in tokio. A smaller number favours them, a greater one favours the tasks
    /// that are in the worker's queue already.
    ///
    /// # Panics
    ///
    /// When the number is 0.
    event_interval: u32 = 61, |polls: u32| within("event_interval", polls, 1..=u32::MAX);

    /// Sets for how long a poll may last before it is [reported](Self::on_long_poll); 100 ms by
    /// default. `Duration::MAX` switches the reports off. A report may come some
    /// milliseconds late, 7 on a busy runtime.
    ///
    /// # Panics
    ///
    /// When the limit is 0.
    long_poll_limit: Duration = Duration::from_millis(100),
        |limit: Duration| within("long_poll_limit", limit, Duration::from_nanos(1)..=Duration::MAX);

    /// Sets a hook that is called when one poll of a task, or of the future in a `block_on`, has
    /// lasted for [`long_poll_limit`](Self::long_poll_limit). By default it prints a line to
    /// standard error.
    ///
    /// The hook is called once for each such poll, while the poll still lasts, on a thread of its
    /// own. If it blocks, it holds up nothing else: no worker, not the end of the runtime, but only
    /// other reports, which are made one after the other. The end of the runtime does not wait for
    /// a call that goes on.
    ///
    /// On Linux a poll is not reported as long as its thread mostly waits for a core: then the
    /// machine is too busy, and the task is not to blame. (The future in a `block_on` is reported
    /// even so.)
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
    on_long_poll: Reporter = Reporter::default(),
        |hook: impl Fn(&TaskInfo) + Send + Sync + 'static| Reporter::new(hook);

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
    unhandled_panic: UnhandledPanic = UnhandledPanic::Ignore, |policy: UnhandledPanic| policy;
}

#[track_caller]
fn within<T: PartialOrd + fmt::Debug>(what: &str, value: T, range: RangeInclusive<T>) -> T {
    assert!(range.contains(&value), "{what} must be in {range:?}, not {value:?}");
    value
}
