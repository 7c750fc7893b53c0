//! A tokio runtime for futures that need one.

use arc_util::tokio_rt;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// Wraps a future so that each poll of it, and its drop, happen in the context of a tokio
/// runtime.
///
/// Crates such as reqwest and sqlx need this context. The future itself still runs on arc,
/// wherever it is awaited. tokio's worker thread drives the future's tokio sockets and
/// timers, and runs the tasks that it spawns with `tokio::spawn`.
///
/// The argument is evaluated before this function is called, and so outside that context. A
/// function that asks for tokio's runtime when it is called, such as `tokio::time::sleep`, panics
/// there: pass `async { tokio::time::sleep(limit).await }`, and not `tokio::time::sleep(limit)`.
///
/// A runtime of arc-async, or of arc-util, is in the context by itself. On one of arc-runtime, use
/// [`everywhere`](fn@super::everywhere) where a crate calls tokio in many places, or where values
/// are dropped. To enter a runtime of your own, use tokio-util's
/// `TokioContext`.
///
/// # What it starts
///
/// The first poll of a wrapped future starts one tokio runtime for the whole process, if no `build`
/// of arc-util's has done so. It never ends. It is multi-threaded, with IO and time enabled, and
/// has one worker thread named `arc-compat-tokio`. A thread named `arc-for-tokio` runs what is
/// spawned on arc there, and the thread `arc-for-tokio-monitor` watches over it.
///
/// `tokio::task::spawn_blocking` starts further threads of that name, and so do tokio's
/// files and name lookups, which use it. There are at most 512 of them, and each ends after
/// 10 s without work.
///
/// After a `fork` without `exec`, the first poll of a new wrapped future starts such a runtime in
/// the child, too. A future that was polled before the fork belongs to the parent.
///
/// When a tokio socket or timer is ready, tokio's thread wakes the arc task. That costs one
/// more switch between threads than an arc socket or timer needs.
///
/// # Budget
///
/// tokio's IO does not consume the budget of arc's tasks, and tokio's own budget has no
/// effect here. So a loop over tokio IO that is always ready must await
/// `arc::task::consume_budget` now and then.
///
/// # Panics
///
/// The future panics if tokio's runtime cannot be started because no descriptors or threads
/// are left.
///
/// # Cancellation
///
/// The same as that of the wrapped future. Tasks that the future has spawned on tokio keep
/// running, as they do in tokio.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// # #[arc::main]
/// # async fn main() {
/// let answer = arc_compat::tokio::enter(async {
///     tokio::time::sleep(Duration::from_millis(1)).await;
///     tokio::spawn(async { 42 }).await.expect("it does not panic")
/// });
/// assert_eq!(arc::spawn(answer).await.unwrap(), 42);
/// # }
/// ```
pub fn enter<F: Future>(future: F) -> Enter<F> {
    Enter { handle: None, future: Some(future) }
}

/// Returns a handle of the runtime that [`enter`] enters.
///
/// Starts the runtime if it does not run yet.
///
/// # Panics
///
/// Panics if tokio's runtime cannot be started, as the future of [`enter`] does.
///
/// # Examples
///
/// A task that runs on tokio's thread, and is awaited on arc:
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let task = arc_compat::tokio::handle().spawn(async { 6 * 7 });
/// assert_eq!(task.await.unwrap(), 42);
/// # }
/// ```
pub fn handle() -> &'static Handle {
    match tokio_rt::handle() {
        Ok(handle) => handle,
        // The system's own error does not say what is missing.
        Err(error) => panic!("tokio's runtime has no threads or descriptors: {error}"),
    }
}

pin_project! {
    /// The future of [`enter`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Enter<F> {
        // The runtime, since the first poll: to ask for the process's number at each poll would
        // cost a system call.
        handle: Option<&'static Handle>,
        // `None` only while `drop` runs: the future is dropped in tokio's context, too.
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for Enter<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            // Do not start the runtime here: a future that was never polled did not need it.
            let handle = this.handle.or_else(tokio_rt::running_handle);
            let _context = handle.map(Handle::enter);
            this.future.set(None);
        }
    }
}

impl<F: Future> Future for Enter<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _context = this.handle.get_or_insert_with(handle).enter();
        let future = this.future.as_pin_mut();
        future.expect("it is there until it is dropped").poll(context)
    }
}
