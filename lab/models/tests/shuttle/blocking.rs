//! Jobs of `spawn_blocking`, and the end of their runtime.

use crate::common::{
    OnDrop, Signal, SpawnBlocking, count_tasks, current_thread, holds, model, runtime, wait,
};
use crate::runtime::{Builder, Runtime};
use crate::sync::{Arc, AtomicBool, Duration, Ordering};
use crate::task;
use shuttle::thread::{spawn, yield_now};

/// One runtime of each flavor. A single thread does all that ends a current-thread runtime. So the
/// whole end often falls between two steps of a job, which is what shows some mistakes. If the
/// thread of a worker has to end as well, that happens in one of thirty thousand schedules.
const BOTH: [fn() -> Runtime; 2] = [|| runtime(1), current_thread];

/// A thread that has no job stays for the next one, or ends at any time.
const MAX: Duration = Duration::MAX;
const SOME: Duration = Duration::from_secs(10);

/// A job on a thread of its own wakes the task that waits for it.
#[test]
fn job_is_joined() {
    model(|| {
        let runtime = runtime(2);
        let task = runtime.spawn(async { task::spawn_blocking(|| 7).await.unwrap() });
        assert_eq!(wait(task).unwrap(), 7);
    });
}

/// The runtime ends while one of its jobs goes on: the end waits for it, and its output is
/// delivered.
#[test]
fn end_waits_for_a_job_that_has_begun() {
    model(|| {
        let runtime = runtime(1);
        let (begun, ended) = (Signal::default(), Signal::default());
        let (begins, ends) = (begun.clone(), ended.clone());
        let job = runtime.spawn_blocking(move || {
            begins.send();
            // The other threads may all sign off first.
            (0..100).for_each(|_| yield_now());
            ends.send();
            7
        });
        wait(begun.sent(1));
        let abort = job.abort_handle();
        runtime.shutdown(crate::sync::Duration::MAX);
        assert_eq!(ended.count(), 1);
        assert_eq!(wait(job).unwrap(), 7);
        assert!(abort.is_finished());
    });
}

/// The runtime ends while a job is on its way to its thread. Either the job runs to its end before
/// the runtime has ended, and its output is delivered, or it never begins, and is dropped.
#[test]
fn job_that_has_not_begun_is_dropped() {
    for start in BOTH {
        model(move || {
            let runtime = start();
            let (dropped, has_ended) = (Signal::default(), Arc::new(AtomicBool::new(false)));
            let (guard, ends) = (OnDrop(dropped.clone()), has_ended.clone());
            let job = runtime.spawn_blocking(move || {
                let _guard = guard;
                assert!(!ends.load(Ordering::SeqCst), "the job runs after the end");
                yield_now();
                !ends.load(Ordering::SeqCst)
            });
            drop(runtime);
            has_ended.store(true, Ordering::SeqCst);
            wait(dropped.sent(1));
            match wait(job) {
                Ok(was_waited_for) => assert!(was_waited_for),
                Err(error) => assert!(error.is_cancelled()),
            }
            assert_eq!(dropped.count(), 1);
        });
    }
}

/// The runtime ends while a job is on its way to its thread. A job that runs is in the list of
/// tasks for as long as it does. After the end the list is empty.
#[test]
fn job_is_in_the_list_of_tasks_while_the_end_waits_for_it() {
    for start in BOTH {
        model(move || {
            let runtime = start();
            let (handle, inside) = (runtime.handle().clone(), runtime.handle().clone());
            let job = runtime.spawn_blocking(move || count_tasks(&inside));
            drop(runtime);
            assert_eq!(count_tasks(&handle), 0);
            match wait(job) {
                Ok(listed) => assert_eq!(listed, 1),
                Err(error) => assert!(error.is_cancelled()),
            }
        });
    }
}

/// Jobs come from two threads, and there may be one thread for them, or two. Each job runs: no
/// thread misses the notification of one, also if it has just waited for too long.
#[test]
fn every_job_finds_a_thread() {
    for (limit, keep_alive) in [1, 2].into_iter().flat_map(|it| [(it, MAX), (it, SOME)]) {
        model(move || {
            let mut builder = Builder::new_current_thread();
            builder.max_blocking_threads(limit).thread_keep_alive(keep_alive);
            let runtime = builder.build().unwrap();
            wait(runtime.spawn_blocking(|| ())).unwrap(); // now there is a thread
            let handle = runtime.handle().clone();
            let both = Signal::default();
            let (meets, meet) = (both.clone(), both.clone());
            let other = spawn(move || {
                let first = handle.spawn_blocking(move || meets.send());
                wait(first).unwrap();
                wait(handle.spawn_blocking(|| 1)).unwrap()
            });
            let job = runtime.spawn_blocking(move || {
                meet.send();
                if limit == 2 {
                    wait(meet.sent(2)); // both run at once
                }
                2
            });
            assert_eq!(wait(job).unwrap() + other.join().unwrap(), 3);
        });
    }
}

/// A thread that waits for a job, however long, hears of the end.
#[test]
fn thread_that_waits_for_a_job_ends() {
    model(|| {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.thread_keep_alive(MAX).build().unwrap();
        wait(runtime.spawn_blocking(|| ())).unwrap();
        drop(runtime);
    });
}

/// The runtime ends while another thread spawns a job: that runs, or is dropped.
#[test]
fn job_that_comes_with_the_end_is_not_left() {
    for start in BOTH {
        model(move || {
            let runtime = start();
            let (handle, dropped) = (runtime.handle().clone(), Signal::default());
            let (spawns, guard) = (handle.clone(), OnDrop(dropped.clone()));
            let other = spawn(move || drop(spawns.spawn_blocking(move || drop(guard))));
            drop(runtime);
            other.join().unwrap();
            wait(dropped.sent(1));
            drop(handle); // it has kept alive what a job could be left in
        });
    }
}

/// The same, and the only thread for jobs is in one that waits until the other one is dropped. So
/// that must be done by another thread.
#[test]
fn job_may_wait_for_the_drop_of_one_that_is_given_up() {
    for new in [Builder::new_multi_thread, Builder::new_current_thread] {
        model(move || {
            let mut builder = new();
            let runtime = builder.workers(1).max_blocking_threads(1).build().unwrap();
            let (handle, dropped) = (runtime.handle().clone(), Signal::default());
            let (waits, guard) = (dropped.clone(), OnDrop(dropped));
            drop(runtime.spawn_blocking(move || wait(waits.sent(1))));
            let other = spawn(move || drop(handle.spawn_blocking(move || drop(guard))));
            drop(runtime);
            other.join().unwrap();
        });
    }
}

/// The runtime ends while a poll waits for the job that it has spawned: that runs, or is dropped,
/// before the poll is over.
#[test]
fn poll_may_wait_for_its_job_while_the_runtime_ends() {
    model(|| {
        let runtime = current_thread();
        let handle = runtime.handle().clone();
        let poll = spawn(move || {
            handle.block_on(async {
                let dropped = Signal::default();
                let guard = OnDrop(dropped.clone());
                drop(task::spawn_blocking(move || drop(guard)));
                wait(dropped.sent(1));
            });
        });
        drop(runtime);
        poll.join().unwrap();
    });
}

/// The end comes while a thread is on its way for a job, which has begun by that: it runs. Another
/// one, which no thread is on its way for, is dropped.
#[test]
fn job_that_a_thread_is_on_its_way_for_runs() {
    for new in [Builder::new_multi_thread, Builder::new_current_thread] {
        model(move || {
            let mut builder = new();
            let runtime = builder.workers(1).max_blocking_threads(1).build().unwrap();
            let (runs, dropped) = (Signal::default(), Signal::default());
            let (first, second) = (runs.clone(), OnDrop(dropped.clone()));
            let (has_begun, may_end) = (Signal::default(), Signal::default());
            let (begins, waits) = (has_begun.clone(), may_end.clone());
            let job = runtime.spawn_blocking(move || {
                begins.send();
                wait(waits.sent(1));
                first.send();
            });
            let in_vain = runtime.spawn_blocking(move || {
                let _guard = second;
                unreachable!("the only thread is in the other job until this one is dropped");
            });
            let ends = spawn(move || drop(runtime));
            // Only the end drops it.
            wait(dropped.sent(1));
            may_end.send();
            ends.join().unwrap();
            assert_eq!((runs.count(), dropped.count()), (1, 1));
            wait(job).unwrap();
            assert!(wait(in_vain).unwrap_err().is_cancelled());
        });
    }
}

/// A job spawns a task, another job, and drops the runtime itself.
#[test]
fn job_may_end_its_own_runtime() {
    model(|| {
        let runtime = runtime(1);
        let (handle, dropped) = (runtime.handle().clone(), Signal::default());
        let (one, other) = (OnDrop(dropped.clone()), OnDrop(dropped.clone()));
        let job = handle.spawn_blocking(move || {
            drop(task::spawn(holds(one)));
            drop(task::spawn_blocking(move || drop(other)));
            drop(runtime);
        });
        let spawns = spawn(move || drop(handle.spawn(async {})));
        let _ = wait(job);
        wait(dropped.sent(2));
        assert_eq!(dropped.count(), 2);
        spawns.join().unwrap();
    });
}
