//! What stands out of what does not come: a notification that came before anybody waited, an answer
//! that nobody gives, and values that nobody takes.

use crate::blame::{LONG_WAIT, ResourceWait};
use crate::resource::{Lag, Pile, What};
use crate::timeline::{Timeline, Value, Wait};
use crate::why::{Finding, time};
use std::collections::BTreeMap;
use std::panic::Location;

/// An answer is overdue if so many others have come, and none took more than this part of its time.
const ANSWERS_MIN: usize = 3;
const ANSWER_SHARE: u64 = 20;

/// So often a task may see values of a `watch` channel, and so often each of them.
const SEEN_MIN: usize = 1_000;
const SEEN_EACH: usize = 10;

/// What piles up is told of from so much on. Before, it may be a burst.
const PILE_MIN: usize = 8_000;

/// A channel grows if it has at least so many values, after so many nanoseconds, and more of them
/// after each part of the time.
const GROWN_MIN: i64 = 100;
const GROWS_MIN: u64 = 200_000_000;
const PARTS: usize = 4;

/// A channel is told to be full from so many nanoseconds on, if the receiver takes at least so many
/// for each value.
const FULL_MIN: u64 = 100_000_000;
const SLOW_RECEIVER: u64 = 1_000_000;

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
            let provider = info.provider.filter(|_| !info.has_come)?;
            if self.may_act_again(provider) {
                return None;
            }
            let by = self.label(provider);
            let (label, took) = (self.label(wait.task), time(wait.time()));
            let location = info.location;
            let text = format!(
                "perhaps missed: {label} has waited {took} for the Notify made at {location}, and \
                 {by} has notified it before anybody waited: `notify_waiters` keeps nothing for \
                 later. It is missed unless somebody notifies again"
            );
            Some(Finding { cost: wait.time(), at: wait.from, task: Some(wait.task), text })
        };
        longest.into_values().filter_map(finding).collect()
    }

    /// Whether a task runs, or waits for a time or for the kernel, after which it may do again what
    /// it has done before.
    fn may_act_again(&self, id: u64) -> bool {
        let Some(task) = self.tasks.get(&id) else { return false };
        // It was polled a moment ago: who is notified may be about to be polled.
        let last = task.polls.last().map_or(0, |&last| self.polls[last].end.unwrap_or(self.end));
        if self.end.saturating_sub(last) < LONG_WAIT {
            return true;
        }
        if task.ended.is_some() || task.dropped.is_some() {
            return false;
        }
        let is_outside = |wait: &Wait| matches!(wait, Wait::Io { .. } | Wait::Time { .. });
        let Some((waits, _)) = self.last_waits(id) else { return true };
        waits.is_empty() || waits.iter().any(is_outside)
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
                "perhaps unanswered: {label} has waited {took} for the value of the oneshot \
                 channel made at {location}; {count} others from there came within {longest}. It \
                 takes that long, or its sender is kept somewhere, and nobody sends"
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

    /// Channels without a bound in which ever more values wait.
    pub(crate) fn grows(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (resource, changes) in self.values_over_time() {
            let Some(info) = self.resources.get(&resource) else { continue };
            if info.numbers.size > 0 || info.pile.is_some_and(|pile| pile.count >= PILE_MIN) {
                continue;
            }
            let (Some(first), Some(last)) = (changes.first(), changes.last()) else { continue };
            let took = last.0 - first.0;
            // How many were there after each part of the time.
            let mut parts = [0; PARTS];
            for (part, inside) in parts.iter_mut().enumerate() {
                let at = first.0 + took / PARTS as u64 * (part as u64 + 1);
                let until = changes.partition_point(|(when, _)| *when <= at);
                *inside = changes[..until].last().map_or(0, |(_, inside)| *inside);
            }
            let most = parts[PARTS - 1];
            let grows = parts.windows(2).all(|pair| pair[1] >= pair[0] + most / (3 * PARTS as i64));
            if took < GROWS_MIN || most < GROWN_MIN || !grows {
                continue;
            }
            let (by, to) = (info.provider, info.receiver);
            let name = |task: Option<u64>| task.map_or("anybody".to_owned(), |it| self.label(it));
            let text = format!(
                "grows: {most} values wait in the unbounded channel made at {} after {}, more than \
                 ever; {} sends faster than {} receives: give the channel a bound",
                info.location,
                time(took),
                name(by),
                name(to)
            );
            findings.push(Finding { cost: took, at: first.0, task: to.or(by), text });
        }
        findings
    }

    /// For each channel when values went in and came out, and how many were in it then.
    fn values_over_time(&self) -> BTreeMap<u64, Vec<(u64, i64)>> {
        let mut all: BTreeMap<u64, Vec<(u64, i64)>> = BTreeMap::new();
        for value in &self.values {
            let changes = all.entry(value.resource).or_default();
            changes.push((value.sent, 1));
            changes.extend(value.received.map(|(at, _)| (at, -1)));
        }
        for changes in all.values_mut() {
            changes.sort_unstable();
            let mut inside = 0;
            for (_, change) in changes {
                inside += *change;
                *change = inside;
            }
        }
        all
    }

    /// Channels with a bound for whose room tasks waited most of the time.
    pub(crate) fn full_channels(&self) -> Vec<Finding> {
        let mut by_resource: BTreeMap<u64, Vec<ResourceWait>> = BTreeMap::new();
        for wait in self.resource_waits(|what| what == What::Room) {
            by_resource.entry(wait.resource).or_default().push(wait);
        }
        let mut findings = Vec::new();
        for (resource, mut waits) in by_resource {
            let Some(info) = self.resources.get(&resource) else { continue };
            waits.sort_by_key(|wait| wait.from);
            let count = waits.len();
            let total: u64 = waits.iter().map(ResourceWait::time).sum();
            let from = waits[0].from;
            let to = waits.iter().map(|wait| wait.from + wait.time()).max().unwrap_or(from);
            // Each moment counts once, however many wait.
            let (mut full, mut until) = (0, from);
            for wait in &waits {
                let end = wait.from + wait.time();
                full += end.saturating_sub(until.max(wait.from));
                until = until.max(end);
            }
            let took = to - from;
            // A receiver that is quick is only the slower one of two.
            let received = self.received(info.location, from, to);
            let each = took / received.max(1);
            let is_slow = each >= SLOW_RECEIVER;
            if full < FULL_MIN || full < took / 3 * 2 || !is_slow {
                continue;
            }
            let receiver = info.provider;
            let who = match receiver {
                Some(task) => self.label(task),
                None if received > 0 => "a thread".to_owned(),
                None => "nobody".to_owned(),
            };
            let text = format!(
                "full: for {} of {} tasks waited for room in the channel made at {} ({} values \
                 fit), {count} times and for {} in all; {who} receives, {} for each value",
                time(full),
                time(took),
                info.location,
                info.numbers.size,
                time(total),
                time(each)
            );
            findings.push(Finding { cost: full, at: from, task: receiver, text });
        }
        findings
    }

    /// How many values came out of the channel made at a line between two times.
    fn received(&self, location: &Location<'_>, from: u64, to: u64) -> u64 {
        let is_there = |value: &&Value| {
            let info = self.resources.get(&value.resource);
            info.is_some_and(|info| info.location == location)
                && value.received.is_some_and(|(at, _)| (from..=to).contains(&at))
        };
        self.values.iter().filter(is_there).count() as u64
    }

    /// Values of `broadcast` channels that a receiver has lost.
    pub(crate) fn lost_values(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for info in self.resources.values() {
            let Some(Lag { since, count, times, by }) = info.lag else { continue };
            if since < self.begin {
                continue;
            }
            let label = if by == 0 { "a thread".to_owned() } else { self.label(by) };
            let cost = self.end.saturating_sub(since);
            let text = format!(
                "lost: {label} has lost {count} values of the broadcast channel made at {}, in \
                 {times} gaps: it receives more slowly than they are sent, and the channel keeps \
                 {} of them",
                info.location, info.numbers.size
            );
            let task = Some(by).filter(|task| *task > 0);
            findings.push(Finding { cost, at: since, task, text });
        }
        findings
    }
}
