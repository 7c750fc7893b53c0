//! The future that arc puts around the future of each task.
//!
//! It keeps every panic inside the task. It drops the user's future as soon as that has finished
//! or was aborted, and before the task's handle hears of it. And it takes the task out of the
//! registry.

use crate::config::UnhandledPanic;
use crate::panic::{Payload, Unread, contain, ignore_panic};
use crate::registry::Key;
use crate::scheduler::{context, end, shared::Shared};
use crate::sync::Arc;
use std::{pin::Pin, task::Context, task::Poll};

/// How a task ended.
pub(crate) enum Outcome<T> {
    Finished(T),
    Panicked(Payload),
    Cancelled,
}

pin_project_lite::pin_project! {
    pub(crate) struct Contained<F> {
        #[pin]
        pub(crate) future: Option<F>,
        pub(crate) key: Key,
    }

    impl<F> PinnedDrop for Contained<F> {
        /// The future is still there if the runtime has ended before the task.
        fn drop(this: Pin<&mut Self>) {
            let mut future = this.project().future;
            ignore_panic(|| future.set(None));
        }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Unread<Outcome<F::Output>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();

        let mut outcome = Unread(Some(Outcome::Cancelled));
        if !this.key.is_aborted()
            && let Some(future) = this.future.as_mut().as_pin_mut()
        {
            match contain(|| future.poll(context)) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(output)) => outcome.0 = Some(Outcome::Finished(output)),
                Err(payload) => outcome.0 = Some(Outcome::Panicked(payload)),
            }
        }

        // The future goes before its joiner is woken, and before its place in the registry goes.
        if let Err(payload) = contain(|| this.future.set(None)) {
            outcome = Unread(Some(Outcome::Panicked(payload)));
        }
        if let Some(Outcome::Panicked(_)) = outcome.0 {
            follow_panic_policy(this.key);
        }
        if let Some(tenant) = this.key.move_out() {
            // Without its runtime a place goes to the next one. The tenant has the task's waker:
            // it is dropped here, outside of any lock.
            let give_back = |it: &Arc<Shared>| it.registry.give_back(this.key, &tenant);
            context::find_runtime(this.key.runtime, give_back);
        }
        Poll::Ready(outcome)
    }
}

fn follow_panic_policy(key: &Key) {
    let Some(runtime) = context::find_runtime(key.runtime, Arc::clone) else { return };
    match runtime.config.unhandled_panic {
        UnhandledPanic::Ignore => {}
        UnhandledPanic::ShutdownRuntime => end::begin(&runtime),
        UnhandledPanic::Abort => std::process::abort(),
    }
}
