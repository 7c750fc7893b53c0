//! Polls that panicked, that took long or go on, and that did nothing.

use super::{Finding, LONG_POLL};
use crate::resource::What;
use crate::timeline::words::time;
use crate::timeline::{By, Place, Poll, Task, Timeline, Wait};
use std::collections::BTreeMap;

/// A task that wakes itself is told of when it has had so many polls in which it did nothing else,
/// and which were so short, in nanoseconds. A longer poll computes something, and lets others run
/// meanwhile.
const SPINS_MIN: usize = 1_000;
const SPIN_MAX: u64 = 10_000;

/// So many wake-ups that did nothing are told of.
const EMPTY_MIN: usize = 10;

/// Of the tasks of one line, the one that panicked first.
struct Panics {
    first: u64,
    at: u64,
    count: usize,
}

/// The wake-ups for nothing of the tasks of one line.
#[derive(Default)]
struct Empty {
    first: Option<usize>,
    count: usize,
    cost: u64,
    /// How often each task has woken one of them.
    wakers: BTreeMap<u64, usize>,
}

impl Timeline {
    /// Tasks that panicked, those of one line together.
    pub(super) fn panics(&self) -> Vec<Finding> {
        let mut by_location: BTreeMap<&str, Panics> = BTreeMap::new();
        for (&id, task) in &self.tasks {
            let Some(at) = task.panicked else { continue };
            // The others may have panicked because of the first, as by a message that did not come.
            let new = Panics { first: id, at, count: 0 };
            let panics = by_location.entry(&task.location).or_insert(new);
            panics.count += 1;
            if at < panics.at {
                panics.first = id;
                panics.at = at;
            }
        }

        // A panic costs no time. Findings of this kind stand before those that do.
        let finding = |Panics { first, at, count }| {
            let mut text = format!("panic: {} panicked", self.label(first));
            if count > 1 {
                text += &format!("; with it, {count} tasks from this line did so");
            }
            Finding { cost: 0, at, task: Some(first), text }
        };
        by_location.into_values().map(finding).collect()
    }

    /// Whether a poll is a task's and took long. A job may block, and so may the thread of a
    /// `block_on`: nobody else's turn waits for them.
    fn is_long(&self, poll: &Poll) -> bool {
        let task = &self.tasks[&poll.task];
        poll.time(self.end) > LONG_POLL && !task.is_main && !task.is_job
    }

    /// Polls that have not ended, and what waits behind them.
    pub(super) fn polls_that_go_on(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let open = self.polls.iter().filter(|poll| poll.end.is_none());
        for poll in open.filter(|poll| self.is_long(poll)) {
            let (lane, label) = (self.lane_label(poll.lane), self.label(poll.task));
            let cost = poll.time(self.end);
            let took = time(cost);
            let mut text = format!("{lane} is stuck: it has polled {label} for {took}");

            // Other workers may steal from its queue. What is there still has not been so lucky.
            let is_behind = |task: &&Task| {
                let place = task.queued.map(|queued| queued.place);
                task.dropped.is_none() && place == Some(Place::Worker(poll.lane))
            };
            let behind = self.tasks.values().filter(is_behind).count();
            if behind > 0 {
                text += &format!(", and {behind} of its queue wait for that");
            }
            findings.push(Finding { cost, at: poll.begin, task: Some(poll.task), text });
        }
        findings
    }

    /// Polls that took long, those of one line together.
    pub(super) fn long_polls(&self) -> Vec<Finding> {
        let mut by_location: BTreeMap<&str, Vec<&Poll>> = BTreeMap::new();
        let ended = self.polls.iter().filter(|poll| poll.end.is_some());
        for poll in ended.filter(|poll| self.is_long(poll)) {
            by_location.entry(&self.tasks[&poll.task].location).or_default().push(poll);
        }

        let mut findings = Vec::new();
        for polls in by_location.into_values() {
            let took = |poll: &&&Poll| poll.time(self.end);
            let Some(longest) = polls.iter().max_by_key(took) else { continue };
            let longest_time = time(longest.time(self.end));
            let label = self.label(longest.task);
            let lane = self.lane_label(longest.lane);
            let mut text = format!("long poll: {label} held {lane} up for {longest_time}");
            text += &self.drop_text(longest);

            // What all of them took is what a change of that line could save.
            let cost = polls.iter().map(|poll| poll.time(self.end)).sum();
            if polls.len() > 1 {
                let (count, all) = (polls.len(), time(cost));
                text += &format!("; with it, {count} polls of tasks from this line took {all}");
            }
            let (at, task) = (longest.begin, Some(longest.task));
            findings.push(Finding { cost, at, task, text });
        }
        findings
    }

    /// The end of a sentence, if it was the drop of the future that took the most of a long poll:
    /// then a reader of the task's own code would look for it in vain.
    fn drop_text(&self, poll: &Poll) -> String {
        let Some(drops) = poll.drops else { return String::new() };
        let dropped = poll.end.unwrap_or(self.end).saturating_sub(drops);
        if dropped <= poll.time(self.end) / 2 {
            return String::new();
        }
        format!(
            ", of which the drop of its future took {}: something in it computes or \
             blocks in its `drop`",
            time(dropped)
        )
    }

    /// Wake-ups after which the task waited for the same again, and who woke it most often.
    ///
    /// A few of them are nothing to worry about: what woke the task may have been taken by another
    /// one in the meantime.
    pub(super) fn wake_ups_for_nothing(&self) -> Vec<Finding> {
        let mut by_location: BTreeMap<&str, Empty> = BTreeMap::new();
        let mut was_idle: BTreeMap<u64, bool> = BTreeMap::new();
        for (index, poll) in self.polls.iter().enumerate() {
            // A poll may take a value a moment before the wake-up comes that belongs to it.
            let is_idle = was_idle.insert(poll.task, poll.operations == 0) == Some(true);
            let waits_for_watch = poll.waits.iter().all(|wait| self.is_for_watch(wait));
            if !poll.did_nothing || !is_idle || waits_for_watch {
                continue;
            }

            let empty = by_location.entry(&self.tasks[&poll.task].location).or_default();
            empty.first.get_or_insert(index);
            empty.count += 1;
            // What it costs is the poll, and the turn of whoever waited behind it.
            empty.cost += poll.time(self.end) + poll.waited();
            if let Some(By::Poll(by)) = poll.queued.map(|queued| queued.by) {
                *empty.wakers.entry(self.polls[by].task).or_default() += 1;
            }
        }

        let mut findings = Vec::new();
        for Empty { first, count, cost, wakers } in by_location.into_values() {
            // Two tasks that wait for one value wake up for it, and only one of them gets it.
            let Some(first) = first.filter(|_| count >= EMPTY_MIN) else { continue };
            let poll = &self.polls[first];
            let label = self.label(poll.task);

            let mut text = format!(
                "wake-ups that did nothing: {count}; {label} went on waiting for the \
                 same each time"
            );
            // Wake-ups by the kernel have no task to name.
            let most = wakers.iter().max_by_key(|(_, times)| **times);
            if let Some((waker, times)) = most {
                text += &format!("; {times} of them were by {}", self.label(*waker));
            }
            findings.push(Finding { cost, at: poll.begin, task: Some(poll.task), text });
        }
        findings
    }

    /// Whether it waits for a watch channel, which wakes in eight groups. Who was in the first one
    /// and asks again may be in the next one, and is woken for the value that it has seen.
    fn is_for_watch(&self, wait: &Wait) -> bool {
        let Wait::Resource { resource, .. } = wait else { return false };
        self.resources.get(resource).is_some_and(|info| info.what == What::Watch)
    }

    /// Tasks that wake themselves over and over, and do nothing else.
    pub(super) fn self_wakers(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (&id, task) in &self.tasks {
            let polls = task.polls.iter().map(|&index| &self.polls[index]);
            let spins: Vec<&Poll> = polls.filter(|poll| self.is_spin(poll)).collect();
            let (Some(first), Some(last)) = (spins.first(), spins.last()) else {
                continue;
            };
            // Most of its polls, so that a task that yields now and then is none.
            if spins.len() < SPINS_MIN || spins.len() < task.polls.len() / 2 {
                continue;
            }

            // Nearly all of this time went into polls, or into the turns between them.
            let cost = last.begin - first.begin;
            let (label, count, took) = (self.label(id), spins.len(), time(cost));
            let text = format!(
                "spins: {label} woke itself over and over: {count} polls in {took} that \
                 did nothing else"
            );
            findings.push(Finding { cost, at: first.begin, task: Some(id), text });
        }
        findings
    }

    /// Whether a task was woken by itself for a short poll, in which it did nothing that arc knows
    /// of. If it waits for something, it has asked for that, and is woken because of it.
    fn is_spin(&self, poll: &Poll) -> bool {
        let by_itself = match poll.queued.map(|queued| queued.by) {
            Some(By::Poll(by)) => self.polls[by].task == poll.task,
            _ => false,
        };
        let is_short = poll.time(self.end) <= SPIN_MAX;
        by_itself && is_short && poll.operations == 0 && poll.waits.is_empty()
    }
}
