//! What the tasks of a round share: its runtimes, and the one that each is in.

use super::census::Census;
use super::outsider::{Errand, Outsider};
use super::task::{Child, Doing, Job, Ticket, Tracked};
use crate::account::fault;
use arc_util::runtime::Handle;
use fastrand::Rng;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// What the runtimes of a round share.
pub struct Round {
    pub number: u64,
    worlds: Mutex<Vec<Arc<World>>>,
    errands: mpsc::Sender<Errand>,
}

impl Round {
    pub fn new(number: u64, outsider: &Outsider) -> Arc<Self> {
        Arc::new(Round { number, worlds: Mutex::default(), errands: outsider.errands() })
    }

    pub fn enter(&self, world: &Arc<World>) {
        let mut worlds = self.worlds.lock().unwrap_or_else(PoisonError::into_inner);
        worlds.push(world.clone());
    }

    /// Those that have begun so far.
    pub fn worlds(&self) -> Vec<Arc<World>> {
        self.worlds.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The runtimes have ended: they refer to the round, and it to them no more.
    pub fn leave(&self) -> Vec<Arc<World>> {
        let mut worlds = self.worlds.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *worlds)
    }

    /// Has something done by a thread that is in no runtime, after so many microseconds.
    pub fn outside(&self, micros: u64, errand: impl FnOnce() + Send + 'static) {
        let due = Instant::now() + Duration::from_micros(micros);
        if self.errands.send((due, Box::new(errand))).is_err() {
            fault("the thread outside of the runtimes has ended");
        }
    }
}

/// What the tasks of one runtime share.
pub struct World {
    pub round: Arc<Round>,
    pub census: Arc<Census>,
    pub handle: Handle,
}

/// Who does something: a task, or a future in `block_on`.
pub struct Me {
    pub world: Arc<World>,
    pub ticket: Arc<Ticket>,
    pub rng: Rng,
    pub depth: u32,
}

impl World {
    /// Spawns a task from where this may not be the current runtime.
    pub fn spawn<F: Doing>(
        self: &Arc<Self>,
        rng: &mut Rng,
        parent: Option<&Me>,
        act: impl FnOnce(Me) -> F,
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

    pub fn tracked<F: Doing>(
        self: &Arc<Self>,
        rng: &mut Rng,
        parent: Option<&Me>,
        act: impl FnOnce(Me) -> F,
    ) -> (Arc<Ticket>, Tracked) {
        let depth = parent.map_or(0, |parent| parent.depth + 1);
        let ticket = Ticket::new(&self.census, parent.map(|parent| parent.ticket.clone()));
        let me = Me { world: self.clone(), ticket: ticket.clone(), rng: rng.fork(), depth };
        (ticket.clone(), Tracked::new(ticket, rng, Box::pin(act(me))))
    }
}

impl Me {
    /// Spawns a task one level deeper.
    pub fn spawn<F: Doing>(&mut self, act: impl FnOnce(Me) -> F) -> Child {
        let mut rng = self.rng.fork();
        if rng.u8(..4) == 0 {
            return self.world.spawn(&mut rng, Some(self), act);
        }
        let (ticket, tracked) = self.world.tracked(&mut rng, Some(self), act);
        Child::new(ticket, arc::spawn(tracked))
    }

    /// Spawns a job of `spawn_blocking`.
    pub fn spawn_job(&mut self) -> Child {
        let ticket = Ticket::new(&self.world.census, Some(self.ticket.clone()));
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
