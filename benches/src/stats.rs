//! What is made of the measured times.

use cpu_time::ProcessTime;
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
    ProcessTime::now().as_duration()
}
