//! A round: some runtimes at once, and the thread outside of them all.

use super::world::World;
use crate::account::fault;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

type Errand = (Instant, Box<dyn FnOnce() + Send>);

/// What the runtimes of a round share.
pub struct Round {
    pub number: u64,
    worlds: Mutex<Vec<Arc<World>>>,
    errands: mpsc::Sender<Errand>,
}

impl Round {
    pub fn new(number: u64, outsider: &Outsider) -> Arc<Self> {
        let errands = outsider.errands.clone();
        Arc::new(Round { number, worlds: Mutex::default(), errands })
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

/// A thread that is in no runtime, and does errands.
pub struct Outsider {
    errands: mpsc::Sender<Errand>,
}

impl Outsider {
    pub fn start() -> Self {
        let (errands, given) = mpsc::channel::<Errand>();
        thread::spawn(move || {
            for (due, errand) in given {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                errand();
            }
        });
        Outsider { errands }
    }

    /// Waits until all errands so far are done.
    pub fn settle(&self) {
        let (done, wait) = mpsc::channel();
        let errand = Box::new(move || _ = done.send(()));
        if self.errands.send((Instant::now(), errand)).is_err() || wait.recv().is_err() {
            fault("the thread outside of the runtimes has ended");
        }
    }
}
