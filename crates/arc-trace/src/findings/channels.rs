//! Channels of which nobody takes what comes: that grow, are full, lose values, or starve.
//!
//! A channel is made to hold values for a while, so each of these has to be much, or to last.

use super::Finding;
use super::resource_waits::ResourceWait;
use crate::resource::{Lag, Pile, ResourceInfo, What};
use crate::timeline::words::time;
use crate::timeline::{Timeline, Value};
use std::collections::BTreeMap;
use std::panic::Location;

/// A value that nobody takes is told of after so many polls of the receiver, and so much time.
const POLLS_WITHOUT: usize = 50;
const VALUE_LATE: u64 = 20_000_000;

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

/// When values went into a channel and came out, and how many were in it then.
type Changes = Vec<(u64, i64)>;

/// The time at which the value before another one was received, and by whom.
#[derive(Default)]
struct Last {
    at: u64,
    by: u64,
}

/// The longest time that the first value of a channel waited for its receiver.
#[derive(Default)]
struct Starved {
    waited: u64,
    from: u64,
    /// How often the receiver was polled meanwhile.
    polls: usize,
    by: u64,
}

/// When tasks waited for room in a channel.
struct Crush {
    from: u64,
    to: u64,
    /// For how long any of them did. Each moment counts once, however many wait.
    full: u64,
    /// The times of all of them together, and how many there are.
    total: u64,
    count: usize,
}

impl Timeline {
    /// Channels whose first value waited while the receiver did other things.
    ///
    /// A receiver that is not polled is not to blame: it waits for its turn, or for something else.
    /// One that is polled again and again, and takes no value, prefers what it does instead.
    pub(super) fn starved_values(&self) -> Vec<Finding> {
        let mut last: BTreeMap<u64, Last> = BTreeMap::new();
        let mut worst: BTreeMap<u64, Starved> = BTreeMap::new();
        for value in &self.values {
            // A value is the first one as soon as the one before it has been received.
            let last = last.entry(value.resource).or_default();
            let from = value.sent.max(last.at);
            let (to, by) = match value.received {
                Some(received) => received,
                None => (self.end, self.receiver_after(value, last)),
            };
            *last = Last { at: to, by };

            let waited = to.saturating_sub(from);
            let Some(task) = self.tasks.get(&by) else { continue };
            if waited <= VALUE_LATE {
                continue;
            }

            // How often the receiver could have taken it.
            let begin = |poll: usize| self.polls[poll].begin;
            let position = |at: u64| task.polls.partition_point(|&poll| begin(poll) < at);
            let polls = position(to) - position(from);
            let worst = worst.entry(value.resource).or_default();
            if polls >= POLLS_WITHOUT && waited > worst.waited {
                *worst = Starved { waited, from, polls, by };
            }
        }

        let finding = |(resource, starved): (u64, Starved)| {
            let info = self.resources.get(&resource).filter(|_| starved.waited > 0)?;
            Some(self.starved(info, &starved))
        };
        worst.into_iter().filter_map(finding).collect()
    }

    /// Who is taken for the receiver of a value that is still there: that of the one before it.
    fn receiver_after(&self, value: &Value, last: &Last) -> u64 {
        if last.by > 0 {
            return last.by;
        }
        // The timeline has none of its receptions, but the channel remembers who received last.
        let info = self.resources.get(&value.resource);
        info.and_then(|info| info.receiver).unwrap_or(0)
    }

    fn starved(&self, info: &ResourceInfo, starved: &Starved) -> Finding {
        let &Starved { waited: cost, from: at, polls, by } = starved;
        let (location, label, waited) = (info.location, self.label(by), time(cost));
        let text = format!(
            "starved: a value waited {waited} in the channel made at {location}, while \
             its receiver {label} was polled {polls} times for other things: a \
             `select!` that prefers another branch, or a loop that takes no value"
        );
        Finding { cost, at, task: Some(by), text }
    }

    /// Tasks that see the values of a `watch` channel far more often than anybody sends there.
    pub(super) fn seen_again(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (&(resource, task), seen) in &self.seen {
            // With the value that the channel was made with.
            let sent = self.sent.get(&resource).copied().unwrap_or(0) + 1;
            if task == 0 || seen.count < SEEN_MIN || seen.count / SEEN_EACH < sent {
                continue;
            }
            let Some(info) = self.resources.get(&resource) else { continue };

            // A task that waits for the next value sees each of them once or twice.
            let cost = seen.last.saturating_sub(seen.first);
            let (label, count, took) = (self.label(task), seen.count, time(cost));
            let location = info.location;
            let text = format!(
                "spins: {label} saw values of the watch channel made at {location} \
                 {count} times in {took}, though no more than {sent} were sent: it does \
                 not mark them as seen, or waits by a new clone of its receiver each \
                 time"
            );
            findings.push(Finding { cost, at: seen.first, task: Some(task), text });
        }
        findings
    }

    /// Channels without a bound, and `JoinSet`s, of which nobody takes what comes.
    pub(super) fn piles_up(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for info in self.resources.values() {
            let Some(pile) = info.pile else { continue };

            // Once it grows no more, it was a burst. If it grows evenly, it has doubled last in the
            // second half of the time.
            let cost = self.end.saturating_sub(pile.since);
            let grows = pile.last.saturating_sub(pile.since) >= cost / 3;
            if pile.count < PILE_MIN || !grows {
                continue;
            }

            let text = format!("piles up: {}", self.pile_text(info, &pile));
            let task = Some(pile.by).filter(|task| *task > 0);
            findings.push(Finding { cost, at: pile.since, task, text });
        }
        findings
    }

    fn pile_text(&self, info: &ResourceInfo, pile: &Pile) -> String {
        let (by, count, location) = (self.who(pile.by), pile.count, info.location);
        // Who adds tasks to such a set is who should join them. A channel has a receiver.
        if info.what == What::JoinSet {
            return format!(
                "{count} tasks of the JoinSet made at {location} have ended, and nobody \
                 has joined them; {by} added the last one: let it call `join_next`, too"
            );
        }
        let receiver = self.anybody_or(info.receiver);
        format!(
            "{count} values were in the unbounded channel made at {location}, more than \
             ever; {by} sends faster than {receiver} receives: give the channel a bound"
        )
    }

    fn anybody_or(&self, task: Option<u64>) -> String {
        task.map_or("anybody".to_owned(), |task| self.label(task))
    }

    /// Channels without a bound in which ever more values wait.
    pub(super) fn grows(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (resource, changes) in self.values_over_time() {
            let Some(info) = self.resources.get(&resource) else { continue };
            // One with a bound cannot grow, and one that piles up is told of already.
            let is_pile = info.pile.is_some_and(|pile| pile.count >= PILE_MIN);
            if info.numbers.size > 0 || is_pile {
                continue;
            }
            let Some((from, took, most)) = growth(&changes) else { continue };

            // A click leads to the receiver: it is the one that does not keep up.
            let (by, to) = (info.provider, info.receiver);
            let text = format!(
                "grows: {most} values wait in the unbounded channel made at {} after \
                 {}, more than ever; {} sends faster than {} receives: give the channel \
                 a bound",
                info.location,
                time(took),
                self.anybody_or(by),
                self.anybody_or(to)
            );
            findings.push(Finding { cost: took, at: from, task: to.or(by), text });
        }
        findings
    }

    /// For each channel when values went in and came out, and how many were in it then.
    fn values_over_time(&self) -> BTreeMap<u64, Changes> {
        let mut all: BTreeMap<u64, Changes> = BTreeMap::new();
        for value in &self.values {
            let changes = all.entry(value.resource).or_default();
            changes.push((value.sent, 1));
            changes.extend(value.received.map(|(at, _)| (at, -1)));
        }

        // From the changes to how many values were there.
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
    ///
    /// To wait for room is what a bound is for: it slows the sender down. It stands out if one slow
    /// receiver holds all up.
    pub(super) fn full_channels(&self) -> Vec<Finding> {
        let mut by_resource: BTreeMap<u64, Vec<ResourceWait>> = BTreeMap::new();
        for wait in self.resource_waits(|what| what == What::Room) {
            by_resource.entry(wait.resource).or_default().push(wait);
        }

        let mut findings = Vec::new();
        for (resource, waits) in by_resource {
            let Some(info) = self.resources.get(&resource) else { continue };
            let Crush { from, to, full, total, count } = crush(waits);
            let took = to - from;

            // Nobody could send for two thirds of the time, and that is not little. A receiver that
            // is quick is only the slower one of two.
            let received = self.received(info.location, from, to);
            let each = took / received.max(1);
            if full < FULL_MIN || full < took / 3 * 2 || each < SLOW_RECEIVER {
                continue;
            }

            // What makes room is that somebody receives.
            let receiver = info.provider;
            let who = match receiver {
                Some(task) => self.label(task),
                None if received > 0 => "a thread".to_owned(),
                None => "nobody".to_owned(),
            };
            let text = format!(
                "full: for {} of {} tasks waited for room in the channel made at {} ({} \
                 values fit), {count} times and for {} in all; {who} receives, {} for \
                 each value",
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

    /// How many values came out of the channel made at a line between two times. (What waits for
    /// room and what waits for a value are two resources, of the same line.)
    fn received(&self, location: &Location<'_>, from: u64, to: u64) -> u64 {
        let is_there = |value: &&Value| {
            let info = self.resources.get(&value.resource);
            info.is_some_and(|info| info.location == location)
                && value.received.is_some_and(|(at, _)| (from..=to).contains(&at))
        };
        self.values.iter().filter(is_there).count() as u64
    }

    /// Values of `broadcast` channels that a receiver has lost.
    pub(super) fn lost_values(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for info in self.resources.values() {
            let Some(Lag { since, count, times, by }) = info.lag else { continue };
            // That was before the time which the timeline is about.
            if since < self.begin {
                continue;
            }

            let label = self.who(by);
            let text = format!(
                "lost: {label} has lost {count} values of the broadcast channel made at \
                 {}, in {times} gaps: it receives more slowly than they are sent, and \
                 the channel keeps {} of them",
                info.location, info.numbers.size
            );
            let cost = self.end.saturating_sub(since);
            let task = Some(by).filter(|task| *task > 0);
            findings.push(Finding { cost, at: since, task, text });
        }
        findings
    }
}

/// From when on a channel has grown, for how long, and how many values are in it, if it has more of
/// them after each part of the time.
fn growth(changes: &Changes) -> Option<(u64, u64, i64)> {
    let (first, last) = (changes.first()?, changes.last()?);
    let took = last.0 - first.0;

    // How many were there after each part of the time.
    let mut parts = [0; PARTS];
    for (part, inside) in parts.iter_mut().enumerate() {
        let at = first.0 + took / PARTS as u64 * (part as u64 + 1);
        let until = changes.partition_point(|(when, _)| *when <= at);
        *inside = changes[..until].last().map_or(0, |(_, inside)| *inside);
    }

    // Evenly enough: each part brings at least a third of its share.
    let most = parts[PARTS - 1];
    let share = most / (3 * PARTS as i64);
    let grows = parts.windows(2).all(|pair| pair[1] >= pair[0] + share);
    (took >= GROWS_MIN && most >= GROWN_MIN && grows).then_some((first.0, took, most))
}

/// Puts the waits for room in one channel together. There is at least one.
fn crush(mut waits: Vec<ResourceWait>) -> Crush {
    waits.sort_by_key(|wait| wait.from);
    let from = waits[0].from;
    let mut crush = Crush { from, to: from, full: 0, total: 0, count: waits.len() };
    for wait in &waits {
        let end = wait.from + wait.time();
        // The part of it during which none of those before has waited.
        crush.full += end.saturating_sub(crush.to.max(wait.from));
        crush.to = crush.to.max(end);
        crush.total += wait.time();
    }
    crush
}
