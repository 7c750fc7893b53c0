//! A runtime of tokio's, for futures that insist on one.

use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use tokio::runtime::{Builder, Handle, Runtime};

/// The name of its threads.
const THREAD_NAME: &str = "arc-compat-tokio";

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// Wraps a future so that each poll of it, and its drop, happen in the context of a tokio
/// runtime: what crates such as reqwest and sqlx insist on.
///
/// The future itself is run by whoever awaits it, on arc. What it leaves to tokio is done
/// by tokio: its sockets and timers are driven, and the tasks of `tokio::spawn` are run,
/// by tokio's own thread.
///
/// # What it starts
///
/// One tokio runtime for the whole process: multi-threaded, with one worker thread
/// named `arc-compat-tokio`, IO and time. It is started when the first wrapped future is
/// polled, and it never ends. `tokio::task::spawn_blocking`, and tokio's files and name
/// lookups with it, start further threads of that name, at most 512, each of which ends
/// when it has had nothing to do for 10 s. An event for a socket or timer of tokio's wakes
/// the arc task from that thread: one more switch between threads than arc's own need.
///
/// To enter a runtime of your own, there is tokio-util's `TokioContext`.
///
/// tokio's IO takes no part in the budget of arc's tasks, nor in one of its own here: a loop
/// over what is always ready has to await `arc::task::consume_budget` now and then.
///
/// # Panics
///
/// The future panics when the runtime cannot be started: there are no descriptors or no
/// threads left.
///
/// # Cancellation
///
/// That of the future. Tasks that it has spawned on tokio go on, as they do there.
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
    Enter { future: Some(future) }
}

/// The runtime that [`enter`] enters; started, if it has not been yet.
///
/// # Panics
///
/// As a future of [`enter`] does.
///
/// # Examples
///
/// A connection that is made anywhere, and driven by tokio:
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let task = arc_compat::tokio::handle().spawn(async { 6 * 7 });
/// assert_eq!(task.await.unwrap(), 42);
/// # }
/// ```
pub fn handle() -> &'static Handle {
    RUNTIME.get_or_init(start).handle()
}

fn start() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).thread_name(THREAD_NAME).enable_all();
    builder.build().unwrap_or_else(|error| panic!("tokio's runtime cannot be started: {error}"))
}

pin_project! {
    /// The future of [`enter`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Enter<F> {
        // None: it is being dropped, which happens in tokio's context as well.
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for Enter<F> {
        fn drop(this: Pin<&mut Self>) {
            // A future that was never polled shall not start what it did not need.
            let _context = RUNTIME.get().map(Runtime::enter);
            this.project().future.set(None);
        }
    }
}

impl<F: Future> Future for Enter<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _context = handle().enter();
        let future = self.project().future.as_pin_mut();
        future.expect("it is there until it is dropped").poll(context)
    }
}
