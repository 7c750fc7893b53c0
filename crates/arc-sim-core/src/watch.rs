//! What a simulation does at the moment, for a thread that looks on: a poll that never returns
//! cannot tell of itself.

use crate::log::{Log, What};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nothing that could hang. The numbers behind [`JOB`] are those of tasks.
const NOTHING: u64 = 0;
const MAIN: u64 = 1;
const JOB: u64 = 2;

/// What a simulation does at the moment. Other threads may look at it.
///
/// Relaxed is enough: whoever looks on does nothing with what it sees but to print it.
#[derive(Debug, Default)]
pub struct Watch {
    seed: AtomicU64,
    /// Counts what is done.
    step: AtomicU64,
    what: AtomicU64,
    names: Mutex<BTreeMap<u64, String>>,
}

impl Watch {
    /// A simulation with this seed begins.
    pub fn begin(&self, seed: u64) {
        self.names().clear();
        self.seed.store(seed, Ordering::Relaxed);
        self.set(NOTHING);
    }

    pub(crate) fn does(&self, what: What, log: &Log) {
        self.set(match what {
            What::PolledMain => MAIN,
            What::RanJob => JOB,
            // They take no time.
            What::Noted(_) | What::Told(_) => return,
            What::Polled(task) => {
                // The name is known when the task is polled for the first time.
                let task = JOB + task as u64;
                if let Some(name) = log.new_name() {
                    self.names().insert(task, name.to_owned());
                }
                task
            }
        });
    }

    /// The simulation waits, or has ended.
    pub(crate) fn rests(&self) {
        self.set(NOTHING);
    }

    fn set(&self, what: u64) {
        self.what.store(what, Ordering::Relaxed);
        self.step.fetch_add(1, Ordering::Relaxed);
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<u64, String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that changes with all that is done.
    pub fn step(&self) -> u64 {
        self.step.load(Ordering::Relaxed)
    }

    /// The seed, and what is being polled or run. `None` if that is nothing.
    pub fn what(&self) -> Option<(u64, String)> {
        let text = match self.what.load(Ordering::Relaxed) {
            NOTHING => return None,
            MAIN => "the main future has been polled".to_owned(),
            JOB => "a job of spawn_blocking has run".to_owned(),
            task => {
                let name = self.names().get(&task).cloned().unwrap_or_default();
                format!("task {}{name} has been polled", task - JOB)
            }
        };

        Some((self.seed.load(Ordering::Relaxed), text))
    }
}
