//! One runtime of a round, with all that happens in it, and its end.

use super::acts;
use super::round::Round;
use super::task::{Act, Child, Job, Ticket, Tracked};
use crate::account::{ACCOUNT, fault};
use arc::runtime::{Builder, Handle, Runtime};
use fastrand::Rng;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What the threads of all runtimes are called.
pub const THREADS: &str = "of-arc";

/// What the tasks of one runtime share.
pub struct World {
    number: usize,
    pub round: Arc<Round>,
    pub handle: Handle,
    /// It ends, or is about to. Relaxed: set before the runtime is told, whose own locks
    /// order it before all that comes of it.
    stopping: AtomicBool,
    futures: Mutex<Futures>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy, PartialEq)]
struct Futures {
    made: u64,
    dropped: u64,
}

impl fmt::Display for World {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "runtime {} of round {}", self.number, self.round.number)
    }
}

/// Who does something: a task, or a future in `block_on`.
pub struct Me {
    pub world: Arc<World>,
    pub ticket: Arc<Ticket>,
    pub rng: Rng,
    pub depth: u32,
}

impl World {
    fn futures(&self) -> MutexGuard<'_, Futures> {
        self.futures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn made(&self) {
        self.futures().made += 1;
    }

    pub fn dropped(&self) {
        self.futures().dropped += 1;
        self.changed.notify_all();
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// For whoever looks at what hangs.
    pub fn state(&self) -> String {
        let Futures { made, dropped } = *self.futures();
        let stopping = if self.is_stopping() { ", ending" } else { "" };
        format!("{made} futures made, {dropped} dropped{stopping}")
    }

    fn wait_until(&self, condition: impl Fn(Futures) -> bool) {
        let futures = self.futures();
        drop(self.changed.wait_while(futures, |futures| !condition(*futures)));
    }

    /// Waits until every future that was made has been dropped.
    pub fn wait_until_empty(&self) {
        self.wait_until(|futures| futures.made == futures.dropped);
    }

    /// Spawns a task from where this may not be the current runtime.
    pub fn spawn(
        self: &Arc<Self>,
        rng: &mut Rng,
        parent: Option<&Me>,
        act: impl FnOnce(Me) -> Act,
    ) -> Child {
        let (ticket, tracked) = self.tracked(rng, parent, act);
        let handle = if rng.bool() {
            self.handle.spawn(tracked)
        } else {
            let _guard = self.handle.enter();
            arc::task::spawn_named("from outside", tracked)
        };
        Child::new(ticket, handle)
    }

    pub fn tracked(
        self: &Arc<Self>,
        rng: &mut Rng,
        parent: Option<&Me>,
        act: impl FnOnce(Me) -> Act,
    ) -> (Arc<Ticket>, Tracked) {
        let depth = parent.map_or(0, |parent| parent.depth + 1);
        let ticket = Ticket::new(self, parent.map(|parent| parent.ticket.clone()));
        let me = Me { world: self.clone(), ticket: ticket.clone(), rng: rng.fork(), depth };
        (ticket.clone(), Tracked::new(ticket, rng, act(me)))
    }
}

impl Me {
    /// Spawns a task one level deeper.
    pub fn spawn(&mut self, act: impl FnOnce(Me) -> Act) -> Child {
        let mut rng = self.rng.fork();
        if rng.u8(..4) == 0 {
            return self.world.spawn(&mut rng, Some(self), act);
        }
        let (ticket, tracked) = self.world.tracked(&mut rng, Some(self), act);
        Child::new(ticket, arc::spawn(tracked))
    }

    /// Spawns a job of `spawn_blocking`.
    pub fn spawn_job(&mut self) -> Child {
        let ticket = Ticket::new(&self.world, Some(self.ticket.clone()));
        let job = Job::new(ticket.clone());
        let (panics, pause) = (self.rng.u8(..8) == 0, self.micros(300));
        let function = move || job.run(panics, || thread::sleep(pause));
        let handle = if self.rng.bool() {
            arc::task::spawn_blocking(function)
        } else {
            self.world.handle.spawn_blocking(function)
        };
        Child::new(ticket, handle)
    }

    /// A random time, in microseconds.
    pub fn micros(&mut self, below: u64) -> Duration {
        Duration::from_micros(self.rng.u64(..below))
    }
}

/// How a runtime ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    /// When all of its tasks have ended by themselves.
    Complete,
    Drop,
    Shutdown(Duration),
    Background,
    /// From inside one of its own tasks.
    Inside,
}

impl Ending {
    fn any(rng: &mut Rng) -> Self {
        match rng.u8(..10) {
            0 => Ending::Drop,
            1 => Ending::Shutdown(Duration::from_micros(rng.u64(..20_000))),
            2 => Ending::Background,
            3 => Ending::Inside,
            _ => Ending::Complete,
        }
    }
}

/// Builds a runtime, lets tasks loose in it, and ends it.
pub fn run(round: Arc<Round>, number: usize, mut rng: Rng) {
    let runtime = Builder::new_multi_thread()
        .workers(rng.usize(1..=4))
        .thread_name(THREADS)
        .event_interval([1, 7, 61][rng.usize(..3)])
        .on_long_poll(|_| ACCOUNT.long_polls.add(1))
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fault(format_args!("a runtime was not built: {error}")),
    };
    ACCOUNT.runtimes.add(1);
    let world = Arc::new(World {
        number,
        round: round.clone(),
        handle: runtime.handle().clone(),
        stopping: AtomicBool::new(false),
        futures: Mutex::default(),
        changed: Condvar::new(),
    });
    round.enter(&world);
    let roots = rng.usize(1..60);
    let mut children: Vec<Child> =
        (0..roots).map(|_| world.spawn(&mut rng, None, acts::any)).collect();
    for child in &children {
        if rng.u8(..6) == 0 {
            let abort = child.aborter();
            round.outside(rng.u64(..2_000), abort);
        }
    }
    for _ in 0..rng.usize(..roots.div_ceil(4).max(1)) {
        drop(children.pop());
    }
    let guests: Vec<_> = (0..rng.usize(..3)).map(|_| guest(&world, rng.fork())).collect();
    end(runtime, &world, &mut children, &mut rng);
    for guest in guests {
        if guest.join().is_err() {
            fault(format_args!("a thread in block_on panicked, in {world}"));
        }
    }
    for mut child in children {
        futures_lite::future::block_on(child.join());
    }
}

/// A thread in `block_on`. When the runtime ends, its timers panic.
fn guest(world: &Arc<World>, mut rng: Rng) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || {
        for _ in 0..rng.usize(1..4) {
            let (_ticket, tracked) = world.tracked(&mut rng, None, acts::any);
            let run = || drop(world.handle.block_on(tracked.without_bomb()));
            drop(catch_unwind(AssertUnwindSafe(run)));
        }
    })
}

fn end(runtime: Runtime, world: &Arc<World>, children: &mut Vec<Child>, rng: &mut Rng) {
    let ending = Ending::any(rng);
    if let Ending::Complete = ending {
        if rng.bool() {
            runtime.block_on(async {
                for child in &mut *children {
                    child.join().await;
                }
            });
        }
        world.wait_until_empty();
        world.stopping.store(true, Ordering::Relaxed);
        return drop(runtime);
    }
    // In the midst of it: when so many of its futures are gone.
    let some = rng.u64(..200);
    world.wait_until(|futures| futures.dropped >= some.min(futures.made));
    ACCOUNT.endings_early.add(1);
    world.stopping.store(true, Ordering::Relaxed);
    match ending {
        Ending::Complete | Ending::Drop => drop(runtime),
        Ending::Shutdown(limit) => drop(runtime.shutdown(limit)),
        Ending::Background => runtime.shutdown_background(),
        Ending::Inside => {
            let handle = runtime.handle().clone();
            drop(handle.spawn(async move { runtime.shutdown_background() }));
        }
    }
}
