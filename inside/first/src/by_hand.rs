//! A task as one would write it by hand, with a mistake: for a bug of stage 05.
//!
//! It has the same functions as async-task, so that the one can take the place of the other. It
//! knows whether it is queued, as the task of stage 03 does, and does not know whether it is
//! running. On one thread that is enough.

use crate::sync::{Arc, AtomicBool, Mutex, Ordering, lock};
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;
type Schedule = Box<dyn Fn(Runnable) + Send + Sync>;

struct Core {
    future: Mutex<Option<Work>>,
    queued: AtomicBool,
    schedule: Schedule,
}

impl Wake for Core {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            (self.schedule)(Runnable(self.clone()));
        }
    }
}

/// A task that waits to be polled.
pub struct Runnable(Arc<Core>);

impl Runnable {
    /// Queues it.
    pub fn schedule(self) {
        self.0.wake();
    }

    /// Polls it. If another thread is polling it just now, this says so and ends the process.
    pub fn run(self) {
        self.0.queued.swap(false, Ordering::AcqRel);
        let Ok(mut slot) = self.0.future.try_lock() else {
            println!("broken: a task is polled twice at once");
            std::process::exit(1);
        };

        let waker = Waker::from(self.0.clone());
        if let Some(future) = slot.as_mut()
            && future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
        {
            *slot = None;
        }
    }
}

/// Waits for the task's output.
pub struct Task<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

impl<T> Future for Task<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut join = lock(&self.0);
        if let Some(output) = join.0.take() {
            return Poll::Ready(output);
        }
        join.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Makes a task of a future. `schedule` is called when it was woken.
pub fn spawn<F>(
    future: F,
    schedule: impl Fn(Runnable) + Send + Sync + 'static,
) -> (Runnable, Task<F::Output>)
where
    F: Future<Output: Send> + Send + 'static,
{
    let task = Arc::new(Mutex::new((None, None)));
    let join = task.clone();
    let future = async move {
        let output = future.await;
        let mut join = lock(&join);
        join.0 = Some(output);
        let waker: Option<Waker> = join.1.take();
        drop(join);
        if let Some(waker) = waker {
            waker.wake();
        }
    };
    let core = Arc::new(Core {
        future: Mutex::new(Some(Box::pin(future))),
        queued: AtomicBool::new(false),
        schedule: Box::new(schedule),
    });
    (Runnable(core), Task(task))
}
