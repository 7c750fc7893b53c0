//! Where others look at the runtime, and where a simulation reaches into it.
//!
//! * `tell!` tells observers of an event, and `note!` makes the [`Note`] that they may ask of a
//!   task: by the feature `observe` (the crate `arc-observe`).
//! * `sim!` lets a simulation take the place of the clock, choose the order of tasks and run the
//!   jobs: by the feature `sim` (docs/SIMULATION.md).
//!
//! Without these features nothing of either is compiled: pass over `tell!` and notes when you read,
//! and take the second argument of the others.

/// The first argument is for a program whose runtimes can be looked at, and the second for others.
macro_rules! observed {
    ($seen:expr, $unseen:expr) => {{
        #[cfg(feature = "observe")]
        let chosen = $seen;
        #[cfg(not(feature = "observe"))]
        let chosen = $unseen;
        chosen
    }};
}

/// Notes a task that the caller is about to spawn: its kind, and perhaps its name.
macro_rules! note {
    ($kind:ident, $name:expr) => {
        crate::hooks::observed!(arc_observe::Note::new(arc_observe::Kind::$kind, $name), {
            let _: Option<&str> = $name;
            crate::hooks::Note
        })
    };
}

/// Tells the observers of an event. Without the feature the closure is never called, and only shows
/// the compiler that the arguments are used.
macro_rules! tell {
    ($event:ident($($fact:expr),*)) => {
        crate::hooks::observed!(arc_observe::tell!($event($($fact),*)), {
            let _ = || ($($fact,)*);
        })
    };
}

/// The first argument is for a program that can be simulated, and the second for others.
macro_rules! sim {
    ($simulated:expr, $real:expr) => {{
        #[cfg(feature = "sim")]
        let chosen = $simulated;
        #[cfg(not(feature = "sim"))]
        let chosen = $real;
        chosen
    }};
}

pub(crate) use {note, observed, sim, tell};

#[cfg(feature = "sim")]
pub use arc_sim_core::Instant;
#[cfg(not(feature = "sim"))]
pub use std::time::Instant;

#[cfg(feature = "observe")]
pub(crate) use arc_observe::Note;

/// What is noted of a task that nobody looks at.
#[cfg(not(feature = "observe"))]
pub(crate) struct Note;
