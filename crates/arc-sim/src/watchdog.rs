//! Tells of a poll that never returns. No simulation can end it, and nobody would know the seed.

use arc_sim_core::Watch;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often the thread looks, in the time after which it tells of a poll.
const LOOKS: u32 = 10;

/// A thread that looks on until this is dropped.
pub(crate) struct Watchdog {
    /// Dropped to end the thread.
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Begins to look on. `tell` gets the seed of a poll that has gone on for at least so long, and
    /// what is polled. It is called once for each such poll.
    pub(crate) fn begin(
        watch: Arc<Watch>,
        limit: Duration,
        tell: impl Fn(u64, &str) + Send + 'static,
    ) -> Self {
        let pause = (limit / LOOKS).max(Duration::from_millis(1));
        let (end, ended) = mpsc::channel();

        let look_on = move || {
            let (mut step, mut since) = (watch.step(), Instant::now());
            let mut is_told = false;
            // The other end is dropped with the watchdog.
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                if watch.step() != step {
                    (step, since, is_told) = (watch.step(), Instant::now(), false);
                } else if !is_told
                    && since.elapsed() >= limit
                    && let Some((seed, what)) = watch.what()
                {
                    is_told = true;
                    tell(seed, &what);
                }
            }
        };

        // Without a thread a test is as good, unless it hangs.
        let builder = thread::Builder::new().name("arc-sim-watchdog".to_owned());
        let thread = builder.spawn(look_on);
        Self { end: Some(end), thread: thread.ok() }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // It does not panic, unless nothing can be printed.
            let _ = thread.join();
        }
    }
}
