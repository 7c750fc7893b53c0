//! What all servers do for a request beyond its answer: the path says it, or the command line.

use std::hint;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How much a connection of an echo server reads at once.
pub const ECHO_BYTES: usize = 16 * 1024;

/// For how long a request to `/slow` keeps a core busy.
pub const SLOW: Duration = Duration::from_millis(2);

/// For how long a request to `/block` keeps its thread from everything else.
pub const BLOCK: Duration = Duration::from_secs(1);

/// The longest work of a request that makes sense.
const LONGEST: Duration = Duration::from_secs(10);

/// What the command line asks every handler to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// For how long a handler holds its worker up.
    pub time: Duration,
    /// One request in so many has this work, the others have none.
    pub every: u64,
    /// Whether the worker sleeps in the kernel for that long instead of computing:
    /// one core then plays many.
    pub sleeps: bool,
}

static WORK: OnceLock<Work> = OnceLock::new();

/// Tells one request in [`Work::every`] from the others. All workers share it, so
/// that a busy worker has no more of the work than its part of the requests.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

impl Work {
    /// Reads `300us` or `2ms/100`. None: it is not understood.
    pub fn parse(text: &str) -> Option<Self> {
        let (time, every) = text.split_once('/').unwrap_or((text, "1"));
        let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
        let (number, unit) =
            units.iter().find_map(|(suffix, unit)| Some((time.strip_suffix(suffix)?, unit)))?;
        let seconds = number.parse::<f64>().ok()? * unit;
        if !(0.0..=LONGEST.as_secs_f64()).contains(&seconds) {
            return None;
        }

        let every = every.parse().ok().filter(|every| *every > 0)?;
        Some(Self { time: Duration::from_secs_f64(seconds), every, sleeps: false })
    }

    /// From now on every handler of this process does it.
    ///
    /// Call it before the runtime's threads are started: they inherit from this one
    /// that the kernel may not delay the end of their sleeps.
    pub fn begin(self) {
        if self.sleeps {
            sleep_precisely();
        }
        WORK.set(self).expect("it is set once, as the command line is read");
    }

    fn perform(&self) {
        // Relaxed: a count, which nothing else depends on.
        let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
        if !number.is_multiple_of(self.every) {
            return;
        }
        if self.sleeps {
            thread::sleep(self.time);
        } else {
            compute(self.time);
        }
    }
}

/// Does what the path asks for: to any other path there is nothing to do, but what
/// the command line asks of all.
///
/// All are mistakes in an asynchronous handler, and are made on purpose: what
/// becomes of the other requests is what is measured.
pub fn for_path(path: &str) {
    match path {
        "/slow" => {
            let start = Instant::now();
            while start.elapsed() < SLOW {
                hint::spin_loop();
            }
        }
        "/block" => thread::sleep(BLOCK),
        _ => {
            if let Some(work) = WORK.get() {
                work.perform();
            }
        }
    }
}

/// Uses that much of the thread's CPU time: a thread that is preempted meanwhile
/// has as much left to do as before, as with real work.
fn compute(time: Duration) {
    let end = cpu_time() + time;
    while cpu_time() < end {
        // A look at the clock is a system call: not all of the work.
        for _ in 0..50 {
            hint::spin_loop();
        }
    }
}

/// The CPU time that this thread has used.
#[cfg(target_os = "linux")]
pub fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Elsewhere the time that goes by stands for it.
#[cfg(not(target_os = "linux"))]
pub fn cpu_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Lets sleeps of this thread, and of those that it starts, end when they are due.
#[cfg(target_os = "linux")]
pub fn sleep_precisely() {
    let nanosecond = std::num::NonZeroU64::MIN;
    // Where it fails, sleeps end up to 50 us late: on every runtime.
    let _ = rustix::thread::set_current_timer_slack(Some(nanosecond));
}

/// Elsewhere there is nothing to set.
#[cfg(not(target_os = "linux"))]
pub fn sleep_precisely() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_understood() {
        let work = |micros, every| {
            Some(Work { time: Duration::from_micros(micros), every, sleeps: false })
        };
        assert_eq!(Work::parse("300us"), work(300, 1));
        assert_eq!(Work::parse("2ms/100"), work(2_000, 100));
        assert_eq!(Work::parse("1.5ms"), work(1_500, 1));
        for text in ["", "300", "us", "-1us", "nans", "2ms/0", "2ms/", "11s"] {
            assert_eq!(Work::parse(text), None, "{text}");
        }
    }

    #[test]
    fn computing_uses_the_cpu_time_that_it_is_told() {
        let start = cpu_time();
        compute(Duration::from_millis(2));
        assert!(cpu_time() - start >= Duration::from_millis(2));
    }
}
