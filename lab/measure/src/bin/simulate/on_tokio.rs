//! The workers of tokio's multi-thread runtime, as far as they decide who runs when.
//!
//! * A worker that finds work while it is the only one that searches wakes the next one.
//! * Work that is queued wakes a worker if nobody searches and somebody sleeps; what the
//!   kernel brings does so once, when all of it is queued and it is more than one task.
//! * The last task that was queued is polled first, and is not stolen (the LIFO slot).
//! * At most half of the workers search at a time. A thief takes half of a queue.
//! * The kernel is waited for by a worker that has nothing to do and finds the driver
//!   free, and is looked at by the others every 61 polls.
//!
//! Queues have no limit here, tokio's hold 256 tasks.

use crate::machine::{Nanos, Step};
use crate::system::{Policy, Request, System};
use std::collections::VecDeque;

/// How many polls there are from one look at the kernel to the next.
const EVENT_INTERVAL: u32 = 61;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Runs,
    Polls(Request),
    SleepsAtDriver,
    Sleeps,
}

#[derive(Default)]
struct Worker {
    state: State,
    slot: Option<Request>,
    queue: VecDeque<Request>,
    tick: u32,
    is_searching: bool,
    /// Its caches are cold.
    is_cold: bool,
}

impl Worker {
    fn tasks(&self) -> usize {
        self.queue.len() + usize::from(self.slot.is_some())
    }
}

/// The workers.
pub struct Tokio {
    workers: Vec<Worker>,
    searching: usize,
    awake: usize,
    sleepers: Vec<usize>,
    /// Somebody sleeps at the driver.
    driver_is_taken: bool,
}

impl Tokio {
    /// All are awake.
    pub fn new(workers: usize) -> Self {
        Self {
            workers: (0..workers).map(|_| Worker::default()).collect(),
            searching: 0,
            awake: workers,
            sleepers: Vec::new(),
            driver_is_taken: false,
        }
    }

    fn notify(&mut self, system: &mut System) -> Nanos {
        if self.searching > 0 || self.awake == self.workers.len() {
            return 0;
        }
        let worker = self.sleepers.pop().expect("some are not awake");
        self.awake += 1;
        self.searching += 1;
        system.wake(worker)
    }

    /// What the kernel has, to the worker's queue.
    fn look(&mut self, index: usize, system: &mut System) -> Nanos {
        let mut spent = system.costs.look;
        while let Some(request) = system.take_event() {
            spent += system.costs.event;
            let worker = &mut self.workers[index];
            if let Some(before) = worker.slot.replace(request) {
                worker.queue.push_back(before);
            }
        }
        let worker = &self.workers[index];
        if !worker.is_searching && worker.tasks() > 1 {
            spent += self.notify(system);
        }
        spent
    }

    /// After a sleep. Gives what it cost.
    ///
    /// # Errors
    ///
    /// The same, if it was woken for nothing and sleeps again.
    fn rise(
        &mut self,
        index: usize,
        was_at_driver: bool,
        system: &mut System,
    ) -> Result<Nanos, Nanos> {
        let mut spent = system.costs.sleep;
        self.workers[index].is_cold = true;
        if was_at_driver {
            self.driver_is_taken = false;
            spent += self.look(index, system);
        }
        let sleeper = self.sleepers.iter().position(|&sleeper| sleeper == index);
        if self.workers[index].tasks() > 0 {
            // Who was woken by the kernel alone does not search.
            self.workers[index].is_searching = sleeper.is_none();
            if let Some(sleeper) = sleeper {
                self.sleepers.remove(sleeper);
                self.awake += 1;
            }
            return Ok(spent);
        }
        if sleeper.is_some() {
            return Err(spent);
        }
        self.workers[index].is_searching = true;
        Ok(spent)
    }

    fn steal(&mut self, index: usize, system: &mut System) -> (Option<Request>, Nanos) {
        let count = self.workers.len();
        if !self.workers[index].is_searching {
            if 2 * self.searching >= count {
                return (None, 0);
            }
            self.searching += 1;
            self.workers[index].is_searching = true;
        }
        let mut spent = 0;
        let first = system.random.usize(..count);
        for victim in (first..first + count).map(|it| it % count) {
            if victim == index {
                continue;
            }
            let length = self.workers[victim].queue.len();
            if length == 0 {
                spent += system.costs.search;
                continue;
            }
            let stolen = self.workers[victim].queue.drain(..length.div_ceil(2));
            let mut stolen = stolen.collect::<VecDeque<_>>();
            let request = stolen.pop_back();
            self.workers[index].queue.append(&mut stolen);
            return (request, spent + system.costs.steal);
        }
        (None, spent)
    }

    fn poll(
        &mut self,
        index: usize,
        request: Request,
        mut spent: Nanos,
        system: &mut System,
    ) -> Step {
        if std::mem::take(&mut self.workers[index].is_searching) {
            self.searching -= 1;
            if self.searching == 0 {
                spent += self.notify(system);
            }
        }
        let worker = &mut self.workers[index];
        worker.state = State::Polls(request);
        spent += system.costs.poll;
        if std::mem::take(&mut worker.is_cold) {
            spent += system.costs.cold;
        }
        Step::Run(spent + request.takes)
    }

    /// The worker has nothing to do. Gives what it cost to find that there is something.
    ///
    /// # Errors
    ///
    /// The same, if it sleeps after that.
    fn park(&mut self, index: usize, system: &mut System) -> Result<Nanos, Nanos> {
        let mut spent = 0;
        self.awake -= 1;
        self.sleepers.push(index);
        if std::mem::take(&mut self.workers[index].is_searching) {
            self.searching -= 1;
            let waits = self.workers.iter().any(|worker| !worker.queue.is_empty());
            if self.searching == 0 && waits {
                spent += self.notify(system);
            }
        }
        self.sleep(index, spent, system)
    }

    /// The same, of a worker that counts as a sleeper.
    fn sleep(&mut self, index: usize, spent: Nanos, system: &mut System) -> Result<Nanos, Nanos> {
        if self.driver_is_taken {
            self.workers[index].state = State::Sleeps;
            return Err(spent);
        }
        if system.has_events() {
            // The events are tasks then, so that it was not woken for nothing.
            return self.rise(index, true, system).map(|more| spent + more - system.costs.sleep);
        }
        self.driver_is_taken = true;
        system.wait_for_kernel(index);
        self.workers[index].state = State::SleepsAtDriver;
        Err(spent)
    }
}

impl Policy for Tokio {
    fn step(&mut self, index: usize, system: &mut System) -> Step {
        let mut spent = 0;
        let state = std::mem::take(&mut self.workers[index].state);
        match state {
            State::Runs => {}
            State::Polls(request) => system.answer(request),
            State::SleepsAtDriver | State::Sleeps => {
                let rises = self.rise(index, state == State::SleepsAtDriver, system);
                match rises.or_else(|spent| self.sleep(index, spent, system)) {
                    Ok(more) => spent += more,
                    Err(more) => return Step::Sleep(more),
                }
            }
        }
        loop {
            let worker = &mut self.workers[index];
            worker.tick += 1;
            if worker.tick.is_multiple_of(EVENT_INTERVAL) && !self.driver_is_taken {
                spent += self.look(index, system);
            }
            let worker = &mut self.workers[index];
            if let Some(request) = worker.slot.take().or_else(|| worker.queue.pop_front()) {
                return self.poll(index, request, spent, system);
            }
            let (stolen, more) = self.steal(index, system);
            spent += more;
            if let Some(request) = stolen {
                return self.poll(index, request, spent, system);
            }
            match self.park(index, system) {
                Ok(more) => spent += more,
                Err(more) => return Step::Sleep(spent + more),
            }
        }
    }

    fn held(&self) -> usize {
        let polled = |worker: &Worker| usize::from(matches!(worker.state, State::Polls(_)));
        self.workers.iter().map(|worker| worker.tasks() + polled(worker)).sum()
    }
}
