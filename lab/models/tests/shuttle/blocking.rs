//! Jobs of `spawn_blocking`, and the end of their runtime.

use crate::common::{OnDrop, Signal, current_thread, model, runtime, wait};
use crate::runtime::Runtime;
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::task;
use shuttle::thread::{spawn, yield_now};

/// One runtime of each flavor. A single thread does all that ends a current-thread runtime. So the
/// whole end often falls between two steps of a job, which is what shows some mistakes. If the
/// thread of a worker has to end as well, that happens in one of thirty thousand schedules.
const BOTH: [fn() -> Runtime; 2] = [|| runtime(1), current_thread];

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
// ~ src/scheduler/threads.rs
// - self.0.thread_ended.notify_all();
// ~ src/scheduler/end.rs
// - let others_run = |count: &mut usize| *count > myself;
// + let others_run = |count: &mut usize| *count > myself + 1;
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
        let report = runtime.shutdown(crate::sync::Duration::MAX);
        assert!(report.is_empty(), "{report:?}");
        assert_eq!(ended.count(), 1);
        assert_eq!(wait(job).unwrap(), 7);
        assert!(abort.is_finished());
    });
}

/// The runtime ends while a job is on its way to its thread. Either the job runs to its end before
/// the runtime has ended, and its output is delivered, or it never begins, and is dropped.
// ~ src/scheduler/threads.rs
// - if shared.is_ending() {
// -     return None;
// - }
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
// ~ src/task/spawn.rs
// - let signed_on = SignedOn::new(runtime.clone(), || key.count_step());
// + key.count_step();
// + let signed_on = SignedOn::new(runtime.clone(), || ());
// ~ src/task/spawn.rs
// - let signed_on = SignedOn::new(runtime.clone(), || key.count_step());
// + let signed_on = SignedOn::new(runtime.clone(), || ());
// + key.count_step();
#[test]
fn job_is_in_the_list_of_tasks_while_the_end_waits_for_it() {
    for start in BOTH {
        model(move || {
            let runtime = start();
            let (handle, inside) = (runtime.handle().clone(), runtime.handle().clone());
            let job = runtime.spawn_blocking(move || inside.tasks().len());
            drop(runtime);
            assert_eq!(handle.tasks().len(), 0);
            match wait(job) {
                Ok(listed) => assert_eq!(listed, 1),
                Err(error) => assert!(error.is_cancelled()),
            }
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
            drop(task::spawn(async move {
                let _guard = one;
                std::future::pending::<()>().await;
            }));
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
