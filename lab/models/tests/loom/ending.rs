//! The end of a runtime: against workers that fall asleep, against a thread that wakes a task, and
//! against the threads that it waits for. And the pool of jobs, which it closes.

use crate::scheduler::crew::Crew;
use crate::scheduler::end;
use crate::scheduler::pool::Pool;
use crate::scheduler::shared::Shared;
use crate::scheduler::threads::{self, InLoop, SignedOn};
use crate::sync::{self, AtomicBool, Duration, Ordering, lock, thread};
use crate::task::spawn::{make_task, spawn_on, yield_now};
use crate::world::{Dropped, Gate, OnDrop, Socket, frugal, is_closed, note, shared, spawn, task};
use crate::{model_within, race, race_within};
use std::future::{pending, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// A runtime whose workers have not begun, with a task.
fn runtime(workers: usize) -> (Arc<Shared>, Dropped) {
    let shared = frugal(workers);
    let dropped = Dropped::default();
    spawn(&shared, dropped.clone());
    (shared, dropped)
}

/// A task that was polled once may wait in a queue.
fn spawn_task_that_yields(shared: &Arc<Shared>, dropped: Dropped) {
    let guard = OnDrop(dropped);
    let task = spawn_on(shared, note(), async move {
        guard.0.touch();
        yield_now().await;
        pending::<()>().await;
        drop(guard);
    });
    drop(task);
}

/// A task that was polled once, and has left its waker.
fn spawn_task_that_waits(
    shared: &Arc<Shared>,
    mut leave: impl FnMut(Waker) + Send + 'static,
) -> Dropped {
    let dropped = Dropped::default();
    let guard = OnDrop(dropped.clone());
    let (runnable, handle) = make_task(shared, note(), 0, async move {
        let _guard = guard;
        poll_fn(|context| {
            leave(context.waker().clone());
            Poll::<()>::Pending
        })
        .await;
    });
    runnable.run();
    drop(handle);
    dropped
}

/// The main function of the thread of a worker.
fn worker(shared: &Arc<Shared>, index: usize) -> impl FnOnce() + Send + 'static {
    let shared = shared.clone();
    move || threads::run_worker(&shared, index)
}

/// Starts the threads of the workers.
fn start(shared: &Arc<Shared>) -> Vec<thread::JoinHandle<()>> {
    let workers: Vec<_> = (0..shared.workers.len()).map(|index| worker(shared, index)).collect();
    workers.into_iter().map(thread::spawn).collect()
}

/// `end::begin` against workers that begin, run a task or fall asleep: each of them sees that the
/// runtime ends, or is woken. One thread closes the runtime, after all have left: the last worker,
/// or the one that begins the end.
#[test]
fn workers_that_fall_asleep_do_not_miss_the_end() {
    for (workers, preemptions) in [(1, 3), (2, 2)] {
        model_within(preemptions, move || {
            let (shared, dropped) = runtime(workers);
            let threads = start(&shared);
            end::begin(&shared);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(is_closed(&shared));
            assert_eq!(dropped.count(), 1);
        });
    }
}

/// The end wakes a worker that sleeps in the seat, while the kernel reports an event of a task
/// there. The worker wakes that task, before it leaves its loop or after the other one has left:
/// no task is left in a queue.
#[test]
fn worker_that_wakes_a_task_at_the_end_leaves_none_in_a_queue() {
    model_within(2, || {
        let shared = frugal(2);
        let leave = Arc::new(Socket::new(&shared));
        let leaves = leave.clone();
        let dropped = spawn_task_that_waits(&shared, move |waker| leaves.leave_waker(waker));

        // Worker 1 has the seat, and worker 0 parks. When the end begins, both sleep, or nearly so.
        let [first, second] = [0, 1].map(|index| worker(&shared, index));
        let second = thread::spawn(second);
        let may_end = Gate::default();
        let ends = {
            let (shared, may_end) = (shared.clone(), may_end.clone());
            thread::spawn(move || {
                may_end.wait(1);
                leave.event(false);
                end::begin(&shared);
            })
        };
        shared.driver.kernel.until_somebody_waits();
        may_end.open();
        first();
        for thread in [second, ends] {
            thread.join().unwrap();
        }
        assert!(is_closed(&shared));
        dropped.wait();
    });
}

/// The runtime ends twice at once, as when a task panics while another thread drops the runtime.
/// One of the two closes it.
#[test]
fn runtime_that_is_ended_twice_is_closed_once() {
    race(Crew::default, Crew::begin_end, Crew::begin_end, |_, one, other| assert!(one != other));
}

/// The same event is for a waiter of another executor, which the end does not find once the worker
/// has collected its waker. So the worker wakes it in its last turn.
#[test]
fn waiter_of_another_executor_is_woken_by_the_last_turn() {
    model_within(3, || {
        let shared = frugal(1);
        let socket = Socket::new(&shared);
        let woken = Gate::default();
        socket.leave_waker(woken.waker());
        let ends = {
            let shared = shared.clone();
            thread::spawn(move || {
                socket.event(false);
                end::begin(&shared);
                socket
            })
        };
        worker(&shared, 0)();
        let _socket = ends.join().unwrap();
        woken.wait(1);
        assert!(is_closed(&shared));
    });
}

/// `end::close` against a thread that wakes a task: its future is dropped, by one of the two, and
/// nothing is left in a queue. The injector is closed.
#[test]
fn task_that_is_woken_at_the_end_is_dropped() {
    // Woken by another thread, or by none.
    for is_woken in [false, true] {
        race_within(
            3,
            || {
                let shared = frugal(1);
                let waker = Arc::new(Mutex::new(None::<Waker>));
                let leaves = waker.clone();
                let leave = move |waker| *leaves.lock().unwrap() = Some(waker);
                let dropped = spawn_task_that_waits(&shared, leave);
                (shared, dropped, waker)
            },
            move |(_, _, waker)| {
                if is_woken {
                    let waker = waker.lock().unwrap().take().unwrap();
                    waker.wake();
                }
            },
            |(shared, _, _)| {
                // Nobody is in a loop.
                end::begin(shared);
            },
            |(shared, dropped, _), (), ()| {
                dropped.wait();
                assert!(is_closed(shared));
            },
        );
    }
}

/// Takes a lock when it is dropped.
struct TakesLock(Arc<sync::Mutex<()>>);

impl Drop for TakesLock {
    fn drop(&mut self) {
        drop(lock(&self.0));
    }
}

/// The same, but the thread that wakes the task holds a lock that the drop of its future takes.
/// However late that thread is, it does not drop the future itself.
#[test]
fn task_that_is_woken_at_the_end_is_not_dropped_by_who_wakes_it() {
    race_within(
        3,
        || {
            let shared = frugal(1);
            let (waker, mutex) = (Arc::new(Mutex::new(None::<Waker>)), Arc::default());
            let (leaves, held) = (waker.clone(), TakesLock(Arc::clone(&mutex)));
            let leave = move |waker| {
                let _ = &held;
                *leaves.lock().unwrap() = Some(waker);
            };
            let dropped = spawn_task_that_waits(&shared, leave);
            (shared, dropped, waker, mutex)
        },
        |(_, _, waker, mutex)| {
            let waker = waker.lock().unwrap().take().unwrap();
            let _held = lock(mutex);
            waker.wake();
        },
        |(shared, ..)| end::begin(shared),
        |(shared, dropped, ..), (), ()| {
            dropped.wait();
            assert!(is_closed(shared));
        },
    );
}

/// `make_task` against `end::close`: a task that is spawned meanwhile is found by the end, or it is
/// refused. So it has ended, and its record does not keep it alive.
#[test]
fn task_that_is_spawned_at_the_end_has_ended() {
    race_within(
        3,
        || frugal(1),
        |shared| {
            let dropped = Dropped::default();
            let guard = OnDrop(dropped.clone());
            let waits = async move {
                let _guard = guard;
                pending::<()>().await
            };
            (spawn_on(shared, note(), waits).abort_handle(), dropped)
        },
        |shared| {
            // Nobody is in a loop.
            end::begin(shared);
        },
        |shared, (handle, dropped), ()| {
            assert!(handle.is_finished());
            dropped.wait();
            assert!(is_closed(shared));
        },
    );
}

/// A thread signs on, as `threads::start` does it.
fn sign_on(shared: &Arc<Shared>) -> std::io::Result<SignedOn> {
    shared.crew.sign_on()?;
    Ok(SignedOn(shared.clone()))
}

/// `end::join` against threads that sign off, and one that may sign on just then. It returns after
/// the last one that could sign on has signed off.
#[test]
fn end_waits_for_every_thread_that_signed_on() {
    race_within(
        3,
        || {
            let shared = shared(1);
            let first = sign_on(&shared).ok();
            (shared, Mutex::new(first), AtomicBool::new(false))
        },
        |(shared, first, has_ended)| {
            drop(first.lock().unwrap().take());
            // A job that comes at any time.
            let second = sign_on(shared);
            if second.is_ok() {
                assert!(!has_ended.load(Ordering::SeqCst), "it runs after the end");
            }
            drop(second);
        },
        |(shared, _, has_ended)| {
            end::begin(shared);
            end::join(shared, Vec::new(), Duration::MAX);
            has_ended.store(true, Ordering::SeqCst);
        },
        |_, (), ()| (),
    );
}

/// `end::begin` by a thread outside, which closes the runtime if nobody has, against one that waits
/// for the end. When that one returns, the task that waited has been dropped, whoever has done so.
#[test]
fn end_waits_for_the_thread_that_closes() {
    race_within(
        3,
        || runtime(1),
        |(shared, _)| end::begin(shared),
        |(shared, dropped)| {
            end::begin(shared);
            end::join(shared, Vec::new(), Duration::MAX);
            assert!(is_closed(shared));
            assert_eq!(dropped.count(), 1);
        },
        |_, (), ()| (),
    );
}

/// The pool is closed while the only thread for jobs is on its way to the first of two, or is done
/// with it. The first one runs. The other one runs or is given up.
#[test]
fn job_that_a_thread_is_on_its_way_for_runs() {
    model_within(3, || {
        let (shared, pool) = (shared(1), Arc::new(Pool::new()));
        let (begun, may_end) = (Gate::default(), Gate::default());
        let ran = Arc::new(Mutex::new(Vec::new()));
        let started = Mutex::new(None);
        let start = || {
            let pool = pool.clone();
            let (begins, ends) = (begun.clone(), may_end.clone());
            *started.lock().unwrap() = Some(thread::spawn(move || {
                while let Some(job) = pool.next(Duration::MAX) {
                    job.run();
                    begins.open();
                    ends.wait(1);
                    pool.is_done();
                }
            }));
            Ok(())
        };
        for number in 0..2 {
            let ran = ran.clone();
            let job = task(&shared, move || ran.lock().unwrap().push(number));
            pool.push(job, 1, start).unwrap();
        }
        drop(pool.close());
        let given_up = std::iter::from_fn(|| pool.next_given_up()).count();
        may_end.open();
        started.lock().unwrap().take().unwrap().join().unwrap();

        // The thread cannot have come to the second one before.
        assert_eq!((&**ran.lock().unwrap(), given_up), (&[0][..], 1));
    });
}
