//! The list of tasks: an abort against the end of the task, the end of a runtime, and a shard that
//! gives memory back.

use crate::inside::registry as small;
use crate::race;
use crate::registry::{Kind, Origin, Record, RuntimeId, TaskList};
use crate::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Wake, Waker};

fn record() -> Arc<Record> {
    Record::new(RuntimeId::next(), Origin::new(Kind::Async), 0)
}

fn entered(waker: &Waker) -> (TaskList, Arc<Record>) {
    let (list, record) = (TaskList::new(1), record());
    assert!(list.enter(&record, waker.clone(), || false));
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

/// `TaskList::close` against `enter`: a task that is entered is found by the end, and one that
/// comes too late is not entered.
#[test]
fn end_finds_every_task_that_was_entered() {
    race(
        || (TaskList::new(1), record(), AtomicBool::new(false)),
        |(list, record, is_ending)| {
            let is_ending = || is_ending.load(Ordering::Relaxed);
            list.enter(record, Waker::noop().clone(), is_ending)
        },
        |(list, _, is_ending)| {
            is_ending.store(true, Ordering::Relaxed);
            list.close().len()
        },
        |_, is_entered, closed| assert_eq!(closed, usize::from(is_entered)),
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

/// A shard gives memory back while two tasks end: the first of them moves the other one, which is
/// taken out at its new place. (In the copy that is used here five tasks are a burst.)
#[test]
fn task_that_is_moved_is_taken_out_at_its_new_place() {
    race(
        || {
            let list = small::TaskList::new(1);
            let records = [0; 5].map(|_| {
                let runtime = small::RuntimeId::next();
                let origin = small::Origin::new(small::Kind::Async);
                let record = small::Record::new(runtime, origin, 0);
                assert!(list.enter(&record, Waker::noop().clone(), || false));
                record
            });
            for record in &records[..3] {
                drop(list.remove(record));
            }
            (list, records)
        },
        |(list, records)| drop(list.remove(&records[3])),
        |(list, records)| drop(list.remove(&records[4])),
        |(list, _), (), ()| assert_eq!(list.describe().len(), 0),
    );
}
