//! `UnhandledPanic`: the panic of a task may end its runtime, and every `block_on` of it.

use crate::core_common::*;
use arc_util::runtime::{Builder, Handle, LocalOptions, Runtime, UnhandledPanic};
use arc_util::task::LocalSet;
use std::future::pending;
use std::thread;

/// Runtimes that end when a task panics: with several workers, and with one that a thread in
/// `block_on` runs.
fn with_each(test: impl Fn(Runtime) + Send + 'static) {
    within_deadline(move || {
        for workers in SIZES {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(workers).unhandled_panic(UnhandledPanic::ShutdownRuntime);
            test(builder.build().unwrap());
        }
        let mut builder = Builder::new_current_thread();
        test(builder.unhandled_panic(UnhandledPanic::ShutdownRuntime).build().unwrap());
    });
}

#[track_caller]
fn expect_told(text: &str) {
    assert!(text.contains("UnhandledPanic::ShutdownRuntime"), "{text}");
}

/// Nobody wakes their futures.
#[test]
fn every_thread_in_block_on_hears_that_a_panic_has_ended_the_runtime() {
    for round in 0..12 {
        with_each(move |runtime| {
            let entered = Counter::new();
            on_threads(4, |index| {
                if index > 0 {
                    let waits = async {
                        entered.add();
                        pending::<()>().await;
                    };
                    return expect_told(&panic_of(|| runtime.block_on(waits)));
                }

                // On a current-thread runtime a task needs a thread that is inside.
                entered.wait_for(1 + round % 3);
                let other = runtime.spawn(pending::<()>());
                drop(runtime.spawn(async { panic!("{ON_PURPOSE}") }));
                wait_until("the other is cancelled", || other.is_finished());
            });
            expect_told(&panic_of(|| runtime.block_on(async {})));
        });
    }
}

/// What ends meanwhile may be the future's reason to be ready: its output is not to be trusted.
#[test]
fn a_future_that_is_ready_when_a_panic_has_ended_the_runtime_panics() {
    with_each(|runtime| {
        let is_ready = async { arc::spawn(async { panic!("{ON_PURPOSE}") }).await };
        expect_told(&panic_of(|| drop(runtime.block_on(is_ready))));
    });
}

#[test]
fn a_job_that_panics_ends_the_runtime() {
    with_each(|runtime| {
        let job = runtime.spawn_blocking(|| panic!("{ON_PURPOSE}"));
        expect_told(&panic_of(|| runtime.block_on(pending::<()>())));
        wait_until("the job has ended", || job.is_finished());
        assert!(runtime.spawn(async {}).is_finished(), "a task that comes later is dropped");
    });
}

/// `Handle::current().block_on` is that of the runtime, too.
#[test]
fn a_handle_tells_it_as_well() {
    with_each(|runtime| {
        let handle = runtime.handle().clone();
        let inside = thread::spawn(move || panic_of(|| handle.block_on(pending::<()>())));
        let job = runtime.spawn_blocking(|| {
            let handle = Handle::current();
            panic_of(|| handle.block_on(async { panic!("{ON_PURPOSE}") }))
        });

        // The panic of a future in `block_on` is that of its caller. The runtime goes on.
        wait_until("it has ended", || job.is_finished());
        let other = runtime.spawn_blocking(|| panic!("{ON_PURPOSE}"));
        expect_told(&inside.join().unwrap());
        drop(other);
    });
}

/// A shutdown has the same effect as a panic.
#[test]
fn a_shutdown_ends_every_block_on() {
    with_each(|runtime| {
        let handle = runtime.handle().clone();
        let entered = Counter::new();
        let inside = thread::spawn(move || {
            let waits = async {
                entered.add();
                pending::<()>().await;
            };
            panic_of(|| handle.block_on(waits))
        });
        entered.wait_for(1);
        drop(runtime);
        expect_told(&inside.join().unwrap());
    });
}

/// Whatever runs local tasks beside those of the runtime hears of it, too.
#[test]
fn local_tasks_end_with_the_runtime() {
    with_each(|runtime| {
        let set = LocalSet::new();
        drop(runtime.spawn(async { panic!("{ON_PURPOSE}") }));
        expect_told(&panic_of(|| set.block_on(&runtime, pending::<()>())));
    });
    within_deadline(|| {
        let mut builder = Builder::new_current_thread();
        builder.unhandled_panic(UnhandledPanic::ShutdownRuntime);
        let runtime = builder.build_local(LocalOptions::default()).unwrap();
        drop(runtime.spawn_local(async {
            drop(arc::spawn(async { panic!("{ON_PURPOSE}") }));
        }));
        expect_told(&panic_of(|| runtime.block_on(pending::<()>())));
    });
}

/// A hook may have spawned it: then `build` is still under way.
#[test]
fn a_panic_before_the_runtime_is_built_ends_it() {
    within_deadline(|| {
        for _ in 0..rounds(500) {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(1).unhandled_panic(UnhandledPanic::ShutdownRuntime);
            let runtime =
                builder.on_thread_start(|| drop(arc::spawn(async { panic!("{ON_PURPOSE}") })));
            let runtime = runtime.build().unwrap();
            expect_told(&panic_of(|| runtime.block_on(pending::<()>())));
        }
    });
}

/// Who takes the core's runtime takes it without the policy.
#[test]
fn the_cores_runtime_goes_on() {
    with_each(|runtime| {
        let core = arc::runtime::Runtime::from(runtime);
        let task = core.spawn(async { panic!("{ON_PURPOSE}") });
        assert!(core.block_on(task).unwrap_err().is_panic());
        let again = Runtime::from(core);
        assert_eq!(again.block_on(again.spawn(async { 5 })).unwrap(), 5);
    });
}

/// A task of a `LocalSet` is polled by the set: its panic ends neither the set nor the runtime.
#[test]
fn a_panic_in_a_local_set_leaves_the_runtime_alone() {
    with_each(|runtime| {
        let set = LocalSet::new();
        let output = set.block_on(&runtime, async {
            let task = arc_util::task::spawn_local(async { panic!("{ON_PURPOSE}") });
            assert!(task.await.unwrap_err().is_panic());
            arc::spawn(async { 5 }).await.unwrap()
        });
        assert_eq!(output, 5);
    });
}

/// The default: a panic ends its task.
#[test]
fn by_default_the_runtime_goes_on() {
    within_deadline(|| {
        let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let task = runtime.spawn(async { panic!("{ON_PURPOSE}") });
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        assert_eq!(runtime.block_on(runtime.spawn(async { 5 })).unwrap(), 5);
    });
}
