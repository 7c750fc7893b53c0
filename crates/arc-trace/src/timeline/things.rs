//! While the records are read: who has which lock or permit, and which value is in which channel.

use super::{Hold, Seen, Timeline, Value};
use crate::resource::What;
use std::collections::{HashMap, VecDeque};

/// So many values may seem to come out of a channel before they were sent. If there are more, the
/// records of those that were sent have been left out.
const EARLY_MAX: u64 = 64;

/// What is known so far of each resource.
#[derive(Default)]
pub(super) struct Things {
    /// What each task has of each resource, as indices into [`Timeline::holds`].
    held: HashMap<(u64, u64), Vec<usize>>,
    channels: HashMap<u64, Channel>,
}

/// The values in a channel.
#[derive(Default)]
struct Channel {
    /// Indices into `Timeline::values`.
    sent: VecDeque<usize>,
    /// When values were received that nobody has sent so far, and by which tasks.
    received: VecDeque<(u64, u64)>,
}

impl Things {
    /// A task has got a lock or a permit.
    pub(super) fn hold(&mut self, timeline: &mut Timeline, hold: Hold) {
        let index = timeline.holds.len();
        timeline.holds.push(hold);
        timeline.holds_of.entry(hold.resource).or_default().push(index);
        self.held.entry((hold.resource, hold.task)).or_default().push(index);
    }

    /// What a task had got was given back. Of several, it is taken for the last one.
    pub(super) fn release(&mut self, timeline: &mut Timeline, at: u64, resource: u64, task: u64) {
        let held = self.held.get_mut(&(resource, task)).and_then(Vec::pop);
        if let Some(hold) = held {
            timeline.holds[hold].end = Some(at);
        }
    }

    /// A value was sent. Values come out in the order in which they were sent.
    pub(super) fn send(&mut self, timeline: &mut Timeline, at: u64, resource: u64) {
        if is_watch(timeline, resource) {
            *timeline.sent.entry(resource).or_default() += 1;
            return;
        }

        // Threads tell of values by the times of their last events, so that one may seem to have
        // come out before it was sent.
        let index = timeline.values.len();
        let channel = self.channels.entry(resource).or_default();
        let received = channel.received.pop_front();
        if received.is_none() {
            channel.sent.push_back(index);
        }
        timeline.values.push(Value { resource, sent: at, received });
    }

    /// A task has taken so many values out of a channel.
    pub(super) fn receive(
        &mut self,
        timeline: &mut Timeline,
        at: u64,
        by: u64,
        resource: u64,
        count: u64,
    ) {
        if is_watch(timeline, resource) {
            let new = Seen { count: 0, first: at, last: at };
            let seen = timeline.seen.entry((resource, by)).or_insert(new);
            seen.count += 1;
            seen.last = at;
            return;
        }

        let channel = self.channels.entry(resource).or_default();
        let known = channel.sent.len().min(count as usize);
        for value in channel.sent.drain(..known) {
            timeline.values[value].received = Some((at, by));
        }

        // Of the others nothing is known, or nothing yet.
        let early = (count - known as u64).min(EARLY_MAX);
        channel.received.extend((0..early).map(|_| (at, by)));
    }
}

/// Values of such a channel are no queue: each receiver sees the last one.
fn is_watch(timeline: &Timeline, resource: u64) -> bool {
    timeline.resources.get(&resource).is_some_and(|info| info.what == What::Watch)
}
