//! The simulated clock, as programs see it.

use arc::time::Duration;

/// While this lives, the clock of the simulation does not jump.
///
/// Made by [`hold_clock`].
#[derive(Debug)]
#[must_use = "the clock is held only while this lives"]
pub struct HoldClock(());

/// Keeps the clock of the simulation from jumping, as long as the guard lives. A simulation in
/// which nothing else can happen then really waits: for a socket, or for another thread that wakes
/// a task.
///
/// This is for peers outside of the simulation: another process, another thread. They need real
/// time to answer, in which an hour would pass here. What they do is not decided by the seed.
///
/// Outside of a simulation this does nothing.
///
/// # Examples
///
/// ```
/// use arc::time::{Duration, timeout};
/// # let (wake, woken) = std::sync::mpsc::channel::<std::task::Waker>();
/// # let thread = std::thread::spawn(move || woken.recv().unwrap().wake());
/// arc_sim::run(1, async {
///     let other_thread = async {
///         // ...
///         # let mut sent = false;
///         # std::future::poll_fn(|context| {
///         #     if std::mem::replace(&mut sent, true) {
///         #         return std::task::Poll::Ready(());
///         #     }
///         #     wake.send(context.waker().clone()).unwrap();
///         #     std::task::Poll::Pending
///         # })
///         # .await
///     };
///     let _hold = arc_sim::hold_clock();
///     assert!(timeout(Duration::from_millis(1), other_thread).await.is_ok());
/// });
/// # thread.join().unwrap();
/// ```
pub fn hold_clock() -> HoldClock {
    arc_sim_core::hold();
    HoldClock(())
}

impl Drop for HoldClock {
    fn drop(&mut self) {
        arc_sim_core::release();
    }
}

/// Does nothing in a simulation, whose clock never runs by itself. tokio's `pause`.
///
/// # Panics
///
/// Outside of a simulation.
#[track_caller]
pub fn pause() {
    assert!(arc_sim_core::is_running(), "the clock can be paused in a simulation only");
}

/// Does nothing in a simulation, where time passes by jumps, also after [`pause`]. This is tokio's
/// `resume`.
///
/// # Panics
///
/// Outside of a simulation.
#[track_caller]
pub fn resume() {
    pause();
}

/// Moves the clock of the simulation on, and lets other tasks run. tokio's `advance`.
///
/// Timers whose time has come by that wake their tasks in the order of their deadlines.
///
/// # Panics
///
/// Outside of a simulation.
///
/// # Cancellation
///
/// The clock has moved as soon as the future was polled.
///
/// # Examples
///
/// ```
/// use arc::time::{Duration, Instant};
/// arc_sim::run(1, async {
///     let start = Instant::now();
///     arc_sim::advance(Duration::from_secs(60)).await;
///     assert!(start.elapsed() >= Duration::from_secs(60));
/// });
/// ```
pub async fn advance(duration: Duration) {
    pause();
    arc_sim_core::advance(duration);
    arc::task::yield_now().await;
}

/// Notes a number in the log of the simulation, where two runs of a seed are compared.
///
/// Note what the seed must decide: the order of results, a checksum. Outside of a simulation this
/// does nothing.
pub fn note(number: u64) {
    arc_sim_core::note(number);
}
