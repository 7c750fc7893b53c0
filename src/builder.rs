//! What a runtime can be told before it is built.

use crate::idle::WORKERS_MAX;
use crate::inspect::TaskInfo;
use std::{fmt, ops::RangeInclusive, thread, time::Duration};

/// Called by each thread of the runtime.
pub(crate) type Hook = Box<dyn Fn() + Send + Sync>;

/// The table of options: each is kept as a field, which begins with a value and is set by
/// the method of its name.
macro_rules! options {
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
            $(pub(crate) $name: $kind,)*
        }

        impl Builder {
            /// A runtime with one worker per core.
            pub fn new_multi_thread() -> Self {
                Self { $($name: $default,)* }
            }

            /// A runtime with one worker, which is run by the thread in
            /// [`block_on`](crate::runtime::Handle::block_on) while there is one.
            ///
            /// Unlike tokio's it goes on when no thread is in `block_on`: the worker
            /// has a thread of its own for that.
            pub fn new_current_thread() -> Self {
                Self::new_multi_thread().workers(1)
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

options! {
    /// How many workers run tasks at once; by default as many as the process
    /// may use cores, but not more than 64.
    ///
    /// A thread in [`block_on`](crate::runtime::Handle::block_on) runs one of them.
    ///
    /// # Panics
    ///
    /// When it is 0 or more than 64.
    workers: usize = thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX),
        |workers: usize| within("workers", workers, 1..=WORKERS_MAX);
    /// What the names of the runtime's threads begin with; "arc" by default. A
    /// null byte in it, which the system does not take, makes `build` panic.
    thread_name: String = "arc".to_owned(), |name: impl Into<String>| name.into();
    /// The stack size of the runtime's threads, in bytes; 2 MiB by default.
    ///
    /// # Panics
    ///
    /// When it is 0.
    thread_stack_size: usize = 2 << 20,
        |bytes: usize| within("thread_stack_size", bytes, 1..=usize::MAX);
    /// Called by each thread of the runtime when it starts. A panic in it is
    /// printed and otherwise ignored. A worker runs no task before its call has
    /// returned, though one may already have been handed to it: keep it short.
    on_thread_start: Hook = Box::new(|| {}),
        |hook: impl Fn() + Send + Sync + 'static| Box::new(hook);
    /// Called by each thread of the runtime before it ends. A panic in it is
    /// printed and otherwise ignored.
    on_thread_stop: Hook = Box::new(|| {}),
        |hook: impl Fn() + Send + Sync + 'static| Box::new(hook);
    /// After how many polls a busy worker looks at sockets, timers and tasks
    /// from outside; 61 by default. Less favours them, more favours the tasks
    /// that are queued already.
    ///
    /// # Panics
    ///
    /// When it is 0.
    event_interval: u32 = 61, |polls: u32| within("event_interval", polls, 1..=u32::MAX);
    /// For how long a task may be in one poll before it is
    /// [reported](Self::on_long_poll); 100 ms by default, `Duration::MAX` for ever. It is
    /// looked at every 5 ms.
    ///
    /// # Panics
    ///
    /// When it is 0.
    long_poll_limit: Duration = Duration::from_millis(100),
        |limit: Duration| within("long_poll_limit", limit, Duration::from_nanos(1)..=Duration::MAX);
    /// Called, by a thread that is no worker, when a task has been in one poll for
    /// 100 ms, or [so long](Self::long_poll_limit): once, while it is still stuck. By
    /// default it prints a line to the standard error. (Other tasks, IO and timers go on
    /// meanwhile, as long as not all workers are stuck.)
    ///
    /// A future in `block_on` is no task, and not reported. The hook must not block: the
    /// monitor looks after no worker meanwhile.
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
    on_long_poll: Box<dyn Fn(&TaskInfo) + Send + Sync> =
        Box::new(|task| eprintln!("arc: a poll holds its worker up: {task}")),
        |hook: impl Fn(&TaskInfo) + Send + Sync + 'static| Box::new(hook);
    /// Says what becomes of the runtime when one of its tasks, or a job of
    /// `spawn_blocking`, panics, whether or not somebody joins it; not so a job that was
    /// aborted after it had begun. By default it goes on.
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

/// What becomes of a runtime when one of its tasks panics, besides what the panic
/// hook of the process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnhandledPanic {
    /// The task has ended; its handle tells of the panic.
    Ignore,
    /// The runtime ends, and `block_on` panics (as it then does whenever its runtime
    /// ends).
    ShutdownRuntime,
    /// The process aborts.
    Abort,
}
