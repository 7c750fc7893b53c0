//! hyper's executor and timer.

use arc::time::{Instant, sleep_until};
use hyper::rt::{Executor, Sleep, Timer};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Runs what hyper spawns (HTTP/2 does) as tasks of the current runtime,
/// detached.
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
/// ArcExecutor.execute(async move { sender.send(42).await });
/// assert_eq!(receiver.recv().await, Ok(42));
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArcExecutor;

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

/// Gives hyper arc's timers, for its timeouts: without one, a server never ends
/// a connection whose client is slow to send a request's head.
///
/// # Panics
///
/// The sleeps panic when they are polled outside a runtime, or after theirs has
/// ended.
///
/// # Cancellation
///
/// A sleep that is dropped is disarmed.
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
/// let mut sleep = ArcTimer.sleep(Duration::from_secs(3600));
/// ArcTimer.reset(&mut sleep, start + Duration::from_millis(10));
/// sleep.await;
/// assert!(start.elapsed() >= Duration::from_millis(10));
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArcTimer;

impl Timer for ArcTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(ArcSleep { sleep: arc::time::sleep(duration) })
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(ArcSleep { sleep: sleep_until(deadline) })
    }

    /// Sets the sleep that there is, without an allocation, unless it is another
    /// timer's.
    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<ArcSleep>() {
            Some(own) => own.project().sleep.reset(deadline),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

pin_project! {
    /// What [`ArcTimer`] gives: an [`arc::time::Sleep`].
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
