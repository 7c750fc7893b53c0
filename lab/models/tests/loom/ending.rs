//! The end of a runtime: against workers that fall asleep, against a thread that wakes a task, and
//! against the threads that it waits for. And the pool of jobs, which it closes.

use crate::registry::list::{Kind, Origin};
use crate::scheduler::end;
use crate::scheduler::pool::Pool;
use crate::scheduler::shared::Shared;
use crate::scheduler::threads::{self, InLoop, SignedOn};
use crate::sync::{AtomicBool, Duration, Ordering, lock, thread};
use crate::task::spawn::{make_task, spawn_on, yield_now};
use crate::world::{
    Dropped, Gate, OnDrop, Socket, is_closed, list, make_polls_short, shared, spawn, task,
};
use crate::{model_within, race_within};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// A runtime whose workers have not begun, with a task.
fn runtime(workers: usize) -> (Arc<Shared>, Dropped) {
    let shared = shared(workers);
    make_polls_short(&shared);
    list(&shared);
    let dropped = Dropped::default();
    spawn(&shared, dropped.clone());
    (shared, dropped)
}

/// A task that was polled once may wait in a queue.
fn spawn_task_that_yields(shared: &Shared, dropped: Dropped) {
    let guard = OnDrop(dropped);
    let task = spawn_on(shared, Origin::new(Kind::Async), async move {
        guard.0.touch();
        yield_now().await;
        std::future::pending::<()>().await;
        drop(guard);
    });
    drop(task);
}

/// The main function of the thread of a worker, which has not left its loop yet.
fn worker(shared: &Arc<Shared>, index: usize) -> impl FnOnce() + Send + 'static {
    let in_loop = InLoop(shared.clone(), index);
    move || threads::run_worker(in_loop)
}

/// Starts the threads of the workers.
fn start(shared: &Arc<Shared>) -> Vec<thread::JoinHandle<()>> {
    let workers: Vec<_> = (0..shared.workers.len()).map(|index| worker(shared, index)).collect();
    workers.into_iter().map(thread::spawn).collect()
}

/// `end::begin` against workers that run a task or fall asleep: each of them sees that the runtime
/// ends, or is woken. The last one closes the runtime, after all have left.
// ~ src/scheduler/end.rs
// - shared.ending.store(true, Ordering::SeqCst);
// - drop(signing_on);
// - let claim = |worker: &usize| shared.sleepers.claim(*worker);
// - let claimed: Vec<usize> = (0..shared.workers.len()).filter(claim).collect();
// + drop(signing_on);
// + let claim = |worker: &usize| shared.sleepers.claim(*worker);
// + let claimed: Vec<usize> = (0..shared.workers.len()).filter(claim).collect();
// + shared.ending.store(true, Ordering::SeqCst);
// ~ src/scheduler/end.rs
// - shared.rouse(worker);
// ~ src/scheduler/threads.rs
// - worker.run_one(&|| shared.is_ending());
// + worker.run_one(&|| false);
// ~ src/scheduler/sleep.rs
// - self.asleep.fetch_and(!(1 << worker), Ordering::SeqCst) & (1 << worker) != 0
// + self.asleep.fetch_and(!(1 << worker), Ordering::Relaxed) & (1 << worker) != 0
// ~ src/scheduler/end.rs
// - let has_left = shared.workers[worker].has_left.swap(true, Ordering::AcqRel);
// - if !has_left && shared.in_loop.fetch_sub(1, Ordering::AcqRel) == 1 {
// + if shared.in_loop.fetch_sub(1, Ordering::AcqRel) == 1 {
#[test]
fn workers_that_fall_asleep_do_not_miss_the_end() {
    for (workers, preemptions) in [(1, 3), (2, 2)] {
        model_within(preemptions, move || {
            let (shared, dropped) = runtime(workers);
            let threads = start(&shared);
            end::begin(&shared, Duration::ZERO);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(is_closed(&shared));
            assert_eq!(dropped.count(), 1);
            assert_eq!(shared.in_loop.load(Ordering::Relaxed), 0);
        });
    }
}

/// The end claims a worker that sleeps in the seat, while the kernel reports an event of a task
/// there. The end may have closed the runtime when that worker wakes the task: no task is left in a
/// queue.
// ~ src/scheduler/worker.rs
// - if shared.is_ending() {
// + if self.mine().has_left.load(Ordering::Acquire) {
// ~ src/scheduler/worker.rs
// - if shared.is_ending() {
// + if false {
// ~ src/scheduler/threads.rs
// - drop(context);
// - worker.wake_collected();
// + worker.wake_collected();
// + drop(context);
#[test]
fn worker_that_is_claimed_by_the_end_touches_no_task() {
    model_within(2, || {
        let shared = shared(2);
        make_polls_short(&shared);
        list(&shared);
        let socket = Socket::new(&shared);

        // A task that waits for the socket: it has been polled once.
        let dropped = Dropped::default();
        let guard = OnDrop(dropped.clone());
        let leave = Arc::new(socket);
        let leaves = leave.clone();
        let origin = Origin::new(Kind::Async);
        let (runnable, handle) = make_task(&shared, origin, async move {
            let _guard = guard;
            poll_fn(|context| {
                leaves.leave_waker(context.waker().clone());
                Poll::<()>::Pending
            })
            .await;
        });
        runnable.unwrap().run();
        drop(handle);

        // Worker 1 has the seat, and worker 0 parks. When the end begins, both sleep, or nearly so.
        let [first, second] = [0, 1].map(|index| worker(&shared, index));
        let second = thread::spawn(second);
        let may_end = Gate::default();
        let ends = {
            let (shared, may_end) = (shared.clone(), may_end.clone());
            thread::spawn(move || {
                may_end.wait(1);
                leave.event(false);
                end::begin(&shared, Duration::ZERO);
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

/// A worker whose thread does not start leaves its loop all the same, and closes nothing as long as
/// the other one runs. Who closes the runtime drops a task that the other one has polled before.
// ~ src/scheduler/threads.rs
// - end::leave_loop(&self.0, self.1);
// ~ src/scheduler/end.rs
// - if !has_left && shared.in_loop.fetch_sub(1, Ordering::AcqRel) == 1 {
// + if !has_left && shared.in_loop.fetch_sub(1, Ordering::Relaxed) == 1 {
// ~ src/scheduler/end.rs
// - if !has_left && shared.in_loop.fetch_sub(1, Ordering::AcqRel) == 1 {
// + shared.in_loop.fetch_sub(1, Ordering::AcqRel);
// + if !has_left {
#[test]
fn worker_without_a_thread_has_left() {
    model_within(3, || {
        // It is the only task. To wake another one, the end would pass a fence.
        let (shared, dropped) = (shared(2), Dropped::default());
        make_polls_short(&shared);
        list(&shared);
        spawn_task_that_yields(&shared, dropped.clone());
        let [first, second] = [0, 1].map(|index| worker(&shared, index));
        let first = thread::spawn(first);
        end::begin(&shared, Duration::ZERO);
        drop(second);
        first.join().unwrap();
        assert!(is_closed(&shared));
        assert_eq!(dropped.count(), 1);
    });
}

/// `end::close` against a thread that wakes a task: its future is dropped, by one of the two, and
/// nothing is left in a queue. The table is the gate of the injector.
// ~ src/scheduler/end.rs
// - drop(RUNTIMES.write().unwrap_or_else(PoisonError::into_inner).remove(&shared.id));
// - shared.driver.timers.expire(NEVER, &mut wakers);
// - wakers.into_iter().for_each(wake);
// - for worker in &shared.workers {
// -     iter::from_fn(|| worker.queue.pop()).for_each(drop);
// - }
// - shared.injector.try_iter().for_each(drop);
// + shared.driver.timers.expire(NEVER, &mut wakers);
// + wakers.into_iter().for_each(wake);
// + for worker in &shared.workers {
// +     iter::from_fn(|| worker.queue.pop()).for_each(drop);
// + }
// + shared.injector.try_iter().for_each(drop);
// + drop(RUNTIMES.write().unwrap_or_else(PoisonError::into_inner).remove(&shared.id));
// ~ src/scheduler/end.rs
// - shared.injector.try_iter().for_each(drop);
// ~ src/scheduler/end.rs
// - wakers.drain(..).for_each(wake);
// + wakers.clear();
// ~ src/task/spawn.rs
// - let _ = thread::Builder::new().spawn(move || drop(runnable));
// + std::mem::forget(runnable);
// ~ src/scheduler/context.rs
// - let runtimes = RUNTIMES.read().unwrap_or_else(PoisonError::into_inner);
// - match runtimes.get(&id) {
// -     Some(runtime) => runtime.inject(runnable),
// -     None => return Err(runnable),
// - }
// + match find_runtime(id) {
// +     Some(runtime) => runtime.inject(runnable),
// +     None => return Err(runnable),
// + }
#[test]
fn task_that_is_woken_at_the_end_is_dropped() {
    // Woken by another thread, or by none.
    for is_woken in [false, true] {
        race_within(
            3,
            || {
                let shared = shared(1);
                make_polls_short(&shared);
                list(&shared);
                let dropped = Dropped::default();
                let guard = OnDrop(dropped.clone());
                let waker = Arc::new(Mutex::new(None::<Waker>));
                let leaves = waker.clone();
                let origin = Origin::new(Kind::Async);
                let (runnable, handle) = make_task(&shared, origin, async move {
                    let _guard = guard;
                    poll_fn(|context| {
                        *leaves.lock().unwrap() = Some(context.waker().clone());
                        Poll::<()>::Pending
                    })
                    .await;
                });
                runnable.unwrap().run();
                drop(handle);
                (shared, dropped, waker)
            },
            move |(_, _, waker)| {
                if is_woken {
                    let waker = waker.lock().unwrap().take().unwrap();
                    waker.wake();
                }
            },
            |(shared, _, _)| {
                // It leaves its loop without having polled anything.
                let worker = worker(shared, 0);
                end::begin(shared, Duration::ZERO);
                drop(worker);
            },
            |(shared, dropped, _), (), ()| {
                dropped.wait();
                assert!(is_closed(shared));
            },
        );
    }
}

/// `end::join` against threads that sign off, and one that may sign on just then. It returns after
/// the last one that could sign on has signed off.
// ~ src/scheduler/threads.rs
// - self.0.thread_ended.notify_all();
// ~ src/scheduler/threads.rs
// - *lock(&self.0.threads) -= 1;
// - self.0.thread_ended.notify_all();
// + self.0.thread_ended.notify_all();
// + *lock(&self.0.threads) -= 1;
// ~ src/scheduler/threads.rs
// - if shared.is_ending() {
// + if false {
// ~ src/scheduler/threads.rs
// - let mut threads = lock(&shared.threads);
// - if shared.is_ending() {
// -     return Err(io::Error::other("the runtime ends and starts no threads"));
// - }
// + if shared.is_ending() {
// +     return Err(io::Error::other("the runtime ends and starts no threads"));
// + }
// + let mut threads = lock(&shared.threads);
// ~ src/scheduler/end.rs
// - let others_run = |count: &mut usize| *count > myself;
// + let others_run = |count: &mut usize| *count > myself + 1;
#[test]
fn end_waits_for_every_thread_that_signed_on() {
    race_within(
        3,
        || {
            let shared = shared(1);
            let first = SignedOn::new(shared.clone()).ok();
            (shared, Mutex::new(first), AtomicBool::new(false))
        },
        |(shared, first, has_ended)| {
            drop(first.lock().unwrap().take());
            // A job that comes at any time.
            let second = SignedOn::new(shared.clone());
            if second.is_ok() {
                assert!(!has_ended.load(Ordering::SeqCst), "it runs after the end");
            }
            drop(second);
        },
        |(shared, _, has_ended)| {
            end::begin(shared, Duration::ZERO);
            end::join(shared, Vec::new(), Duration::MAX);
            has_ended.store(true, Ordering::SeqCst);
        },
        |_, (), ()| (),
    );
}

/// The pool is closed while the only thread for jobs is on its way to the first of two, or is done
/// with it. The first one runs. The other one runs or is given up.
// ~ src/scheduler/pool.rs
// - let begun = state.jobs.len().min(state.free);
// + let begun = 0;
// ~ src/scheduler/pool.rs
// - let begun = state.jobs.len().min(state.free);
// + let begun = state.jobs.len();
// ~ src/scheduler/pool.rs
// - let mut given_up = state.jobs.split_off(begun);
// - state.given_up.append(&mut given_up);
// + state.jobs.truncate(begun);
#[test]
fn job_that_a_thread_is_on_its_way_for_runs() {
    model_within(3, || {
        let (shared, pool) = (shared(1), Arc::new(Pool::default()));
        let (begun, may_end) = (Gate::default(), Gate::default());
        let ran = Arc::new(Mutex::new(Vec::new()));
        let started = Mutex::new(None);
        let start = |_| {
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
            pool.push(job, 1, String::new, start).unwrap();
        }
        pool.close();
        let given_up = std::iter::from_fn(|| pool.next_given_up()).count();
        may_end.open();
        started.lock().unwrap().take().unwrap().join().unwrap();

        // The thread cannot have come to the second one before.
        assert_eq!((&**ran.lock().unwrap(), given_up), (&[0][..], 1));
    });
}
