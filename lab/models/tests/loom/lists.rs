//! The list of tasks: an abort against the end of the task, and the end of a runtime.

use crate::race;
use crate::registry::{Record, TaskList};
use crate::sync::Arc;
use crate::world::note;
use loom::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// The list does not ask what a runtime is.
fn entered(waker: &Waker) -> (TaskList<()>, Arc<Record<()>>) {
    let list = TaskList::new(1);
    let record = list.enter(&Arc::new(()), note(), 0);
    record.set_waker(waker.clone());
    (list, record)
}

/// What async-task does when a task is woken: whoever polls the task sees what was done before.
#[derive(Default)]
struct Task {
    woken: AtomicUsize,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::Release);
    }
}

/// `AbortHandle::abort` against the poll that its wake-up causes: that poll sees that the task was
/// aborted.
#[test]
fn poll_that_an_abort_causes_sees_it() {
    race(
        || {
            let task = Arc::new(Task::default());
            (entered(&task.clone().into()).1, task)
        },
        |(record, _)| record.abort(),
        |(record, task)| {
            let is_polled = task.woken.load(Ordering::Acquire) > 0;
            assert!(!is_polled || record.is_aborted());
        },
        |(_, task), (), ()| assert_eq!(task.woken.load(Ordering::Relaxed), 1),
    );
}

/// `AbortHandle::abort` against a task that ends: if the list has its waker no more, nobody is
/// woken.
#[test]
fn task_that_has_ended_is_not_woken_by_an_abort() {
    race(
        || {
            let task = Arc::new(Task::default());
            let (list, record) = entered(&task.clone().into());
            (list, record, task)
        },
        |(_, record, _)| record.abort(),
        |(list, record, _)| assert!(list.remove(record).is_some()),
        |(list, record, task), (), ()| {
            assert!(record.has_ended());
            let woken = task.woken.load(Ordering::Relaxed);
            record.abort();
            assert_eq!(task.woken.load(Ordering::Relaxed), woken);
            assert!(list.remove(record).is_none());
        },
    );
}

/// `TaskList::close` against `remove`: the task's waker is returned once.
#[test]
fn waker_is_returned_once_at_the_end() {
    race(
        || entered(Waker::noop()),
        |(list, record)| list.remove(record).is_some(),
        |(list, _)| list.close().len(),
        |(_, record), is_removed, closed| {
            assert_eq!(closed + usize::from(is_removed), 1);
            assert!(record.has_ended());
        },
    );
}
