//! What threads share, wait for, and tell the time by.
//!
//! Whatever threads use to meet each other, the other files take from here and not from std. So the
//! models in `lab/models/` can compile arc as it stands, over another file in the place of this
//! one.
//!
//! Lines under the feature `sim` let a simulation take the place of time and choose the order of
//! tasks (docs/SIMULATION.md), and `tell!` tells a timeline what happens (docs/TIMELINE.md).
//! Without these features neither is there: pass over them when you read.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, RwLock};
pub use std::time::Duration;
pub(crate) use {crate::registry::core_times, crate::registry::lock, std::thread};
#[cfg(feature = "sim")]
pub use {arc_sim_core::Instant, arc_sim_core::yield_now};
#[cfg(not(feature = "sim"))]
pub use {std::thread::yield_now, std::time::Instant};

/// Tells the timeline of an event. Without the feature `trace` the macro is empty: the closure is
/// never called, and only has the compiler see that the arguments are used.
#[cfg(not(feature = "trace"))]
macro_rules! tell {
    ($event:ident($($fact:expr),*)) => { let _ = || ($($fact,)*); };
}
#[cfg(feature = "trace")]
pub(crate) use arc_trace::tell;
#[cfg(not(feature = "trace"))]
pub(crate) use tell;
