//! The future that arc puts around the future of each task.
//!
//! It keeps every panic inside the task. It drops the user's future as soon as that has finished
//! or was aborted, and before the task's handle is woken. And it takes the task out of the
//! registry.

use crate::config::UnhandledPanic;
use crate::panic::{Unread, contain, ignore_panic};
use crate::registry::{JoinError, Key};
use crate::scheduler::{context, end};
use crate::sync::Arc;
use std::{pin::Pin, task::Context, task::Poll};

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
    type Output = Unread<Result<F::Output, JoinError>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let key = &*this.key;
        let mut result = Unread(Some(Err(JoinError::cancelled(key.id))));
        if !key.is_aborted()
            && let Some(future) = this.future.as_mut().as_pin_mut()
        {
            match contain(|| future.poll(context)) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(output)) => result.0 = Some(Ok(output)),
                Err(panic) => result.0 = Some(Err(JoinError::panicked(key.id, panic))),
            }
        }

        // The future goes before its joiner is woken, and before the registry forgets the task.
        if let Err(panic) = contain(|| this.future.set(None)) {
            result = Unread(Some(Err(JoinError::panicked(key.id, panic))));
        }
        if matches!(&result.0, Some(Err(error)) if error.is_panic())
            && let Some(runtime) = context::find_runtime(key.runtime, Arc::clone)
        {
            match runtime.config.unhandled_panic {
                UnhandledPanic::Ignore => {}
                UnhandledPanic::ShutdownRuntime => end::begin(&runtime),
                UnhandledPanic::Abort => std::process::abort(),
            }
        }
        // The registry gives back the task's own waker, which is dropped outside of any lock.
        drop(context::find_runtime(key.runtime, |runtime| runtime.registry.remove(key)));
        Poll::Ready(result)
    }
}
