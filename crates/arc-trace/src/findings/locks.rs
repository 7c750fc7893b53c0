//! Locks that tasks waited for, who had them meanwhile, and across which await.

use super::resource_waits::ResourceWait;
use super::{Finding, LATE, LONG_WAIT};
use crate::accuse::{Asker, handed_over_text};
use crate::resource::{Description, Numbers, ResourceInfo, What};
use crate::timeline::words::time;
use crate::timeline::{Hold, Poll, Timeline, Wait};
use std::collections::BTreeMap;

/// How many holds of a lock are looked at for the one that a task waited for.
const HOLDS_MAX: usize = 256;

/// All waits for one lock.
struct Contention {
    worst: ResourceWait,
    /// Who had the lock meanwhile.
    hold: Hold,
    count: usize,
    total: u64,
}

/// A future that stands first in line for a lock, and that its task does not poll.
#[derive(Clone, Copy)]
struct First {
    task: u64,
    since: u64,
    line: u64,
}

impl Timeline {
    /// Locks that tasks waited for, and who had them meanwhile, across which await.
    ///
    /// A lock that nobody had for long is not told of, although many may have stood in line for it.
    /// Each of them is given the lock when it is woken, and so has it while it waits for its turn.
    pub(super) fn waits_for_resources(&self) -> Vec<Finding> {
        let mut by_resource: BTreeMap<u64, Contention> = BTreeMap::new();
        let is_lock = |what| matches!(what, What::Mutex | What::RwLock | What::Semaphore);
        for wait in self.resource_waits(is_lock) {
            // One hold has to explain at least half of the wait: else there is no culprit.
            let Some((hold, overlap)) = self.hold_during(&wait) else { continue };
            if overlap < LATE || overlap < wait.time() / 2 {
                continue;
            }

            // One sentence for each lock: of the wait that was the longest.
            let new = Contention { worst: wait, hold, count: 0, total: 0 };
            let contention = by_resource.entry(wait.resource).or_insert(new);
            contention.count += 1;
            contention.total += wait.time();
            if wait.time() > contention.worst.time() {
                contention.worst = wait;
                contention.hold = hold;
            }
        }

        let mut findings = Vec::new();
        for Contention { worst, hold, count, total } in by_resource.into_values() {
            let mut text = self.lock_text(&worst, &hold);
            if count > 1 {
                text += &format!("; {count} such waits for it took {}", time(total));
            }
            findings.push(Finding { cost: total, at: worst.from, task: Some(worst.task), text });
        }
        findings
    }

    /// Who had a lock for the most of a wait, and for how long of that.
    fn hold_during(&self, wait: &ResourceWait) -> Option<(Hold, u64)> {
        if wait.time() < LATE {
            return None;
        }

        // Only the part of a hold that lies inside of the wait has held the task up.
        let overlap = |hold: &Hold| {
            let end = hold.end.unwrap_or(self.end).min(wait.to);
            (*hold, end.saturating_sub(hold.begin.max(wait.from)))
        };
        // They are in the order of their begins: those before the wait stand last.
        let holds = self.holds_of(wait.resource).filter(|hold| hold.begin < wait.to);
        holds.rev().take(HOLDS_MAX).map(overlap).max_by_key(|(_, overlap)| *overlap)
    }

    fn lock_text(&self, wait: &ResourceWait, hold: &Hold) -> String {
        let info = &self.resources[&wait.resource];
        let label = self.label(wait.task);
        let waited = time(wait.time());
        let at = self.line(wait.resource, wait.line);
        let at = at.map_or(String::new(), |line| format!(" at {line}"));
        let what = self.bare_text(info);

        // Permits are made to be kept for a while: that all are out is a limit that works. A single
        // one is a lock, unless its owner has moved it, so that nobody is known to keep it.
        let size = info.numbers.size;
        match info.what {
            What::Semaphore if size > 1 || self.may_have_moved(hold) => {
                format!("limit: {label} waited {waited}{at} for {what}: all {size} were out")
            }
            _ => {
                let hold = self.hold_text(hold);
                format!("lock: {label} waited {waited}{at} for {what}{hold}")
            }
        }
    }

    /// What a lock is and which line made it, without who has it: that is told of otherwise.
    fn bare_text(&self, info: &ResourceInfo) -> String {
        let description = Description {
            what: info.what,
            location: info.location,
            permits: 0,
            holders: &[],
            provider: None,
            numbers: &Numbers::default(),
        };
        description.text(&|_| String::new())
    }

    /// Whether a permit may be where its task has moved it. One that has ended is known to have.
    fn may_have_moved(&self, hold: &Hold) -> bool {
        if !hold.may_move {
            return false;
        }
        // Of a task that has ended before its guard came back, `hold_text` says so.
        let end = hold.end.unwrap_or(self.end);
        let ended = self.tasks.get(&hold.task).and_then(|task| task.ended);
        ended.is_none_or(|ended| ended >= end)
    }

    /// The end of a sentence: who had a lock, and what that task did meanwhile.
    fn hold_text(&self, hold: &Hold) -> String {
        let end = hold.end.unwrap_or(self.end);
        let mut text = self.holder_text(hold, time(end.saturating_sub(hold.begin)));
        let Some(task) = self.tasks.get(&hold.task) else { return text };

        // A guard may be sent to another task, and so outlive the one that has got it.
        text += &if task.ended.is_some_and(|ended| ended < end) {
            ", and it has ended meanwhile: somebody else keeps that for it".to_owned()
        } else if hold.may_move {
            ": it has kept that, or has moved it to another task".to_owned()
        } else {
            // The guard is in the future of this task, so what that does is why the lock was kept.
            match self.longest_gap(hold) {
                Some((gap, poll)) => {
                    let at = poll.end.unwrap_or(self.end);
                    let waits = self.text_of_waits(&poll.waits, at);
                    format!(", across an await: it waited {} of that {waits}", time(gap))
                }
                None => ", in a single poll".to_owned(),
            }
        };
        text
    }

    /// Who had a lock, and for how long. Of a guard that can be moved it is only known who got it.
    fn holder_text(&self, hold: &Hold, took: String) -> String {
        let who = self.who(hold.task);
        let line = self.line(hold.resource, hold.line);
        if !hold.may_move {
            let since = line.map_or(String::new(), |line| format!(" since {line}"));
            return format!(", which {who} had for {took}{since}");
        }

        let at = line.map_or(String::new(), |line| format!(" at {line}"));
        let back = match hold.end {
            Some(_) => "was given back after",
            None => "has not been given back for",
        };
        format!(", which {who} had got{at}, and which {back} {took}")
    }

    /// The longest time between two polls of a task while it had a lock, and the poll before that.
    fn longest_gap(&self, hold: &Hold) -> Option<(u64, &Poll)> {
        let task = self.tasks.get(&hold.task)?;
        let end = hold.end.unwrap_or(self.end);
        let mut longest: Option<(u64, &Poll)> = None;
        for (index, &poll) in task.polls.iter().enumerate() {
            let poll = &self.polls[poll];
            // A poll that ends while the task has the lock: after it comes an await.
            let is_inside = |from: &u64| *from > hold.begin && *from < end;
            let Some(from) = poll.end.filter(is_inside) else { continue };
            let next = task.polls.get(index + 1).map(|&next| self.polls[next].begin);
            let gap = next.unwrap_or(self.end).min(end).saturating_sub(from);
            if longest.is_none_or(|(most, _)| gap > most) {
                longest = Some((gap, poll));
            }
        }
        longest
    }

    /// Locks that were given to a future which its task does not poll.
    ///
    /// A fair lock is handed to whoever stands first in line. If that future is kept and not
    /// polled, as a `select!` in a loop does that borrows it, then nobody has the lock, and all
    /// others wait for it.
    pub(super) fn handed_over(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (&id, task) in &self.tasks {
            if task.ended.is_some() || task.dropped.is_some() {
                continue;
            }
            let Some((asked, since)) = self.last_waits(id) else { continue };

            for wait in asked {
                let Wait::Resource { resource, line, .. } = wait else { continue };
                let Some(first) = self.handed_to(resource) else { continue };
                // Who asked before that future stood in line before it.
                if first.since >= since {
                    continue;
                }

                // Both lines are named: the mistake is at the one that stands first.
                let info = &self.resources[&resource];
                let text = handed_over_text(
                    info.what,
                    info.location,
                    &Asker { label: &self.label(id), line: self.line(resource, line) },
                    &Asker {
                        label: &self.label(first.task),
                        line: self.line(resource, first.line),
                    },
                );
                let cost = self.end.saturating_sub(since);
                findings.push(Finding { cost, at: since, task: Some(id), text });
            }
        }
        findings
    }

    /// The future to which a lock was given, if nobody has taken it since.
    fn handed_to(&self, resource: u64) -> Option<First> {
        let info = self.resources.get(&resource)?;
        let is_held = self.holds_at(resource, self.end).next().is_some();
        if !info.what.is_lock() || is_held {
            return None;
        }

        // Who has got it a moment ago may be about to be polled.
        let freed = self.holds_of(resource).filter_map(|hold| hold.end).max()?;
        if self.end.saturating_sub(freed) < LONG_WAIT {
            return None;
        }
        self.first_in_line(resource)
    }

    /// The first wait for a resource that its task's last poll has not asked for, and whose future
    /// is still there.
    fn first_in_line(&self, resource: u64) -> Option<First> {
        let mut first: Option<First> = None;
        for (&task, earlier) in &self.earlier {
            for &(since, wait) in earlier.kept.iter().chain(&earlier.given_up) {
                let Wait::Resource { resource: of, line, .. } = wait else { continue };
                // A fair lock has one line for all: who asked first is given it first.
                if of == resource && first.is_none_or(|first| since < first.since) {
                    first = Some(First { task, since, line });
                }
            }
        }
        first
    }
}
