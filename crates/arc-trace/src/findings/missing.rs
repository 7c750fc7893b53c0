//! What does not come: a notification that came before anybody waited, and an answer that nobody
//! gives.
//!
//! Nobody can know that something never comes. So both are said with "perhaps", and only of a wait
//! that is long and all that its task waits for.

use super::resource_waits::ResourceWait;
use super::{Finding, LONG_WAIT};
use crate::resource::What;
use crate::timeline::words::time;
use crate::timeline::{Timeline, Wait};
use std::collections::BTreeMap;
use std::panic::Location;

/// An answer is overdue if so many others have come, and none took more than this part of its time.
const ANSWERS_MIN: usize = 3;
const ANSWER_SHARE: u64 = 20;

impl Timeline {
    /// Tasks that wait for a `Notify` whose notifications have reached nobody so far.
    pub(super) fn missed_notifications(&self) -> Vec<Finding> {
        // Of the waits for one `Notify` the longest.
        let mut longest: BTreeMap<u64, ResourceWait> = BTreeMap::new();
        for wait in self.resource_waits(|what| what == What::Notify) {
            let before = longest.get(&wait.resource).map_or(0, ResourceWait::time);
            if self.is_overdue(&wait) && wait.time() > before {
                longest.insert(wait.resource, wait);
            }
        }
        longest.values().filter_map(|wait| self.missed_notification(wait)).collect()
    }

    fn missed_notification(&self, wait: &ResourceWait) -> Option<Finding> {
        // Once one has come, the program knows how to wait for them.
        let info = &self.resources[&wait.resource];
        let provider = info.provider.filter(|_| !info.has_come)?;
        if self.may_act_again(provider) {
            return None;
        }

        let by = self.label(provider);
        let (label, took) = (self.label(wait.task), time(wait.time()));
        let location = info.location;
        let text = format!(
            "perhaps missed: {label} has waited {took} for the Notify made at \
             {location}, and {by} has notified it before anybody waited: \
             `notify_waiters` keeps nothing for later. It is missed unless somebody \
             notifies again"
        );
        Some(Finding { cost: wait.time(), at: wait.from, task: Some(wait.task), text })
    }

    /// Whether a task runs, or waits for a time or for the kernel, after which it may do again what
    /// it has done before. One that the end of its runtime has dropped would have.
    fn may_act_again(&self, id: u64) -> bool {
        let Some(task) = self.tasks.get(&id) else { return false };
        // It was polled a moment ago: who is notified may be about to be polled.
        let last = task.polls.last().map(|&last| &self.polls[last]);
        let last = last.map_or(0, |last| last.end.unwrap_or(self.end));
        if self.end.saturating_sub(last) < LONG_WAIT {
            return true;
        }
        if task.ended.is_some() {
            return false;
        }

        // It is in a queue or in a poll, or waits for nothing that arc knows of: for anything. What
        // a task that was dropped waited for by then is known as well.
        let Some((waits, _)) = self.last_waits(id) else { return true };
        let is_outside = |wait: &Wait| matches!(wait, Wait::Io { .. } | Wait::Time { .. });
        waits.is_empty() || waits.iter().any(is_outside)
    }

    /// Whether a wait is long, goes on, and is all that its task waits for.
    fn is_overdue(&self, wait: &ResourceWait) -> bool {
        // Whoever waits for something else as well, as for a timeout, is not lost.
        let is_all = |(waits, _): (Vec<Wait>, u64)| waits.len() == 1;
        let is_alone = || self.last_waits(wait.task).is_some_and(is_all);
        wait.goes_on && wait.time() >= LONG_WAIT && is_alone()
    }

    /// Values of oneshot channels that do not come, where others from the same line came soon.
    pub(super) fn unanswered(&self) -> Vec<Finding> {
        let mut by_line: BTreeMap<&Location<'_>, Vec<ResourceWait>> = BTreeMap::new();
        for wait in self.resource_waits(|what| what == What::Oneshot) {
            // Each question has a channel of its own, so it is the line that they share.
            let location = self.resources[&wait.resource].location;
            by_line.entry(location).or_default().push(wait);
        }
        let finding = |(location, waits): (&Location<'_>, Vec<ResourceWait>)| {
            self.unanswered_from(location, &waits)
        };
        by_line.into_iter().filter_map(finding).collect()
    }

    /// The longest wait for an answer from a line, if the others from there say that it is overdue.
    fn unanswered_from(&self, location: &Location<'_>, waits: &[ResourceWait]) -> Option<Finding> {
        let came = waits.iter().filter(|wait| !wait.goes_on).map(ResourceWait::time);
        let came: Vec<u64> = came.collect();
        // Too few of them do not tell what is usual there.
        if came.len() < ANSWERS_MIN {
            return None;
        }

        // A server answers within its usual time, and within many times that when it is busy.
        let longest = came.iter().copied().max().unwrap_or(0);
        let is_late = |wait: &&ResourceWait| {
            let is_slow = wait.time() / ANSWER_SHARE > longest;
            self.is_overdue(wait) && is_slow
        };
        let wait = waits.iter().filter(is_late).max_by_key(|wait| wait.time())?;

        let (label, took, longest) = (self.label(wait.task), time(wait.time()), time(longest));
        let count = came.len();
        let text = format!(
            "perhaps unanswered: {label} has waited {took} for the value of the oneshot \
             channel made at {location}; {count} others from there came within \
             {longest}. It takes that long, or its sender is kept somewhere, and nobody \
             sends"
        );
        Some(Finding { cost: wait.time(), at: wait.from, task: Some(wait.task), text })
    }
}
