//! Time limits, from the core's public API: those of arc-util stand on the core.

use arc::task::without_budget;
use arc::time::{Duration, Instant, Sleep, sleep, sleep_until};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: Box::pin(future.into_future()), sleep: sleep(duration) }
}
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: Box::pin(future.into_future()), sleep: sleep_until(deadline) }
}

#[derive(Debug)]
pub struct Timeout<F> {
    future: Pin<Box<F>>,
    sleep: Sleep,
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        match this.future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            // The future may have used up the task's budget, in each poll. The time is over all the
            // same.
            Poll::Pending => {
                let sleep = Pin::new(&mut this.sleep);
                without_budget(|| sleep.poll(context)).map(|()| Err(Elapsed(())))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(std::io::ErrorKind::TimedOut, elapsed)
    }
}
