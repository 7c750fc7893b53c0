//! Tasks: spawned, joined, detached, counted and named.

use crate::common::*;
use arc::runtime::Runtime;
use arc::task::{Id, JoinHandle, spawn_blocking, try_id, yield_now};
use std::collections::HashSet;
use std::future::{pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;

#[test]
fn a_join_handle_gives_the_output() {
    with_each_size(|runtime| {
        let text = runtime.block_on(async {
            let inner = arc::spawn(async { arc::spawn(async { "inner" }).await.unwrap() });
            format!("{} and outer", inner.await.unwrap())
        });
        assert_eq!(text, "inner and outer");
        // Joined from another thread, which is in no runtime.
        let task = runtime.spawn(async { 7 });
        assert_eq!(foreign_block_on(task).unwrap(), 7);
    });
}

#[test]
fn a_task_begins_without_being_awaited_and_goes_on_without_its_handle() {
    with_each_size(|runtime| {
        let done = Counter::new();
        drop(spawn_each(&runtime, 100, |_| async move {
            yield_now().await;
            done.add();
        }));
        done.wait_for(100);
        wait_for_no_tasks(&runtime);
    });
}

/// The future and all that it holds is gone when the joiner hears of the end.
#[test]
fn the_future_is_dropped_before_the_joiner_is_woken() {
    with_each_flavor(|runtime| {
        let drops = Counter::new();
        for round in 1..=200 {
            let held = drops.on_drop();
            let task = async move {
                let _held = held;
                yield_now().await;
            };
            runtime.block_on(async { arc::spawn(task).await.unwrap() });
            assert_eq!(drops.get(), round);
        }
    });
}

/// A handle that looks whether the task has finished must look again after it
/// has left its waker.
#[test]
fn a_joiner_that_comes_just_as_the_task_finishes_is_woken() {
    with_each_size(|runtime| {
        let (tasks, joiners) = mpsc::sync_channel::<JoinHandle<usize>>(16);
        let joiner = thread::spawn(move || {
            let mut sum = 0;
            for (round, task) in joiners.into_iter().enumerate() {
                spin(round % 128);
                sum += foreign_block_on(task).unwrap();
            }
            sum
        });
        let rounds = rounds(20_000);
        for round in 0..rounds {
            tasks.send(runtime.spawn(async move { round })).unwrap();
        }
        drop(tasks);
        assert_eq!(joiner.join().unwrap(), (0..rounds).sum::<usize>());
    });
}

#[test]
fn a_joiner_that_was_polled_with_several_wakers_wakes_the_last() {
    with_each_size(|runtime| {
        let gate = Gate::new();
        let mut task = runtime.spawn(gate.blocks());
        let (first, first_wakes) = counting_waker();
        let (second, second_wakes) = counting_waker();
        assert!(poll_with(Pin::new(&mut task), &first).is_pending());
        assert!(poll_with(Pin::new(&mut task), &second).is_pending());
        gate.open();
        second_wakes.wait_for(1);
        assert!(matches!(poll_with(Pin::new(&mut task), Waker::noop()), Poll::Ready(Ok(()))));
        assert_eq!(first_wakes.get(), 0);
    });
}

#[test]
fn is_finished_tells_when_the_output_is_there() {
    with_each_size(|runtime| {
        let gate = Gate::new();
        let task = runtime.spawn(async move {
            gate.wait();
            3
        });
        let idle = runtime.spawn(pending::<()>());
        assert!(!task.is_finished() && !idle.is_finished());
        gate.open();
        wait_until("it is finished", || task.is_finished());
        assert!(matches!(poll_with(pin!(task), Waker::noop()), Poll::Ready(Ok(3))));
        let panicked: JoinHandle<()> = runtime.spawn(async { panic!("{ON_PURPOSE}") });
        idle.abort();
        wait_for_all(&[panicked, idle]);
    });
}

#[test]
fn ids_are_unique_and_outlive_their_task() {
    with_each_size(|runtime| {
        let all = Mutex::new(Vec::new());
        on_threads(4, |_| all.lock().unwrap().push(spawn_each(&runtime, 3000, |_| ready(()))));
        let mut ids = HashSet::new();
        for task in all.into_inner().unwrap().into_iter().flatten() {
            let id = task.id();
            assert!(ids.insert(id), "task {id} is there twice");
            wait_until("it is finished", || task.is_finished());
            assert_eq!(task.id(), id);
            assert!(id.to_string().parse::<u64>().is_ok());
        }
        let task = runtime.spawn(pending::<()>());
        let id = task.id();
        task.abort();
        assert_eq!(runtime.block_on(task).unwrap_err().id(), id);
    });
}

#[test]
fn a_task_and_a_job_know_their_id_and_others_have_none() {
    with_each_flavor(|runtime| {
        assert_eq!(try_id(), None);
        let (own, in_job) = runtime.block_on(async {
            assert_eq!(try_id(), None, "the future of block_on is no task");
            let own = arc::spawn(async { try_id() });
            let job = spawn_blocking(|| {
                // It stays that of the job in another runtime, but for its block_on.
                let other = crate::common::runtime(1);
                let entered = (try_id(), other.enter());
                assert_eq!(other.block_on(async { try_id() }), None);
                assert_eq!(try_id(), entered.0);
                entered.0
            });
            (own.id() == own.await.unwrap().unwrap(), Some(job.id()) == job.await.unwrap())
        });
        assert!(own);
        assert!(in_job);
        assert_eq!(try_id(), None);
    });
}

/// Tells which task it was dropped in.
struct Tells(mpsc::Sender<Option<Id>>);

impl Drop for Tells {
    fn drop(&mut self) {
        let _ = self.0.send(try_id());
    }
}

/// Whether it is ready or aborted, a task is itself until the last of it is dropped.
#[test]
fn the_drop_of_a_future_and_of_an_output_that_nobody_wants_knows_the_task() {
    let ends: [fn(&Runtime, Tells) -> Id; 3] = [ready_with, aborted_with, unwanted_with];
    with_each_flavor(move |runtime| {
        for end in ends {
            let (sender, told) = mpsc::channel();
            let id = end(&runtime, Tells(sender));
            assert_eq!(told.recv().unwrap(), Some(id));
        }
    });
}

fn ready_with(runtime: &Runtime, tells: Tells) -> Id {
    let ready = runtime.spawn(async move {
        let _tells = tells;
        yield_now().await;
    });
    let id = ready.id();
    runtime.block_on(ready).unwrap();
    id
}

fn aborted_with(runtime: &Runtime, tells: Tells) -> Id {
    let aborted = runtime.spawn(holds(tells));
    let id = aborted.id();
    aborted.abort();
    runtime.block_on(aborted).unwrap_err();
    id
}

/// The handle has gone before the output is there.
fn unwanted_with(runtime: &Runtime, tells: Tells) -> Id {
    let (open, opened) = async_channel::bounded::<()>(1);
    let unwanted = runtime.spawn(async move {
        let _ = opened.recv().await;
        tells
    });
    let id = unwanted.id();
    let task = unwanted.abort_handle();
    drop(unwanted);
    open.try_send(()).unwrap();
    runtime.block_on(async {
        while !task.is_finished() {
            yield_now().await;
        }
    });
    id
}

#[test]
fn a_million_tasks_are_joined() {
    let count = rounds(if cfg!(debug_assertions) { 200_000 } else { 1_000_000 });
    with_each_size(move |runtime| {
        let sum: usize = runtime.block_on(async move {
            let tasks: Vec<_> = (0..count).map(|index| arc::spawn(async move { index })).collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, count * (count - 1) / 2);
        expect_tasks(&runtime, 0);
    });
}

#[test]
fn a_chain_of_tasks_in_which_each_spawns_the_next_comes_to_its_end() {
    fn link(left: usize, done: async_channel::Sender<()>) {
        drop(arc::spawn(async move {
            match left {
                0 => done.send(()).await.unwrap(),
                _ => link(left - 1, done),
            }
        }));
    }
    with_each_size(|runtime| {
        let (done, finished) = async_channel::bounded(1);
        runtime.block_on(async {
            link(rounds(50_000), done);
            finished.recv().await.unwrap();
        });
    });
}

#[test]
fn tasks_that_each_join_two_more_come_to_their_end() {
    fn tree(depth: u32) -> Pin<Box<dyn Future<Output = usize> + Send>> {
        Box::pin(async move {
            if depth == 0 {
                return 1;
            }
            let (left, right) = (arc::spawn(tree(depth - 1)), arc::spawn(tree(depth - 1)));
            left.await.unwrap() + right.await.unwrap()
        })
    }
    with_each_size(|runtime| {
        assert_eq!(runtime.block_on(tree(12)), 1 << 12);
    });
}

#[test]
fn threads_outside_spawn_and_join_at_once() {
    with_each_size(|runtime| {
        on_threads(4, |_| {
            for round in 0..rounds(2000) {
                let task = runtime.spawn(ready(round));
                assert_eq!(foreign_block_on(task).unwrap(), round);
            }
        });
    });
}

/// On one worker the order is known.
#[test]
fn yield_now_lets_all_run_that_are_queued() {
    on_each([1], |runtime| {
        let ran = Counter::new();
        let task = runtime.spawn(async move {
            let tasks: Vec<_> = (0..10).map(|_| arc::spawn(async move { ran.add() })).collect();
            yield_now().await;
            assert_eq!(ran.get(), 10, "it yielded too shortly");
            for task in tasks {
                task.await.unwrap();
            }
        });
        runtime.block_on(task).unwrap();
        assert_eq!(ran.get(), 10);
    });
}

#[test]
fn yield_now_lets_the_executor_of_another_crate_go_on() {
    let mut yields = pin!(yield_now());
    let (waker, wakes) = counting_waker();
    assert!(poll_with(yields.as_mut(), &waker).is_pending());
    assert_eq!(wakes.get(), 1);
    assert!(poll_with(yields.as_mut(), &waker).is_ready());
    assert_eq!(wakes.get(), 1);
}

#[test]
fn two_tasks_that_yield_take_turns() {
    on_each([1], |runtime| {
        let turns = Arc::new(Mutex::new(Vec::new()));
        let note = turns.clone();
        // On the worker: from outside, one could begin long before the other is there.
        let both = runtime.spawn(async move {
            let tasks = ['a', 'b'].map(|name| {
                let note = note.clone();
                arc::spawn(async move {
                    for _ in 0..1000 {
                        note.lock().unwrap().push(name);
                        yield_now().await;
                    }
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
        });
        runtime.block_on(both).unwrap();
        let turns = turns.lock().unwrap();
        // They may begin apart, and then alternate.
        let begin = turns.iter().position(|&name| name != turns[0]).unwrap();
        assert!(begin <= 2, "{begin} turns in a row");
        let middle = &turns[begin..turns.len() - begin];
        assert!(middle.windows(2).all(|pair| pair[0] != pair[1]));
    });
}

#[test]
fn a_task_is_never_polled_by_two_threads_at_once() {
    with_each_size(|runtime| {
        let (stop, inside) = (Gate::new(), AtomicBool::new(false));
        let slot = Slot::default();
        let leave = slot.clone();
        let task = runtime.spawn(poll_fn(move |context| {
            assert!(!inside.swap(true, Ordering::SeqCst), "polled twice at once");
            leave.leave(context);
            thread::yield_now();
            inside.store(false, Ordering::SeqCst);
            if stop.is_open() { Poll::Ready(()) } else { Poll::Pending }
        }));
        let waker = slot.waker();
        on_threads(3, |_| (0..rounds(20_000)).for_each(|_| waker.wake_by_ref()));
        stop.open();
        waker.wake();
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn a_handle_can_be_awaited_by_reference_given_up_and_awaited_again() {
    with_each_flavor(|runtime| {
        runtime.block_on(async {
            let (sender, receiver) = async_channel::bounded(1);
            let mut task = arc::spawn(async move { receiver.recv().await.unwrap() });
            assert!(crate::common::timeout(millis(1), &mut task).await.is_err());
            sender.send(9).await.unwrap();
            assert_eq!(task.await.unwrap(), 9);
        });
    });
}

/// Every function that a large future is moved through needs its size in stack.
/// A debug build moves it about four times, plus the caller's own copy.
#[test]
fn a_future_of_a_megabyte_fits_where_a_few_of_its_kind_do() {
    const SIZE: usize = 1 << 20;
    fn large() -> impl Future<Output = u8> + Send {
        let bytes = [1_u8; SIZE];
        async move {
            yield_now().await;
            std::hint::black_box(&bytes)[SIZE / 2]
        }
    }
    within_deadline(|| {
        // The workers' stacks could not hold a single one.
        let runtime = Arc::new(builder(1).thread_stack_size(SIZE / 2).build().unwrap());
        let copies = if cfg!(debug_assertions) { 12 } else { 8 };
        let small = thread::Builder::new().stack_size(copies * SIZE);
        let used = runtime.clone();
        let ended = small.spawn(move || {
            let task = used.spawn(large());
            assert_eq!(used.block_on(large()), 1);
            used.block_on(task).unwrap()
        });
        assert_eq!(ended.unwrap().join().unwrap(), 1);
    });
}

#[test]
fn a_join_error_passes_for_one_of_io() {
    with_each_flavor(|runtime| {
        let task = runtime.spawn(async { panic!("lost {ON_PURPOSE}") });
        let result: std::io::Result<()> = runtime.block_on(async { Ok(task.await?) });
        let error = result.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::Other);
        assert!(error.to_string().contains("panicked with message \"lost"), "{error}");
    });
}

#[test]
fn handles_tell_their_task_and_nothing_else() {
    with_each_flavor(|runtime| {
        let task = runtime.spawn(pending::<()>());
        let (id, abort) = (task.id().to_string(), task.abort_handle());
        let (task, abort) = (format!("{task:?}"), format!("{abort:?}"));
        assert!(task.contains(&id) && abort.contains(&id), "{task} {abort}");
        assert!(!abort.contains("Waker") && !task.contains("location"), "{task} {abort}");
    });
}
