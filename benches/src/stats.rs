//! What is made of the measured times.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The middle one.
///
/// # Panics
///
/// Without any.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The CPU time that all threads of this process have used.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
