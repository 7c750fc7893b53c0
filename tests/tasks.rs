//! Tasks: spawned, joined, detached, counted and named.

use crate::common::*;
use crate::net_common::spin;
use arc::task::{JoinHandle, spawn_blocking, try_id, yield_now};
use std::collections::HashSet;
use std::future::{pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
        assert_eq!(futures_util_block_on(task), 7);
    });
}

/// Joins on a thread that has nothing to do with the runtime.
fn futures_util_block_on<T>(mut task: JoinHandle<T>) -> T {
    let (waker, wakes) = counting_waker();
    let mut seen = 0;
    loop {
        if let Poll::Ready(output) = poll_with(Pin::new(&mut task), &waker) {
            return output.unwrap();
        }
        seen += 1;
        wakes.wait_for(seen);
    }
}

#[test]
fn a_task_begins_without_being_awaited_and_goes_on_without_its_handle() {
    with_each_size(|runtime| {
        let done = Counter::new();
        for _ in 0..100 {
            let done = done.clone();
            drop(runtime.spawn(async move {
                yield_now().await;
                done.add();
            }));
        }
        done.wait_for(100);
        wait_until("the tasks are forgotten", || runtime.handle().tasks().is_empty());
    });
}

/// The future and all that it holds is gone when the joiner hears of the end.
#[test]
fn the_future_is_dropped_before_the_joiner_is_woken() {
    with_each_flavor(|runtime| {
        for _ in 0..200 {
            let drops = Counter::new();
            let held = drops.on_drop();
            runtime.block_on(async {
                arc::spawn(async move {
                    let _held = held;
                    yield_now().await;
                })
                .await
                .unwrap();
            });
            assert_eq!(drops.get(), 1);
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
                sum += futures_util_block_on(task);
            }
            sum
        });
        let rounds = 20_000;
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
        let wait = gate.clone();
        let task = runtime.spawn(async move {
            wait.wait();
            3
        });
        let idle = runtime.spawn(pending::<()>());
        assert!(!task.is_finished());
        assert!(!idle.is_finished());
        gate.open();
        wait_until("it is finished", || task.is_finished());
        assert!(matches!(poll_with(pin!(task), Waker::noop()), Poll::Ready(Ok(3))));
        let panicked = runtime.spawn(async { panic!("{ON_PURPOSE}") });
        wait_until("it is finished", || panicked.is_finished());
        drop::<JoinHandle<()>>(panicked);
        idle.abort();
        wait_until("it is finished", || idle.is_finished());
    });
}

#[test]
fn ids_are_unique_and_outlive_their_task() {
    with_each_size(|runtime| {
        let runtime = Arc::new(runtime);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let runtime = runtime.clone();
                thread::spawn(move || {
                    let tasks = (0..3000).map(|_| runtime.spawn(ready(())));
                    tasks.collect::<Vec<_>>()
                })
            })
            .collect();
        let mut ids = HashSet::new();
        for thread in threads {
            for task in thread.join().unwrap() {
                let id = task.id();
                assert!(ids.insert(id), "task {id} is there twice");
                wait_until("it is finished", || task.is_finished());
                assert_eq!(task.id(), id);
                assert!(id.to_string().parse::<u64>().is_ok());
            }
        }
        let task = runtime.spawn(pending::<()>());
        let id = task.id();
        task.abort();
        let error = runtime.block_on(task).unwrap_err();
        assert_eq!(error.id(), id);
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

/// Whether it is ready or aborted, a task is itself until the last of it is dropped.
#[test]
fn the_drop_of_a_future_and_of_an_output_that_nobody_wants_knows_the_task() {
    struct Tells(mpsc::Sender<Option<arc::task::Id>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.send(try_id());
        }
    }
    with_each_flavor(|runtime| {
        let (sender, told) = mpsc::channel();
        let tells = || Tells(sender.clone());

        let (captured, gate) = (tells(), async_channel::bounded::<()>(1));
        let ready = runtime.spawn(async move {
            let _captured = captured;
            yield_now().await;
        });
        let id = ready.id();
        runtime.block_on(ready).unwrap();
        assert_eq!(told.recv().unwrap(), Some(id));

        let captured = tells();
        let aborted = runtime.spawn(holds(captured));
        let id = aborted.id();
        aborted.abort();
        runtime.block_on(aborted).unwrap_err();
        assert_eq!(told.recv().unwrap(), Some(id));

        // The handle has gone before the output is there.
        let (output, opened) = (tells(), gate.1);
        let unwanted = runtime.spawn(async move {
            let _ = opened.recv().await;
            output
        });
        let id = unwanted.id();
        drop(unwanted);
        gate.0.try_send(()).unwrap();
        runtime.block_on(async {
            while !arc::runtime::Handle::current().tasks().is_empty() {
                yield_now().await;
            }
        });
        assert_eq!(told.recv().unwrap(), Some(id));
    });
}

#[test]
fn a_million_tasks_are_joined() {
    let count: usize = if cfg!(debug_assertions) { 200_000 } else { 1_000_000 };
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
        assert_eq!(runtime.handle().tasks().len(), 0);
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
            link(50_000, done);
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
        let runtime = Arc::new(runtime);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let runtime = runtime.clone();
                thread::spawn(move || {
                    for round in 0..2000 {
                        assert_eq!(futures_util_block_on(runtime.spawn(ready(round))), round);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// On one worker the order is known.
#[test]
fn yield_now_lets_all_run_that_are_queued() {
    within_deadline(|| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let note = order.clone();
        runtime(1).block_on(async move {
            arc::spawn(async move {
                let tasks: Vec<_> = (0..10)
                    .map(|index| {
                        let note = note.clone();
                        arc::spawn(async move { note.lock().unwrap().push(index) })
                    })
                    .collect();
                yield_now().await;
                assert_eq!(note.lock().unwrap().len(), 10, "it yielded too shortly");
                for task in tasks {
                    task.await.unwrap();
                }
            })
            .await
            .unwrap();
        });
        let mut ran = order.lock().unwrap().clone();
        ran.sort_unstable();
        assert_eq!(ran, (0..10).collect::<Vec<_>>());
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
    within_deadline(|| {
        let turns = Arc::new(Mutex::new(Vec::new()));
        let note = turns.clone();
        let runtime = runtime(1);
        // On the worker: from outside, one could begin long before the other is there.
        let both = runtime.spawn(async move {
            let task = |name: char| {
                let note = note.clone();
                arc::spawn(async move {
                    for _ in 0..1000 {
                        note.lock().unwrap().push(name);
                        yield_now().await;
                    }
                })
            };
            let (one, other) = (task('a'), task('b'));
            one.await.unwrap();
            other.await.unwrap();
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
fn a_future_that_is_ready_at_once_is_polled_once() {
    with_each_flavor(|runtime| {
        let polls = Arc::new(AtomicUsize::new(0));
        let count = polls.clone();
        let task = runtime.spawn(poll_fn(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Poll::Ready(())
        }));
        runtime.block_on(task).unwrap();
        assert_eq!(polls.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_task_is_never_polled_by_two_threads_at_once() {
    with_each_size(|runtime| {
        let stop = Arc::new(AtomicBool::new(false));
        let inside = Arc::new(AtomicBool::new(false));
        let shared: Arc<Mutex<Option<Waker>>> = Arc::default();
        let (stopped, slot) = (stop.clone(), shared.clone());
        let task = runtime.spawn(poll_fn(move |context| {
            assert!(!inside.swap(true, Ordering::SeqCst), "polled twice at once");
            *slot.lock().unwrap() = Some(context.waker().clone());
            thread::yield_now();
            inside.store(false, Ordering::SeqCst);
            match stopped.load(Ordering::SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
        wait_until("its waker", || shared.lock().unwrap().is_some());
        let waker = shared.lock().unwrap().clone().unwrap();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let waker = waker.clone();
                thread::spawn(move || (0..20_000).for_each(|_| waker.wake_by_ref()))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        stop.store(true, Ordering::SeqCst);
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
            let short = std::time::Duration::from_millis(1);
            assert!(arc::time::timeout(short, &mut task).await.is_err());
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
fn handles_are_send_sync_and_unpin_whatever_the_output() {
    fn check<T: Send + Sync + Unpin>(_: &T) {}
    within_deadline(|| {
        let runtime = runtime(1);
        let task = runtime.spawn(async { std::cell::Cell::new(1) });
        check(&task);
        assert!(format!("{task:?}").starts_with("JoinHandle"));
        assert_eq!(runtime.block_on(task).unwrap().get(), 1);
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
