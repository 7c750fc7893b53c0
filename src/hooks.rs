//! Where the timeline and the simulation reach into the runtime.
//!
//! `tell!` tells a timeline what happens, by the feature `trace` (docs/TIMELINE.md). The functions
//! of `sim` let a simulation take the place of the clock and choose the order of tasks, by the
//! feature `sim` (docs/SIMULATION.md). Without these features nothing of either is compiled: pass
//! over the calls when you read.

/// Tells the timeline of an event. Without the feature `trace` it does nothing: the closure is
/// never called, and only shows the compiler that the arguments are used.
#[cfg(not(feature = "trace"))]
macro_rules! tell {
    ($event:ident($($fact:expr),*)) => {
        let _ = || ($($fact,)*);
    };
}
#[cfg(feature = "trace")]
pub(crate) use arc_trace::tell;
#[cfg(not(feature = "trace"))]
pub(crate) use tell;

#[cfg(feature = "sim")]
pub use arc_sim_core::Instant;
#[cfg(not(feature = "sim"))]
pub use std::time::Instant;

#[cfg(feature = "sim")]
pub(crate) use arc_sim_core as sim;

/// What the runtime does where nothing is simulated.
#[cfg(not(feature = "sim"))]
pub(crate) mod sim {
    pub(crate) fn is_building() -> bool {
        false
    }

    pub(crate) fn is_steady() -> bool {
        false
    }

    pub(crate) fn polls(_task: u64) {}

    /// The task that is polled next is the first one.
    pub(crate) fn choose<T>(
        first: Option<T>,
        _others: impl FnOnce() -> usize,
        _push: impl Fn(T),
        _pop: impl Fn() -> Option<T>,
    ) -> Option<T> {
        first
    }

    /// A thread that has nothing to do waits until the first of the two times.
    pub(crate) fn until<T, A>(
        [until, _now]: [T; 2],
        _ahead: impl FnOnce() -> A,
        _wakers: &mut [std::task::Waker],
        _look: impl FnMut(&mut Vec<std::task::Waker>) -> bool,
    ) -> T {
        until
    }

    /// A job runs on a thread, and comes back to be handed to one.
    pub(crate) fn run_later<J>(job: J, _run: impl FnOnce(J)) -> Option<J> {
        Some(job)
    }
}
