//! What each task waits for when the timeline ends.

use super::{Poll, Task, Timeline, Wait};

impl Timeline {
    /// What a task waits for that has not ended and is in no queue: the end of a sentence, such as
    /// "for a timer that is due 1.00 s after the end".
    pub fn waits(&self, task: u64) -> Option<String> {
        let (waits, _) = self.last_waits(task)?;
        Some(self.text_of_waits(&waits, self.end))
    }

    /// What a task waits for that has not ended and is in no queue, and since when.
    pub(crate) fn last_waits(&self, id: u64) -> Option<(Vec<Wait>, u64)> {
        if let Some((last, end)) = self.waits_after(self.tasks.get(&id)?) {
            return Some((self.open_waits(&last.waits, last.end), end));
        }

        // Its last poll was left out of the record, and what it asked for was kept elsewhere.
        let (since, waits) = self.kept.get(&id)?;
        Some((self.open_waits(waits, Some(*since)), *since))
    }

    /// The last poll of a task that has not ended and is in no queue, and when that poll ended.
    /// None also if a later one may be among what was left out.
    fn waits_after(&self, task: &Task) -> Option<(&Poll, u64)> {
        let last = &self.polls[*task.polls.last()?];
        let end = last.end?;
        let is_over = task.ended.is_some() || last.is_last || task.queued.is_some();
        (!is_over && end >= self.complete_since).then_some((last, end))
    }

    /// What was asked for at a time, without what has happened since.
    fn open_waits(&self, waits: &[Wait], since: Option<u64>) -> Vec<Wait> {
        let is_open = |wait: &&Wait| match wait {
            Wait::Task { task } => self.tasks.get(task).is_some_and(|task| task.ended.is_none()),
            // A poll may give up a timer that has expired in it: nobody waits for that.
            Wait::Time { deadline } => since.is_none_or(|since| *deadline > since),
            Wait::Io { .. } | Wait::Turn | Wait::Resource { .. } => true,
        };
        waits.iter().filter(is_open).copied().collect()
    }
}
