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

impl Worker {
    fn new(now: Instant) -> Self {
        Self {
            state: State::Begins,
            queue: VecDeque::new(),
            stretch: Stretch::new(now),
            is_asleep: false,
            moved: false,
            is_stuck: false,
            is_cold: false,
        }
    }
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
    any_stuck: bool,
    /// How many ticks the monitor waits from one look to the next, and how many of them are left.
    /// None: it sleeps until somebody moves.
    tick: Option<u32>,
    ticks_left: u32,
    /// When virtual time began.
    start: Instant,
}

impl Arc {
    /// All are awake.
    pub fn new(workers: usize) -> Self {
        let start = Instant::now();
        Self {
            workers: (0..workers).map(|_| Worker::new(start)).collect(),
            injector: VecDeque::new(),
            mean_poll: MeanPoll::new(),
            helper_is_coming: false,
            seat: None,
            any_stuck: false,
            tick: Some(1),
            ticks_left: 1,
            start,
        }
    }

    /// Reads the clock, which costs a little.
    fn read_clock(&self, spent: &mut Nanos, system: &System) -> Instant {
        *spent += system.costs.clock;
        self.start + Duration::from_nanos(system.now() + *spent)
    }

    /// `Worker::run_one`, until a poll or a sleep.
    fn turn(&mut self, index: usize, mut spent: Nanos, system: &mut System) -> Step {
        loop {
            self.workers[index].moved = true;
            self.workers[index].is_stuck = false;

            let mut found = None;
            let clock = || self.read_clock(&mut spent, system);
            if self.workers[index].stretch.is_over(EVENT_INTERVAL, clock) {
                found = self.look_outside(index, &mut spent, system);
            }
            if found.is_none() {
                found = self.find_work(index, &mut spent, system);
            }
            if let Some(request) = found {
                return self.poll(index, request, spent, system);
            }
            if self.falls_asleep(index, &mut spent, system) {
                return Step::Sleep(spent);
            }
        }
    }

    fn poll(
        &mut self,
        index: usize,
        request: Request,
        mut spent: Nanos,
        system: &mut System,
    ) -> Step {
        spent += self.share_load(index, system);
        let worker = &mut self.workers[index];
        worker.stretch.count_poll();
        worker.state = State::Polls(request);
        spent += system.costs.poll;
        if take(&mut worker.is_cold) {
            spent += system.costs.cold;
        }
        Step::Run(spent + request.takes)
    }

    /// `Worker::share_load`.
    fn share_load(&mut self, index: usize, system: &mut System) -> Nanos {
        let leaves_tasks = !self.workers[index].queue.is_empty() || !self.injector.is_empty();
        let is_unwatched = self.seat.is_none();
        if leaves_tasks || (is_unwatched && self.mean_poll.is_long()) {
            return self.call_helper(system);
        }
        0
    }

    fn end_stretch(&mut self, index: usize, spent: &mut Nanos, system: &System) {
        let now = self.read_clock(spent, system);
        self.workers[index].stretch.end(&self.mean_poll, now);
    }

    /// `Worker::look_outside`.
    fn look_outside(
        &mut self,
        index: usize,
        spent: &mut Nanos,
        system: &mut System,
    ) -> Option<Request> {
        self.end_stretch(index, spent, system);
        if self.seat.is_none() {
            self.look(index, spent, system);
        }
        if system.random.u8(..4) > 0 {
            self.refill(index)
        } else {
            self.even_out(index, spent, system)
        }
    }

    fn even_out(
        &mut self,
        index: usize,
        spent: &mut Nanos,
        system: &mut System,
    ) -> Option<Request> {
        let count = self.workers.len();
        if count == 1 {
            return None;
        }

        *spent += system.costs.search;
        let other = (index + system.random.usize(1..count)) % count;
        let is_crowded = self.workers[other].queue.len() > 2 * self.workers[index].queue.len();
        let waits_long = is_crowded || self.workers[other].is_stuck;
        if waits_long { self.steal_from(other, index, spent, system) } else { None }
    }

    /// What the kernel has, to the worker's queue or, by rule 2, to the injector.
    fn look(&mut self, index: usize, spent: &mut Nanos, system: &mut System) {
        *spent += system.costs.look;
        while let Some(request) = system.take_event() {
            *spent += system.costs.event;
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

    fn find_work(
        &mut self,
        index: usize,
        spent: &mut Nanos,
        system: &mut System,
    ) -> Option<Request> {
        if let Some(request) = self.workers[index].queue.pop_front() {
            return Some(request);
        }
        self.refill(index).or_else(|| self.steal(index, spent, system))
    }

    fn steal(&mut self, index: usize, spent: &mut Nanos, system: &mut System) -> Option<Request> {
        let count = self.workers.len();
        let first = system.random.usize(..count);
        let mut victims = (first..first + count).map(|it| it % count);
        victims.find_map(|victim| self.steal_from(victim, index, spent, system))
    }

    fn steal_from(
        &mut self,
        victim: usize,
        index: usize,
        spent: &mut Nanos,
        system: &System,
    ) -> Option<Request> {
        let length = self.workers[victim].queue.len();
        if length == 0 {
            *spent += system.costs.search;
            return None;
        }

        *spent += system.costs.steal;
        let count = length.div_ceil(2).min(BATCH_MAX);
        let mut taken: VecDeque<_> = self.workers[victim].queue.drain(..count).collect();
        let request = taken.pop_front();
        self.workers[index].queue.append(&mut taken);
        request
    }

    /// `Worker::sleep`. False: it did not sleep, as there was something.
    fn falls_asleep(&mut self, index: usize, spent: &mut Nanos, system: &mut System) -> bool {
        self.end_stretch(index, spent, system);
        if !self.injector.is_empty() {
            self.after_sleep(index, spent, system);
            return false;
        }

        if self.seat.is_some() {
            self.workers[index].state = State::Sleeps;
        } else if system.has_events() {
            self.look(index, spent, system);
            self.after_sleep(index, spent, system);
            return false;
        } else {
            self.seat = Some(index);
            system.wait_for_kernel(index);
            self.workers[index].state = State::SleepsInSeat;
        }
        self.workers[index].is_asleep = true;
        true
    }

    fn after_sleep(&mut self, index: usize, spent: &mut Nanos, system: &System) {
        self.helper_is_coming = false;
        let now = self.read_clock(spent, system);
        self.workers[index].stretch = Stretch::new(now);
    }

    /// `Shared::call_helper`: gives what it costs the caller.
    fn call_helper(&mut self, system: &mut System) -> Nanos {
        let any_asleep = self.workers.iter().any(|worker| worker.is_asleep);
        if !any_asleep || self.helper_is_coming {
            return 0;
        }
        self.helper_is_coming = true;
        self.wake_one(system)
    }

    /// `Sleepers::wake_one`: a parked worker, or else the one in the seat.
    fn wake_one(&mut self, system: &mut System) -> Nanos {
        let is_parked = |worker: &Worker| worker.is_asleep && worker.state == State::Sleeps;
        let parked = self.workers.iter().position(is_parked);
        let seated = self.seat.filter(|seat| self.workers[*seat].is_asleep);
        let Some(woken) = parked.or(seated) else {
            return 0;
        };
        self.workers[woken].is_asleep = false;
        system.wake(woken)
    }

    /// `Shared::inject`, by the monitor.
    fn inject(&mut self, request: Request, system: &mut System) -> Nanos {
        self.injector.push_back(request);
        if self.workers.iter().all(|worker| worker.is_asleep) {
            return self.wake_one(system);
        }
        if self.mean_poll.is_long() || self.any_stuck {
            return self.call_helper(system);
        }
        0
    }

    /// `Monitor::watch_kernel`.
    fn watch_kernel(&mut self, system: &mut System) -> Nanos {
        if self.seat.is_some() {
            return 0;
        }
        if self.workers.iter().any(|worker| worker.is_asleep) {
            return self.call_helper(system);
        }

        let mut spent = system.costs.look;
        while let Some(request) = system.take_event() {
            spent += self.inject(request, system);
        }
        spent
    }
}

impl Policy for Arc {
    fn step(&mut self, index: usize, system: &mut System) -> Step {
        let mut spent = 0;
        let state = take(&mut self.workers[index].state);
        match state {
            State::Begins => {}
            State::Polls(request) => system.answer(request),
            State::SleepsInSeat | State::Sleeps => {
                spent += system.costs.sleep;
                self.workers[index].is_asleep = false;
                self.workers[index].is_cold = true;
                if state == State::SleepsInSeat {
                    self.seat = None;
                    self.look(index, &mut spent, system);
                }
                self.after_sleep(index, &mut spent, system);
            }
        }
        self.turn(index, spent, system)
    }

    /// `look` of the monitor, but for its reports, and `main` around it.
    fn tick(&mut self, system: &mut System) {
        self.ticks_left -= 1;
        if self.ticks_left > 0 {
            return;
        }

        let mut moved = 0;
        let mut stuck = 0;
        let mut is_stranded = !self.injector.is_empty();
        for worker in &mut self.workers {
            let has_moved = take(&mut worker.moved);
            worker.is_stuck = !has_moved && !worker.is_asleep;
            if has_moved {
                moved += 1;
            } else if worker.is_stuck {
                stuck += 1;
                is_stranded |= !worker.queue.is_empty();
            }
        }
        self.any_stuck = stuck > 0;
        // While it sleeps, it costs nothing; who begins a poll wakes it.
        let is_quiet = moved + stuck == 0;
        if self.tick.is_some() || !is_quiet {
            system.monitor_uses(system.costs.tick);
        }
        self.tick = match self.tick {
            _ if moved == self.workers.len() => Some(BUSY_TICK),
            _ if moved > 0 => Some(1),
            None | Some(TICK_MAX) if is_quiet => None,
            tick => Some(TICK_MAX.min(2 * tick.unwrap_or(1))),
        };
        self.ticks_left = self.tick.unwrap_or(1);

        let mut spent = 0;
        if is_stranded {
            spent += self.call_helper(system);
        }
        if moved == 0 {
            spent += self.watch_kernel(system);
        }
        system.monitor_uses(spent);
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
