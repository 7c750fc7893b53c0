//! What stands out of what does not come: a notification that came before anybody waited, an answer
//! that nobody gives, values that nobody takes, and a program in which nobody is left to go on.

use crate::blame::ResourceWait;
use crate::resource::{Pile, What};
use crate::timeline::{Timeline, Wait};
use crate::why::{Finding, time};
use std::collections::BTreeMap;
use std::panic::Location;

/// A wait that may never end is told of after so many nanoseconds.
const LONG_WAIT: u64 = 50_000_000;

/// An answer is overdue if so many others have come, and none took more than this part of its time.
const ANSWERS_MIN: usize = 3;
const ANSWER_SHARE: u64 = 20;

/// So often a task may see values of a `watch` channel, and so often each of them.
const SEEN_MIN: usize = 1_000;
const SEEN_EACH: usize = 10;

/// What piles up is told of from so much on. Before, it may be a burst.
const PILE_MIN: usize = 8_000;

/// Of the tasks among which nobody is left, so many are named.
const NAMED_MAX: usize = 4;

impl Timeline {
    /// Tasks that wait for a `Notify` whose notifications have reached nobody so far.
    pub(crate) fn missed_notifications(&self) -> Vec<Finding> {
        let mut longest: BTreeMap<u64, ResourceWait> = BTreeMap::new();
        for wait in self.resource_waits(|what| what == What::Notify) {
            let before = longest.get(&wait.resource).map_or(0, ResourceWait::time);
            if self.is_overdue(&wait) && wait.time() > before {
                longest.insert(wait.resource, wait);
            }
        }
        let finding = |wait: ResourceWait| {
            let info = &self.resources[&wait.resource];
            let by = self.label(info.provider.filter(|_| !info.has_come)?);
            let (label, took) = (self.label(wait.task), time(wait.time()));
            let location = info.location;
            let text = format!(
                "missed: {label} has waited {took} for the Notify made at {location}, and {by} has \
                 notified it before anybody waited: `notify_waiters` keeps nothing for later"
            );
            Some(Finding { cost: wait.time(), at: wait.from, task: Some(wait.task), text })
        };
        longest.into_values().filter_map(finding).collect()
    }

    /// Whether a wait is long, goes on, and is all that its task waits for.
    fn is_overdue(&self, wait: &ResourceWait) -> bool {
        let is_all = |(waits, _): (Vec<Wait>, u64)| waits.len() == 1;
        let is_alone = || self.last_waits(wait.task).is_some_and(is_all);
        wait.goes_on && wait.time() >= LONG_WAIT && is_alone()
    }

    /// Values of oneshot channels that do not come, where others from the same line came soon.
    pub(crate) fn unanswered(&self) -> Vec<Finding> {
        let mut by_line: BTreeMap<&Location<'_>, Vec<ResourceWait>> = BTreeMap::new();
        for wait in self.resource_waits(|what| what == What::Oneshot) {
            by_line.entry(self.resources[&wait.resource].location).or_default().push(wait);
        }
        let mut findings = Vec::new();
        for (location, waits) in by_line {
            let came: Vec<u64> =
                waits.iter().filter(|wait| !wait.goes_on).map(ResourceWait::time).collect();
            let longest = came.iter().copied().max().unwrap_or(0);
            let is_late = |wait: &&ResourceWait| {
                self.is_overdue(wait) && wait.time() / ANSWER_SHARE > longest
            };
            let late = waits.iter().filter(is_late).max_by_key(|wait| wait.time());
            let Some(wait) = late.filter(|_| came.len() >= ANSWERS_MIN) else { continue };
            let (label, took, longest) = (self.label(wait.task), time(wait.time()), time(longest));
            let count = came.len();
            let text = format!(
                "unanswered: {label} has waited {took} for the value of the oneshot channel made \
                 at {location}; {count} others from there came within {longest}: this sender is \
                 kept somewhere, and nobody sends"
            );
            findings.push(Finding {
                cost: wait.time(),
                at: wait.from,
                task: Some(wait.task),
                text,
            });
        }
        findings
    }

    /// Tasks that see the values of a `watch` channel far more often than anybody sends there.
    pub(crate) fn seen_again(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (&(resource, task), seen) in &self.seen {
            let sent = self.sent.get(&resource).copied().unwrap_or(0) + 1;
            if task == 0 || seen.count < SEEN_MIN || seen.count / SEEN_EACH < sent {
                continue;
            }
            let Some(info) = self.resources.get(&resource) else { continue };
            let cost = seen.last.saturating_sub(seen.first);
            let (label, count, took) = (self.label(task), seen.count, time(cost));
            let text = format!(
                "spins: {label} saw values of the watch channel made at {} {count} times in \
                 {took}, though no more than {sent} were sent: it does not mark them as seen, or \
                 waits by a new clone of its receiver each time",
                info.location
            );
            findings.push(Finding { cost, at: seen.first, task: Some(task), text });
        }
        findings
    }

    /// Channels without a bound, and `JoinSet`s, of which nobody takes what comes.
    pub(crate) fn piles_up(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for info in self.resources.values() {
            let Some(Pile { since, last, count, by: task }) = info.pile else { continue };
            // Once it grows no more, it was a burst. If it grows evenly, it has doubled last in the
            // second half of the time.
            let cost = self.end.saturating_sub(since);
            let grows = last.saturating_sub(since) >= cost / 3;
            if count < PILE_MIN || !grows {
                continue;
            }
            let by = if task == 0 { "a thread".to_owned() } else { self.label(task) };
            let location = info.location;
            let what = match info.what {
                What::JoinSet => format!(
                    "{count} tasks of the JoinSet made at {location} have ended, and nobody has \
                     joined them; {by} added the last one: let it call `join_next`, too"
                ),
                _ => format!(
                    "{count} values were in the unbounded channel made at {location}, more than \
                     ever; {by} sends faster than {} receives: give the channel a bound",
                    info.receiver.map_or("anybody".to_owned(), |task| self.label(task))
                ),
            };
            let text = format!("piles up: {what}");
            let task = Some(task).filter(|task| *task > 0);
            findings.push(Finding { cost, at: since, task, text });
        }
        findings
    }

    /// A program in which everything that has not ended waits for locks, channels and each other.
    pub(crate) fn nobody_is_left(&self) -> Vec<Finding> {
        let mut waiting: Vec<(u64, u64, Vec<Wait>)> = Vec::new();
        let mut has_main = false;
        for (&id, task) in &self.tasks {
            if task.ended.is_some() || task.dropped.is_some() {
                continue;
            }
            let Some((waits, since)) = self.last_waits(id) else { return Vec::new() };
            let is_inside = |wait: &Wait| matches!(wait, Wait::Task { .. } | Wait::Resource { .. });
            if task.is_job || waits.is_empty() || !waits.iter().all(is_inside) {
                return Vec::new();
            }
            has_main |= task.is_main;
            waiting.push((since, id, waits));
        }
        // Without a `block_on` the program goes on outside of the runtime.
        let begin = waiting.iter().map(|(since, ..)| *since).max();
        let Some(begin) = begin.filter(|_| has_main) else { return Vec::new() };
        let cost = self.end.saturating_sub(begin);
        if cost < LONG_WAIT {
            return Vec::new();
        }
        let count = waiting.len();
        let named = waiting.iter().take(NAMED_MAX).map(|(_, id, waits)| {
            format!("{} waits {}", self.label(*id), self.text_of_waits(waits, self.end))
        });
        let named: Vec<String> = named.collect();
        let more = if count > NAMED_MAX { "; and more" } else { "" };
        let text = format!(
            "nobody is left: all that has not ended ({count}) waits for locks, channels and tasks, \
             and nothing for a socket or a timer: {}{more}",
            named.join("; ")
        );
        vec![Finding { cost, at: begin, task: Some(waiting[0].1), text }]
    }
}
