//! What `start_paused = true` of `#[arc::main]` and `#[arc::test]` stands for: a builder and a
//! runtime in the place of `arc::runtime`'s.

use crate::simulation::run_paused;
use std::io;

/// Builds what runs a future with a clock that is paused: see [`run_paused`].
///
/// The macros use it. It has no options: a simulation has one thread.
#[derive(Debug)]
pub struct PausedBuilder(());

impl PausedBuilder {
    /// There is nothing to configure.
    #[allow(clippy::new_without_default, reason = "as the builders of `arc::runtime`")]
    pub fn new() -> Self {
        Self(())
    }

    /// There is nothing to build yet, and so no error: each `block_on` is a simulation.
    ///
    /// # Errors
    ///
    /// None.
    pub fn build(&mut self) -> io::Result<PausedRuntime> {
        Ok(PausedRuntime(()))
    }
}

/// Runs futures with a clock that is paused: see [`run_paused`].
#[derive(Debug)]
pub struct PausedRuntime(());

impl PausedRuntime {
    /// Runs a future to its end, in a simulation of its own.
    ///
    /// # Panics
    ///
    /// As [`run_paused`].
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::time::{Duration, Instant, sleep};
    ///
    /// let runtime = arc_sim::PausedBuilder::new().build()?;
    /// let waited = runtime.block_on(async {
    ///     let start = Instant::now();
    ///     sleep(Duration::from_secs(3600)).await;
    ///     start.elapsed()
    /// });
    /// assert_eq!(waited, Duration::from_secs(3600));
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        run_paused(future)
    }
}
