//! All waits for locks, channels and the like, from the poll that asked to the wake-up.

use crate::resource::What;
use crate::timeline::{Timeline, Wait};
use std::collections::BTreeMap;

/// A wait for a resource.
#[derive(Clone, Copy)]
pub(super) struct ResourceWait {
    pub(super) task: u64,
    pub(super) resource: u64,
    /// The line that waits, as in [`Wait::Resource`].
    pub(super) line: u64,
    pub(super) from: u64,
    pub(super) to: u64,
    /// It has not ended.
    pub(super) goes_on: bool,
}

impl ResourceWait {
    pub(super) fn time(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

/// The waits of one task, while its polls are gone through.
struct Waits {
    task: u64,
    /// When each of them began, by the resource and the line.
    open: BTreeMap<(u64, u64), u64>,
    ended: Vec<ResourceWait>,
}

impl Waits {
    /// All waits end but for those that are asked for again.
    fn end_all_but(&mut self, again: &[Wait], to: u64, goes_on: bool) {
        let Self { task, open, ended } = self;
        open.retain(|&(resource, line), &mut from| {
            // A wait for the same thing at another line is another wait.
            let is_it = |wait: &Wait| match *wait {
                Wait::Resource { resource: of, line: at, .. } => of == resource && at == line,
                _ => false,
            };
            if again.iter().any(is_it) {
                return true;
            }
            ended.push(ResourceWait { task: *task, resource, line, from, to, goes_on });
            false
        });
    }
}

impl Timeline {
    /// The waits for resources of some kinds, from the poll that asked to the wake-up.
    pub(super) fn resource_waits(&self, is_wanted: impl Fn(What) -> bool) -> Vec<ResourceWait> {
        let is_wanted = |resource: u64| {
            let info = self.resources.get(&resource);
            info.is_some_and(|info| is_wanted(info.what))
        };
        let tasks = self.tasks.keys();
        tasks.flat_map(|&task| self.resource_waits_of(task, &is_wanted)).collect()
    }

    fn resource_waits_of(&self, id: u64, is_wanted: &dyn Fn(u64) -> bool) -> Vec<ResourceWait> {
        let task = &self.tasks[&id];
        let mut waits = Waits { task: id, open: BTreeMap::new(), ended: Vec::new() };
        for &index in &task.polls {
            let poll = &self.polls[index];

            // What this poll does not ask for again had come when the task was woken for it. After
            // that the task waited for its turn, which nobody who had the lock is to blame for.
            let woken = poll.queued.map_or(poll.begin, |queued| queued.at);
            waits.end_all_but(&poll.waits, woken, false);

            let Some(end) = poll.end else { continue };
            for wait in &poll.waits {
                if let Wait::Resource { resource, line, .. } = *wait
                    && is_wanted(resource)
                {
                    waits.open.entry((resource, line)).or_insert(end);
                }
            }
        }

        // Of a task that has ended or was woken it is not known which of its waits came to an end.
        let is_over = task.ended.is_some() || task.queued.is_some();
        let end = if is_over { 0 } else { task.dropped.unwrap_or(self.end) };
        waits.end_all_but(&[], end, !is_over);
        waits.ended
    }
}
