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
use std::mem::take;

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

#[derive(Clone, Default)]
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
    sleepers: Vec<usize>,
    /// Somebody sleeps at the driver.
    driver_is_taken: bool,
    /// CPU time that the worker whose turn it is has used in its step.
    spent: Nanos,
}

impl Tokio {
    /// All are awake.
    pub fn new(workers: usize) -> Self {
        Self {
            workers: vec![Worker::default(); workers],
            searching: 0,
            sleepers: Vec::new(),
            driver_is_taken: false,
            spent: 0,
        }
    }

    fn notify(&mut self, system: &mut System) {
        if self.searching > 0 {
            return;
        }
        if let Some(worker) = self.sleepers.pop() {
            self.searching += 1;
            self.spent += system.wake(worker);
        }
    }

    /// What the kernel has, to the worker's queue.
    fn look(&mut self, index: usize, system: &mut System) {
        self.spent += system.costs.look;
        let worker = &mut self.workers[index];
        while let Some(request) = system.ready.pop_front() {
            self.spent += system.costs.event;
            worker.queue.extend(worker.slot.replace(request));
        }
        if !worker.is_searching && worker.tasks() > 1 {
            self.notify(system);
        }
    }

    /// After a sleep. False: it was woken for nothing.
    fn rises(&mut self, index: usize, was_at_driver: bool, system: &mut System) -> bool {
        self.workers[index].is_cold = true;
        if was_at_driver {
            self.driver_is_taken = false;
            self.look(index, system);
        }
        let sleeper = self.sleepers.iter().position(|&sleeper| sleeper == index);
        if let Some(sleeper) = sleeper
            && self.workers[index].tasks() > 0
        {
            // Who was woken by the kernel alone does not search.
            self.sleepers.remove(sleeper);
            return true;
        }
        self.workers[index].is_searching = sleeper.is_none();
        sleeper.is_none()
    }

    fn steal(&mut self, index: usize, system: &mut System) -> Option<Request> {
        let count = self.workers.len();
        if !self.workers[index].is_searching {
            if 2 * self.searching >= count {
                return None;
            }
            self.searching += 1;
            self.workers[index].is_searching = true;
        }
        let first = system.random.usize(..count);
        for victim in (first..first + count).map(|it| it % count) {
            let length = self.workers[victim].queue.len();
            if victim == index {
                continue;
            }
            if length == 0 {
                self.spent += system.costs.search;
                continue;
            }
            self.spent += system.costs.steal;
            let stolen = self.workers[victim].queue.drain(..length.div_ceil(2));
            let mut stolen = stolen.collect::<VecDeque<_>>();
            let request = stolen.pop_back();
            self.workers[index].queue.append(&mut stolen);
            return request;
        }
        None
    }

    fn poll(&mut self, index: usize, request: Request, system: &mut System) -> Step {
        if take(&mut self.workers[index].is_searching) {
            self.searching -= 1;
            self.notify(system);
        }
        let worker = &mut self.workers[index];
        worker.state = State::Polls(request);
        self.spent += system.costs.poll;
        if take(&mut worker.is_cold) {
            self.spent += system.costs.cold;
        }
        Step::Run(self.spent + request.takes)
    }

    /// The worker has nothing to do. False: it does not sleep, as there is something.
    fn parks(&mut self, index: usize, system: &mut System) -> bool {
        self.sleepers.push(index);
        if take(&mut self.workers[index].is_searching) {
            self.searching -= 1;
            if self.workers.iter().any(|worker| !worker.queue.is_empty()) {
                self.notify(system);
            }
        }
        self.sleeps(index, system)
    }

    /// The same, of a worker that counts as a sleeper.
    fn sleeps(&mut self, index: usize, system: &mut System) -> bool {
        if self.driver_is_taken {
            self.workers[index].state = State::Sleeps;
            return true;
        }
        if !system.ready.is_empty() {
            // The events are tasks then, so that it was not woken for nothing.
            return !self.rises(index, true, system);
        }
        self.driver_is_taken = true;
        system.waiters.push(index);
        self.workers[index].state = State::SleepsAtDriver;
        true
    }
}

impl Policy for Tokio {
    fn step(&mut self, index: usize, system: &mut System) -> Step {
        self.spent = 0;
        let state = take(&mut self.workers[index].state);
        match state {
            State::Runs => {}
            State::Polls(request) => system.answer(request),
            State::SleepsAtDriver | State::Sleeps => {
                self.spent += system.costs.sleep;
                let rises = self.rises(index, state == State::SleepsAtDriver, system);
                if !rises && self.sleeps(index, system) {
                    return Step::Sleep(self.spent);
                }
            }
        }
        loop {
            let worker = &mut self.workers[index];
            worker.tick += 1;
            if worker.tick.is_multiple_of(EVENT_INTERVAL) && !self.driver_is_taken {
                self.look(index, system);
            }
            let worker = &mut self.workers[index];
            let own = worker.slot.take().or_else(|| worker.queue.pop_front());
            if let Some(request) = own.or_else(|| self.steal(index, system)) {
                return self.poll(index, request, system);
            }
            if self.parks(index, system) {
                return Step::Sleep(self.spent);
            }
        }
    }

    fn held(&self) -> usize {
        let polled = |worker: &Worker| usize::from(matches!(worker.state, State::Polls(_)));
        self.workers.iter().map(|worker| worker.tasks() + polled(worker)).sum()
    }
}
