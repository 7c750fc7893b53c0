//! What a handler does beyond its answer, if the command line says so.
//!
//! To block a worker is a mistake in an asynchronous handler, and is made on purpose: what
//! becomes of the other requests is what is measured.

use cpu_time::ThreadTime;
use std::hint;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// What every handler does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// For how long a handler blocks its worker.
    time: Duration,
    /// One request in so many has this work, the others have none.
    every: u64,
    /// Whether the worker sleeps in the kernel for that long instead of computing.
    sleeps: bool,
}

static WORK: OnceLock<Work> = OnceLock::new();

/// Tells one request in [`Work::every`] from the others. All workers share it, so that a busy
/// worker has no more of the work than its part of the requests.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

impl FromStr for Work {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mistake = || format!("{text} is no work such as 300us or 2ms/100");
        let (time, every) = text.split_once('/').unwrap_or((text, "1"));
        let time = duration(time).ok_or_else(mistake)?;
        let every = every.parse().ok().filter(|every| *every > 0).ok_or_else(mistake)?;
        Ok(Self { time, every, sleeps: false })
    }
}

/// Of a text such as `300us`, `1.5ms` or `1s`.
pub fn duration(text: &str) -> Option<Duration> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (number, unit) =
        units.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))?;
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit).ok()
}

impl Work {
    /// From now on every handler of this process does it.
    ///
    /// Call it before the runtime's threads are started: they inherit from this one that the
    /// kernel may not delay the end of their sleeps.
    pub fn begin(self, sleeps: bool) {
        if sleeps {
            sleep_precisely();
        }
        let work = Self { sleeps, ..self };
        WORK.set(work).expect("it is set once, as the command line is read");
    }
}

/// A handler does its work.
pub fn perform() {
    let Some(work) = WORK.get() else { return };
    // Relaxed: a count, which nothing else depends on.
    let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
    if !number.is_multiple_of(work.every) {
        return;
    }
    if work.sleeps {
        thread::sleep(work.time);
    } else {
        compute(work.time);
    }
}

/// Uses that much of the thread's CPU time: a thread that is preempted meanwhile has as much left
/// to do as before, as with real work.
fn compute(time: Duration) {
    let start = ThreadTime::now();
    while start.elapsed() < time {
        // A look at the clock is a system call: not all of the work.
        for _ in 0..50 {
            hint::spin_loop();
        }
    }
}

/// Lets sleeps of this thread, and of those that it starts, end when they are due. Where it fails,
/// sleeps end up to 50 us late: on every runtime.
pub fn sleep_precisely() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(Some(std::num::NonZeroU64::MIN));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_understood() {
        let work = Work { time: Duration::from_micros(1_500), every: 100, sleeps: false };
        assert_eq!("1.5ms/100".parse(), Ok(work));
        assert_eq!("1500us".parse(), Ok(Work { every: 1, ..work }));
        for text in ["", "300", "us", "-1us", "nans", "2ms/0", "2ms/"] {
            assert!(text.parse::<Work>().is_err(), "{text}");
        }
    }

    #[test]
    fn computing_uses_the_cpu_time_that_it_is_told() {
        let start = ThreadTime::now();
        compute(Duration::from_millis(2));
        assert!(start.elapsed() >= Duration::from_millis(2));
    }
}
