//! The end of a runtime, whatever goes on meanwhile: every future is dropped, once, and
//! nobody waits for ever.

use crate::common::{OnDrop, Signal, model, runtime, wait};
use crate::runtime::{Builder, UnhandledPanic};
use crate::sync::Duration;
use crate::task;
use shuttle::thread::spawn;

/// Tasks are woken, and new ones are spawned, while the runtime ends.
// ~ src/scheduler.rs
// - self.injector.try_iter().for_each(drop);
// ~ src/scheduler.rs
// - RUNTIMES.write().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
// - self.remotes.iter().for_each(|remote| remote.local.spill(&self.injector));
// - self.injector.try_iter().for_each(drop);
// + self.remotes.iter().for_each(|remote| remote.local.spill(&self.injector));
// + self.injector.try_iter().for_each(drop);
// + RUNTIMES.write().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
#[test]
fn every_future_is_dropped_whoever_wakes_it_meanwhile() {
    model(|| {
        let runtime = runtime(2);
        let (signal, dropped) = (Signal::default(), Signal::default());
        let spawned = [0, 1].map(|_| {
            let (signal, guard) = (signal.clone(), OnDrop(dropped.clone()));
            runtime.spawn(async move {
                let _guard = guard;
                signal.sent(2).await;
            })
        });
        let handle = runtime.handle().clone();
        // So that what the runtime left is not dropped with it.
        let _kept = handle.clone();
        let (late, guard) = (signal.clone(), OnDrop(dropped.clone()));
        let waker = spawn(move || {
            late.send();
            let task = handle.spawn(async move {
                let _guard = guard;
                task::yield_now().await;
            });
            late.send();
            task
        });
        drop(runtime);
        for task in spawned {
            let _ = wait(task);
        }
        let _ = wait(waker.join().unwrap());
        // What was woken after the end is dropped by another thread.
        wait(dropped.sent(3));
        assert_eq!(dropped.count(), 3);
    });
}

/// Tasks that never end by themselves, in every state: in a queue, polled, waiting.
// ~ src/scheduler.rs
// - self.unpark(self.idle.wake(worker).then_some(worker));
// - self.unpark_thread(worker);
// ~ src/scheduler.rs
// - wakers.into_iter().for_each(wake);
// + drop(wakers);
#[test]
fn tasks_everywhere_are_dropped_at_the_end() {
    for waits in [false, true] {
        model(move || {
            let runtime = runtime(2);
            let (begun, dropped) = (Signal::default(), Signal::default());
            let [yields, parent, child] = [0; 3].map(|_| OnDrop(dropped.clone()));
            let begins = begun.clone();
            let tasks = [
                runtime.spawn(async move {
                    let _guard = yields;
                    loop {
                        // Its thread as well, or PCT would never let another one run.
                        shuttle::thread::yield_now();
                        task::yield_now().await;
                    }
                }),
                runtime.spawn(async move {
                    let _guard = parent;
                    let own = async move {
                        let _guard = child;
                        begins.send();
                        std::future::pending().await
                    };
                    task::spawn(own).await.unwrap()
                }),
            ];
            if waits {
                wait(begun.sent(1));
            }
            drop(runtime);
            wait(dropped.sent(3));
            assert_eq!(dropped.count(), 3);
            for task in tasks {
                assert!(wait(task).unwrap_err().is_cancelled());
            }
        });
    }
}

/// The runtime ends by a panic, while a thread spawns and joins.
#[test]
fn panic_ends_the_runtime_if_it_shall() {
    model(|| {
        let builder = Builder::new_multi_thread().workers(2);
        let runtime = builder.unhandled_panic(UnhandledPanic::ShutdownRuntime).build().unwrap();
        let waits = runtime.spawn(std::future::pending::<()>());
        let panics = runtime.spawn(async {
            if true {
                std::panic::resume_unwind(Box::new("oh"));
            }
        });
        assert!(wait(waits).unwrap_err().is_cancelled());
        // It was polled, or the end came first: no, as nothing else ends the runtime.
        assert!(wait(panics).unwrap_err().is_panic());
        assert!(wait(runtime.spawn(async {})).unwrap_err().is_cancelled());
    });
}

/// A shutdown with a limit that may be over at any time.
#[test]
fn shutdown_with_a_limit_reports_what_it_left() {
    model(|| {
        let runtime = runtime(2);
        let signal = Signal::default();
        let (begun, waits) = (Signal::default(), signal.clone());
        let begins = begun.clone();
        let task = runtime.spawn(async move {
            begins.send();
            waits.sent(1).await;
        });
        wait(begun.sent(1));
        let id = task.id();
        let left = runtime.shutdown(Duration::from_secs(1));
        assert!(left.iter().any(|task| task.id == id), "{left:?}");
        signal.send();
        // If the limit was over first, a worker may have been about to poll it.
        let _ = wait(task);
    });
}

/// The runtime ends while one of its jobs goes on: the end waits for it.
// ~ src/blocking.rs
// - self.0.jobs.finished_one.notify_all();
#[test]
fn end_waits_for_blocking_jobs_that_have_begun() {
    model(|| {
        let runtime = runtime(1);
        let (begun, ended) = (Signal::default(), Signal::default());
        let (begins, ends) = (begun.clone(), ended.clone());
        let job = runtime.spawn_blocking(move || {
            begins.send();
            task::try_id();
            ends.send();
        });
        wait(begun.sent(1));
        drop(runtime);
        assert_eq!(ended.count(), 1);
        let _ = wait(job);
    });
}

/// A thread is in `block_on` while the runtime ends, whose worker's own thread has not begun,
/// or is on its way into the seat. Its future goes on.
// ~ src/guest.rs
// - shared.unpark((shared.is_shutdown() && shared.idle.wake(index)).then_some(index));
#[test]
fn block_on_outlives_its_runtime() {
    for has_run in [false, true] {
        model(move || {
            let runtime = runtime(1);
            if has_run {
                wait(runtime.spawn(async {})).unwrap();
            }
            let handle = runtime.handle().clone();
            let signal = Signal::default();
            let inside = signal.clone();
            let guest = spawn(move || {
                handle.block_on(async {
                    let child = task::spawn(async { 1 });
                    inside.sent(1).await;
                    child.await.is_ok_and(|number| number == 1)
                })
            });
            drop(runtime);
            signal.send();
            guest.join().unwrap();
        });
    }
}
