//! Where the tasks come from: names and lines, for as many tasks as there is room for.

use crate::lock::lock;
use crate::recording::Origin;
use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex, MutexGuard};

/// How many tasks are remembered by name and place, in each of the tables.
const TASKS_MAX: usize = 16_384;

/// How many tables there are. The ids that one worker gives out go into the same table for a while.
const TABLES: usize = 16;
const IDS_PER_BLOCK: u64 = 1024;

#[derive(Default)]
struct Table {
    tasks: HashMap<u64, Origin>,
    left_out: u64,
}

static TASKS: LazyLock<[Mutex<Table>; TABLES]> = LazyLock::new(Default::default);

fn table(task: u64) -> MutexGuard<'static, Table> {
    lock(&TASKS[(task / IDS_PER_BLOCK) as usize % TABLES])
}

/// Remembers where a task comes from.
pub(crate) fn remember(task: u64, origin: Origin) {
    let mut table = table(task);
    if table.tasks.len() >= TASKS_MAX {
        table.make_room();
    }

    if table.tasks.len() < TASKS_MAX {
        table.tasks.insert(task, origin);
    } else {
        table.left_out += 1;
    }
}

/// The task has ended. It is remembered as long as there is room.
pub(crate) fn end(task: u64, at: u64) {
    if let Some(origin) = table(task).tasks.get_mut(&task) {
        origin.ended = Some(at);
    }
}

/// Forgets all tasks.
pub(crate) fn clear() {
    TASKS.iter().for_each(|table| *lock(table) = Table::default());
}

/// The tasks by their ids, and how many more there were.
pub(crate) fn all() -> (BTreeMap<u64, Origin>, u64) {
    let mut tasks = BTreeMap::new();
    let mut left_out = 0;
    for table in TASKS.iter() {
        // One after the other, so that a task that is spawned meanwhile waits for one table at
        // most.
        let table = lock(table);
        tasks.extend(table.tasks.iter().map(|(&task, origin)| (task, origin.clone())));
        left_out += table.left_out;
    }
    (tasks, left_out)
}

impl Table {
    /// Makes room: of the tasks that have ended, the half that ended first is forgotten. If few
    /// have, the older half of all goes. (The end of a runtime cuts tasks off that nobody hears of
    /// any more.) Either way there is room for thousands, as this takes long.
    fn make_room(&mut self) {
        let before = self.tasks.len();
        let mut ended: Vec<u64> = self.tasks.values().filter_map(|task| task.ended).collect();

        if ended.len() >= before / 4 {
            let middle = ended.len() / 2;
            let median = *ended.select_nth_unstable(middle).1;
            self.tasks.retain(|_, task| task.ended.is_none_or(|ended| ended > median));
        } else {
            // Ids are given out in their order, so the lesser ones are older.
            let mut ids: Vec<u64> = self.tasks.keys().copied().collect();
            let median = *ids.select_nth_unstable(before / 2).1;
            self.tasks.retain(|&id, _| id > median);
        }
        self.left_out += (before - self.tasks.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    /// A full table, in which so many tasks have ended: those of the greatest ids first.
    fn full(ended: usize) -> Table {
        let location = Location::caller();
        let mut table = Table::default();

        for id in 0..TASKS_MAX {
            let is_over = id >= TASKS_MAX - ended;
            let ended = is_over.then_some((TASKS_MAX - id) as u64);
            let origin = Origin { name: None, location, runtime: 0, is_job: false, ended };
            table.tasks.insert(id as u64, origin);
        }
        table
    }

    #[test]
    fn room_is_made_for_thousands_however_few_tasks_have_ended() {
        for ended in [0, 1, TASKS_MAX / 5, TASKS_MAX / 2, TASKS_MAX] {
            let mut table = full(ended);
            table.make_room();

            // To find room takes long, so it must not be done for each task.
            let room = TASKS_MAX - table.tasks.len();
            assert!(room >= TASKS_MAX / 8, "room for {room} when {ended} have ended");
            assert_eq!(table.left_out, room as u64);
        }
    }

    #[test]
    fn tasks_that_ended_first_are_forgotten_first() {
        let half = TASKS_MAX / 2;
        let mut table = full(half);
        table.make_room();

        // What has not ended is there, and what ended last.
        assert!((0..half as u64).all(|id| table.tasks.contains_key(&id)));
        assert!(table.tasks.contains_key(&(half as u64)));
        assert!(!table.tasks.contains_key(&(TASKS_MAX as u64 - 1)));
    }

    #[test]
    fn oldest_tasks_are_forgotten_if_none_has_ended() {
        let mut table = full(0);
        table.make_room();

        // The one that was spawned last is there, and the one that was spawned first is not.
        assert!(table.tasks.contains_key(&(TASKS_MAX as u64 - 1)));
        assert!(!table.tasks.contains_key(&0));
    }
}
