//! A small program with three things that are wrong, to be found in its timeline.
//!
//! ```text
//! $ ARC_TRACE=run.html cargo run --features trace --example timeline
//! 40 requests were answered
//! ```
//!
//! Open `run.html` in a browser, or name `run.txt` and read it. What stands out is a task that
//! computes for 30 ms in one poll, a burst of requests behind which others wait, and a task that
//! waits for a lock for ever, because whoever had it forgot to wake the next.

use arc::task::spawn_named;
use arc::time::{Duration, sleep};
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll, Waker};
use std::time::Instant;

#[arc::main(worker_threads = 2)]
async fn main() -> Result<(), arc::task::JoinError> {
    drop(spawn_named("waiter", forgotten()));
    let requests: Vec<_> = (0..10).map(|_| spawn_named("request", request())).collect();
    let report = spawn_named("report", async { compute(Duration::from_millis(30)) });
    let burst = spawn_named("burst", burst());

    let mut answered = burst.await?;
    report.await?;
    for request in requests {
        request.await?;
        answered += 1;
    }
    println!("{answered} requests were answered");
    Ok(())
}

/// A request waits now and then, and computes a little.
async fn request() {
    for _ in 0..6 {
        sleep(Duration::from_millis(5)).await;
        compute(Duration::from_micros(200));
    }
}

/// 30 requests at once.
async fn burst() -> u32 {
    sleep(Duration::from_millis(40)).await;
    let one = async || compute(Duration::from_micros(500));
    let requests: Vec<_> = (0..30).map(|_| spawn_named("in the burst", one())).collect();
    let mut answered = 0;
    for request in requests {
        answered += u32::from(request.await.is_ok());
    }
    answered
}

/// Takes a core for a time. In a real program this would belong into `spawn_blocking`.
fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Waits for something that keeps the waker, and never uses it.
async fn forgotten() {
    static WAITING: Mutex<Vec<Waker>> = Mutex::new(Vec::new());

    poll_fn(|context| {
        let mut waiting = WAITING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        waiting.push(context.waker().clone());
        Poll::Pending
    })
    .await
}
