//! hyper's executor and timer, on arc's tasks and timers.

use arc::time::sleep_until;
use hyper::rt::{Executor, Sleep, Timer};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Spawns hyper's futures as detached tasks of the current runtime.
///
/// hyper needs an executor for HTTP/2 only.
///
/// # Panics
///
/// `execute` panics outside a runtime. A panic of the future stays in its task.
///
/// # Examples
///
/// ```
/// use arc_compat::ArcExecutor;
/// use hyper::rt::Executor;
/// # #[arc::main]
/// # async fn main() {
/// let (sender, receiver) = async_channel::bounded(1);
/// ArcExecutor::new().execute(async move { sender.send(42).await });
/// assert_eq!(receiver.recv().await, Ok(42));
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArcExecutor;

impl ArcExecutor {
    /// Returns the executor, as `TokioExecutor::new` does. The name alone is one, too.
    pub const fn new() -> Self {
        Self
    }
}

impl<F> Executor<F> for ArcExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        drop(arc::spawn(future));
    }
}

/// Runs hyper's timeouts on arc's timers.
///
/// Without a timer, a hyper server never closes a connection whose client is slow to
/// send the head of a request.
///
/// # Panics
///
/// A sleep panics if it is polled outside a runtime, or after its runtime has ended.
///
/// # Cancellation
///
/// Dropping a sleep disarms its timer.
///
/// # Examples
///
/// ```
/// use arc_compat::ArcTimer;
/// use hyper::rt::Timer;
/// use std::time::{Duration, Instant};
/// # #[arc::main]
/// # async fn main() {
/// let start = Instant::now();
/// let timer = ArcTimer::new();
/// let mut sleep = timer.sleep(Duration::from_secs(3600));
/// timer.reset(&mut sleep, start + Duration::from_millis(10));
/// sleep.await;
/// assert!(start.elapsed() >= Duration::from_millis(10));
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArcTimer;

impl ArcTimer {
    /// Returns the timer, as `TokioTimer::new` does. The name alone is one, too.
    pub const fn new() -> Self {
        Self
    }
}

#[allow(clippy::useless_conversion, reason = "in a simulation, arc's `Instant` is no longer std's")]
impl Timer for ArcTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(ArcSleep { sleep: arc::time::sleep(duration) })
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(ArcSleep { sleep: sleep_until(deadline.into()) })
    }

    /// Moves an [`ArcSleep`] to another deadline, without an allocation. A sleep of
    /// another timer is replaced by a new `ArcSleep`.
    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<ArcSleep>() {
            Some(own) => own.project().sleep.reset(deadline.into()),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

pin_project! {
    /// The sleep of [`ArcTimer`]: an [`arc::time::Sleep`] with hyper's trait.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct ArcSleep {
        #[pin]
        sleep: arc::time::Sleep,
    }
}

impl Sleep for ArcSleep {}

impl Future for ArcSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.project().sleep.poll(context)
    }
}
