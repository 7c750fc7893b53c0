//! Workers that all have something to do: no task has many turns while others have few or none.
//! And what waits behind a stuck worker goes on.

use crate::common::*;
use arc::runtime::Runtime;
use arc::task::yield_now;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// A task that is always runnable, until it is told to end.
#[derive(Clone, Default)]
struct Runner {
    turns: Counter,
    is_over: Arc<AtomicBool>,
    /// The thread that it had its last turn on.
    thread: Arc<Mutex<Option<ThreadId>>>,
}

impl Runner {
    /// It computes for some microseconds in each turn.
    fn start(runtime: &Runtime) -> Self {
        let runner = Self::default();
        let mine = runner.clone();
        drop(runtime.spawn(async move {
            while !mine.is_over.load(Ordering::Relaxed) {
                let start = Instant::now();
                while start.elapsed() < Duration::from_micros(10) {}
                *mine.thread.lock().unwrap() = Some(thread::current().id());
                mine.turns.add();
                yield_now().await;
            }
        }));
        runner
    }

    fn thread(&self) -> ThreadId {
        self.thread.lock().unwrap().expect("it has had a turn")
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn wait_for_turns(runners: &[Runner], more: usize) {
    let before: Vec<_> = runners.iter().map(|runner| runner.turns.get()).collect();
    for (runner, before) in runners.iter().zip(before) {
        runner.turns.wait_for(before + more);
    }
}

/// One worker is in a poll that does not end. No other worker ever runs out of work, so none has to
/// look for the tasks in that one's queue.
#[test]
fn tasks_of_a_stuck_worker_go_on_though_all_others_are_busy() {
    for workers in [2, 4] {
        within_deadline(move || {
            let runtime = runtime(workers);
            let runners: Vec<_> = (0..50 * workers).map(|_| Runner::start(&runtime)).collect();
            for _ in 0..3 {
                wait_for_turns(&runners, 20);
                let (task, pause) = block_worker(&runtime);
                wait_for_turns(&runners, 20);
                pause.pass();
                wait_until("the poll is over", || task.is_finished());
            }
            runners.iter().for_each(Runner::end);
        });
    }
}

/// All tasks of one worker end but for one, which alone keeps that worker busy. The other worker
/// has a hundred. Until these have had some hundred turns each, that one must not have had many
/// thousands.
#[test]
fn a_worker_with_a_single_task_takes_from_one_that_has_many() {
    const TURNS: usize = 300;
    on_each([2], |runtime| {
        let mut runners: Vec<Runner> = Vec::new();
        for _ in 0..rounds(10) {
            while runners.len() < 200 {
                runners.push(Runner::start(&runtime));
            }
            wait_for_turns(&runners, 20);
            let one = runners[0].thread();
            let (mut stay, others): (Vec<_>, Vec<_>) =
                runners.into_iter().partition(|it| it.thread() == one);
            others.iter().skip(1).for_each(Runner::end);
            stay.extend(others.into_iter().take(1));
            runners = stay;

            let before: Vec<_> = runners.iter().map(|runner| runner.turns.get()).collect();
            let sorted = || {
                let pairs = runners.iter().zip(&before);
                let mut turns: Vec<_> = pairs.map(|(it, before)| it.turns.get() - before).collect();
                turns.sort_unstable();
                turns
            };
            wait_until("half of them have had turns", || sorted()[runners.len() / 2] >= TURNS);
            let turns = sorted();
            let most = turns[turns.len() - 1];
            assert!(most < 20 * TURNS, "one of {} had {most} turns", turns.len());
        }
        runners.iter().for_each(Runner::end);
    });
}
