//! Polls that were late, timers that were late, and workers that slept while work waited.
//!
//! A delay is the program's doing if something else ran meanwhile. If nothing did, the system has
//! not run the thread: that is told of apart, in one line.

use super::{Delay, Finding, LATE};
use crate::timeline::words::time;
use crate::timeline::{By, Place, Poll, Queued, Timeline, is_another};
use std::collections::BTreeMap;

/// How many sleeps are looked at for one that a poll has waited through.
const SLEEPS_MAX: usize = 256;

/// A part of a sleep during which a task waited in a queue.
struct Overslept<'a> {
    poll: &'a Poll,
    /// The thread that slept.
    lane: usize,
    slept: u64,
    /// For how much of that nobody had woken the worker.
    unwoken: u64,
}

impl Timeline {
    /// The polls of each line that had waited the longest in a queue, or for a look at the clock,
    /// and whether that is the system's doing.
    pub(super) fn late_polls(&self) -> Vec<Delay> {
        let mut worst: BTreeMap<(&str, bool), (usize, u64)> = BTreeMap::new();
        for (index, poll) in self.polls.iter().enumerate() {
            let location = self.tasks[&poll.task].location.as_str();
            // A task may be late twice: its timer was found late, and then it waited for its turn.
            let delays = [(false, poll.waited()), (true, self.timer_lateness(index))];
            for (is_timer, late) in delays {
                let worst = worst.entry((location, is_timer)).or_insert((index, 0));
                if late >= LATE && late > worst.1 {
                    *worst = (index, late);
                }
            }
        }

        let delay = |((_, is_timer), (index, cost))| self.late_poll(index, is_timer, cost);
        worst.into_iter().filter_map(delay).collect()
    }

    fn late_poll(&self, index: usize, is_timer: bool, cost: u64) -> Option<Delay> {
        let poll = &self.polls[index];
        let queued = poll.queued?;
        let (text, is_system) = match queued.by {
            // No poll of this line was late.
            _ if cost == 0 => return None,
            By::Look(look) if is_timer => {
                // The thread waited for nothing but this, and was not run in time.
                let is_system = self.looks[look].waits;
                (format!("late timer: {}", self.due(index, look).text), is_system)
            }
            _ => {
                let is_system = self.is_alone(poll, &queued);
                (format!("late: {}", self.queue_text(poll)), is_system)
            }
        };

        let at = poll.begin.saturating_sub(cost);
        let finding = Finding { cost, at, task: Some(poll.task), text };
        Some(Delay { finding, is_system })
    }

    /// Whether a task waited for a thread that did nothing else: at most a quarter of the time.
    /// Where records are missing, something may have run, so that the system is not accused.
    fn is_alone(&self, poll: &Poll, queued: &Queued) -> bool {
        let takers = self.takers(poll.task, queued.place, Some(poll.lane));
        let behind = self.behind(queued.at, poll.begin, &takers, poll.task);
        !behind.has_gap && behind.time < poll.waited() / 4
    }

    /// How long after its deadline the timer that caused a poll was found, in nanoseconds.
    fn timer_lateness(&self, index: usize) -> u64 {
        let queued = self.polls[index].queued;
        let Some(By::Look(look)) = queued.map(|queued| queued.by) else { return 0 };
        let told = self.looks[look].end.unwrap_or(0);
        self.deadline_before(index, told).map_or(0, |deadline| told - deadline)
    }

    /// The worst case of a task that waited in a queue while a worker slept.
    ///
    /// If nobody had woken the worker for most of the time, somebody in the program, or arc itself,
    /// should have. If somebody had, the system did not run it.
    pub(super) fn slept_while_work_waited(&self) -> Option<Delay> {
        let mut worst: Option<Overslept<'_>> = None;
        for poll in &self.polls {
            let Some(queued) = poll.queued else { continue };
            // The threads of the blocking pool are no workers.
            if queued.place == Place::Pool || poll.waited() <= LATE {
                continue;
            }

            // A worker of another runtime has no use for the task.
            let runtime = self.tasks[&poll.task].runtime;
            let until = self.sleeps.partition_point(|sleep| sleep.begin < poll.begin);
            let sleeps = self.sleeps[..until].iter().rev().take(SLEEPS_MAX);
            for sleep in sleeps.filter(|sleep| !is_another(sleep.runtime, runtime)) {
                let begin = sleep.begin.max(queued.at);
                let end = sleep.end.unwrap_or(self.end).min(poll.begin);
                let slept = end.saturating_sub(begin);
                let is_worst = worst.as_ref().is_none_or(|worst| slept > worst.slept);
                if slept > LATE && is_worst {
                    // Until somebody woke it, the system had no reason to run it.
                    let woken = sleep.woken.map_or(end, |(woken, _)| woken.min(end));
                    let unwoken = woken.saturating_sub(begin);
                    worst = Some(Overslept { poll, lane: sleep.lane, slept, unwoken });
                }
            }
        }
        Some(self.overslept(&worst?))
    }

    fn overslept(&self, worst: &Overslept<'_>) -> Delay {
        let &Overslept { poll, lane, slept: cost, unwoken } = worst;
        let (lane, label) = (self.lane_label(lane), self.label(poll.task));
        let slept = time(cost);
        let text = format!("{lane} slept for {slept} while {label} waited in a queue");

        let at = poll.begin.saturating_sub(cost);
        let finding = Finding { cost, at, task: Some(poll.task), text };
        // It was awake in name for most of the time.
        Delay { finding, is_system: unwoken < cost / 2 }
    }
}
