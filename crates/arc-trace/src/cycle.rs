//! Tasks that wait for each other: a deadlock.
//!
//! A task may wait for several things at once, as in `select!`, and goes on with the first that
//! comes. So it is stuck only if each of them can only come from a task that is stuck itself. To
//! find these tasks, take all that wait, and leave out, again and again, whoever waits for
//! something that may come. Those that are left wait for each other, or behind those that do.
//!
//! That is proved only if it is known who has to act. Who has a guard that can be moved to another
//! task, or the receiver of a channel, is known only if nobody is left who could have it instead:
//! if all that has not ended waits for something that only the program itself can give.

use std::collections::{BTreeMap, BTreeSet};

/// Who has to do something so that one wait ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blockers {
    /// The tasks. None: somebody else may end the wait.
    pub(crate) tasks: Vec<u64>,
    /// One of them is enough to end the wait. Otherwise each of them has to do something.
    pub(crate) one_is_enough: bool,
}

impl Blockers {
    pub(crate) fn one(task: u64) -> Self {
        Self { tasks: vec![task], one_is_enough: true }
    }

    /// A need that only these can end, so far as the certainty goes.
    pub(crate) fn with(self, certainty: Certainty) -> Need {
        Need { by: self, certainty }
    }

    /// A task among these because of which a task's wait does not end: another one, if there is.
    fn culprit(&self, of: u64, stuck: &BTreeSet<u64>) -> Option<u64> {
        // One that is not stuck ends the wait, if one is enough.
        if self.one_is_enough && !self.tasks.iter().all(|task| stuck.contains(task)) {
            return None;
        }

        // A task that waits for itself and for another one reads better as two that wait for each
        // other.
        let mut culprits = self.tasks.iter().filter(|task| stuck.contains(task)).copied();
        let first = culprits.next()?;
        if first == of {
            return Some(culprits.next().unwrap_or(first));
        }
        Some(first)
    }
}

/// What one wait needs so that it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Who is known to be able to end it, or is taken for that.
    pub(crate) by: Blockers,
    pub(crate) certainty: Certainty,
}

/// Whether only the tasks that are named can end a wait, from the least certain to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Certainty {
    /// The kernel or the clock ends it.
    #[default]
    Outside,
    /// Anybody may, in this program.
    Anybody,
    /// They have had what can end it, and may have moved it.
    WereLast,
    /// The same, but nothing suggests that they have.
    Perhaps,
    /// Nobody else can.
    Known,
}

/// What a task waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    /// What its last poll has asked for.
    pub(crate) asked: Vec<Need>,
    /// What earlier polls have asked for, by futures that are still there.
    pub(crate) kept: Vec<Need>,
    /// What it has given up, by futures that are still there.
    pub(crate) given_up: Vec<Need>,
    /// There is more.
    pub(crate) is_crowded: bool,
}

/// A cycle: for each task its id, and which of its waits leads to the next task. The waits are
/// numbered from those that were asked for to those that were given up.
pub(crate) type Cycle = Vec<(u64, usize)>;

/// What is known of tasks that wait.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// These cannot go on.
    pub(crate) deadlocks: Vec<Cycle>,
    /// Neither can these, under assumptions that cannot be looked at.
    pub(crate) perhaps: Vec<Cycle>,
    /// Nothing is left that could wake any of them.
    pub(crate) is_quiet: bool,
}

/// Judges tasks that wait. `is_all` says that nothing else goes on in the program.
pub(crate) fn judge(tasks: &BTreeMap<u64, Needs>, is_all: bool) -> Judgement {
    let is_quiet = is_all && !tasks.is_empty() && tasks.values().all(Needs::are_inside);

    // While others go on, a guard may be anywhere, and only what is known is proof. In a quiet
    // program these tasks are all there is: whoever can end a wait is one of them.
    let least = if is_quiet { Certainty::Anybody } else { Certainty::Known };
    let all = [List::Asked, List::Kept, List::GivenUp];
    let deadlocks = find(&blockers(tasks, least, &all));

    // What a task has given up may still wake it, if its future is kept. Most are not polled any
    // more, so a cycle without them is worth a look. In a quiet program there is nothing to assume.
    let mut perhaps = Vec::new();
    if !is_quiet {
        perhaps = find(&blockers(tasks, Certainty::Perhaps, &[List::Asked, List::Kept]));
        perhaps.retain(|cycle| !deadlocks.contains(cycle));
    }
    Judgement { deadlocks, perhaps, is_quiet }
}

/// One of the lists of [`Needs`].
#[derive(Clone, Copy)]
enum List {
    Asked,
    Kept,
    GivenUp,
}

impl Needs {
    fn list(&self, list: List) -> &[Need] {
        match list {
            List::Asked => &self.asked,
            List::Kept => &self.kept,
            List::GivenUp => &self.given_up,
        }
    }

    /// Whether only the program itself can end these waits, so far as they are known.
    fn are_inside(&self) -> bool {
        let mut all = self.asked.iter().chain(&self.kept).chain(&self.given_up);
        let is_known = !self.is_crowded && !self.asked.is_empty();
        is_known && all.all(|need| need.certainty != Certainty::Outside)
    }
}

/// Who has to act for each wait of each task, if that is as certain as it has to be.
fn blockers(
    tasks: &BTreeMap<u64, Needs>,
    least: Certainty,
    lists: &[List],
) -> BTreeMap<u64, Vec<Blockers>> {
    let of_need = |need: &Need| match need.certainty >= least {
        true => need.by.clone(),
        // Somebody else may end the wait.
        false => Blockers::default(),
    };
    let of_task = |needs: &Needs| {
        // What it waits for is not known, or not all of it.
        if needs.asked.is_empty() || needs.is_crowded {
            return Vec::new();
        }
        lists.iter().flat_map(|&list| needs.list(list)).map(of_need).collect()
    };
    tasks.iter().map(|(task, needs)| (*task, of_task(needs))).collect()
}

/// The cycles among tasks that wait: for each task of a cycle its id, and which of its waits leads
/// to the next task. The first task of a cycle is the one with the least id. `waits` says what each
/// task waits for.
fn find(waits: &BTreeMap<u64, Vec<Blockers>>) -> Vec<Cycle> {
    let stuck = stuck(waits);
    let mut cycles = Vec::new();
    let mut seen = BTreeSet::new();
    for &first in &stuck {
        // Each of them leads to another one, so who follows them comes to a cycle, or to one that
        // was seen before and leads to a cycle that is known.
        let mut path: Vec<(u64, usize)> = Vec::new();
        let mut task = first;
        while seen.insert(task) {
            let culprits = waits[&task].iter().map(|wait| wait.culprit(task, &stuck));
            let next = culprits.enumerate().find_map(|(index, it)| Some((index, it?)));
            let Some((index, culprit)) = next else { break };
            path.push((task, index));
            task = culprit;
        }

        // What comes before the cycle only waits behind it.
        if let Some(begin) = path.iter().position(|(of, _)| *of == task) {
            let mut cycle = path.split_off(begin);
            let ids = cycle.iter().map(|(task, _)| *task).enumerate();
            let least = ids.min_by_key(|(_, task)| *task).map_or(0, |(index, _)| index);
            cycle.rotate_left(least);
            cycles.push(cycle);
        }
    }
    cycles
}

/// The tasks each of whose waits can only be ended by tasks that are stuck themselves.
fn stuck(waits: &BTreeMap<u64, Vec<Blockers>>) -> BTreeSet<u64> {
    let mut stuck: BTreeSet<u64> = waits.keys().copied().collect();
    loop {
        let is_stuck = |task: &u64| {
            let mut of_task = waits[task].iter();
            let is_known = !waits[task].is_empty();
            is_known && of_task.all(|wait| wait.culprit(*task, &stuck).is_some())
        };
        let left: BTreeSet<u64> = stuck.iter().copied().filter(is_stuck).collect();

        // Whoever was left out may have been all that another one was stuck behind.
        if left.len() == stuck.len() {
            return stuck;
        }
        stuck = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(waits: &[(u64, Vec<Blockers>)]) -> Vec<Vec<u64>> {
        let cycles = find(&waits.iter().cloned().collect());
        let tasks = |cycle: &Vec<(u64, usize)>| cycle.iter().map(|(task, _)| *task).collect();
        cycles.iter().map(tasks).collect()
    }

    fn nobody() -> Blockers {
        Blockers::default()
    }

    #[test]
    fn two_that_wait_for_each_other_and_one_behind_them() {
        let one = Blockers::one;
        let waits = [(1, vec![one(2)]), (2, vec![one(3)]), (3, vec![one(2)])];
        assert_eq!(tasks(&waits), [[2, 3]]);
    }

    #[test]
    fn one_that_waits_for_itself() {
        assert_eq!(tasks(&[(7, vec![Blockers::one(7)])]), [[7]]);
    }

    #[test]
    fn two_cycles() {
        let one = Blockers::one;
        let waits = [(1, vec![one(2)]), (2, vec![one(1)]), (3, vec![one(4)]), (4, vec![one(3)])];
        assert_eq!(tasks(&waits), [[1, 2], [3, 4]]);
    }

    #[test]
    fn whoever_also_waits_for_something_else_is_not_stuck() {
        let one = Blockers::one;
        assert!(tasks(&[(1, vec![one(2)]), (2, vec![one(1), nobody()])]).is_empty());
        // Nor is who waits for a task that is not in the list: it runs.
        assert!(tasks(&[(1, vec![one(2)]), (2, vec![one(5)])]).is_empty());
        assert!(tasks(&[(1, vec![])]).is_empty());
    }

    #[test]
    fn all_holders_of_a_permit_must_be_stuck_but_one_reader_is_enough() {
        let both = |one_is_enough| Blockers { tasks: vec![2, 9], one_is_enough };
        assert!(tasks(&[(1, vec![both(true)]), (2, vec![Blockers::one(1)])]).is_empty());
        assert_eq!(tasks(&[(1, vec![both(false)]), (2, vec![Blockers::one(1)])]), [[1, 2]]);
    }

    /// Each has one of two permits, and wants another one: both are named.
    #[test]
    fn two_that_have_a_part_each_wait_for_each_other() {
        let both = || Blockers { tasks: vec![1, 2], one_is_enough: true };
        assert_eq!(tasks(&[(1, vec![both()]), (2, vec![both()])]), [[1, 2]]);
    }
}
