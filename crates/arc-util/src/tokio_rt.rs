//! tokio's context on all threads that run what belongs to a runtime of this crate, for crates that
//! call tokio. It is here with the feature `tokio-rt`.
//!
//! A process has one runtime of tokio's, with one thread. That thread is in a runtime of arc's in
//! return: what a crate gives to `tokio::spawn` may call arc.

use arc::runtime as core;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{PoisonError, RwLock};
use std::{future, io, process, thread};
use tokio::runtime::{Builder, EnterGuard, Handle, Runtime};

/// The name of the threads of tokio's runtime.
const THREAD_NAME: &str = "arc-compat-tokio";

/// The name of the thread that runs what those threads spawn on arc.
const ARC_THREAD_NAME: &str = "arc-for-tokio";

/// The runtime, and the process that has started it. After a fork the child has a copy of this, and
/// none of the runtime's threads. So it starts a runtime of its own.
static RUNTIME: RwLock<Option<(u32, &'static Handle)>> = RwLock::new(None);

/// Returns tokio's runtime, and starts it if this process has none yet.
///
/// # Errors
///
/// The system's: it has no descriptors or threads left. If it is tokio's thread that is not
/// started, the error has the text of a panic of tokio's, and no number.
pub fn handle() -> io::Result<&'static Handle> {
    // Without the lock for writing, which all threads would wait for.
    if let Some(handle) = running_handle() {
        return Ok(handle);
    }

    let mut runtime = RUNTIME.write().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    match *runtime {
        // Another thread was faster.
        Some((starter, handle)) if starter == process => Ok(handle),
        // Or the parent's of a process that was forked, whose threads are not here.
        _ => {
            let handle = start()?;
            *runtime = Some((process, handle));
            Ok(handle)
        }
    }
}

/// Returns tokio's runtime, if this process has started it already.
pub fn running_handle() -> Option<&'static Handle> {
    let runtime = RUNTIME.read().unwrap_or_else(PoisonError::into_inner);
    let (starter, handle) = (*runtime)?;
    (starter == process::id()).then_some(handle)
}

/// Puts tokio's context on the calling thread until the thread ends, so that what it drops last is
/// in it, too.
///
/// # Panics
///
/// When tokio's runtime cannot be started.
pub fn enter_for_good() {
    let handle = handle();
    let handle = handle.expect("a thread has no tokio, whose runtime cannot be started");

    // To forget the guard keeps nothing: the thread's own variable holds the runtime's handle.
    forget(handle.enter());
}

/// Starts tokio's runtime, and beside it one of arc's. Neither ever ends.
fn start() -> io::Result<&'static Handle> {
    // So far no thread of it calls the hook, which would wait for `RUNTIME`, which is locked. So it
    // can be dropped if there is an error below. The threads of its jobs come later.
    let mut beside = core::Builder::new_current_thread();
    beside.thread_name_fn(|purpose| format!("{ARC_THREAD_NAME}-{purpose}"));
    beside.on_thread_start(enter_for_good);
    let beside = beside.build()?;

    // One thread is enough for its sockets and timers: most futures are polled by arc. Each of its
    // threads stays in arc's runtime until it ends.
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).thread_name(THREAD_NAME).enable_all();
    let in_arc = beside.handle().clone();
    builder.on_thread_start(move || forget(in_arc.enter()));
    let runtime = build(&mut builder)?;

    let handle = runtime.handle().clone();
    let (sender, has_begun) = channel();
    let run = move || {
        let _tokio = handle.enter();
        beside.block_on(async {
            // `start` waits for it.
            let _ = sender.send(());
            future::pending::<()>().await;
        });
    };
    if let Err(error) = thread::Builder::new().name(ARC_THREAD_NAME.to_owned()).spawn(run) {
        runtime.shutdown_background();
        return Err(error);
    }

    // Its `block_on` has a number, as each task of the process. If it came later, those of the
    // program's own tasks would differ from run to run.
    let _ = has_begun.recv();

    // In a child of a fork, to drop the parent's runtime would wait for threads that the child has
    // not got.
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    Ok(runtime.handle())
}

/// Builds tokio's runtime. Its builder panics if the system does not start the thread: that is the
/// error here, as it is where one of arc's is not started.
fn build(builder: &mut Builder) -> io::Result<Runtime> {
    // What was made until then is dropped while it unwinds, and nobody uses the builder again.
    let built = catch_unwind(AssertUnwindSafe(|| builder.build()));
    built.unwrap_or_else(|panic| {
        let text = panic.downcast::<String>().map_or_else(|_| String::new(), |text| *text);
        Err(io::Error::other(format!("tokio's runtime cannot be started: {text}")))
    })
}

/// Puts tokio's context on the threads of what is built next.
pub(crate) fn enter_threads(builder: &mut core::Builder) {
    builder.on_thread_start(enter_for_good);
}

/// Starts tokio's runtime before a runtime of arc's: a panic in a hook would only be printed.
pub(crate) fn prepare() -> io::Result<()> {
    handle().map(drop)
}

/// tokio's context on this thread, until it is dropped.
pub(crate) struct Context {
    _tokio: Option<EnterGuard<'static>>,
}

impl Context {
    /// There is none if tokio's runtime cannot be started. That is rare here, as whoever builds a
    /// runtime has started it: in a child of a fork, or with a handle of the core's.
    pub(crate) fn enter() -> Self {
        Self { _tokio: handle().ok().map(Handle::enter) }
    }
}
