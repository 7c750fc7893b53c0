//! Exercise 17, size L, after stage 10: change the policy.
//!
//! That no wake-up is lost is a matter of the protocol (chapter 9). How many workers are woken is a
//! matter of speed, and of the *policy*. arc's first rule is this one: before a poll, a worker that
//! leaves tasks behind wakes one that sleeps, if none is on its way already. It is simple, and for
//! a handful of short tasks it is wasteful. To wake a worker takes ten microseconds (`WAKE`), and
//! when it comes, three tasks of a microsecond each are long done.
//!
//! Change the rule, so that somebody is woken only if it pays: if what is left will take longer
//! than a wake-up. A worker does not know how long a task will take. It knows the mean of the polls
//! so far. But means are of the past: sooner or later, a poll that takes ten *milliseconds* comes
//! along, and a few short tasks are left behind it. Nobody could foresee that. So there is a
//! monitor, which comes by every half a millisecond (`TICK`), and may wake somebody as well.
//!
//! The *model* below is a little machine of four workers, which take their tasks from one queue, in
//! virtual time. It runs some loads under your policy, and measures. This is asked of it:
//!
//! * *Chatter*: a thousand times, three tasks of a microsecond come. At most ten times somebody may
//!   be woken for them, and no task may wait for longer than 30 microseconds.
//! * *Bursts*: many tasks come at once, or a few long ones. The four workers may take 30 % longer
//!   than if each of them did a quarter of the work from the first moment on. (If many short
//!   ones come in the middle of a long poll, this is asked of the other three workers, and from
//!   the next tick on.)
//! * *Surprise*: up to nine short tasks are behind polls of ten milliseconds, or come in the middle
//!   of one, and the mean says that polls are short. None may wait for longer than two ticks of the
//!   monitor (a third one if there are two such polls, and so on) and five wake-ups. At most two
//!   workers may be woken, beside one for each further long poll.
//! * *Alone*: a long poll with nothing behind it. Nobody may be woken.
//!
//! A policy is never proved, as a protocol is: it is tried with the loads that one thinks of. Which
//! one have we forgotten?

use inside::exercises::{expect, set_alarm, solved};
use std::collections::VecDeque;

/// How long it takes until a worker that was woken takes its first task. All times are in
/// microseconds.
const WAKE: u64 = 10;
/// How often the monitor comes by.
const TICK: u64 = 500;
const WORKERS: usize = 4;

/// What is known when it is to be decided.
struct Seen {
    /// How many tasks are in the queue. The one that is about to be polled, or is, is not.
    left: u64,
    /// How many workers sleep, and have not been woken.
    asleep: usize,
    /// Whether a worker was woken, and has not taken its first task yet.
    is_on_its_way: bool,
    /// The mean of the latest polls, at least 1.
    mean: u64,
    /// For how long the longest poll of those that go on now has lasted.
    longest: u64,
}

/// A worker is about to poll a task. True: it wakes another worker before.
fn wakes_before_a_poll(seen: &Seen) -> bool {
    // YOURS: from here
    seen.left > 0 && seen.asleep > 0 && !seen.is_on_its_way
    // to here
}

/// The monitor comes by. True: it wakes a worker.
fn wakes_at_a_tick(seen: &Seen) -> bool {
    // YOURS: from here
    let _ = (seen.mean, seen.longest);
    false
    // to here
}

/// A worker. Times are those at which something ends.
#[derive(Clone, Copy, PartialEq)]
enum Worker {
    Asleep,
    OnItsWay {
        until: u64,
    },
    Polls {
        since: u64,
        until: u64,
    },
    /// It looks for a task.
    Awake,
}

/// A task that was queued.
struct Task {
    queued_at: u64,
    takes: u64,
}

struct Machine {
    now: u64,
    workers: [Worker; WORKERS],
    queue: VecDeque<Task>,
    /// The mean of the polls, in sixteenths of a microsecond.
    mean: u64,
    /// How many workers the policy has woken.
    woken: usize,
    /// The longest time that a task has been in the queue.
    longest_wait: u64,
}

impl Machine {
    fn new(mean: u64) -> Self {
        let workers = [Worker::Asleep; WORKERS];
        let queue = VecDeque::new();
        Self { now: 0, workers, queue, mean: 16 * mean, woken: 0, longest_wait: 0 }
    }

    fn queue(&mut self, count: usize, takes: u64) {
        let queued_at = self.now;
        self.queue.extend((0..count).map(|_| Task { queued_at, takes }));
        // The protocol: if all sleep, whoever brings a task wakes one. That is not the policy.
        if self.workers.iter().all(|worker| *worker == Worker::Asleep) {
            self.workers[0] = Worker::OnItsWay { until: self.now + WAKE };
        }
    }

    fn seen(&self) -> Seen {
        let mut seen = Seen {
            left: self.queue.len() as u64,
            asleep: 0,
            is_on_its_way: false,
            mean: (self.mean / 16).max(1),
            longest: 0,
        };
        for worker in &self.workers {
            match worker {
                Worker::Asleep => seen.asleep += 1,
                Worker::OnItsWay { .. } => seen.is_on_its_way = true,
                Worker::Polls { since, .. } => seen.longest = seen.longest.max(self.now - since),
                Worker::Awake => {}
            }
        }
        seen
    }

    /// The policy wants a worker to be woken.
    fn wake(&mut self, seen: &Seen) {
        expect(seen.asleep > 0, "it wakes somebody, and nobody sleeps");
        let message = "it wakes somebody, and the last one that was woken is still on its way";
        expect(!seen.is_on_its_way, message);
        let place = self.workers.iter().position(|worker| *worker == Worker::Asleep);
        if let Some(place) = place {
            self.workers[place] = Worker::OnItsWay { until: self.now + WAKE };
            self.woken += 1;
        }
    }

    /// Lets a microsecond go by.
    fn step(&mut self) {
        if self.now.is_multiple_of(TICK) {
            let seen = self.seen();
            if wakes_at_a_tick(&seen) {
                self.wake(&seen);
            }
        }
        for place in 0..WORKERS {
            match self.workers[place] {
                Worker::OnItsWay { until } if until <= self.now => {
                    self.workers[place] = Worker::Awake;
                }
                Worker::Polls { since, until } if until <= self.now => {
                    // The latest poll counts for a sixteenth.
                    self.mean = self.mean - self.mean / 16 + (until - since);
                    self.workers[place] = Worker::Awake;
                }
                _ => {}
            }
            if self.workers[place] == Worker::Awake {
                self.take_a_task(place);
            }
        }
        self.now += 1;
    }

    fn take_a_task(&mut self, place: usize) {
        let Some(task) = self.queue.pop_front() else {
            self.workers[place] = Worker::Asleep;
            return;
        };
        self.longest_wait = self.longest_wait.max(self.now - task.queued_at);
        let seen = self.seen();
        if wakes_before_a_poll(&seen) {
            self.wake(&seen);
        }
        self.workers[place] = Worker::Polls { since: self.now, until: self.now + task.takes };
    }

    /// Runs until all sleep and nothing is left. Returns how long it took.
    fn run(&mut self) -> u64 {
        let begin = self.now;
        loop {
            self.step();
            let all_sleep = self.workers.iter().all(|worker| *worker == Worker::Asleep);
            if all_sleep && self.queue.is_empty() {
                return self.now - begin;
            }
        }
    }
}

fn main() {
    set_alarm();
    chatter();
    bursts();
    for short in 1..=9 {
        surprise(1, short);
        surprise(2, short);
    }
    late();
    nobody_sleeps();
    one_is_on_its_way();
    alone();
    solved();
}

/// A thousand times, three tasks come that take a microsecond each.
fn chatter() {
    let mut machine = Machine::new(1);
    for _ in 0..1000 {
        machine.queue(3, 1);
        machine.run();
    }
    let (woken, wait) = (machine.woken, machine.longest_wait);
    let message = format!(
        "{woken} times somebody was woken for two tasks that take a microsecond each, and 10 times \
         are allowed"
    );
    expect(woken <= 10, &message);
    let message = format!("a task of a microsecond has waited for {wait}, and 30 are allowed");
    expect(wait <= 30, &message);
}

/// Many tasks come at once. Four workers at their best take a quarter of the time of one.
fn bursts() {
    for (count, takes, mean) in [
        // Many short ones: together they are long.
        (2000, 1, 1),
        // Many long ones.
        (64, 100, 100),
        // A few that are very long.
        (4, 5000, 5000),
        // Two for each worker, which are long beside a wake-up, and short beside a tick.
        (8, 100, 100),
        // Long ones, and the mean says that they are short.
        (64, 100, 1),
    ] {
        let most = count as u64 / WORKERS as u64 * takes * 13 / 10;
        let mut machine = Machine::new(mean);
        machine.queue(count, takes);
        let took = machine.run();
        let message = format!(
            "{count} tasks of {takes} us, where polls took {mean} us so far, were done after \
             {took} us: with four workers, {most} are allowed"
        );
        expect(took <= most, &message);
    }
}

/// Polls take ten milliseconds, which nobody could foresee. Some short tasks are behind them.
fn surprise(long: usize, short: usize) {
    let mut machine = Machine::new(1);
    machine.queue(long, 10_000);
    machine.queue(short, 1);
    machine.run();
    let (wait, woken) = (machine.longest_wait, machine.woken);
    let most = (1 + long as u64) * TICK + 5 * WAKE;
    let message = format!(
        "one of {short} short tasks waits {wait} us behind polls of 10 ms, and {most} are \
         allowed"
    );
    expect(wait <= most, &message);
    let message = format!(
        "{woken} workers were woken for {long} tasks of 10 ms and {short} of a microsecond each, \
         and {} are allowed",
        long + 1
    );
    expect(woken <= long + 1, &message);
}

/// Short tasks come when a long poll has gone on for some time.
fn late() {
    let mut machine = Machine::new(1);
    machine.queue(1, 10_000);
    while machine.now < 7000 {
        machine.step();
    }
    machine.queue(3, 1);
    machine.run();
    let (wait, most) = (machine.longest_wait, 2 * TICK + 5 * WAKE);
    let message = format!(
        "short tasks come in the middle of a poll of 10 ms, and one waits {wait} us: {most} are \
         allowed"
    );
    expect(wait <= most, &message);

    // So many come, right after a tick, that three workers have to share them.
    let mut machine = Machine::new(1);
    machine.queue(1, 10_000);
    while machine.now <= 7000 {
        machine.step();
    }
    machine.queue(2000, 1);
    while !machine.queue.is_empty() {
        machine.step();
    }
    let (took, most) = (machine.now - 7001, TICK + 2000 / 3 * 13 / 10);
    let message = format!(
        "2000 tasks of 1 us came in the middle of a poll of 10 ms, and were done after {took} us: \
         with three workers, from the next tick on, {most} are allowed"
    );
    expect(took <= most, &message);
}

/// All four are in long polls when the monitor comes by, and tasks are left.
fn nobody_sleeps() {
    let mut machine = Machine::new(1000);
    machine.queue(WORKERS, 10_000);
    machine.queue(9, 1);
    let took = machine.run();
    let message = format!("four tasks of 10 ms and nine short ones were done after {took} us");
    expect(took <= 13_000, &message);
}

/// The monitor comes by while a worker is on its way, behind a poll that is long by then.
fn one_is_on_its_way() {
    let mut machine = Machine::new(1);
    machine.queue(1, 10_000);
    // The monitor wakes a worker for this one, which ends right before the next tick.
    machine.queue(1, TICK - 15);
    machine.queue(8, 100);
    machine.run();
}

/// A long poll with nothing behind it: there is nothing to share.
fn alone() {
    let mut machine = Machine::new(100);
    machine.queue(1, 10_000);
    machine.run();
    let message =
        format!("there was a single task, and {} workers were woken for nothing", machine.woken);
    expect(machine.woken == 0, &message);
}

// Hint 1: `left` times `mean` is how long the tasks that are left would take this worker, if they
// are like the others.
// Hint 2: the monitor need not ask how long what is left will take. If it finds tasks in the queue
// and a poll that goes on for ever, they have waited long enough.
// Hint 3: neither may wake anybody if nobody sleeps, if one is on its way, or if nothing is left.
