//! How the next task is chosen.

use arc_sim_core::{choose, enter};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};

/// Chooses one of so many tasks. Returns it, and how many were moved for that.
fn choose_of(tasks: usize) -> (usize, usize) {
    let queue = RefCell::new((1..tasks).collect::<VecDeque<_>>());
    let moved = Cell::new(0);
    let push = |task| {
        moved.set(moved.get() + 1);
        queue.borrow_mut().push_back(task);
    };
    let chosen = choose(Some(0), || tasks - 1, push, || queue.borrow_mut().pop_front());
    (chosen.expect("there are tasks"), moved.get())
}

#[test]
fn each_of_a_few_tasks_may_be_next() {
    let _entered = enter(1, 1);
    let chosen: BTreeSet<_> = (0..2000).map(|_| choose_of(64).0).collect();
    assert!(chosen.into_iter().eq(0..64));
}

/// Otherwise the time that many tasks take would grow with the square of their number.
#[test]
fn cost_of_a_choice_does_not_grow_with_the_queue() {
    let _entered = enter(1, 1);
    for _ in 0..2000 {
        let (chosen, moved) = choose_of(10_000);
        assert!(chosen < 64 && moved < 64, "{moved} of 10,000 tasks were moved");
    }
}
