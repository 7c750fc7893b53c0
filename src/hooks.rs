//! Where others look at the runtime, and where a simulation reaches into it.
//!
//! `tell!` tells observers of an event, by the feature `observe` (the crate `arc-observe`), and a
//! `Note` is what they may ask of a task. The functions of `sim` let a simulation take the place of
//! the clock and choose the order of tasks, by the feature `sim` (docs/SIMULATION.md). Without
//! these features nothing of either is compiled: pass over the calls when you read.

/// Tells the observers of an event. Without the feature the closure is never called, and only shows
/// the compiler that the arguments are used.
macro_rules! tell {
    ($event:ident($($fact:expr),*)) => {
        #[cfg(feature = "observe")]
        arc_observe::tell(|it| it.$event($($fact),*));
        #[cfg(not(feature = "observe"))]
        let _ = || ($($fact,)*);
    };
}
pub(crate) use tell;

#[cfg(feature = "observe")]
pub(crate) use arc_observe as observe;

/// What the runtime does where nobody looks at it.
#[cfg(not(feature = "observe"))]
pub(crate) mod observe {
    pub(crate) enum Kind {
        Task,
        Job,
        BlockOn,
    }

    pub(crate) struct Note;

    impl Note {
        pub(crate) fn new(_kind: Kind, _name: Option<&str>) -> Self {
            Self
        }

        pub(crate) fn step(&self) {}
    }

    pub(crate) fn is_observed() -> bool {
        false
    }

    pub(crate) fn tick(_runtime: u64, _since: std::time::Duration) -> bool {
        false
    }
}

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
