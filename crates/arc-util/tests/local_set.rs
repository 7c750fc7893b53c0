//! Tasks that are not `Send` run on the thread that polls their set, and end with it.

use crate::common::{Woken, poll_once, soon, waiting};
use arc::runtime::Runtime;
use arc_util::sync::oneshot;
use arc_util::task::{Id, LocalSet, spawn_local, try_id};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::future::pending;
use std::panic::catch_unwind;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn local_tasks_stay_on_the_thread_and_are_awaited() {
    let home = thread::current().id();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let set = LocalSet::new();
    let before = set.spawn_local(async { 1 });
    let run = set.run_until(async {
        let tasks: Vec<_> = (0..10)
            .map(|number| {
                let seen = seen.clone();
                spawn_local(async move {
                    for _ in 0..5 {
                        arc::time::sleep(std::time::Duration::from_micros(50)).await;
                        assert_eq!(thread::current().id(), home);
                    }
                    seen.borrow_mut().push(number);
                    spawn_local(async move { number * 2 }).await.unwrap()
                })
            })
            .collect();
        let mut sum = before.await.unwrap();
        for task in tasks {
            sum += task.await.unwrap();
        }
        sum
    });
    assert_eq!(soon(run).await, 91);
    assert_eq!(seen.borrow().len(), 10);
}

#[arc::test(flavor = "multi_thread")]
async fn a_local_task_is_woken_by_another_thread() {
    let set = LocalSet::new();
    let (sender, receiver) = oneshot::channel();
    let run = set.run_until(async {
        let task = spawn_local(async { receiver.await.unwrap() });
        let sender = arc::task::spawn_blocking(move || sender.send(5).unwrap());
        (task.await.unwrap(), sender.await.unwrap())
    });
    assert_eq!(soon(run).await.0, 5);
}

#[arc::test]
async fn panics_and_aborts_are_in_the_handle() {
    let set = LocalSet::new();
    let panicked = set.spawn_local(async { panic!("on purpose") });
    let aborted = set.spawn_local(pending::<()>());
    let run = set.run_until(async {
        let payload = panicked.await.unwrap_err().try_into_panic().unwrap();
        assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
        assert!(!aborted.is_finished());
        aborted.abort();
        assert!(aborted.await.unwrap_err().is_cancelled());
    });
    soon(run).await;
}

#[arc::test]
async fn each_local_task_has_an_id_of_its_own() {
    let set = LocalSet::new();
    let outside = try_id();
    let seen = Rc::new(RefCell::new(Vec::new()));
    /// Notes which task is polled when it is dropped.
    struct Notes(Rc<RefCell<Vec<Option<Id>>>>);
    impl Drop for Notes {
        fn drop(&mut self) {
            self.0.borrow_mut().push(try_id());
        }
    }
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let notes = Notes(seen.clone());
            set.spawn_local(async move {
                let first = try_id();
                arc::task::yield_now().await;
                assert_eq!(try_id(), first);
                drop(notes);
                first
            })
        })
        .collect();
    let ids: Vec<_> = tasks.iter().map(|task| Some(task.id())).collect();
    let arcs = arc::spawn(async { try_id() });
    let mut all: HashSet<_> = ids.iter().copied().collect();
    all.extend([Some(arcs.id()), outside]);
    assert_eq!(all.len(), 5, "no two are the same: {all:?}");
    let id = arcs.id();
    assert_eq!(soon(arcs).await.unwrap(), Some(id));
    let run = set.run_until(async {
        assert_eq!(try_id(), outside);
        for (task, id) in tasks.into_iter().zip(&ids) {
            assert_eq!(task.await.unwrap(), *id);
        }
    });
    soon(run).await;
    assert_eq!(*seen.borrow(), ids);

    let notes = Notes(seen.clone());
    let left = set.spawn_local(async move {
        let _notes = notes;
        pending::<()>().await
    });
    drop(set);
    assert_eq!(seen.borrow().last(), Some(&Some(left.id())));
    assert!(soon(left).await.unwrap_err().is_cancelled());
}

#[arc::test]
async fn an_abort_handle_ends_a_local_task_from_another_thread() {
    let set = LocalSet::new();
    let task = set.spawn_local(pending::<()>());
    let abort = task.abort_handle();
    assert_eq!((abort.id(), abort.is_finished(), task.is_finished()), (task.id(), false, false));
    let run = set.run_until(async {
        let aborting = abort.clone();
        arc::task::spawn_blocking(move || aborting.abort()).await.unwrap();
        let id = task.id();
        let error = task.await.unwrap_err();
        assert!(error.is_cancelled());
        assert_eq!(error.id(), id);
    });
    soon(run).await;
    assert!(abort.is_finished());

    let ended = set.spawn_local(async { 7 });
    let late = ended.abort_handle();
    soon(set.run_until(arc::task::yield_now())).await;
    assert!(late.is_finished() && ended.is_finished());
    late.abort();
    assert_eq!(soon(ended).await.unwrap(), 7, "it had ended before");
}

#[arc::test]
async fn the_set_itself_waits_for_all() {
    let count = Rc::new(Cell::new(0));
    let set = LocalSet::new();
    for _ in 0..300 {
        let count = count.clone();
        drop(set.spawn_local(async move {
            arc::task::yield_now().await;
            count.set(count.get() + 1);
        }));
    }
    soon(set).await;
    assert_eq!(count.get(), 300);
}

#[test]
fn tasks_that_are_left_are_dropped_with_the_set() {
    let runtime = Runtime::new().unwrap();
    let held = Rc::new(());
    let set = LocalSet::new();
    let task = {
        let held = held.clone();
        set.spawn_local(async move {
            let _held = held;
            pending::<()>().await
        })
    };
    set.block_on(runtime.handle(), async { arc::task::yield_now().await });
    assert_eq!(Rc::strong_count(&held), 2);
    drop(set);
    assert_eq!(Rc::strong_count(&held), 1);
    assert!(runtime.block_on(task).unwrap_err().is_cancelled());
}

#[test]
fn spawn_local_needs_a_set() {
    assert!(catch_unwind(|| drop(spawn_local(async {}))).is_err());
    let runtime = Runtime::new().unwrap();
    LocalSet::new().block_on(runtime.handle(), async {});
    assert!(catch_unwind(|| drop(spawn_local(async {}))).is_err());
}

/// A task that is always ready, and a future of `run_until` that is, let the other tasks run.
#[arc::test]
async fn a_busy_task_does_not_starve_the_others() {
    let set = LocalSet::new();
    let stop = Rc::new(Cell::new(false));
    let busy = |stop: Rc<Cell<bool>>| async move {
        let mut rounds = 0;
        while !stop.get() {
            arc::task::consume_budget().await;
            rounds += 1;
            assert!(rounds < 50_000_000, "the others are never let run");
        }
    };
    let other = |stop: Rc<Cell<bool>>| async move {
        for _ in 0..200 {
            arc::task::consume_budget().await;
        }
        stop.set(true);
    };
    let tasks = [set.spawn_local(busy(stop.clone()))];
    let ended = set.run_until(set.spawn_local(other(stop.clone())));
    soon(ended).await.unwrap();
    stop.set(false);
    let other = set.spawn_local(other(stop.clone()));
    soon(set.run_until(busy(stop))).await;
    soon(set.run_until(other)).await.unwrap();
    for task in tasks {
        soon(set.run_until(task)).await.unwrap();
    }
}

#[arc::test]
async fn many_ready_tasks_let_the_rest_of_the_thread_run() {
    let (set, polls) = (LocalSet::new(), Arc::new(AtomicUsize::new(0)));
    for _ in 0..2_000 {
        let polls = polls.clone();
        drop(set.spawn_local(async move {
            polls.fetch_add(1, Ordering::SeqCst);
            pending::<()>().await
        }));
    }
    let other = arc::spawn(async move {
        let (mut seen, mut most) = (0, 0);
        while seen < 2_000 {
            arc::task::yield_now().await;
            let before = std::mem::replace(&mut seen, polls.load(Ordering::SeqCst));
            most = most.max(seen - before);
        }
        most
    });
    let most = soon(set.run_until(other)).await.unwrap();
    assert!(most <= 128, "{most} of them were polled in one turn");
}

/// Panics when it is dropped.
struct Breaks;

impl Drop for Breaks {
    fn drop(&mut self) {
        panic!("a drop panics on purpose");
    }
}

#[arc::test]
async fn a_panic_of_a_drop_stays_with_its_task() {
    let set = LocalSet::new();
    let (sender, receiver) = oneshot::channel();
    let other = set.spawn_local(receiver);
    // Without a handle, the set drops the outcome.
    drop(set.spawn_local(async { Breaks }));
    drop(set.spawn_local(async { std::panic::panic_any(Breaks) }));
    set.run_until(arc::task::yield_now()).await;
    sender.send(7).unwrap();
    assert_eq!(soon(set.run_until(other)).await.unwrap(), Ok(7));
}

#[test]
fn all_tasks_are_dropped_inside_their_set_whatever_one_does() {
    let dropped = Rc::new(Cell::new(0));
    struct Counts(Rc<Cell<i32>>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    /// Its drop spawns another one, this many times.
    struct Spawns(Counts, usize);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let rest = self.1.checked_sub(1);
            let next = rest.map(|rest| Spawns(Counts(self.0.0.clone()), rest));
            next.into_iter().for_each(|next| drop(spawn_local(async move { drop(next) })));
        }
    }
    let set = LocalSet::new();
    let mut handles = Vec::new();
    for round in 0..10 {
        let (counts, breaks) = (Counts(dropped.clone()), Breaks);
        handles.push(set.spawn_local(async move {
            let _kept = (counts, breaks);
            pending::<()>().await;
        }));
        let spawns = Spawns(Counts(dropped.clone()), 4);
        drop(set.spawn_local(async move {
            let _kept = spawns;
            pending::<()>().await;
        }));
        if round == 4 {
            Runtime::new().unwrap().block_on(set.run_until(arc::task::yield_now()));
        }
    }
    drop(set);
    assert_eq!(dropped.get(), 10 + 10 * 5);
    assert!(handles.iter().all(|handle| handle.is_finished()));
}

#[test]
fn a_set_in_a_thread_local_ends_with_its_thread() {
    thread_local!(static SET: LocalSet = LocalSet::new());
    let thread = thread::spawn(|| {
        SET.with(|set| {
            drop(set.spawn_local(pending::<()>()));
            let runtime = Runtime::new().unwrap();
            set.block_on(runtime.handle(), async { spawn_local(async { 3 }).await.unwrap() })
        })
    });
    assert_eq!(thread.join().unwrap(), 3);
}

/// Each poller may be the only one that goes on, such as when the pollers are futures of one
/// `FuturesUnordered`.
#[test]
fn all_who_poll_a_set_are_woken_by_its_tasks() {
    let set = LocalSet::new();
    let (sender, receiver) = oneshot::channel();
    let task = set.spawn_local(receiver);
    let mut first = waiting(set.run_until(task));
    // Poll twice: in the first poll the set's `FuturesUnordered` yields, with a wake of its own.
    assert!(first.waits());
    let (others, other) = Woken::new();
    let mut second = Box::pin(set.run_until(pending::<()>()));
    assert!(poll_once(second.as_mut(), &other).is_pending());
    let before = first.wakes();
    drop(second);
    sender.send(7).unwrap();
    assert!(first.wakes() > before);
    let other_before = others.count();
    // `run_until` polls its future before the tasks: this poll ends the task, and the next one is
    // ready.
    assert!(first.waits());
    assert_eq!(first.ready().unwrap(), Ok(7));
    assert_eq!(others.count(), other_before, "it is gone");
}

/// The set is gone, and the guard still makes it the current one.
#[arc::test]
async fn what_is_spawned_into_a_set_that_was_dropped_is_cancelled() {
    let set = LocalSet::new();
    let entered = set.enter();
    drop(set);
    let kept = Rc::new(());
    let inner = kept.clone();
    let task = spawn_local(async move { drop(inner) });
    assert_eq!((Rc::strong_count(&kept), task.is_finished()), (1, true));
    assert!(soon(task).await.unwrap_err().is_cancelled());
    drop(entered);
}

/// Its drop spawns a task that holds another one.
struct Again(Rc<Cell<usize>>);

impl Drop for Again {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        let again = Self(self.0.clone());
        drop(spawn_local(async move { drop(again) }));
    }
}

#[arc::test]
async fn tasks_whose_drop_spawns_the_next_one_come_to_an_end() {
    let drops = Rc::new(Cell::new(0));
    let set = LocalSet::new();
    let again = Again(drops.clone());
    drop(set.spawn_local(async move { drop(again) }));
    drop(set);
    assert!((100..10_000).contains(&drops.get()), "{} drops", drops.get());
}
