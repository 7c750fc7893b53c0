//! Tells tokio-console of arc's tasks: their polls, and who is woken how often.

use ::tracing::{Dispatch, Id, Level, Span, span, trace};
use arc_trace::{Listener, listen};
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Tells tokio-console of all tasks that are spawned from now on, by the spans and events of
/// `tracing` that its part in the program, the crate console-subscriber, looks for.
///
/// Call it right after `console_subscriber::init()`. That crate asks for tokio's unstable flag,
/// unless it is built with `RUSTFLAGS="--cfg console_without_tokio_unstable"`. It starts a thread
/// of its own, and `tokio-console` connects to that.
///
/// Each task, each job of `spawn_blocking` and each future of a `block_on` has a span, which is
/// entered at each poll. The spans have the level TRACE and the target `tokio::task`. So another
/// layer of the subscriber needs a filter, if its log is not to name them.
///
/// # Examples
///
/// ```
/// #[arc::main]
/// async fn main() {
///     // console_subscriber::init();
///     arc_compat::console::tell();
///     arc::task::spawn_named("adds", async { 1 + 1 }).await.unwrap();
/// }
/// ```
pub fn tell() {
    listen(&Console);
}

struct Console;

/// The spans of all tasks.
static SPANS: LazyLock<Mutex<HashMap<u64, Span>>> = LazyLock::new(Mutex::default);

fn spans() -> MutexGuard<'static, HashMap<u64, Span>> {
    SPANS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn span_of(task: u64) -> Option<Span> {
    spans().get(&task).cloned()
}

thread_local! {
    /// The tasks that are being polled on this thread, and their spans.
    static POLLED: RefCell<Vec<(u64, Span)>> = const { RefCell::new(Vec::new()) };
}

/// What the subscriber does with a span.
fn act(span: &Span, what: impl FnOnce(&Dispatch, &Id)) {
    span.with_subscriber(|(id, dispatch)| what(dispatch, id));
}

fn tell_of_waker(span: &Span, op: &str) {
    if let Some(id) = span.id() {
        trace!(target: "tokio::task::waker", op, task.id = id.into_u64());
    }
}

impl Listener for Console {
    fn spawned(&self, task: u64, kind: &str, name: &str, location: &'static Location<'static>) {
        let span = span!(
            target: "tokio::task",
            parent: None,
            Level::TRACE,
            "runtime.spawn",
            kind = %kind,
            task.name = %name,
            task.id = task,
            loc.file = location.file(),
            loc.line = location.line(),
            loc.col = location.column(),
        );
        // The console warns of a task that has no waker. How many there are is not told.
        tell_of_waker(&span, "waker.clone");
        spans().insert(task, span);
    }

    fn woken(&self, task: u64) {
        if let Some(span) = span_of(task) {
            tell_of_waker(&span, "waker.wake_by_ref");
        }
    }

    fn begins(&self, task: u64) {
        let Some(span) = span_of(task) else { return };
        act(&span, Dispatch::enter);
        // A thread that is being torn down polls nothing any more.
        let _ = POLLED.try_with(|polled| polled.borrow_mut().push((task, span)));
    }

    fn ends(&self, task: u64) {
        let pop =
            |polled: &RefCell<Vec<(u64, Span)>>| polled.borrow_mut().pop_if(|top| top.0 == task);
        // Out of the list first: the subscriber may spawn.
        if let Ok(Some((_, span))) = POLLED.try_with(pop) {
            act(&span, Dispatch::exit);
        }
    }

    fn ended(&self, task: u64) {
        self.ends(task);
        let span = spans().remove(&task);
        // Without the lock: the subscriber closes the span.
        drop(span);
    }
}
