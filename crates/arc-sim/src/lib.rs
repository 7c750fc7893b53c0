//! Runs programs on arc by a seed: the seed decides which task is next, and the clock jumps.
//!
//! ```
//! use arc::time::{Duration, Instant, sleep};
//!
//! let hours = arc_sim::run(17, async {
//!     let start = Instant::now();
//!     let task = arc::spawn(sleep(Duration::from_secs(3600)));
//!     sleep(Duration::from_secs(1800)).await;
//!     task.await.unwrap();
//!     start.elapsed().as_secs() / 3600
//! });
//! assert_eq!(hours, 1); // and no second has passed
//! ```
//!
//! What runs is arc itself, with its tasks, queues, timers, reactor and budgets, on one worker.
//! Three things are exchanged: the clock, the choice of the next task, and what a thread does that
//! finds nothing to do. So a test can try hundreds of orders of the same program, each of them as
//! often as it likes, and the one that fails can be repeated:
//!
//! ```
//! # /*
//! #[arc_sim::test(seeds = 200)]
//! # */
//! async fn the_first_answer_wins() {
//!     // ...
//! }
//! ```
//!
//! ```text
//! arc-sim: my_crate::the_first_answer_wins fails with seed 17, at 2.04s of simulated time
//! to repeat it: ARC_SEED=17 cargo test -p my-crate the_first_answer_wins -- --exact --nocapture
//! ```
//!
//! The page `docs/SIMULATION.md` of the repository says what is simulated and what is not.
//!
//! | item | what it is for |
//! |---|---|
//! | [`macro@test`], [`Test`] | a test with many seeds |
//! | [`run`], [`simulate`], [`find`] | simulations in a program of your own |
//! | [`Failure`], [`Unfinished`] | why one failed, and what had not ended then |
//! | [`net`] | a network with delays, losses and partitions |
//! | [`hold_clock`] | a peer outside of the simulation |
//! | [`pause`], [`advance`], [`resume`] | tokio's names for such a clock |
//!
//! The feature `sim` of arc, which this crate turns on, changes nothing about runtimes that this
//! crate has not built, but for one thing: `arc::time::Instant` is a type of its own, as in tokio,
//! and not std's. It can be converted into std's and back.

#![forbid(unsafe_code)]

mod clock;
mod failure;
mod lock;
pub mod net;
mod paused;
mod quiet;
mod seeds;
mod simulation;
mod story;
mod test;
mod timeline;
mod watchdog;

pub use arc_sim_core::{Event, Log, What, is_running};
/// Runs an `async fn` as a test, in a simulation for each of many seeds. It may return nothing, or
/// a `Result`.
///
/// | option | what it sets |
/// |---|---|
/// | `seeds = 200` | [`Test::seeds`]: how many seeds are tried |
/// | `twice = true` | [`Test::twice`]: each seed is run twice |
/// | `polls = 1_000_000` | [`Test::polls`]: how many polls a simulation may have |
/// | `limit = "1h"` | [`Test::limit`]: how much simulated time it may take, in ms, s, min, h or d |
/// | `unhandled_panic = "ignore"` | [`Test::unhandled_panic`]: tasks may panic |
/// | `start_paused = true` | nothing: tokio's option for a clock that jumps |
/// | `crate = "my_crate::arc_sim"` | where this crate is |
///
/// # Examples
///
/// ```
/// #[arc_sim::test(seeds = 20, limit = "1h")]
/// async fn half_an_hour_is_not_too_long() -> std::io::Result<()> {
///     arc::time::sleep(arc::time::Duration::from_secs(1800)).await;
///     Ok(())
/// }
/// ```
pub use arc_sim_macros::test;
pub use arc_util::runtime::UnhandledPanic;
pub use clock::{HoldClock, advance, hold_clock, note, pause, resume};
pub use failure::{Failure, Unfinished};
pub use paused::{PausedBuilder, PausedRuntime};
pub use simulation::{Run, find, run, run_paused, simulate};
pub use test::{Outcome, Test};
