//! The current runtime of a thread, and what a builder makes of a runtime: its threads and their
//! names, and what cannot be built. (Hooks are in `hooks.rs`.)

use crate::common::*;
use arc::runtime::{Builder, Handle, Runtime, RuntimeFlavor, may_block};
use arc::task::spawn_blocking;
use arc::time::sleep;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;

/// Which runtime is current, told by its number of workers.
fn current() -> Option<usize> {
    Handle::try_current().ok().map(|handle| handle.workers())
}

#[test]
fn a_handle_tells_which_runtime_it_belongs_to_and_of_which_flavor() {
    within_deadline(|| {
        let runtimes = [runtime(1), runtime(2), current_thread()];
        let ids: HashSet<_> = runtimes.iter().map(|runtime| runtime.id()).collect();
        assert_eq!(ids.len(), 3, "each runtime has an id of its own");
        let flavors = runtimes.each_ref().map(|runtime| runtime.runtime_flavor());
        let [several, one] = [RuntimeFlavor::MultiThread, RuntimeFlavor::CurrentThread];
        assert_eq!(flavors, [several, several, one]);

        for runtime in runtimes {
            let id = runtime.block_on(async {
                let task = arc::spawn(async { Handle::current().id() });
                assert_eq!(task.await.unwrap(), Handle::current().id());
                Handle::current().id()
            });
            let handle = runtime.handle().clone();
            drop(runtime);
            assert_eq!((handle.id(), handle.id().to_string()), (id, id.0.to_string()));
        }
    });
}

/// What needs one panics there: see bad_input.rs.
#[test]
fn outside_there_is_none() {
    within_deadline(|| {
        assert_eq!(current(), None);
        let error = Handle::try_current().unwrap_err();
        assert!(error.to_string().contains("not in an arc runtime"), "{error}");
    });
}

/// A future that cannot be spawned is dropped; its drop finds the thread as it was.
#[test]
fn what_is_refused_outside_may_use_a_runtime_in_its_drop() {
    struct Enters(Handle);
    impl Drop for Enters {
        fn drop(&mut self) {
            let _guard = self.0.enter();
            assert_eq!(current(), Some(2));
        }
    }
    on_each([2], |runtime| {
        let enters = [(); 2].map(|()| Enters(runtime.handle().clone()));
        let text = panic_of(|| arc::spawn(holds(enters)));
        assert!(text.contains("arc::spawn was called outside"), "{text}");
        assert_eq!(current(), None);
    });
}

/// Not in a task or `block_on`, and not where the end drops what they left.
#[test]
fn who_may_block() {
    struct Notes(Arc<Mutex<Option<bool>>>);
    impl Drop for Notes {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(may_block());
        }
    }
    with_sizes(|workers| {
        assert!(may_block());
        let runtime = runtime(workers);
        let noted = Arc::new(Mutex::new(None));
        let notes = Notes(noted.clone());
        drop(runtime.spawn(holds(notes)));
        assert!(!runtime.block_on(async { may_block() }));
        assert!(!runtime.block_on(runtime.spawn(async { may_block() })).unwrap());
        assert!(runtime.block_on(runtime.spawn_blocking(may_block)).unwrap());
        drop(runtime);
        assert_eq!(*noted.lock().unwrap(), Some(false));
    });
}

#[test]
fn in_tasks_jobs_and_block_on_it_is_theirs() {
    with_each_flavor(|runtime| {
        let nested = runtime.spawn(async { spawn_blocking(current).await.unwrap() });
        let found = [
            runtime.block_on(async { current() }),
            runtime.block_on(runtime.spawn(async { current() })).unwrap(),
            runtime.block_on(runtime.spawn_blocking(current)).unwrap(),
            runtime.block_on(nested).unwrap(),
        ];
        assert_eq!(found, [Some(runtime.handle().workers()); 4]);
        assert_eq!(current(), None);
    });
}

#[test]
fn enter_makes_it_current_until_the_guard_is_dropped() {
    within_deadline(|| {
        let (one, two) = (runtime(1), runtime(2));
        {
            let _one = one.enter();
            assert_eq!(current(), Some(1));
            {
                let _two = two.handle().enter();
                assert_eq!(current(), Some(2));
                let task = arc::spawn(async { current() });
                assert_eq!(two.block_on(task).unwrap(), Some(2));
                // A `block_on` inside, on either one.
                assert_eq!(one.block_on(async { current() }), Some(1));
                assert_eq!(current(), Some(2));
            }
            assert_eq!(current(), Some(1));
            let job = spawn_blocking(current);
            assert_eq!(one.block_on(job).unwrap(), Some(1));
        }
        assert_eq!(current(), None);
    });
}

#[test]
fn a_panic_under_the_guard_restores_what_was_before() {
    within_deadline(|| {
        let (one, two) = (runtime(1), runtime(2));
        let _one = one.enter();
        let text = panic_of(|| {
            let _two = two.enter();
            panic!("under the guard {ON_PURPOSE}");
        });
        assert!(text.contains("under the guard"));
        assert_eq!(current(), Some(1));
    });
}

/// A task may spawn to, and wait for, another runtime.
#[test]
fn another_runtimes_guard_inside_a_task() {
    with_each_flavor(|runtime| {
        let workers = runtime.handle().workers();
        let other = crate::common::runtime(3);
        let handle = other.handle().clone();
        for _ in 0..50 {
            let handle = handle.clone();
            let task = runtime.spawn(async move {
                let (spawned, mut timer) = {
                    let _guard = handle.enter();
                    assert_eq!(current(), Some(3));
                    let mut timer = Box::pin(sleep(micros(100)));
                    // Armed with the other runtime, and awaited on this one.
                    let _ = poll_with(timer.as_mut(), Waker::noop());
                    (arc::spawn(async { current() }), timer)
                };
                assert_eq!(current(), Some(workers));
                timer.as_mut().await;
                assert_eq!(spawned.await.unwrap(), Some(3));
                current()
            });
            assert_eq!(runtime.block_on(task).unwrap(), Some(workers));
        }
        expect_tasks(&runtime, 0);
        wait_for_no_tasks(&other);
    });
}

/// While a task of another runtime is polled its worker is not this one's.
#[test]
fn a_wake_across_runtimes_goes_to_the_tasks_own() {
    with_each_flavor(|runtime| {
        let workers = runtime.handle().workers();
        let other = crate::common::runtime(3);
        for _ in 0..200 {
            let (sender, receiver) = async_channel::bounded(1);
            let (reply, answer) = async_channel::bounded(1);
            let there = other.spawn(async move {
                let seen: Option<usize> = receiver.recv().await.unwrap();
                reply.send([seen, current()]).await.unwrap();
            });
            let here = runtime.spawn(async move {
                sender.send(current()).await.unwrap();
                (answer.recv().await.unwrap(), current())
            });
            let told = runtime.block_on(here).unwrap();
            assert_eq!(told, ([Some(workers), Some(3)], Some(workers)));
            runtime.block_on(there).unwrap();
        }
    });
}

#[test]
fn handles_clone_outlive_the_runtime_and_count_its_tasks() {
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        let again = handle.clone();
        expect_tasks(&again, 0);
        let tasks = spawn_each(&again, 10, |_| std::future::pending::<()>());
        expect_tasks(&handle, 10);
        drop(runtime);
        expect_tasks(&handle, 0);
        assert!(tasks.iter().all(arc::task::JoinHandle::is_finished));
        assert!(again.spawn(async {}).is_finished());
        assert!(format!("{handle:?}").contains("Handle"));
        let _guard = handle.enter();
        assert!(arc::spawn(async {}).is_finished());
    });
}

// The builder.

/// Whoever is dropped may still spawn, and so on.
#[test]
fn what_is_dropped_at_the_end_finds_its_runtime() {
    struct Looks(Counter);

    impl Drop for Looks {
        fn drop(&mut self) {
            let task = arc::spawn(async {});
            drop((Handle::current(), task));
            self.0.add();
        }
    }

    with_each_size(|runtime| {
        let dropped = Counter::new();
        // With the future of block_on.
        let looks = Looks(dropped);
        runtime.block_on(std::future::poll_fn(move |_| {
            let _looks = &looks;
            Poll::Ready(())
        }));
        assert_eq!(dropped.get(), 1);
        // With the runtime.
        for _ in 0..10 {
            let looks = Looks(dropped);
            drop(runtime.spawn(holds(looks)));
        }
        drop(runtime);
        assert_eq!(dropped.get(), 11);
    });
}

/// The names of the threads that poll as many tasks at once as there are workers.
fn threads_of(runtime: &Runtime) -> HashSet<String> {
    let workers = runtime.handle().workers();
    let inside = Counter::new();
    let tasks = spawn_each(runtime, workers, |_| async move {
        inside.add();
        inside.wait_for(workers);
        thread::current().name().unwrap_or("").to_owned()
    });
    wait_for_all(&tasks);
    join_all(runtime, tasks).into_iter().collect()
}

#[test]
fn threads_have_the_name_of_the_runtime() {
    within_deadline(|| {
        for workers in SIZES {
            let named = builder(workers).thread_name("granite").build().unwrap();
            let names = threads_of(&named);
            assert_eq!(names.len(), workers, "{names:?}");
            assert!(names.iter().all(|name| name.starts_with("granite")), "{names:?}");
        }
        let names = threads_of(&runtime(2));
        assert!(names.iter().all(|name| name.starts_with("arc")), "{names:?}");
    });
}

#[test]
fn a_function_may_name_each_thread() {
    within_deadline(|| {
        let named = Counter::new();
        let mut builder = builder(2).thread_name("granite").clone();
        let runtime = builder.thread_name_fn(move || format!("basalt {}", named.add()));
        let runtime = runtime.build().unwrap();
        let names = threads_of(&runtime);
        assert_eq!(names, HashSet::from(["basalt 1".to_owned(), "basalt 2".to_owned()]));
        assert_eq!(named.get(), 3, "the workers, and the monitor");
    });
}

#[test]
fn a_function_that_panics_instead_of_naming_a_thread_ends_those_before() {
    within_deadline(|| {
        let (asked, stopped) = (Counter::new(), Counter::new());
        let mut builder = builder(3);
        builder.on_thread_stop(move || _ = stopped.add()).thread_name_fn(move || {
            assert!(asked.add() < 3, "no more names");
            "a thread".to_owned()
        });
        assert!(panic_of(|| builder.build()).contains("names"));
        assert_eq!(stopped.get(), 2, "both have ended when `build` panics");
    });
}

#[test]
fn as_many_tasks_run_at_once_as_there_are_workers() {
    within_deadline(|| {
        for workers in [1, 2, 3, 4, 8] {
            let runtime = runtime(workers);
            assert_eq!(runtime.handle().workers(), workers);
            assert_eq!(threads_of(&runtime).len(), workers);
        }
        // As many as there may be.
        let runtime = runtime(64);
        assert_eq!(threads_of(&runtime).len(), 64);
        let cores = thread::available_parallelism().unwrap().get().min(64);
        assert_eq!(Runtime::new().unwrap().handle().workers(), cores);
        assert_eq!(Builder::new_current_thread().build().unwrap().handle().workers(), 1);
    });
}

#[test]
fn extreme_configurations_work() {
    within_deadline(|| {
        for interval in [1, 2, u32::MAX] {
            let runtime = builder(2).event_interval(interval).build().unwrap();
            runtime.block_on(async {
                for _ in 0..50 {
                    arc::spawn(sleep(micros(50))).await.unwrap();
                }
            });
        }
        // Smaller than what the system has as its minimum.
        let runtime = builder(1).thread_stack_size(1).build().unwrap();
        assert_eq!(runtime.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
        let unnamed = builder(1).thread_name("").build().unwrap();
        assert_eq!(unnamed.block_on(unnamed.spawn(async { 2 })).unwrap(), 2);
        let long = builder(1).thread_name("x".repeat(1000)).build().unwrap();
        assert_eq!(long.block_on(long.spawn(async { 3 })).unwrap(), 3);
    });
}
