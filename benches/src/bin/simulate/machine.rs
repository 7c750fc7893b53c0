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
    /// A request of an open loop arrives.
    Arrival,
    /// The monitor looks.
    Tick,
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

/// The machine.
pub struct Machine {
    /// The time.
    pub now: Nanos,
    sequence: u64,
    events: BinaryHeap<Reverse<(Nanos, u64, Happening)>>,
    threads: Vec<State>,
    /// CPU time of the steps of each thread, also of the one that it is in.
    used: Vec<Nanos>,
}

impl Machine {
    /// Threads that all sleep.
    pub fn new(threads: usize) -> Self {
        let threads = vec![State::Asleep; threads];
        let used = vec![0; threads.len()];
        Self { now: 0, sequence: 0, events: BinaryHeap::new(), threads, used }
    }

    /// The CPU time that the first threads have used.
    pub fn used(&self, threads: usize) -> Nanos {
        self.used[..threads].iter().sum()
    }

    /// Lets something happen after a while.
    pub fn set(&mut self, after: Nanos, happening: Happening) {
        // Of what happens at the same time, what was set first comes first.
        self.sequence += 1;
        self.events.push(Reverse((self.now + after, self.sequence, happening)));
    }

    /// Wakes a thread, which runs after a while. One that does not sleep takes no notice.
    pub fn wake(&mut self, thread: usize, after: Nanos) {
        match self.threads[thread] {
            State::FallsAsleep => self.threads[thread] = State::Running,
            State::Asleep => {
                self.threads[thread] = State::Rising;
                self.set(after, Happening::Asks(thread));
            }
            State::Rising | State::Running => {}
        }
    }

    /// Goes on to what happens next.
    pub fn advance(&mut self) -> Happening {
        loop {
            let Reverse((time, _, happening)) = self.events.pop().expect("something happens");
            self.now = time;
            let Happening::Asks(thread) = happening else {
                return happening;
            };
            if self.threads[thread] != State::FallsAsleep {
                self.threads[thread] = State::Running;
                return happening;
            }
            self.threads[thread] = State::Asleep;
        }
    }

    /// Answers [`Happening::Asks`].
    pub fn take(&mut self, thread: usize, step: Step) {
        let (state, time) = match step {
            Step::Run(time) => (State::Running, time),
            Step::Sleep(time) => (State::FallsAsleep, time),
        };
        self.threads[thread] = state;
        self.used[thread] += time;
        self.set(time, Happening::Asks(thread));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_woken_before_it_sleeps_does_not_sleep() {
        let mut machine = Machine::new(1);
        machine.wake(0, 0);
        assert_eq!(machine.advance(), Happening::Asks(0));
        machine.take(0, Step::Sleep(1_000));
        machine.set(400, Happening::Tick);
        assert_eq!(machine.advance(), Happening::Tick);

        machine.wake(0, 5_000);
        machine.wake(0, 5_000);
        machine.set(9_000, Happening::Arrival);
        assert_eq!(machine.advance(), Happening::Asks(0));
        assert_eq!((machine.now, machine.used(1)), (1_000, 1_000));
        machine.take(0, Step::Sleep(0));
        assert_eq!(machine.advance(), Happening::Arrival);
    }
}
