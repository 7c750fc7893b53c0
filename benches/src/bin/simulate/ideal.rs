//! What no runtime can do better: one queue for all, workers that begin at once, and
//! nothing that costs anything.

use crate::machine::Step;
use crate::system::{Policy, Request, System};
use std::collections::BTreeMap;

/// The workers, with what each polls.
#[derive(Default)]
pub struct Ideal {
    polled: BTreeMap<usize, Request>,
}

impl Policy for Ideal {
    fn step(&mut self, worker: usize, system: &mut System) -> Step {
        if let Some(request) = self.polled.remove(&worker) {
            system.answer(request);
        }
        let Some(request) = system.ready.pop_front() else {
            system.waiters.push(worker);
            return Step::Sleep(0);
        };
        self.polled.insert(worker, request);
        Step::Run(request.takes)
    }

    fn held(&self) -> usize {
        self.polled.len()
    }
}
