//! Virtual time, threads, and the cores that they share.
//!
//! Cores are given out roughly as Linux does it: who has had the least CPU time comes
//! first, a woken thread preempts one that has had more than it by
//! [`GRANULARITY`], and a thread that has had a core for a [`SLICE`] leaves it to those
//! that wait. With as many cores as threads nobody ever waits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time and durations.
pub type Nanos = u64;

/// How long a thread keeps a core while others wait.
pub const SLICE: Nanos = 3_000_000;

/// How much more CPU time a thread must have had than a woken one to be preempted.
pub const GRANULARITY: Nanos = 1_000_000;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// It uses so much CPU time, and is asked again.
    Run(Nanos),
    /// It uses so much CPU time, and then sleeps until it is woken. If that is before it
    /// sleeps, it is asked again at once.
    Sleep(Nanos),
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happening {
    /// A thread has done what it was to do, or was woken: it is to be told its next step.
    Asks(usize),
    /// What was set to happen at this time.
    Due(u32),
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Event {
    Done { thread: usize, epoch: u64 },
    Awake { thread: usize },
    SliceEnd { core: usize, epoch: u64 },
    Due(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Asleep,
    /// Woken, and not there yet.
    Rising,
    Waiting,
    Running {
        core: usize,
        since: Nanos,
    },
}

struct Thread {
    state: State,
    /// What is left of its step.
    left: Nanos,
    /// The CPU time it has had.
    used: Nanos,
    /// The same, but who sleeps for long gets no credit for it.
    virtual_time: Nanos,
    /// Counts what outdates an event.
    epoch: u64,
    /// It is about to sleep after its step.
    sleeps_next: bool,
    /// It was woken meanwhile.
    is_woken: bool,
}

#[derive(Clone, Default)]
struct Core {
    thread: Option<usize>,
    since: Nanos,
    epoch: u64,
}

/// The machine.
pub struct Machine {
    now: Nanos,
    sequence: u64,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    threads: Vec<Thread>,
    cores: Vec<Core>,
}

impl Machine {
    /// Threads that all sleep.
    pub fn new(threads: usize, cores: usize) -> Self {
        let thread = |_| Thread {
            state: State::Asleep,
            left: 0,
            used: 0,
            virtual_time: 0,
            epoch: 0,
            sleeps_next: false,
            is_woken: false,
        };
        Self {
            now: 0,
            sequence: 0,
            events: BinaryHeap::new(),
            threads: (0..threads).map(thread).collect(),
            cores: vec![Core::default(); cores],
        }
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The CPU time that a thread has used.
    pub fn used(&self, thread: usize) -> Nanos {
        let thread = &self.threads[thread];
        match thread.state {
            State::Running { since, .. } => thread.used + (self.now - since),
            _ => thread.used,
        }
    }

    /// Whether some core has nothing to do.
    pub fn has_idle_core(&self) -> bool {
        self.cores.iter().any(|core| core.thread.is_none())
    }

    /// Lets something happen after a while.
    pub fn set(&mut self, after: Nanos, what: u32) {
        self.push(after, Event::Due(what));
    }

    /// Wakes a thread, which is ready to run after a while. False: it does not sleep.
    pub fn wake(&mut self, thread: usize, after: Nanos) -> bool {
        if self.threads[thread].sleeps_next {
            return !std::mem::replace(&mut self.threads[thread].is_woken, true);
        }
        if self.threads[thread].state != State::Asleep {
            return false;
        }
        self.threads[thread].state = State::Rising;
        self.push(after, Event::Awake { thread });
        true
    }

    /// Goes on to what happens next.
    ///
    /// # Panics
    ///
    /// Nothing ever happens again.
    pub fn advance(&mut self) -> Happening {
        loop {
            let Reverse((time, _, event)) = self.events.pop().expect("something happens");
            self.now = time;
            match event {
                Event::Due(what) => return Happening::Due(what),
                Event::Done { thread, epoch } if self.threads[thread].epoch == epoch => {
                    self.account(thread);
                    if !self.falls_asleep(thread) {
                        return Happening::Asks(thread);
                    }
                }
                Event::Awake { thread } => self.place(thread),
                Event::SliceEnd { core, epoch } if self.cores[core].epoch == epoch => {
                    self.end_slice(core);
                }
                Event::Done { .. } | Event::SliceEnd { .. } => {}
            }
        }
    }

    /// Answers [`Happening::Asks`].
    pub fn take(&mut self, thread: usize, step: Step) {
        match step {
            Step::Run(time) => {
                self.threads[thread].left = time;
                self.set_end(thread);
            }
            Step::Sleep(time) => {
                self.threads[thread].sleeps_next = true;
                self.threads[thread].left = time;
                self.set_end(thread);
            }
        }
    }

    /// A thread that is about to sleep does so, unless it was woken meanwhile.
    fn falls_asleep(&mut self, index: usize) -> bool {
        let thread = &mut self.threads[index];
        let sleeps_next = std::mem::take(&mut thread.sleeps_next);
        let is_woken = std::mem::take(&mut thread.is_woken);
        let State::Running { core, .. } = thread.state else {
            unreachable!("who has done something was running");
        };
        if !sleeps_next || is_woken {
            return false;
        }
        thread.state = State::Asleep;
        thread.epoch += 1;
        self.leave(core);
        true
    }

    fn push(&mut self, after: Nanos, event: Event) {
        // Of what happens at the same time, what was set first comes first.
        self.sequence += 1;
        self.events.push(Reverse((self.now + after, self.sequence, event)));
    }

    /// Counts what a running thread has used until now.
    fn account(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        if let State::Running { since, .. } = &mut thread.state {
            let used = self.now - *since;
            *since = self.now;
            thread.used += used;
            thread.virtual_time += used;
            thread.left -= used;
        }
    }

    fn set_end(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        thread.epoch += 1;
        let (left, epoch) = (thread.left, thread.epoch);
        self.push(left, Event::Done { thread: index, epoch });
    }

    /// Finds a core for a thread that was woken, or lets it wait.
    fn place(&mut self, thread: usize) {
        let running: Vec<usize> = self.cores.iter().filter_map(|core| core.thread).collect();
        for &other in &running {
            self.account(other);
        }
        let least = running.iter().map(|&other| self.threads[other].virtual_time).min();
        if let Some(least) = least {
            let own = &mut self.threads[thread].virtual_time;
            *own = (*own).max(least.saturating_sub(SLICE));
        }

        if let Some(core) = self.cores.iter().position(|core| core.thread.is_none()) {
            return self.start(thread, core);
        }
        let own = self.threads[thread].virtual_time;
        let most = running.into_iter().max_by_key(|&other| self.threads[other].virtual_time);
        let victim = most.filter(|&other| self.threads[other].virtual_time > own + GRANULARITY);
        self.threads[thread].state = State::Waiting;
        match victim.map(|victim| self.threads[victim].state) {
            Some(State::Running { core, .. }) => {
                self.preempt(core);
                self.start(thread, core);
            }
            _ => self.watch_slices(),
        }
    }

    fn start(&mut self, thread: usize, core: usize) {
        self.threads[thread].state = State::Running { core, since: self.now };
        let core = &mut self.cores[core];
        core.thread = Some(thread);
        core.since = self.now;
        core.epoch += 1;
        self.set_end(thread);
        if self.waiting().is_some() {
            self.watch_slices();
        }
    }

    /// Takes the core from its thread, which waits from now on.
    fn preempt(&mut self, core: usize) {
        let thread = self.cores[core].thread.expect("it runs a thread");
        self.account(thread);
        self.threads[thread].state = State::Waiting;
        self.threads[thread].epoch += 1;
    }

    /// Gives a core to the thread that waits and has had least.
    fn leave(&mut self, core: usize) {
        self.cores[core].thread = None;
        self.cores[core].epoch += 1;
        if let Some(next) = self.waiting() {
            self.start(next, core);
        }
    }

    fn waiting(&self) -> Option<usize> {
        let waiting = |&index: &usize| self.threads[index].state == State::Waiting;
        let threads = (0..self.threads.len()).filter(waiting);
        threads.min_by_key(|&index| self.threads[index].virtual_time)
    }

    /// Sets the ends of all slices, as somebody waits.
    fn watch_slices(&mut self) {
        for index in 0..self.cores.len() {
            let core = &self.cores[index];
            let end = Event::SliceEnd { core: index, epoch: core.epoch };
            let left = (core.since + SLICE).saturating_sub(self.now);
            self.push(left, end);
        }
    }

    fn end_slice(&mut self, core: usize) {
        if self.waiting().is_none() {
            return;
        }
        self.preempt(core);
        let next = self.waiting().expect("at least the one that had the core");
        self.start(next, core);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs threads that never sleep; gives what each has used.
    fn share(threads: usize, cores: usize, until: Nanos) -> Vec<Nanos> {
        let mut machine = Machine::new(threads, cores);
        for thread in 0..threads {
            machine.wake(thread, 0);
        }
        machine.set(until, 0);
        while let Happening::Asks(thread) = machine.advance() {
            machine.take(thread, Step::Run(700_000));
        }
        (0..threads).map(|thread| machine.used(thread)).collect()
    }

    #[test]
    fn threads_share_cores_evenly_and_use_all_of_them() {
        let used = share(5, 2, 1_000_000_000);
        assert_eq!(used.iter().sum::<Nanos>(), 2_000_000_000);
        for used in used {
            assert!(used.abs_diff(400_000_000) <= 2 * SLICE, "{used}");
        }
    }

    #[test]
    fn with_a_core_for_each_nobody_waits() {
        assert_eq!(share(3, 3, 1_000_000), [1_000_000; 3]);
    }

    #[test]
    fn a_thread_that_is_woken_before_it_sleeps_does_not_sleep() {
        let mut machine = Machine::new(1, 1);
        machine.wake(0, 0);
        assert_eq!(machine.advance(), Happening::Asks(0));
        machine.take(0, Step::Sleep(1_000));
        machine.set(400, 0);
        assert_eq!(machine.advance(), Happening::Due(0));

        assert!(machine.wake(0, 5_000));
        assert!(!machine.wake(0, 5_000));
        assert_eq!(machine.advance(), Happening::Asks(0));
        assert_eq!((machine.now(), machine.used(0)), (1_000, 1_000));
    }

    #[test]
    fn a_woken_thread_preempts_one_that_has_had_much() {
        let mut machine = Machine::new(2, 1);
        machine.wake(0, 0);
        assert_eq!(machine.advance(), Happening::Asks(0));
        machine.take(0, Step::Run(10_000_000));
        machine.set(5_000_000, 0);
        assert_eq!(machine.advance(), Happening::Due(0));

        machine.wake(1, 0);
        assert_eq!(machine.advance(), Happening::Asks(1));
        assert_eq!((machine.now(), machine.used(0)), (5_000_000, 5_000_000));
        machine.take(1, Step::Sleep(0));
        assert_eq!(machine.advance(), Happening::Asks(0));
        assert_eq!(machine.now(), 10_000_000);
    }
}
