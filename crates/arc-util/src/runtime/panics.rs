//! What the panic of a task does to its runtime.
//!
//! The core goes on: it ends the task, whose handle gives the panic. If a runtime is to end
//! instead, the observer hears of the panic and ends it ([`Watched`]), and every future in its
//! `block_on` panics in its next poll. The end of a runtime wakes all of them.

use super::watch::Watched;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What happens to a runtime when one of its tasks panics. The process's panic hook runs in each
/// case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnhandledPanic {
    /// Only the task ends. Its handle gives the panic.
    Ignore,
    /// The runtime ends. Every `block_on` on it panics, even if its future has become ready. A
    /// shutdown of the runtime has the same effect on them.
    ShutdownRuntime,
}

pin_project! {
    /// A future in `block_on`, which panics if its runtime has ended by a panic.
    pub(super) struct InBlockOn<'a, F> {
        #[pin]
        pub(super) future: F,
        pub(super) watched: &'a Watched,
    }
}

impl<F: Future> Future for InBlockOn<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        refuse_after_the_end(this.watched);
        let poll = this.future.poll(context);

        // The output may be an error that the end itself has caused.
        if poll.is_ready() {
            refuse_after_the_end(this.watched);
        }
        poll
    }
}

/// # Panics
///
/// When the runtime has ended, and its policy is that every `block_on` panics then.
fn refuse_after_the_end(watched: &Watched) {
    assert!(
        !watched.fails_block_on(),
        "the runtime has ended, by a shutdown or a panic (UnhandledPanic::ShutdownRuntime)"
    );
}
