//! arc's workers: the policy is `src/scheduler/share.rs` itself, and the loop around it
//! is that of `worker.rs`, `shared.rs` and `runtime/monitor.rs`, in the same order.
//!
//! To yield before a sleep costs a system call here, and is over at once: whom the core goes to
//! meanwhile is not played. So workers soon yield only once in a while.

use crate::machine::{Nanos, Step};
use crate::share::{MeanPoll, Sharing};
use crate::system::{Policy, Request, System};
use std::cell::Cell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// As in `Builder`.
const EVENT_INTERVAL: u32 = 61;

/// As in `queue.rs`.
const BATCH_MAX: usize = 256;

/// After so many ticks comes the next one, if nobody needs it.
const BUSY_TICK: u32 = 4;

/// After so many ticks without a poll the monitor sleeps.
const QUIET_TICKS_MAX: u32 = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Begins,
    Polls(Request),
    /// It looks for work, and has so many looks left.
    Searches(u32),
    SleepsInSeat,
    Sleeps,
}

#[derive(Default)]
struct Worker {
    state: State,
    queue: VecDeque<Request>,
    sharing: Sharing,
    is_asleep: bool,
    /// It has come by since the monitor's last tick.
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
    /// How many sit.
    seated: usize,
    /// One of those who sit was notified, and has not come back yet.
    is_notified: bool,
    quiet_ticks: u32,
    ticks_to_pass: u32,
    /// When virtual time began.
    start: Instant,
}

impl Arc {
    /// All are awake.
    pub fn new(workers: usize) -> Self {
        Self {
            workers: (0..workers).map(|_| Worker::default()).collect(),
            injector: VecDeque::new(),
            mean_poll: MeanPoll::new(),
            helper_is_coming: false,
            seated: 0,
            is_notified: false,
            quiet_ticks: 0,
            ticks_to_pass: 0,
            start: Instant::now(),
        }
    }

    fn at(&self, system: &System, spent: Nanos) -> Instant {
        self.start + Duration::from_nanos(system.now() + spent)
    }

    /// `Worker::run_one` until a poll, a search or a sleep.
    fn turn(&mut self, index: usize, mut spent: Nanos, system: &mut System) -> Step {
        loop {
            self.workers[index].moved = true;
            self.workers[index].is_stuck = false;
            let reads = Cell::new(0);
            let now = self.at(system, spent);
            let clock = || {
                reads.set(reads.get() + 1);
                now
            };
            let is_time = self.workers[index].sharing.is_time_to_look(EVENT_INTERVAL, clock);
            spent += system.costs.clock * reads.get();
            let mut found = None;
            if is_time {
                found = self.look_outside(index, &mut spent, system);
            }
            if found.is_none() {
                found = self.find_work(index, &mut spent, system);
            }
            if let Some(request) = found {
                return self.poll(index, request, spent, system);
            }
            self.end_stretch(index, &mut spent, system);
            let looks = self.workers[index].sharing.looks(&self.mean_poll);
            if looks > 0 {
                return self.search(index, looks, spent, system);
            }
            if !self.sleep(index, &mut spent, system) {
                return Step::Sleep(spent);
            }
        }
    }

    /// A part of `Worker::search`: the look at the kernel. What others do meanwhile is found when
    /// it is over.
    fn search(&mut self, index: usize, looks: u32, mut spent: Nanos, system: &mut System) -> Step {
        if self.seated == 0 {
            self.look(index, &mut spent, system);
        }
        self.workers[index].state = State::Searches(looks - 1);
        Step::Run(spent)
    }

    /// The rest of it, and what follows.
    fn after_look(&mut self, index: usize, looks: u32, system: &mut System) -> Step {
        let mut spent = 0;
        let found = self.find_work(index, &mut spent, system);
        if let Some(request) = found {
            self.goes_on(index, &mut spent, system);
            return self.poll(index, request, spent, system);
        }
        if looks > 0 {
            return self.search(index, looks, spent + system.costs.pause, system);
        }
        match self.sleep(index, &mut spent, system) {
            true => self.turn(index, spent, system),
            false => Step::Sleep(spent),
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
        worker.state = State::Polls(request);
        spent += system.costs.poll;
        if std::mem::take(&mut worker.is_cold) {
            spent += system.costs.cold;
        }
        Step::Run(spent + request.takes)
    }

    /// `Worker::share_load`.
    fn share_load(&mut self, index: usize, system: &mut System) -> Nanos {
        let (is_watched, waiting) = (self.seated > 0, self.waiting(index));
        let sharing = &mut self.workers[index].sharing;
        match sharing.before_poll(&self.mean_poll, || waiting, || is_watched) {
            true => self.call_helper(system),
            false => 0,
        }
    }

    fn waiting(&self, index: usize) -> usize {
        self.workers[index].queue.len() + self.injector.len()
    }

    fn end_stretch(&mut self, index: usize, spent: &mut Nanos, system: &System) -> bool {
        *spent += system.costs.clock;
        let (now, behind_next) = (self.at(system, *spent), self.waiting(index).saturating_sub(1));
        let used = Duration::from_nanos(system.cpu_time(index) + *spent);
        // No poll blocks here, so a thread that has no core waits for one.
        let waited = Duration::from_nanos(system.now() + *spent);
        let asked = Cell::new(0);
        let core_times = || {
            asked.set(asked.get() + 1);
            Some((used, waited))
        };
        let others = (0..self.workers.len()).filter(|it| *it != index);
        let is_alone = others.map(|it| &self.workers[it]).all(|worker| worker.is_asleep);
        let sharing = &mut self.workers[index].sharing;
        let needs_helper =
            sharing.end_stretch(&self.mean_poll, now, behind_next, || is_alone, core_times);
        *spent += system.costs.cpu_clock * asked.get();
        needs_helper
    }

    fn look_outside(
        &mut self,
        index: usize,
        spent: &mut Nanos,
        system: &mut System,
    ) -> Option<Request> {
        if self.seated == 0 {
            self.look(index, spent, system);
        }
        if self.end_stretch(index, spent, system) {
            *spent += self.call_helper(system);
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
        *spent += system.costs.search;
        let count = self.workers.len();
        if count == 1 {
            return None;
        }
        let other = (index + system.random.usize(1..count)) % count;
        let is_crowded = self.workers[other].queue.len() > 2 * self.workers[index].queue.len();
        let waits_long = is_crowded || self.workers[other].is_stuck;
        if waits_long { self.steal_from(other, index, spent, system) } else { None }
    }

    /// `MeanPoll::is_long`.
    fn polls_are_long(&self) -> bool {
        self.mean_poll.is_long()
    }

    /// What the kernel has, to the worker's queue or to the injector.
    fn look(&mut self, index: usize, spent: &mut Nanos, system: &mut System) {
        *spent += system.costs.look;
        while let Some(request) = system.take_event() {
            *spent += system.costs.event;
            if self.polls_are_long() {
                self.injector.push_back(request);
            } else {
                self.workers[index].queue.push_back(request);
            }
        }
    }

    fn refill(&mut self, index: usize) -> Option<Request> {
        let most = if self.polls_are_long() { 1 } else { BATCH_MAX };
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
        let mut taken = self.workers[victim].queue.drain(..count).collect::<VecDeque<_>>();
        let request = taken.pop_front();
        self.workers[index].queue.append(&mut taken);
        request
    }

    /// `Worker::sleep`. True: it did not sleep, as there was something.
    fn sleep(&mut self, index: usize, spent: &mut Nanos, system: &mut System) -> bool {
        let now = self.at(system, *spent);
        let (yields, cost) = (Cell::new(0), system.costs.cpu_clock + system.costs.clock);
        let after = || now + Duration::from_nanos(yields.get() * cost);
        let sharing = &mut self.workers[index].sharing;
        if !self.mean_poll.is_long() {
            sharing.before_sleep(|| yields.set(1), after);
        }
        *spent += yields.get() * cost;
        if !self.injector.is_empty() {
            self.after_sleep(index, spent, system);
            return true;
        }
        if self.seated > 0 && !self.polls_are_long() {
            system.wait();
            self.workers[index].state = State::Sleeps;
        } else if system.has_events() {
            self.look(index, spent, system);
            self.after_sleep(index, spent, system);
            return true;
        } else {
            self.seated += 1;
            system.wait_for_kernel(index);
            self.workers[index].state = State::SleepsInSeat;
        }
        self.workers[index].is_asleep = true;
        false
    }

    fn after_sleep(&mut self, index: usize, spent: &mut Nanos, system: &System) {
        self.helper_is_coming = false;
        self.goes_on(index, spent, system);
    }

    fn goes_on(&mut self, index: usize, spent: &mut Nanos, system: &System) {
        *spent += system.costs.clock;
        let now = self.at(system, *spent);
        self.workers[index].sharing.goes_on(now);
    }

    fn call_helper(&mut self, system: &mut System) -> Nanos {
        if self.helper_is_coming {
            return 0;
        }
        let spent = self.wake_one(system);
        self.helper_is_coming = spent > 0;
        spent
    }

    /// `Shared::wake_one`: a parked worker, or else the last one that sat down. The kernel has
    /// woken that one already if there is an event for it. 0: there was none to be woken.
    fn wake_one(&mut self, system: &mut System) -> Nanos {
        let is_parked = |worker: &Worker| worker.is_asleep && worker.state == State::Sleeps;
        if let Some(parked) = self.workers.iter().position(is_parked) {
            self.workers[parked].is_asleep = false;
            return system.wake(parked);
        }
        if self.seated == 0 || std::mem::replace(&mut self.is_notified, true) {
            return Nanos::from(self.seated > 0);
        }
        match system.last_waiter() {
            Some(worker) => system.wake(worker),
            None => system.costs.wake,
        }
    }

    /// `Shared::inject`, by the monitor.
    fn inject(&mut self, request: Request, system: &mut System) -> Nanos {
        self.injector.push_back(request);
        let mut spent = 0;
        if self.workers.iter().all(|worker| worker.is_asleep) {
            spent += self.wake_one(system);
        }
        if self.polls_are_long() {
            spent += self.call_helper(system);
        }
        spent
    }
}

impl Policy for Arc {
    fn step(&mut self, index: usize, system: &mut System) -> Step {
        let mut spent = 0;
        let state = std::mem::take(&mut self.workers[index].state);
        match state {
            State::Begins => {
                let now = self.at(system, 0);
                self.workers[index].sharing.began = Some(now);
            }
            State::Polls(request) => system.answer(request),
            State::Searches(looks) => return self.after_look(index, looks, system),
            State::SleepsInSeat | State::Sleeps => {
                spent += system.costs.sleep;
                self.workers[index].is_asleep = false;
                self.workers[index].is_cold = true;
                if state == State::SleepsInSeat {
                    self.seated -= 1;
                    self.is_notified = false;
                    self.look(index, &mut spent, system);
                }
                self.after_sleep(index, &mut spent, system);
            }
        }
        self.turn(index, spent, system)
    }

    /// `monitor::main`, but for its reports.
    fn tick(&mut self, system: &mut System) {
        if self.ticks_to_pass > 0 {
            self.ticks_to_pass -= 1;
            return;
        }
        let (mut moved, mut stuck) = (0, 0);
        let mut is_stranded = !self.injector.is_empty();
        for worker in &mut self.workers {
            let has_moved = std::mem::take(&mut worker.moved);
            worker.is_stuck = !has_moved;
            if has_moved {
                moved += 1;
            } else if !worker.is_asleep {
                stuck += 1;
                is_stranded |= !worker.queue.is_empty();
            }
        }
        self.quiet_ticks = if moved > 0 { 0 } else { self.quiet_ticks + 1 };
        let needs_none = moved == self.workers.len() || self.polls_are_long();
        self.ticks_to_pass = if needs_none && stuck == 0 { BUSY_TICK - 1 } else { 0 };
        if self.quiet_ticks < QUIET_TICKS_MAX {
            system.monitor_uses(system.costs.tick);
        }
        let mut spent = 0;
        if is_stranded {
            spent += self.call_helper(system);
        }
        if moved == 0 && self.seated == 0 {
            if self.workers.iter().any(|worker| worker.is_asleep) {
                spent += self.call_helper(system);
            } else {
                spent += system.costs.look;
                while let Some(request) = system.take_event() {
                    spent += self.inject(request, system);
                }
            }
        }
        system.monitor_uses(spent);
    }

    fn held(&self) -> usize {
        let polled = |worker: &Worker| usize::from(matches!(worker.state, State::Polls(_)));
        let workers = self.workers.iter().map(|worker| worker.queue.len() + polled(worker));
        workers.sum::<usize>() + self.injector.len()
    }
}
