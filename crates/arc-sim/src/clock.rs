//! The simulated clock, as programs see it.

use crate::lock::lock;
use arc::runtime::Handle;
use arc::task::{try_id, with_budget, yield_now};
use arc::time::{Duration, Instant, sleep_until};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

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
/// use arc::time::Duration;
/// use arc_util::time::timeout;
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
    assert!(
        arc_sim_core::is_running(),
        "the clock can be paused in a simulation only: write `#[arc::test(start_paused = true)]`, \
         which makes the test one"
    );
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

/// Moves the clock of the simulation on, and lets the timers whose time has come by that wake their
/// tasks. tokio's `advance`.
///
/// Before the clock moves, each task that is in the queue is polled, so that a timer that it begins
/// with is among these. (On tokio it is not: await [`yield_now`] before this, and a test holds on
/// both.)
///
/// When this returns, each of these timers has woken its task, in the order of their deadlines, and
/// the tasks that were woken have been polled. (On tokio they have not if the main future calls
/// this: await [`yield_now`] after it.)
///
/// The polls until then take some time, as all polls do.
///
/// # Panics
///
/// Outside of a simulation.
///
/// # Cancellation
///
/// The clock has moved, or not.
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
    // The seed may not have polled them yet, however often the caller has let others run.
    others_run().await;

    // A timer of its own: the runtime takes all that are due at once, so when this one has woken
    // its waker, the others have. It has to be armed, so its deadline is ahead. At the end of the
    // clock nothing is.
    let left = LAST.saturating_sub(arc_sim_core::elapsed());
    let duration = duration.max(Duration::from_nanos(1)).min(left);
    let mut timer = pin!(sleep_until(Instant::now() + duration));
    let due = Arc::new(Due::default());
    let armed = Waker::from(due.clone());
    let mut poll = || timer.as_mut().poll(&mut Context::from_waker(&armed));
    let is_armed = !duration.is_zero() && with_budget(&mut poll).is_pending();
    arc_sim_core::advance(duration);
    if is_armed {
        poll_fn(|context| due.poll_woken(context)).await;
    }

    // On tokio the caller waits in the queue behind the tasks that were woken. The order is
    // another one here.
    others_run().await;
}

/// Waits until no other task is in the queue.
async fn others_run() {
    for _ in 0..TURNS_MAX {
        yield_now().await;
        if is_alone() {
            break;
        }
    }
}

/// Whether no task was in the queue when the caller was polled. The main future is in no queue.
fn is_alone() -> bool {
    if try_id().is_some() {
        return arc_sim_core::was_alone();
    }

    // No list of all tasks is made for it: this is asked in each of many turns.
    let mut is_alone = true;
    Handle::current().each_task(|_, note| is_alone &= !note.is_queued());
    is_alone
}

/// The latest time to which [`advance`] moves the clock. It ends 584 years after the beginning.
const LAST: Duration = Duration::from_nanos(u64::MAX - 2);

/// A task that yields for ever is never out of the queue. When the caller has had so many turns
/// beside it, so have the others, but for one time in 2^64.
const TURNS_MAX: u32 = 64;

/// A waker that says whether it has been woken. The timer itself would not: whoever polls it when
/// its time has come is told that it is over, whether it has woken anybody or not.
#[derive(Default)]
struct Due {
    is_woken: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Due {
    fn poll_woken(&self, context: &Context<'_>) -> Poll<()> {
        let task = context.waker().clone();
        let before = lock(&self.task).replace(task);
        drop(before);
        if self.is_woken.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Wake for Due {
    /// The order is that of one thread: a simulation has no other.
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Relaxed);
        let task = lock(&self.task).take();
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// Notes a number in the log of the simulation, where two runs of a seed are compared.
///
/// Note what the seed must decide: the order of results, a checksum. Outside of a simulation this
/// does nothing.
pub fn note(number: u64) {
    arc_sim_core::note(number);
}
