//! The threads in `block_on`, and the lease: which of them runs the worker of a current-thread
//! runtime. `Sighting`, at the end, is what the monitor notes of a worker or of such a thread.
//!
//! A current-thread runtime has one worker, and no thread for it. A thread in `block_on` that takes
//! the *lease* runs the worker until its own future is ready. Other threads in `block_on` only poll
//! their own futures meanwhile. When the lease ends, they are unparked, and one of them takes it.
//!
//! The end of the runtime needs the lease as well. To *close* a runtime is to take it apart (step 3
//! in `end.rs`): what the tasks left may be dropped only when no thread runs the worker any more.
//! E1 and E2 are in `end::begin`, R1 and R2 in `end::end_lease`.
//!
//! ```text
//!   another thread in block_on   the thread with the lease     the thread that ends the runtime
//!   --------------------------   -------------------------     --------------------------------
//!   (it has entered the list)    R1  end the lease, unpark     E1  say that the runtime ends
//!   L1  take the lease               all that are listed       E2  take the lease
//!       failed: park             R2  does the runtime end?         failed: nothing
//!                                    take the lease, close         else close
//! ```
//!
//! L1, R1 and E2 are done under one lock, which is that of the list as well, and so in some order.
//! Therefore:
//!
//! * Nobody parks beside a free lease. L1 fails only if the lease is taken. If a thread has it to
//!   run the worker, an R1 comes after L1, finds the thread in the list, and unparks it: `park`
//!   returns at once. For this no foreign code may run between L1 and `park`: it could park, too,
//!   and use up the unpark. If a thread has it to close the runtime, no R1 comes, but closing wakes
//!   every future in `block_on`.
//! * Exactly one thread closes the runtime. E2 fails only if the lease is taken. If a thread has it
//!   to run the worker, an R1 comes after E2, so that R2 sees what E1 said. If not, somebody closes
//!   already, and nobody ends the lease after that.

use crate::builder::RuntimeFlavor;
use crate::hooks::tell;
use crate::registry::{Id, RuntimeId, TaskInfo, TaskState};
use crate::sync::{Arc, AtomicBool, AtomicU64, Duration, Mutex, Ordering, lock, thread};
use std::mem::replace;
use std::panic::Location;

/// The futures in `block_on` of one runtime. The monitor watches them, and the end wakes them.
#[derive(Default)]
pub(crate) struct Mains(Mutex<State>);

#[derive(Default)]
struct State {
    list: Vec<Arc<Main>>,
    is_leased: bool,
}

impl Mains {
    /// The future is in the list as long as the guard lives.
    pub(crate) fn enter<'a>(&'a self, main: &'a Arc<Main>) -> Listed<'a> {
        lock(&self.0).list.push(main.clone());
        Listed { mains: self, main }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Main>> {
        lock(&self.0).list.clone()
    }

    /// L1, E2, and the second half of R2: takes the lease, if it is free.
    pub(crate) fn take_lease(&self) -> bool {
        !replace(&mut lock(&self.0).is_leased, true)
    }

    /// R1.
    pub(crate) fn end_lease(&self) {
        let mut state = lock(&self.0);
        state.is_leased = false;
        for main in &state.list {
            main.thread.unpark();
        }
    }
}

pub(crate) struct Listed<'a> {
    mains: &'a Mains,
    main: &'a Arc<Main>,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        lock(&self.mains.0).list.retain(|other| !Arc::ptr_eq(other, self.main));
        tell!(ended(self.main.id.0));
    }
}

/// A future in `block_on`, as its waker, the monitor and the end see it.
pub(crate) struct Main {
    pub(crate) id: Id,
    pub(crate) runtime: RuntimeId,
    pub(crate) flavor: RuntimeFlavor,
    /// The line that called `block_on`.
    location: &'static Location<'static>,
    pub(crate) thread: thread::Thread,
    /// The future was woken, and has not been polled since.
    pub(crate) woken: AtomicBool,
    /// How many polls have begun and how many have ended, added up: it is odd during a poll.
    steps: AtomicU64,
    pub(crate) sighting: Sighting,
}

impl Main {
    #[track_caller]
    pub(crate) fn new(runtime: RuntimeId, flavor: RuntimeFlavor) -> Arc<Self> {
        let id = Id::next();
        let location = Location::caller();
        tell!(spawned(id.0, runtime.0, &None::<Arc<str>>, location, 2));
        Arc::new(Self {
            id,
            runtime,
            flavor,
            location,
            thread: thread::current(),
            // It is polled once without being woken.
            woken: AtomicBool::new(true),
            steps: AtomicU64::new(0),
            sighting: Sighting::default(),
        })
    }

    /// A poll begins or ends. Only the thread in `block_on` calls this.
    pub(crate) fn step(&self) {
        let steps = self.steps() + 1;
        self.steps.store(steps, Ordering::Relaxed);
        tell!(step(self.id.0, steps));
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Whether it is in a poll that may have to be reported.
    pub(crate) fn is_watched(&self) -> bool {
        let steps = self.steps();
        steps % 2 == 1 && !self.sighting.is_reported(steps)
    }

    /// Describes it while it is being polled.
    pub(crate) fn describe(&self) -> TaskInfo {
        TaskInfo {
            id: self.id,
            // It has no name of its own, and a reader has to know what it is.
            name: Some("block_on".into()),
            location: self.location,
            state: TaskState::InBlockOn { time: self.sighting.time() },
            polls: self.steps().div_ceil(2),
        }
    }
}

/// What the monitor knows of a thread that polls. Only the monitor changes it.
#[derive(Default)]
pub(crate) struct Sighting {
    /// Which turn the thread was in at the last tick.
    turn: AtomicU64,
    /// For how long it has been in it, in nanoseconds, from the first tick that saw that.
    time: AtomicU64,
    /// The turn whose poll was reported last.
    reported: AtomicU64,
}

impl Sighting {
    /// For how long the thread has been in the same turn. Zero means that it moves.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.time.load(Ordering::Relaxed))
    }

    pub(crate) fn is_reported(&self, turn: u64) -> bool {
        self.reported.load(Ordering::Relaxed) == turn
    }

    pub(crate) fn set_reported(&self, turn: u64) {
        self.reported.store(turn, Ordering::Relaxed);
    }

    /// A tick has found the thread in this turn. Returns whether it was in another one at the last
    /// tick.
    pub(crate) fn has_moved(&self, turn: u64) -> bool {
        let has_moved = self.turn.swap(turn, Ordering::Relaxed) != turn;
        if has_moved {
            // Nothing is known of the new turn yet.
            self.time.store(0, Ordering::Relaxed);
        }
        has_moved
    }

    /// The thread has stayed in its turn since the last tick, so long ago.
    pub(crate) fn stays(&self, step: Duration) {
        let time = u64::try_from((self.time() + step).as_nanos());
        self.time.store(time.unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
