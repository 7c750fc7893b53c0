//! The hooks of threads: who calls them, what they may do, and that nobody waits for a worker whose
//! thread is still in one.

use crate::common::*;
use arc::runtime::{Handle, Runtime, RuntimeFlavor, may_block};
use arc::time::sleep;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

// Who calls them.

#[test]
fn each_thread_calls_the_hooks_once_on_itself() {
    with_hooks(|runtime| {
        runtime.block_on(async {
            arc::spawn(sleep(micros(100))).await.unwrap();
        });
    });
    with_hooks(|_| {});
    // The threads of jobs, too.
    with_hooks(|runtime| {
        let all = Counter::new();
        let job = move || {
            all.add();
            all.wait_for(3);
        };
        join_all(runtime, spawn_jobs(runtime, 3, |_| job));
    });
}

/// It may be needed while another thread is in a hook.
#[test]
fn the_monitor_calls_none() {
    within_deadline(|| {
        let called = Arc::new(Mutex::new(HashSet::new()));
        let (start, stop) = (called.clone(), called.clone());
        let note = |names: &Mutex<HashSet<Option<String>>>| {
            names.lock().unwrap().insert(thread::current().name().map(str::to_owned));
        };
        let mut builder = builder(2);
        builder.on_thread_start(move || note(&start)).on_thread_stop(move || note(&stop));
        drop(builder.build().unwrap());
        let workers = ["arc-worker-0", "arc-worker-1"].map(|name| Some(name.to_owned()));
        assert_eq!(*called.lock().unwrap(), HashSet::from(workers));
    });
}

// What they may do.

/// A worker ends its own runtime before it has begun its loop. The monitor sleeps by then, as
/// nothing has been polled for long. (If it does not yet, this shows less.)
#[test]
fn a_hook_may_drop_the_runtime_that_it_belongs_to() {
    within_deadline(|| {
        let (sender, runtimes) = std::sync::mpsc::channel::<Runtime>();
        let runtimes = Mutex::new(runtimes);
        let dropped = Counter::new();
        let runtime = builder(1)
            .on_thread_start(move || {
                let name = thread::current().name().map(str::to_owned);
                if name.is_some_and(|name| name.ends_with("worker-0")) {
                    let runtime = runtimes.lock().unwrap().recv().unwrap();
                    thread::sleep(millis(200));
                    drop(runtime);
                    dropped.add();
                }
            })
            .build()
            .unwrap();
        sender.send(runtime).unwrap();
        dropped.wait_for(1);
    });
}

/// Those of workers. (A current-thread runtime without jobs calls none.)
#[test]
fn hooks_find_their_runtime() {
    for mut builder in builders() {
        within_deadline(move || {
            let found = Arc::new(Mutex::new(Vec::new()));
            let (start, stop, spawned) = (found.clone(), found.clone(), Counter::new());
            let builder = builder.on_thread_start(move || {
                start.lock().unwrap().push((workers_here(), may_block()));
                // Run by whoever is free, as any other task.
                drop(arc::spawn(async move { spawned.add() }));
            });
            builder
                .on_thread_stop(move || stop.lock().unwrap().push((workers_here(), may_block())));
            let runtime = builder.build().unwrap();
            let workers = runtime.handle().workers();
            let runtime_flavor = runtime.runtime_flavor();
            runtime.block_on(async {
                while spawned.get() < found.lock().unwrap().len() {
                    arc::task::yield_now().await;
                }
            });
            drop(runtime);
            let found = found.lock().unwrap();
            let is_multi_thread = runtime_flavor == RuntimeFlavor::MultiThread;
            assert_eq!(found.len(), if is_multi_thread { 2 * workers } else { 0 });
            assert!(found.iter().all(|it| *it == (Some(workers), true)), "{found:?}");
        });
    }
}

#[test]
fn on_thread_start_has_run_on_every_thread_that_polls_a_task() {
    thread_local!(static HAS_STARTED: Cell<bool> = const { Cell::new(false) });

    with_sizes(|workers| {
        for _ in 0..20 {
            let mut builder = builder(workers)
                .on_thread_start(|| {
                    // Tasks that come meanwhile wait.
                    thread::yield_now();
                    HAS_STARTED.set(true);
                })
                .clone();
            let runtime = builder.build().unwrap();
            let early: Vec<_> =
                (0..20).map(|_| runtime.spawn(async { HAS_STARTED.get() })).collect();
            runtime.block_on(async {
                for _ in 0..20 {
                    let task = arc::spawn(async {
                        let nested = arc::spawn(async { HAS_STARTED.get() });
                        (HAS_STARTED.get(), nested.await.unwrap())
                    });
                    assert_eq!(task.await.unwrap(), (true, true));
                }
                for task in early {
                    assert!(task.await.unwrap());
                }
            });
            assert!(!HAS_STARTED.get(), "the thread in block_on is the program's");
        }
    });
}

/// Nobody is woken for them: a worker that begins looks for what came before.
#[test]
fn tasks_that_come_before_the_threads_have_started_are_run() {
    with_sizes(|workers| {
        let (gate, ran) = (Gate::new(), Counter::new());
        let runtime = builder(workers).on_thread_start(move || gate.wait()).build().unwrap();
        drop(spawn_each(&runtime, 10, |_| async move { ran.add() }));
        assert_eq!(ran.get(), 0);
        gate.open();
        ran.wait_for(10);
    });
}

// A worker whose thread is in one.

/// The other worker sleeps, and so does the monitor. Nobody but the task ends the hook.
#[test]
fn a_task_from_outside_begins_beside_a_worker_that_has_not_begun() {
    within_deadline(|| {
        for _ in 0..rounds(25) {
            let ran = Counter::new();
            let runtime = beside_a_hook(move || ran.wait_for(1));
            drop(runtime.spawn(async move { ran.add() }));
            ran.wait_for(1);
        }
    });
}

#[test]
fn a_hook_may_wait_for_a_task_that_it_spawns() {
    within_deadline(|| {
        for _ in 0..rounds(25) {
            let (gate, ran, done) = (Gate::new(), Counter::new(), Counter::new());
            let runtime = beside_a_hook(move || {
                gate.wait();
                drop(arc::spawn(async move { ran.add() }));
                ran.wait_for(1);
                done.add();
            });
            gate.open();
            done.wait_for(1);
            drop(runtime);
        }
    });
}

/// It is neither of those that the end waits for before it drops the futures.
#[test]
fn a_hook_may_wait_for_a_future_that_the_end_drops() {
    within_deadline(|| {
        let dropped = Counter::new();
        let runtime = beside_a_hook(move || dropped.wait_for(1));
        drop(runtime.spawn(dropped.never()));
        drop(runtime);
        assert_eq!(dropped.get(), 1);
    });

    // No worker has begun, and none does.
    with_sizes(|workers| {
        let (dropped, inside) = (Counter::new(), Counter::new());
        let hook = move || {
            inside.add();
            dropped.wait_for(1);
        };
        let runtime = builder(workers).on_thread_start(hook).build().unwrap();
        drop(runtime.spawn(dropped.never()));
        inside.wait_for(workers);
        drop(runtime);
        assert_eq!(dropped.get(), 1);
    });

    // The thread of a job, whatever else the runtime has.
    for mut builder in builders() {
        within_deadline(move || {
            let (dropped, inside, ran) = (Counter::new(), Counter::new(), Counter::new());
            builder.on_thread_start(move || {
                if thread::current().name().is_some_and(|name| name.contains("blocking")) {
                    inside.add();
                    dropped.wait_for(1);
                }
            });
            let runtime = builder.build().unwrap();
            drop(runtime.spawn(dropped.never()));
            drop(runtime.spawn_blocking(move || ran.add()));
            inside.wait_for(1);
            drop(runtime);
            assert_eq!((dropped.get(), ran.get()), (1, 1), "the job had a thread");
        });
    }
}

/// A runtime with two workers. One has begun, and sleeps by now, as the monitor does. (Nothing is
/// asserted that needs it.) The thread of the other one calls this as its hook.
fn beside_a_hook(hook: impl Fn() + Send + Sync + 'static) -> Runtime {
    let is_first = AtomicBool::new(true);
    let hook = move || {
        if is_first.swap(false, Ordering::Relaxed) {
            hook();
        }
    };
    let runtime = builder(2).on_thread_start(hook).build().unwrap();

    // While polls are long, a helper is called for each task.
    runtime.block_on(runtime.spawn(yields(10_000))).unwrap();
    thread::sleep(millis(40));
    runtime
}

/// Which runtime is current, told by its number of workers.
fn workers_here() -> Option<usize> {
    Handle::try_current().map(|handle| handle.workers())
}

/// Notes the threads that start and those that stop, while this is done with a runtime.
fn with_hooks(usage: fn(&Runtime)) {
    with_sizes(move |workers| {
        let (started, stopped) = (kept(Mutex::new(Vec::new())), kept(Mutex::new(Vec::new())));
        let runtime = builder(workers)
            .on_thread_start(|| started.lock().unwrap().push(thread::current().id()))
            .on_thread_stop(|| stopped.lock().unwrap().push(thread::current().id()))
            .build()
            .unwrap();
        usage(&runtime);
        drop(runtime);
        let (started, stopped) = (started.lock().unwrap(), stopped.lock().unwrap());
        let unique: HashSet<_> = started.iter().collect();
        assert!(started.len() >= workers);
        assert_eq!(unique.len(), started.len(), "a thread started twice");
        assert_eq!(stopped.iter().collect::<HashSet<_>>(), unique);
        assert_eq!(stopped.len(), started.len());
        // The thread in `block_on` is not the runtime's.
        assert!(!unique.contains(&thread::current().id()));
    });
}
