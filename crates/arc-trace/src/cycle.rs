//! Tasks that wait for each other: a deadlock.
//!
//! A task may wait for several things at once, as in `select!`, and goes on with the first that
//! comes. So it is stuck only if each of them can only come from a task that is stuck itself. To
//! find these tasks, take all that wait, and leave out, again and again, whoever waits for
//! something that may come. Those that are left wait for each other, or behind those that do.

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

    /// A task among these because of which a task's wait does not end: another one, if there is.
    fn culprit(&self, of: u64, stuck: &BTreeSet<u64>) -> Option<u64> {
        if self.one_is_enough && !self.tasks.iter().all(|task| stuck.contains(task)) {
            return None;
        }
        let mut culprits = self.tasks.iter().filter(|task| stuck.contains(task)).copied();
        let first = culprits.next()?;
        Some(if first == of { culprits.next().unwrap_or(first) } else { first })
    }
}

/// The cycles among tasks that wait: for each task of a cycle its id, and which of its waits leads
/// to the next task. The first task of a cycle is the one with the least id. `waits` says what each
/// task waits for.
pub(crate) fn find(waits: &BTreeMap<u64, Vec<Blockers>>) -> Vec<Vec<(u64, usize)>> {
    let mut stuck: BTreeSet<u64> = waits.keys().copied().collect();
    loop {
        let is_stuck = |task: &u64| {
            let of_task = &waits[task];
            !of_task.is_empty() && of_task.iter().all(|wait| wait.culprit(*task, &stuck).is_some())
        };
        let left: BTreeSet<u64> = stuck.iter().copied().filter(is_stuck).collect();
        if left.len() == stuck.len() {
            break;
        }
        stuck = left;
    }

    // Each of them leads to another one, so who follows them comes to a cycle.
    let mut cycles = Vec::new();
    let mut seen = BTreeSet::new();
    for &first in &stuck {
        let mut path: Vec<(u64, usize)> = Vec::new();
        let mut task = first;
        while seen.insert(task) {
            let next = waits[&task].iter().enumerate().find_map(|(index, wait)| {
                wait.culprit(task, &stuck).map(|culprit| (index, culprit))
            });
            let Some((index, culprit)) = next else { break };
            path.push((task, index));
            task = culprit;
        }
        if let Some(begin) = path.iter().position(|(of, _)| *of == task) {
            let mut cycle = path.split_off(begin);
            let least = (0..cycle.len()).min_by_key(|&index| cycle[index].0).unwrap_or(0);
            cycle.rotate_left(least);
            cycles.push(cycle);
        }
    }
    cycles
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
