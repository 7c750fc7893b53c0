//! Virtual time, and threads that each have a core of their own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time and durations.
pub type Nanos = u64;

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
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Happening {
    /// A thread has done what it was to do, or was woken: it is to be told its next step.
    Asks(usize),
    /// What was set to happen at this time.
    Due(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Asleep,
    /// Woken, and not there yet.
    Rising,
    Running,
    /// It runs, and sleeps when its step is done, unless it is woken before.
    FallsAsleep,
}

#[derive(Clone)]
struct Thread {
    state: State,
    /// The CPU time it has used until `since`, when its step began.
    used: Nanos,
    since: Nanos,
}

/// The machine.
pub struct Machine {
    now: Nanos,
    sequence: u64,
    events: BinaryHeap<Reverse<(Nanos, u64, Happening)>>,
    threads: Vec<Thread>,
}

impl Machine {
    /// Threads that all sleep.
    pub fn new(threads: usize) -> Self {
        let thread = Thread { state: State::Asleep, used: 0, since: 0 };
        let events = BinaryHeap::new();
        Self { now: 0, sequence: 0, events, threads: vec![thread; threads] }
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The CPU time that a thread has used.
    pub fn used(&self, thread: usize) -> Nanos {
        let thread = &self.threads[thread];
        match thread.state {
            State::Running | State::FallsAsleep => thread.used + (self.now - thread.since),
            State::Asleep | State::Rising => thread.used,
        }
    }

    /// Lets something happen after a while.
    pub fn set(&mut self, after: Nanos, what: u32) {
        self.push(after, Happening::Due(what));
    }

    /// Wakes a thread, which runs after a while. One that does not sleep takes no notice.
    pub fn wake(&mut self, index: usize, after: Nanos) {
        match self.threads[index].state {
            State::FallsAsleep => self.threads[index].state = State::Running,
            State::Asleep => {
                self.threads[index].state = State::Rising;
                self.push(after, Happening::Asks(index));
            }
            State::Rising | State::Running => {}
        }
    }

    /// Goes on to what happens next.
    ///
    /// # Panics
    ///
    /// Nothing ever happens again.
    pub fn advance(&mut self) -> Happening {
        loop {
            let Reverse((time, _, happening)) = self.events.pop().expect("something happens");
            self.now = time;
            let Happening::Asks(index) = happening else {
                return happening;
            };

            let used = self.used(index);
            let thread = &mut self.threads[index];
            (thread.used, thread.since) = (used, time);
            if thread.state != State::FallsAsleep {
                thread.state = State::Running;
                return happening;
            }
            thread.state = State::Asleep;
        }
    }

    /// Answers [`Happening::Asks`].
    pub fn take(&mut self, thread: usize, step: Step) {
        let (state, time) = match step {
            Step::Run(time) => (State::Running, time),
            Step::Sleep(time) => (State::FallsAsleep, time),
        };
        self.threads[thread].state = state;
        self.push(time, Happening::Asks(thread));
    }

    fn push(&mut self, after: Nanos, happening: Happening) {
        // Of what happens at the same time, what was set first comes first.
        self.sequence += 1;
        self.events.push(Reverse((self.now + after, self.sequence, happening)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_core() {
        let mut machine = Machine::new(3);
        for thread in 0..3 {
            machine.wake(thread, 0);
        }
        machine.set(1_000_000, 0);
        while let Happening::Asks(thread) = machine.advance() {
            machine.take(thread, Step::Run(700_000));
        }
        assert_eq!([0, 1, 2].map(|thread| machine.used(thread)), [1_000_000; 3]);
    }

    #[test]
    fn a_thread_that_is_woken_before_it_sleeps_does_not_sleep() {
        let mut machine = Machine::new(1);
        machine.wake(0, 0);
        assert_eq!(machine.advance(), Happening::Asks(0));
        machine.take(0, Step::Sleep(1_000));
        machine.set(400, 0);
        assert_eq!(machine.advance(), Happening::Due(0));

        machine.wake(0, 5_000);
        machine.wake(0, 5_000);
        machine.set(9_000, 1);
        assert_eq!(machine.advance(), Happening::Asks(0));
        assert_eq!((machine.now(), machine.used(0)), (1_000, 1_000));
        machine.take(0, Step::Sleep(0));
        assert_eq!(machine.advance(), Happening::Due(1));
    }
}
