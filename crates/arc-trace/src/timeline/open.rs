//! While the records are read: what each task has asked for and not got.
//!
//! A poll tells what it asks for. That stays open until the future that asked is ready or dropped.
//! It need not be asked for again: a set of futures polls only those that were woken. (`waits.rs`
//! keeps the same of a program that goes on, and by the same rules.)

use super::{Earlier, Timeline, Wait};
use std::collections::HashMap;

/// So many waits of one task are known.
const WAITS_MAX: usize = 1_024;

/// A timer that has expired so long before the end has woken its task, which has not asked again.
const EXPIRED: u64 = 1_000_000_000;

/// Something that a task has asked for and not got.
pub(super) struct Open {
    /// The place in memory of the future. Zero: a `poll_` function has asked.
    pub(super) waiter: u64,
    pub(super) wait: Wait,
    at: u64,
    since: u64,
    /// The poll that has asked last.
    poll: usize,
    /// How many waits were told of by then.
    told: u64,
    is_given_up: bool,
}

/// The poll that a thread is in.
#[derive(Clone, Copy)]
pub(super) struct Asking {
    pub(super) lane: usize,
    pub(super) task: u64,
    /// An index into [`Timeline::polls`].
    pub(super) poll: usize,
}

#[derive(Default)]
struct OfTask {
    open: Vec<Open>,
    /// There were more.
    is_crowded: bool,
}

/// What all tasks have asked for.
#[derive(Default)]
pub(super) struct OpenWaits {
    tasks: HashMap<u64, OfTask>,
    /// How many waits each thread has told of.
    told: HashMap<usize, u64>,
    /// When the kernel has reported each source last, to be read and to be written.
    ready: HashMap<i64, [u64; 2]>,
}

impl OpenWaits {
    /// A poll asks for something, by the future at a place in memory.
    pub(super) fn ask(&mut self, by: Asking, at: u64, waiter: u64, wait: Wait) {
        let Asking { lane, task, poll } = by;
        let told = self.told.entry(lane).or_default();
        *told += 1;
        let told = *told;

        let of_task = self.tasks.entry(task).or_default();
        // Its next turn has come.
        of_task.open.retain(|wait| wait.poll == poll || !matches!(wait.wait, Wait::Turn));

        let is_it = |open: &&mut Open| open.waiter == waiter && (waiter > 0 || open.wait == wait);
        if let Some(open) = of_task.open.iter_mut().find(is_it) {
            // Another future may have come to the place of one that was moved away. How much time
            // is left is not told to the nanosecond, so that another deadline says nothing.
            if open.wait != wait && !matches!(wait, Wait::Time { .. }) {
                open.since = at;
            }
            open.wait = wait;
            open.at = at;
            open.poll = poll;
            open.told = told;
            open.is_given_up = false;
        } else if of_task.open.len() < WAITS_MAX {
            let since = at;
            of_task.open.push(Open { waiter, wait, at, since, poll, told, is_given_up: false });
        } else {
            // Nobody is accused because of such a task: anything may wake it.
            of_task.is_crowded = true;
        }
    }

    /// Some waits of a task are over.
    pub(super) fn end(&mut self, task: u64, is_over: impl Fn(&Open) -> bool) {
        if let Some(of_task) = self.tasks.get_mut(&task) {
            of_task.open.retain(|wait| !is_over(wait));
            of_task.is_crowded &= !of_task.open.is_empty();
        }
    }

    /// The last waits that a thread has told of are given up: so many, or, if that is zero, those
    /// for the ends of tasks.
    pub(super) fn give_up(&mut self, by: Asking, at: u64, waits: u64) {
        let told = self.told.get(&by.lane).copied().unwrap_or(0);
        let Some(of_task) = self.tasks.get_mut(&by.task) else { return };
        let is_it = |wait: &&mut Open| match waits {
            0 => matches!(wait.wait, Wait::Task { .. }),
            _ => wait.poll == by.poll && wait.told + waits > told,
        };
        // It stays: the future may still be there, and be polled again.
        for wait in of_task.open.iter_mut().filter(is_it) {
            wait.is_given_up = true;
            wait.at = at;
        }
    }

    /// What a poll has asked for and not given up, each thing once.
    pub(super) fn asked_by(&self, task: u64, poll: usize) -> Vec<Wait> {
        let mut waits = Vec::new();
        let open = self.tasks.get(&task).into_iter().flat_map(|of_task| &of_task.open);
        for wait in open.filter(|wait| wait.poll == poll && !wait.is_given_up) {
            // Two futures of one poll may wait for the same.
            if !waits.contains(&wait.wait) {
                waits.push(wait.wait);
            }
        }
        waits
    }

    /// The kernel has reported a source.
    pub(super) fn ready(&mut self, source: i64, directions: [bool; 2], at: u64) {
        let ready = self.ready.entry(source).or_default();
        for (direction, is_ready) in directions.into_iter().enumerate() {
            if is_ready {
                ready[direction] = at;
            }
        }
    }

    /// A task has ended, or what it has asked for is known better from elsewhere.
    pub(super) fn forget(&mut self, task: u64) {
        self.tasks.remove(&task);
    }

    /// For each task what is left of what it has asked for before its last poll.
    pub(super) fn earlier(&self, timeline: &Timeline) -> Vec<(u64, Earlier)> {
        let earlier = |(&task, of_task)| (task, self.earlier_of(timeline, task, of_task));
        self.tasks.iter().map(earlier).collect()
    }

    fn earlier_of(&self, timeline: &Timeline, task: u64, of_task: &OfTask) -> Earlier {
        let mut earlier = Earlier { is_crowded: of_task.is_crowded, ..Earlier::default() };
        let last = timeline.tasks.get(&task).and_then(|task| task.polls.last());
        for wait in &of_task.open {
            // What the last poll has asked for is its own: see `asked_by`.
            let is_asked = Some(&wait.poll) == last && !wait.is_given_up;
            if is_asked || self.is_over(timeline, wait) {
                continue;
            }
            let list = match wait.is_given_up {
                true => &mut earlier.given_up,
                false => &mut earlier.kept,
            };
            list.push((wait.since, wait.wait));
        }
        earlier
    }

    /// Whether a wait that the last poll has not asked for is over, though nothing told so.
    ///
    /// A future tells when it is dropped, and a `poll_` function tells nothing. Of what it has
    /// asked for, only what ends the wait is known.
    fn is_over(&self, timeline: &Timeline, wait: &Open) -> bool {
        let by_function = wait.waiter == 0;
        match wait.wait {
            // Its next turn has come, or this would be its last poll.
            Wait::Turn => true,
            Wait::Time { deadline } => deadline.saturating_add(EXPIRED) < timeline.end,
            Wait::Task { task } => {
                // One that is not known has ended before the first event.
                timeline.tasks.get(&task).is_none_or(|task| task.ended.is_some())
            }
            Wait::Io { source, write } => {
                let ready = self.ready.get(&source).map_or(0, |at| at[usize::from(write)]);
                by_function && ready > wait.at
            }
            Wait::Resource { resource, .. } => {
                let info = timeline.resources.get(&resource);
                by_function && info.is_none_or(|info| info.is_gone)
            }
        }
    }
}
