//! What the runtime asks while it is simulated: what time it is, which task is next, and what to do
//! when nothing can happen.
//!
//! arc calls these functions if its feature `sim` is on. A *simulation* belongs to one thread, on
//! which all of its tasks run. On every other thread, and outside of simulations, the functions
//! answer as if they were not there: the first task in the queue is next, the clock is the
//! system's, and a thread that has nothing to do waits.
//!
//! | arc asks | in a simulation |
//! |---|---|
//! | [`Instant::now`] | the clock stands still, but for the polls and the jumps below |
//! | [`choose`] | the seed decides which task in the queue is next |
//! | [`polls`] | the poll is noted in the log, and takes a few microseconds |
//! | [`until`] | the clock jumps to the next deadline. If there is none, the simulation ends |
//! | [`is_building`] | no monitor is started, whose clock is the system's |
//! | [`run_later`] | a job that blocks waits in a list, and the simulation's thread runs it |
//!
//! The rest is for the crate `arc-sim`, which begins a simulation and ends it.

#![forbid(unsafe_code)]

mod instant;
mod log;
mod watch;

pub use instant::{Instant, elapsed_nanos};
pub use log::{Event, Log, What};
pub use watch::Watch;

use fastrand::Rng;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;
use std::{mem, thread};

/// A job of `spawn_blocking` that waits to be run.
pub type Job = async_task::Runnable;

/// How long a poll takes, in nanoseconds of the simulated clock. A loop that polls until a certain
/// time ends, and tasks race against deadlines.
const POLL_NANOS: std::ops::RangeInclusive<u64> = 1_000..=20_000;

/// Before a longer jump of the clock, and before a deadlock is told, real sockets are given some
/// real time. What a socket of this very thread has sent may be on its way: a small packet waits
/// until the one before it is acknowledged (Nagle's algorithm), and the other side delays that by
/// 40 ms. (Other threads are given none, as nobody knows whether there are any: they hold the
/// clock.)
const LONG_JUMP: Duration = Duration::from_millis(100);
const GRACE_MILLIS: u32 = 100;

/// Among how many tasks the seed decides which is next: among the first ones in the queue. Those
/// before the chosen one go to its end, so the cost of a poll must not grow with the queue.
const CHOICES_MAX: usize = 64;

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// The state of a simulation.
struct World {
    random: Rng,
    /// The runtime of the simulation is not there yet.
    is_building: bool,
    /// The id of that runtime, as soon as its `block_on` was called.
    runtime: Option<u64>,
    /// While this is not zero, the clock does not jump.
    holds: usize,
    /// Polls take no time, and the task that was woken first is the next one.
    is_steady: bool,
    polls_left: u64,
    /// When the simulation ends at the latest, in nanoseconds of its clock.
    nanos_max: u64,
    /// Wakes the main future: it ends the simulation.
    main: Option<Waker>,
    end: Option<End>,
    jobs: VecDeque<Job>,
    log: Log,
    describe: Option<Describe>,
    watch: Option<Arc<Watch>>,
    /// No other task is in the queue when the next one is taken out.
    is_alone: bool,
    /// It was so of the task that is polled now.
    was_alone: bool,
}

/// Says which task has this id.
type Describe = Box<dyn Fn(u64) -> String>;

/// Why a simulation ended before its main future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every task waits, no timer is armed, and no socket reports anything.
    Deadlock,
    /// There were more polls than the simulation may have.
    TooManyPolls,
    /// More time passed on the simulated clock than may pass.
    TooLong,
}

impl World {
    fn is_late(&self) -> bool {
        instant::elapsed_nanos() > self.nanos_max
    }

    /// Nothing is polled now.
    fn rest(&self) {
        self.watch.iter().for_each(|watch| watch.rests());
    }
}

/// Calls `act` with the simulation of this thread, if there is one. `act` must not run foreign
/// code.
fn with_world<R>(act: impl FnOnce(&mut World) -> R) -> Option<R> {
    // A thread that is being torn down runs no simulation. Destructors may still use arc there.
    WORLD.try_with(|world| world.borrow_mut().as_mut().map(act)).ok().flatten()
}

// ---- What arc calls ----

/// Whether the runtime that is being built on this thread is the one of a simulation.
pub fn is_building() -> bool {
    with_world(|world| world.is_building).unwrap_or(false)
}

/// Whether this thread runs a simulation.
pub fn is_running() -> bool {
    WORLD.try_with(|world| world.borrow().is_some()).unwrap_or(false)
}

/// Returns the task that is polled next: `first`, or one of the `others` that wait behind it. It is
/// among the first 64 of them all. `push` puts a task at the end of the queue, and `pop` takes out
/// the first one.
pub fn choose<T>(
    first: Option<T>,
    others: impl FnOnce() -> usize,
    push: impl Fn(T),
    pop: impl Fn() -> Option<T>,
) -> Option<T> {
    let first = first?;
    // A real program takes them in their order.
    if !is_running() {
        return Some(first);
    }

    let others = others();
    with_world(|world| world.is_alone = others == 0);
    // Where there is nothing to choose, no number is drawn: a seed means less that can change.
    if others == 0 {
        return Some(first);
    }

    // Those before the chosen one go behind all others. Their order among each other stays.
    let last = others.min(CHOICES_MAX - 1) as u64;
    let choose = |world: &mut World| if world.is_steady { 0 } else { world.random.u64(..=last) };
    let chosen = with_world(choose).unwrap_or(0);
    (0..chosen).try_fold(first, |task, _| {
        push(task);
        pop()
    })
}

/// The task of this id is about to be polled.
pub fn polls(task: u64) {
    let is_new = with_world(|world| {
        // A task that comes from outside of the queue has not been chosen.
        world.was_alone = mem::take(&mut world.is_alone);
        world.log.is_new(task)
    });
    // Outside of a simulation nothing is noted.
    let Some(is_new) = is_new else { return };

    // The description is arc's, and is asked for outside of the borrow.
    if is_new && let Some(describe) = with_world(|world| world.describe.take()).flatten() {
        let text = describe(task);
        with_world(|world| {
            world.log.name(task, text);
            world.describe = Some(describe);
        });
    }
    step(|log| What::Polled(log.number_of(task)));
}

/// Notes an event that takes as much time as a poll. Ends the simulation if it is one too many, or
/// too late.
pub fn step(what: impl FnOnce(&Log) -> What) {
    let main = with_world(|world| {
        let what = what(&world.log);
        if let Some(watch) = &world.watch {
            watch.does(what, &world.log);
        }
        world.log.add(instant::elapsed_nanos(), what);

        // The event is noted before the clock moves: it has the time at which it begins.
        if !world.is_steady {
            instant::advance(world.random.u64(POLL_NANOS));
        }
        world.polls_left = world.polls_left.saturating_sub(1);

        let end = match world.polls_left {
            0 => End::TooManyPolls,
            _ if world.is_late() => End::TooLong,
            _ => return None,
        };
        // The first reason is the one that is told.
        if world.end.is_some() {
            return None;
        }
        world.end = Some(end);
        world.main.take()
    });

    // Outside of the borrow, as a waker is foreign code.
    if let Some(main) = main.flatten() {
        main.wake();
    }
}

/// No task can run. Returns until when the thread waits: until the first of `until`, as without a
/// simulation, or until the second, which is now. `ahead` says when the alarm of the timers is and
/// when the first of them expires, and whether there are sockets. `look` takes the wakers of what
/// these report by now, and says whether there is a reason not to wait.
///
/// In a simulation the thread waits only if somebody holds the clock. Otherwise the clock jumps to
/// the alarm, or, if polls take no time, to the deadline. If there is none, the main future is
/// woken and ends the simulation.
pub fn until<T>(
    until: [T; 2],
    ahead: impl FnOnce() -> ([Option<Instant>; 2], bool),
    wakers: &mut Vec<Waker>,
    mut look: impl FnMut(&mut Vec<Waker>) -> bool,
) -> T {
    let [until, now] = until;
    if !is_running() {
        return until;
    }
    if look(wakers) {
        return now;
    }

    let ([alarm, deadline], has_sockets) = ahead();
    let looked = with_world(|world| {
        world.rest();
        world.log.note_sockets(has_sockets);
        (world.holds > 0, world.is_steady)
    });
    let (is_held, is_steady) = looked.unwrap_or_default();
    // Another thread does something for the simulation, and will wake this one.
    if is_held {
        return until;
    }

    // A clock that is to show what was waited for, and no more, must not jump further.
    let next = if is_steady { deadline } else { alarm };

    // A short jump only moves the clock on. A long one could end a timeout although the answer is
    // there, and without a deadline the simulation would end.
    let is_short = next.is_some_and(|next| next < Instant::now() + LONG_JUMP);
    let grace = if has_sockets && !is_short { GRACE_MILLIS } else { 0 };
    for _ in 0..grace {
        thread::sleep(Duration::from_millis(1));
        if look(wakers) {
            return now;
        }
    }

    match next {
        Some(next) => instant::advance_to(next),
        None => {
            let main = with_world(|world| {
                world.end = Some(End::Deadlock);
                world.main.take()
            });
            wakers.extend(main.flatten());
        }
    }
    now
}

/// Lets other threads have the core for a moment. In a simulation there is nothing to wait for, and
/// on a busy machine the core would be gone for milliseconds.
pub fn yield_now() {
    if !is_running() {
        thread::yield_now();
    }
}

/// Takes over a job that blocks. It runs when the seed decides, on the simulation's thread. Outside
/// of a simulation the job comes back.
pub fn run_later<J: Send + 'static>(job: J, run: impl FnOnce(J) + Send + 'static) -> Option<J> {
    if !is_running() {
        return Some(job);
    }
    let (job, task) = async_task::spawn(async move { run(job) }, enqueue);
    job.schedule();
    task.detach();
    None
}

/// Puts a job into the list.
fn enqueue(job: Job) {
    let mut job = Some(job);
    let main = with_world(|world| {
        world.jobs.extend(job.take());
        world.main.clone()
    });
    // The main future's poll is what runs jobs.
    if let Some(main) = main.flatten() {
        main.wake();
    }
    // There is no simulation any more: the job is dropped, as those of a runtime that has ended.
    drop(job);
}

// ---- What arc-sim calls ----

/// This thread runs a simulation as long as this lives.
#[derive(Debug)]
pub struct Entered {
    seed_before: u64,
    /// The simulation belongs to the thread.
    _thread: PhantomData<*const ()>,
}

/// Begins a simulation on this thread, which ends after `polls_max` polls at the latest.
/// fastrand's generator of this thread is seeded, too.
///
/// # Panics
///
/// When this thread runs a simulation already.
pub fn enter(seed: u64, polls_max: u64) -> Entered {
    assert!(!is_running(), "a simulation inside another one is not possible");

    let world = World {
        random: Rng::with_seed(seed),
        is_building: true,
        runtime: None,
        holds: 0,
        is_steady: false,
        polls_left: polls_max,
        nanos_max: u64::MAX,
        main: None,
        end: None,
        jobs: VecDeque::new(),
        log: Log::default(),
        describe: None,
        watch: None,
        is_alone: false,
        was_alone: false,
    };
    WORLD.set(Some(world));
    instant::begin();

    // What the program and its crates draw on this thread belongs to the seed as well.
    let seed_before = fastrand::get_seed();
    fastrand::seed(seed);

    // Once `block_on` drew a number when it began. A seed is to mean what it meant then: failures
    // that were recorded must repeat.
    let _ = fastrand::usize(..);
    Entered { seed_before, _thread: PhantomData }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // Dropped outside of the borrow: what a job holds is foreign.
        let world = WORLD.take();
        world.iter().for_each(World::rest);
        instant::end();
        fastrand::seed(self.seed_before);
        drop(world);
    }
}

impl Entered {
    /// The runtime of the simulation has been built. Those that are built from now on are others.
    pub fn is_built(&self) {
        with_world(|world| world.is_building = false);
    }

    /// Takes the log, and leaves an empty one.
    pub fn take_log(&self) -> Log {
        with_world(|world| mem::take(&mut world.log)).unwrap_or_default()
    }

    /// Reads the log. `read` must not run foreign code.
    pub fn read_log<R>(&self, read: impl FnOnce(&Log) -> R) -> Option<R> {
        with_world(|world| read(&world.log))
    }

    /// Ends the simulation when that much time has passed on its clock.
    pub fn set_limit(&self, limit: Duration) {
        let nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        with_world(|world| world.nanos_max = nanos);
    }

    /// From now on, polls take no time, and the task that was woken first is the next one.
    pub fn be_steady(&self) {
        with_world(|world| world.is_steady = true);
    }

    /// Sets who is told what the simulation does.
    pub fn set_watch(&self, watch: Arc<Watch>) {
        let before = with_world(|world| world.watch.replace(watch));
        drop(before);
    }

    /// Sets how tasks are described in the log.
    pub fn describe_by(&self, describe: impl Fn(u64) -> String + 'static) {
        let before = with_world(|world| world.describe.replace(Box::new(describe)));
        drop(before);
    }
}

/// Remembers how to wake the main future. Returns why the simulation has ended, if it has.
pub fn poll_end(main: &Waker) -> Option<End> {
    let main = main.clone();
    let replaced = with_world(|world| {
        let before = world.main.replace(main);
        (before, world.end)
    });
    replaced.and_then(|(_, end)| end)
}

/// Whether more time has passed on the simulated clock than may pass.
pub fn is_late() -> bool {
    with_world(|world| world.is_late()).unwrap_or(false)
}

/// Somebody calls the `block_on` of the runtime of this id: first the simulation.
///
/// # Panics
///
/// When a job of `spawn_blocking` calls that of the simulation's runtime. It would wait for tasks
/// that only run when the job has ended.
pub fn blocks_on(runtime: u64) {
    // Another runtime has threads of its own, or is run by this call.
    let own = with_world(|world| {
        let before = world.runtime;
        world.runtime = before.or(Some(runtime));
        before
    });

    assert!(
        own.flatten() != Some(runtime),
        "a job of spawn_blocking called block_on in a simulation, where jobs run on the thread of \
         the tasks: no task would run meanwhile. Spawn a task instead of the job, or have the job \
         return and await the rest behind it"
    );
}

/// Takes one of the jobs that wait, by chance. In a steady simulation it is the first.
pub fn take_job() -> Option<Job> {
    with_world(|world| {
        let last = world.jobs.len().checked_sub(1)?;
        if world.is_steady {
            return world.jobs.pop_front();
        }
        let chosen = world.random.u64(..=last as u64) as usize;
        world.jobs.swap_remove_back(chosen)
    })
    .flatten()
}

/// How many jobs wait to be run.
pub fn jobs() -> usize {
    with_world(|world| world.jobs.len()).unwrap_or(0)
}

/// True in one case of two. False outside of a simulation.
pub fn coin() -> bool {
    with_world(|world| world.random.bool()).unwrap_or(false)
}

/// While this is called more often than [`release`], the clock does not jump.
pub fn hold() {
    with_world(|world| world.holds += 1);
}

/// Takes back one [`hold`].
pub fn release() {
    with_world(|world| world.holds = world.holds.saturating_sub(1));
}

/// Whether no other task was in the queue when the one that runs was taken out.
pub fn was_alone() -> bool {
    with_world(|world| world.was_alone).unwrap_or(true)
}

/// Moves the clock on.
pub fn advance(duration: Duration) {
    if is_running() {
        instant::advance(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// How much time has passed on the simulated clock.
pub fn elapsed() -> Duration {
    Duration::from_nanos(instant::elapsed_nanos())
}

/// Notes a number in the log. Outside of a simulation this does nothing.
pub fn note(number: u64) {
    with_world(|world| world.log.add(instant::elapsed_nanos(), What::Noted(number)));
}

/// Puts a text into the log. Outside of a simulation this does nothing. `text` is called outside of
/// the borrow, and must not use the simulation.
pub fn tell(text: impl FnOnce() -> String) {
    if is_running() {
        let text = text();
        with_world(|world| world.log.tell(instant::elapsed_nanos(), text));
    }
}
