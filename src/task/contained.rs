//! The future that arc puts around the future of each task.
//!
//! It keeps every panic inside the task. It drops the user's future as soon as that has finished
//! or was aborted, and before the task's handle hears of it. And it takes the task out of the
//! registry.

use crate::config::UnhandledPanic;
use crate::panic::{Payload, Unread, contain, ignore_panic};
use crate::registry::Key;
use crate::scheduler::{context, end};
use crate::sync::Arc;
use std::pin::Pin;
use std::task::{Context, Poll};

/// How a task ended.
pub(crate) enum Outcome<T> {
    Finished(T),
    Panicked(Payload),
    Cancelled,
}

pin_project_lite::pin_project! {
    pub(crate) struct Contained<F> {
        #[pin]
        future: Option<F>,
        key: Key,
    }

    impl<F> PinnedDrop for Contained<F> {
        /// The future is still there if the runtime has ended before the task.
        fn drop(this: Pin<&mut Self>) {
            let mut future = this.project().future;
            ignore_panic(|| future.set(None));
        }
    }
}

impl<F> Contained<F> {
    pub(crate) fn new(future: F, key: Key) -> Self {
        Self { future: Some(future), key }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Unread<Outcome<F::Output>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();

        let mut outcome = Outcome::Cancelled;
        if !this.key.is_aborted()
            && let Some(future) = this.future.as_mut().as_pin_mut()
        {
            match contain(|| future.poll(context)) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(output)) => outcome = Outcome::Finished(output),
                Err(payload) => outcome = Outcome::Panicked(payload),
            }
        }
        let mut outcome = Unread::new(outcome);

        // The future goes before its joiner is woken, and before its place in the registry goes.
        if let Err(payload) = contain(|| this.future.set(None)) {
            outcome = Unread::new(Outcome::Panicked(payload));
        }
        if let Some(Outcome::Panicked(_)) = outcome.get() {
            follow_panic_policy(this.key);
        }
        leave_registry(this.key);
        Poll::Ready(outcome)
    }
}

fn follow_panic_policy(key: &Key) {
    let Some(runtime) = context::find_runtime(key.runtime, Arc::clone) else {
        return;
    };
    match runtime.config.unhandled_panic {
        UnhandledPanic::Ignore => {}
        UnhandledPanic::ShutdownRuntime => end::begin(&runtime),
        UnhandledPanic::Abort => std::process::abort(),
    }
}

fn leave_registry(key: &Key) {
    if let Some(tenant) = key.move_out() {
        // If the runtime has ended, its places are free as a whole.
        context::find_runtime(key.runtime, |runtime| runtime.registry.give_back(key, &tenant));
        // The tenant, and with it the task's waker, is dropped here, outside of any lock.
    }
}
