//! arc's workers: the policy is `src/scheduler/policy.rs` itself, and the loop around it is that of
//! `worker.rs`, `shared.rs`, `sleep.rs` and `monitor.rs`, in the same order.

use crate::machine::{Nanos, Step};
use crate::policy::{MeanPoll, Stretch};
use crate::system::{Policy, Request, System};
use std::collections::VecDeque;
use std::mem::take;
use std::time::{Duration, Instant};

/// As in `Builder`.
const EVENT_INTERVAL: u32 = 61;

/// As in `queue.rs`.
const BATCH_MAX: usize = 256;

/// How often the monitor looks if every worker moves, and how rarely, at last, if none does: in
/// ticks, as in `monitor.rs`.
const BUSY_TICK: u32 = 4;
const TICK_MAX: u32 = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Begins,
    Polls(Request),
    SleepsInSeat,
    Sleeps,
}

struct Worker {
    state: State,
    queue: VecDeque<Request>,
    stretch: Stretch,
    is_asleep: bool,
    /// It has begun a turn since the monitor's last tick.
    moved: bool,
    /// Two ticks have found it in the same turn.
    is_stuck: bool,
    /// Its caches are cold.
    is_cold: bool,
}

/// The workers.
pub struct Arc {
    workers: Vec<Worker>,
    injector: VecDeque<Request>,
    mean_poll: MeanPoll,
    helper_is_coming: bool,
    /// The worker that waits for the kernel. A look takes no time here for others to come by, so
    /// nobody else is ever found in the seat.
    seat: Option<usize>,
    /// How many ticks the monitor waits from one look to the next, and how many are left.
    tick: u32,
    ticks_left: u32,
    /// When virtual time began.
    start: Instant,
    /// CPU time that the thread whose turn it is has used in its step.
    spent: Nanos,
}

impl Arc {
    /// All are awake.
    pub fn new(workers: usize) -> Self {
        let start = Instant::now();
        let worker = |_| Worker {
            state: State::Begins,
            queue: VecDeque::new(),
            stretch: Stretch::new(start),
            is_asleep: false,
            moved: false,
            is_stuck: false,
            is_cold: false,
        };
        Self {
            workers: (0..workers).map(worker).collect(),
            injector: VecDeque::new(),
            mean_poll: MeanPoll::new(),
            helper_is_coming: false,
            seat: None,
            tick: 1,
            ticks_left: 1,
            start,
            spent: 0,
        }
    }

    /// Reads the clock, which costs a little.
    fn read_clock(&mut self, system: &System) -> Instant {
        self.spent += system.costs.clock;
        self.start + Duration::from_nanos(system.now() + self.spent)
    }

    /// `Worker::run_one`, until a poll or a sleep.
    fn turn(&mut self, index: usize, system: &mut System) -> Step {
        loop {
            self.workers[index].moved = true;
            self.workers[index].is_stuck = false;

            let mut found = None;
            if self.is_stretch_over(index, system) {
                found = self.look_outside(index, system);
            }
            if let Some(request) = found.or_else(|| self.find_work(index, system)) {
                return self.poll(index, request, system);
            }
            if self.falls_asleep(index, system) {
                return Step::Sleep(self.spent);
            }
        }
    }

    fn is_stretch_over(&mut self, index: usize, system: &System) -> bool {
        let start = self.start;
        let spent = &mut self.spent;
        let clock = || {
            *spent += system.costs.clock;
            start + Duration::from_nanos(system.now() + *spent)
        };
        self.workers[index].stretch.is_over(EVENT_INTERVAL, clock)
    }

    fn poll(&mut self, index: usize, request: Request, system: &mut System) -> Step {
        self.share_load(index, system);
        let worker = &mut self.workers[index];
        worker.stretch.count_poll();
        worker.state = State::Polls(request);
        self.spent += system.costs.poll;
        if take(&mut worker.is_cold) {
            self.spent += system.costs.cold;
        }
        Step::Run(self.spent + request.takes)
    }

    /// `Worker::share_load`.
    fn share_load(&mut self, index: usize, system: &mut System) {
        let leaves_tasks = !self.workers[index].queue.is_empty() || !self.injector.is_empty();
        let is_unwatched = self.seat.is_none();
        if leaves_tasks || (is_unwatched && self.mean_poll.is_long()) {
            self.call_helper(system);
        }
    }

    fn end_stretch(&mut self, index: usize, system: &System) {
        let now = self.read_clock(system);
        self.workers[index].stretch.end(&self.mean_poll, now);
    }

    /// `Worker::look_outside`.
    fn look_outside(&mut self, index: usize, system: &mut System) -> Option<Request> {
        self.end_stretch(index, system);
        if self.seat.is_none() {
            self.look(index, system);
        }
        if system.random.u8(..4) > 0 {
            return self.refill(index);
        }

        let count = self.workers.len();
        if count == 1 {
            return None;
        }
        self.spent += system.costs.search;
        let other = (index + system.random.usize(1..count)) % count;
        let is_crowded = self.workers[other].queue.len() > 2 * self.workers[index].queue.len();
        let waits_long = is_crowded || self.workers[other].is_stuck;
        if waits_long { self.steal_from(other, index, system) } else { None }
    }

    /// What the kernel has, to the worker's queue or, by rule 2, to the injector.
    fn look(&mut self, index: usize, system: &mut System) {
        self.spent += system.costs.look;
        while let Some(request) = system.ready.pop_front() {
            self.spent += system.costs.event;
            if self.mean_poll.is_long() {
                self.injector.push_back(request);
            } else {
                self.workers[index].queue.push_back(request);
            }
        }
    }

    fn refill(&mut self, index: usize) -> Option<Request> {
        let most = if self.mean_poll.is_long() { 1 } else { BATCH_MAX };
        let count = self.injector.len().div_ceil(self.workers.len()).min(most);
        let mut taken = self.injector.drain(..count);
        let first = taken.next()?;
        self.workers[index].queue.extend(taken);
        Some(first)
    }

    fn find_work(&mut self, index: usize, system: &mut System) -> Option<Request> {
        if let Some(request) = self.workers[index].queue.pop_front() {
            return Some(request);
        }
        if let Some(request) = self.refill(index) {
            return Some(request);
        }
        let count = self.workers.len();
        let first = system.random.usize(..count);
        let mut victims = (first..first + count).map(|it| it % count);
        victims.find_map(|victim| self.steal_from(victim, index, system))
    }

    fn steal_from(&mut self, victim: usize, index: usize, system: &System) -> Option<Request> {
        let length = self.workers[victim].queue.len();
        if length == 0 {
            self.spent += system.costs.search;
            return None;
        }

        self.spent += system.costs.steal;
        let count = length.div_ceil(2).min(BATCH_MAX);
        let mut taken: VecDeque<_> = self.workers[victim].queue.drain(..count).collect();
        let request = taken.pop_front();
        self.workers[index].queue.append(&mut taken);
        request
    }

    /// `Worker::sleep`. False: it did not sleep, as there was something.
    fn falls_asleep(&mut self, index: usize, system: &mut System) -> bool {
        self.end_stretch(index, system);
        if !self.injector.is_empty() {
            self.after_sleep(index, system);
            return false;
        }

        if self.seat.is_some() {
            self.workers[index].state = State::Sleeps;
        } else if !system.ready.is_empty() {
            self.look(index, system);
            self.after_sleep(index, system);
            return false;
        } else {
            self.seat = Some(index);
            system.waiters.push(index);
            self.workers[index].state = State::SleepsInSeat;
        }
        self.workers[index].is_asleep = true;
        true
    }

    fn after_sleep(&mut self, index: usize, system: &System) {
        self.helper_is_coming = false;
        let now = self.read_clock(system);
        self.workers[index].stretch = Stretch::new(now);
    }

    /// `Shared::call_helper`.
    fn call_helper(&mut self, system: &mut System) {
        let any_asleep = self.workers.iter().any(|worker| worker.is_asleep);
        if any_asleep && !self.helper_is_coming {
            self.helper_is_coming = true;
            self.wake_one(system);
        }
    }

    /// `Sleepers::claim_one`: a parked worker, or else the one in the seat.
    fn wake_one(&mut self, system: &mut System) {
        let is_parked = |worker: &Worker| worker.is_asleep && worker.state == State::Sleeps;
        let parked = self.workers.iter().position(is_parked);
        let seated = self.seat.filter(|seat| self.workers[*seat].is_asleep);
        if let Some(woken) = parked.or(seated) {
            self.workers[woken].is_asleep = false;
            self.spent += system.wake(woken);
        }
    }

    /// `watch_kernel` of `monitor.rs`, when nobody is asleep.
    fn take_events(&mut self, system: &mut System) {
        self.spent += system.costs.look;
        while let Some(request) = system.ready.pop_front() {
            self.injector.push_back(request);
        }
    }
}

impl Policy for Arc {
    fn step(&mut self, index: usize, system: &mut System) -> Step {
        self.spent = 0;
        let state = take(&mut self.workers[index].state);
        match state {
            State::Begins => {}
            State::Polls(request) => system.answer(request),
            State::SleepsInSeat | State::Sleeps => {
                self.spent += system.costs.sleep;
                self.workers[index].is_asleep = false;
                self.workers[index].is_cold = true;
                if state == State::SleepsInSeat {
                    self.seat = None;
                    self.look(index, system);
                }
                self.after_sleep(index, system);
            }
        }
        self.turn(index, system)
    }

    /// `look` of `monitor.rs`, and `main` around it.
    fn tick(&mut self, system: &mut System) {
        self.ticks_left -= 1;
        if self.ticks_left > 0 {
            return;
        }
        self.spent = 0;
        let mut moved = 0;
        let mut stuck = 0;
        let mut is_stranded = !self.injector.is_empty();
        for worker in &mut self.workers {
            worker.is_stuck = !worker.moved && !worker.is_asleep;
            if take(&mut worker.moved) {
                moved += 1;
            } else if worker.is_stuck {
                stuck += 1;
                is_stranded |= !worker.queue.is_empty();
            }
        }
        // While nothing is polled, it sleeps.
        if moved + stuck > 0 {
            self.spent += system.costs.tick;
        }
        self.tick = match moved {
            0 => TICK_MAX.min(2 * self.tick),
            _ if moved == self.workers.len() => BUSY_TICK,
            _ => 1,
        };
        if moved + stuck == 0 {
            self.tick = 1;
        }
        self.ticks_left = self.tick;
        let is_unwatched = moved == 0 && self.seat.is_none();
        let any_asleep = self.workers.iter().any(|worker| worker.is_asleep);
        if is_stranded || (is_unwatched && any_asleep) {
            self.call_helper(system);
        }
        if is_unwatched && !any_asleep {
            self.take_events(system);
        }
        system.monitor_cpu += self.spent;
    }

    fn held(&self) -> usize {
        let mut held = self.injector.len();
        for worker in &self.workers {
            held += worker.queue.len();
            if matches!(worker.state, State::Polls(_)) {
                held += 1;
            }
        }
        held
    }
}
