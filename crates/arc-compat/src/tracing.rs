//! A span of `tracing` for each task. It is entered at each poll, so each line that is logged in
//! the task names it.

use ::tracing::field::Empty;
use ::tracing::{Instrument, Span, info_span};
use arc::task::{JoinHandle, spawn_named as spawn_named_on_arc, try_id};
use std::future::Future;
use std::panic::Location;

/// Spawns a future as [`arc::spawn`] does, in a span of its own.
///
/// The span is called `task`, has the level INFO and the target `arc::task`, and begins inside the
/// span of its caller. Its fields are `id`, the task's id, which is there from the first poll on,
/// and `line`, the line that spawned it. It is closed when the future is dropped.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let task = arc_compat::tracing::spawn(async {
///     tracing::info!("hello"); // INFO task{line=src/main.rs:4:12 id=3}: hello
///     42
/// });
/// assert_eq!(task.await.unwrap(), 42);
/// # }
/// ```
#[track_caller]
pub fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
    future: F,
) -> JoinHandle<F::Output> {
    let line = Location::caller();
    let span = info_span!(target: "arc::task", "task", %line, id = Empty);
    arc::spawn(within(span, future))
}

/// Spawns a future as [`spawn`] does, with a name, which is a field of the span as well. See
/// [`arc::task::spawn_named`].
///
/// # Panics
///
/// Outside a runtime.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let task = arc_compat::tracing::spawn_named("sum", async { 1 + 1 });
/// assert_eq!(task.await.unwrap(), 2);
/// # }
/// ```
#[track_caller]
pub fn spawn_named<F: Future<Output: Send + 'static> + Send + 'static>(
    name: &str,
    future: F,
) -> JoinHandle<F::Output> {
    let line = Location::caller();
    let span = info_span!(target: "arc::task", "task", name, %line, id = Empty);
    spawn_named_on_arc(name, within(span, future))
}

/// The future, with the span around each of its polls. The task has an id when it is polled first.
fn within<F: Future>(span: Span, future: F) -> impl Future<Output = F::Output> {
    let own = span.clone();
    let named = async move {
        if let Some(id) = try_id() {
            own.record("id", id.0);
        }
        // The span must be closed when the task ends, and not be kept by itself.
        drop(own);
        future.await
    };
    named.instrument(span)
}
