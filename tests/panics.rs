//! Panics in foreign code: the workers live, the other tasks go on, and the
//! joiner hears of it.

use crate::common::*;
use arc::runtime::{Handle, Runtime};
use arc::task::{JoinError, JoinHandle, spawn_blocking, yield_now};
use arc::time::sleep;
use std::future::{Future, pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// All workers run tasks and fire timers, and no task is left over.
#[track_caller]
fn assert_healthy(runtime: &Runtime) {
    let count = runtime.handle().workers() * 20;
    let tasks = spawn_each(runtime, count, |index| async move {
        sleep(micros(50)).await;
        yield_now().await;
        index
    });
    assert!(join_all(runtime, tasks).into_iter().eq(0..count));
    wait_for_no_tasks(runtime);
}

/// Runs a test so many times, and sees that the runtime is well afterwards.
#[track_caller]
fn often(runtime: &Runtime, rounds: usize, test: impl Fn(usize)) {
    (0..rounds).for_each(test);
    assert_healthy(runtime);
}

/// A future that panics when it is dropped, whatever became of it.
struct Grenade<F>(F, #[allow(dead_code, reason = "dropped")] PanicOnDrop);

impl<F: Future + Unpin> Future for Grenade<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

fn grenade<F: Future + Unpin>(future: F) -> Grenade<F> {
    Grenade(future, PanicOnDrop)
}

#[test]
fn in_a_poll_is_told_to_the_joiner_with_its_payload() {
    with_each_flavor(|runtime| {
        often(&runtime, 100, |_| {
            let task = runtime.spawn(async {
                yield_now().await;
                panic!("number {} {ON_PURPOSE}", 7);
            });
            let id = task.id();
            let error: JoinError = runtime.block_on(task).unwrap_err();
            assert!(error.is_panic() && !error.is_cancelled());
            assert_eq!(error.id(), id);
            let text = error.to_string();
            assert!(text.contains("number 7") && text.contains(&id.to_string()), "{text}");
            assert!(format!("{error:?}").contains("number 7"));
            assert_eq!(message(error.into_panic()), format!("number 7 {ON_PURPOSE}"));
        });
    });
}

#[test]
fn with_a_payload_of_any_type_reaches_the_joiner() {
    on_each([1], |runtime| {
        let task = runtime.spawn(async { panic_any(42_u8) });
        let error: JoinError = runtime.block_on(task).unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
        let payload = error.try_into_panic().unwrap();
        assert_eq!(*payload.downcast::<u8>().unwrap(), 42);
        let task = runtime.spawn(pending::<()>());
        task.abort();
        let error = runtime.block_on(task).unwrap_err();
        let error = error.try_into_panic().unwrap_err();
        assert!(error.is_cancelled());
        let text = panic_of(|| error.into_panic());
        assert!(text.contains("cancelled"), "{text}");
    });
}

#[test]
fn in_a_detached_task_leaves_the_others_alone() {
    with_each_size(|runtime| {
        let others = Counter::new();
        often(&runtime, 200, |_| {
            drop(runtime.spawn(async { panic!("detached {ON_PURPOSE}") }));
            drop(runtime.spawn(async move {
                yield_now().await;
                others.add();
            }));
        });
        others.wait_for(200);
    });
}

/// The tasks behind it in the worker's own queue run.
#[test]
fn in_a_task_does_not_take_those_behind_it_along() {
    with_each_size(|runtime| {
        let ran = Counter::new();
        let task = runtime.spawn(async move {
            for _ in 0..20 {
                drop(arc::spawn(async move { _ = ran.add() }));
            }
            panic!("with tasks behind {ON_PURPOSE}");
        });
        let _: JoinError = runtime.block_on(task).unwrap_err();
        ran.wait_for(20);
        assert_healthy(&runtime);
    });
}

#[test]
fn in_the_drop_of_a_future_that_was_ready_is_told_to_the_joiner() {
    with_each_flavor(|runtime| {
        often(&runtime, 50, |_| {
            let error = runtime.block_on(runtime.spawn(grenade(ready(1)))).unwrap_err();
            assert!(message(error.into_panic()).contains("dropped"));
        });
    });
}

/// One while the other unwinds aborts a process, so they must come apart.
#[test]
fn in_the_poll_and_then_in_the_drop_is_told_once() {
    with_each_flavor(|runtime| {
        often(&runtime, 50, |_| {
            let poll = poll_fn(|_| -> Poll<()> { panic!("in the poll {ON_PURPOSE}") });
            let error = runtime.block_on(runtime.spawn(grenade(poll))).unwrap_err();
            assert!(error.is_panic());
        });
    });
}

#[test]
fn in_the_drop_of_an_aborted_future_is_contained() {
    with_each_flavor(|runtime| {
        often(&runtime, 100, |round| {
            let task = runtime.spawn(grenade(pending::<()>()));
            if round % 2 == 0 {
                // It waits already, or is still queued.
                runtime.block_on(yield_now());
            }
            task.abort();
            if round % 3 == 0 {
                drop(task);
            } else {
                let error = runtime.block_on(task).unwrap_err();
                assert!(error.is_panic() || error.is_cancelled());
            }
        });
    });
}

#[test]
fn in_the_drop_of_futures_at_shutdown_leaves_none_undropped() {
    with_each_size(|runtime| {
        let drops = Counter::new();
        let tasks = spawn_each(&runtime, 50, |index| {
            let held = drops.on_drop();
            grenade(Box::pin(async move {
                let _held = held;
                if index % 2 == 0 {
                    pending::<()>().await;
                }
                sleep(HOUR).await;
            }))
        });
        runtime.block_on(yield_now());
        drop(runtime);
        assert_eq!(drops.get(), 50);
        assert!(tasks.iter().all(JoinHandle::is_finished));
    });
}

#[test]
fn in_the_drop_of_an_output_that_nobody_reads_is_contained() {
    with_each_size(|runtime| {
        often(&runtime, 100, |_| {
            // Detached before the task finishes.
            let gate = Gate::new();
            drop(runtime.spawn(async move {
                gate.wait();
                PanicOnDrop
            }));
            gate.open();
            // Finished before the handle is dropped, on this thread.
            let task = runtime.spawn(async { PanicOnDrop });
            wait_until("it is finished", || task.is_finished());
            drop(task);
            // The handle is dropped by a task, which must not be hit.
            let task = runtime.spawn(async { PanicOnDrop });
            let owner = runtime.spawn(async move {
                while !task.is_finished() {
                    yield_now().await;
                }
                drop(task);
                5
            });
            assert_eq!(runtime.block_on(owner).unwrap(), 5);
            // Never asked for, and then the task is aborted.
            let task = runtime.spawn(async { PanicOnDrop });
            task.abort();
            drop(task);
        });
    });
}

/// Who reads the output has to live with its drop.
#[test]
fn in_the_drop_of_an_output_that_was_read_is_the_readers() {
    with_each_flavor(|runtime| {
        let task = runtime.spawn(async { PanicOnDrop });
        let output = runtime.block_on(task).unwrap();
        assert!(panic_of(|| drop(output)).contains("dropped"));
        assert_healthy(&runtime);
    });
}

/// What a panic carried panics in turn when nobody reads it.
#[test]
fn in_the_drop_of_the_payload_of_a_panic_is_contained() {
    with_each_size(|runtime| {
        often(&runtime, 50, |_| {
            drop(runtime.spawn(async { panic_any(PanicOnDrop) }));
            let task = runtime.spawn(async { panic_any(PanicOnDrop) });
            let error: JoinError = runtime.block_on(task).unwrap_err();
            std::mem::forget(error.into_panic());
        });
    });
}

#[test]
fn in_a_blocking_job_is_told_to_the_joiner() {
    with_each_flavor(|runtime| {
        often(&runtime, 50, |_| {
            let job = runtime.spawn_blocking(|| panic!("a job {ON_PURPOSE}"));
            let error: JoinError = runtime.block_on(job).unwrap_err();
            assert!(error.to_string().contains("a job"));
            // The drop of what the job captured, and of its output.
            let captured = PanicOnDrop;
            let job = runtime.spawn_blocking(move || drop(captured));
            assert!(runtime.block_on(job).unwrap_err().is_panic());
            drop(runtime.spawn_blocking(|| PanicOnDrop));
        });
        let job = runtime.spawn_blocking(|| 4);
        assert_eq!(runtime.block_on(job).unwrap(), 4);
    });
}

/// A job that has begun gives what it gives. What nobody waits for is dropped by the thread
/// that runs the job.
#[test]
fn in_a_job_that_was_aborted_or_left_alone_harms_nobody() {
    with_each_flavor(|runtime| {
        for round in 0..60 {
            let pause = Pause::new();
            let job = runtime.spawn_blocking(move || {
                pause.here();
                assert!(round % 3 != 0, "a job {ON_PURPOSE}");
                if round % 3 == 1 {
                    std::panic::panic_any(PanicOnDrop);
                }
                PanicOnDrop
            });
            pause.reached();
            if round % 2 == 0 {
                drop(job);
                pause.pass();
                continue;
            }
            job.abort();
            pause.pass();
            match runtime.block_on(job) {
                Ok(output) => std::mem::forget(output),
                Err(error) => {
                    let payload = error.into_panic().downcast::<PanicOnDrop>();
                    drop(payload.map(std::mem::forget));
                }
            }
        }
        assert_healthy(&runtime);
    });
}

#[test]
fn in_block_on_is_the_callers_and_the_tasks_go_on() {
    with_each_flavor(|runtime| {
        often(&runtime, 50, |_| {
            let text = panic_of(|| {
                runtime.block_on(async {
                    drop(arc::spawn(yield_now()));
                    drop(spawn_blocking(|| {}));
                    sleep(micros(100)).await;
                    panic!("the main one {ON_PURPOSE}")
                })
            });
            assert!(text.contains("the main one"));
            assert!(Handle::try_current().is_none(), "the thread is in no runtime");
            assert_eq!(runtime.block_on(async { arc::spawn(async { 1 }).await.unwrap() }), 1);
            let text = panic_of(|| runtime.block_on(grenade(ready(()))));
            assert!(text.contains("dropped"));
        });
    });
}

#[test]
fn in_thread_hooks_leaves_the_threads_to_their_work() {
    with_sizes(|workers| {
        let (started, stopped) = (Counter::new(), Counter::new());
        let panics = |count: Counter| move || panic!("number {} {ON_PURPOSE}", count.add());
        let mut builder = builder(workers);
        let builder = builder.on_thread_start(panics(started)).on_thread_stop(panics(stopped));
        let runtime = builder.build().unwrap();
        started.wait_for(workers);
        let job = runtime.spawn_blocking(|| 1);
        assert_eq!(runtime.block_on(job).unwrap(), 1);
        assert_healthy(&runtime);
        drop(runtime);
        assert!(stopped.get() >= workers);
    });
}

/// Wakers of arc's own go on to work while a thread unwinds.
#[test]
fn a_task_woken_by_a_thread_that_unwinds_runs() {
    with_each_flavor(|runtime| {
        for _ in 0..100 {
            let (sender, receiver) = async_channel::bounded::<()>(1);
            let task = runtime.spawn(async move { receiver.recv().await.is_err() });
            let thread = std::thread::spawn(move || {
                let _sender = sender;
                panic!("with a sender {ON_PURPOSE}");
            });
            assert!(thread.join().is_err());
            assert!(runtime.block_on(task).unwrap());
        }
    });
}

#[test]
fn many_at_once_are_each_told_to_their_joiner() {
    with_each_flavor(|runtime| {
        let polls = Counter::new();
        let tasks = spawn_each(&runtime, 2000, |index| async move {
            if index % 3 == 0 {
                yield_now().await;
            }
            polls.add();
            assert!(index % 2 != 0, "{index} {ON_PURPOSE}");
            index
        });
        for (index, task) in tasks.into_iter().enumerate() {
            match runtime.block_on(task) {
                Ok(output) => assert_eq!((output, index % 2), (index, 1)),
                Err(error) => assert!(error.to_string().contains(&format!("{index} "))),
            }
        }
        assert_eq!(polls.get(), 2000);
        assert_healthy(&runtime);
    });
}

/// The hook is the process's, so this needs a process of its own.
#[test]
fn of_a_caller_that_is_wrong_names_the_line_of_the_caller() {
    in_own_process("panics::of_a_caller_that_is_wrong_names_the_line_of_the_caller", || {
        let blamed = Arc::new(Mutex::new(String::new()));
        let file = blamed.clone();
        std::panic::set_hook(Box::new(move |info| {
            eprintln!("{info}");
            *file.lock().unwrap() = info.location().unwrap().file().to_owned();
        }));
        let expect = |what: &str, wrong: &dyn Fn()| {
            blamed.lock().unwrap().clear();
            catch_unwind(AssertUnwindSafe(wrong)).expect_err(what);
            let blamed = blamed.lock().unwrap().clone();
            assert_eq!(blamed, file!(), "{what}");
        };
        expect("spawn", &|| drop(arc::spawn(async {})));
        expect("spawn_named", &|| drop(arc::task::spawn_named("name", async {})));
        expect("spawn_blocking", &|| drop(arc::task::spawn_blocking(|| ())));
        expect("Handle::current", &|| drop(arc::runtime::Handle::current()));
        let builder = arc::runtime::Builder::new_multi_thread;
        expect("Builder::workers", &|| _ = builder().workers(0));
        let socket = || std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        expect("Async::new", &|| drop(arc::io::Async::new(socket())));
        let listener = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        expect("Async::new_nonblocking", &|| drop(arc::io::Async::new_nonblocking(listener())));

        let runtime = runtime(1);
        let nested = || runtime.block_on(async { runtime.block_on(async {}) });
        expect("block_on", &nested);
        let cancelled = || {
            let task = runtime.spawn(std::future::pending::<()>());
            task.abort();
            runtime.block_on(task).unwrap_err()
        };
        expect("JoinError::into_panic", &|| drop(cancelled().into_panic()));
    });
}
