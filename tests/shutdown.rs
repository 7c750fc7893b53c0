//! The end of a runtime: every future is dropped, every thread ends, nothing
//! hangs, and whoever still uses it gets an error.

use crate::common::*;
use arc::io::{Async, AsyncReadExt, AsyncWriteExt};
use arc::net::TcpStream;
use arc::runtime::{Handle, Runtime};
use arc::task::{JoinHandle, spawn_blocking, yield_now};
use arc::time::{Instant, sleep, sleep_until};
use std::future::{pending, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

const TICK: Duration = micros(100);

// What becomes of the tasks.

#[test]
fn the_futures_of_all_tasks_are_dropped_whatever_they_wait_for() {
    with_each_size(|runtime| {
        let (drops, waiting, slot) = (Counter::new(), Counter::new(), Slot::default());
        // The other halves live on outside.
        let (sender, receiver) = async_channel::bounded::<()>(1);
        let (_outside, inside) = sockets();
        let other = crate::common::runtime(1);
        let elsewhere = other.spawn(pending::<()>());
        let leave = slot.clone();
        let leaves = poll_fn(move |context| {
            leave.leave(context);
            Poll::Pending
        });
        let futures: [Pin<Box<dyn Future<Output = ()> + Send>>; 9] = [
            Box::pin(sleep(HOUR)),
            Box::pin(pending()),
            Box::pin(async move { receiver.recv().await.unwrap() }),
            Box::pin(async { drop(Async::new(inside).unwrap().read(&mut [0]).await) }),
            Box::pin(async { drop(listen().await.0.accept().await) }),
            Box::pin(leaves),
            Box::pin(async { drop(elsewhere.await) }),
            Box::pin(async { drop(arc::spawn(pending::<()>()).await) }),
            Box::pin(async { timeout(HOUR, pending::<()>()).await.unwrap() }),
        ];
        let tasks = futures.map(|future| {
            let held = drops.on_drop();
            runtime.spawn(async move {
                let _held = held;
                waiting.add();
                future.await;
            })
        });
        waiting.wait_for(9);
        runtime.block_on(yield_now());
        let handle = runtime.handle().clone();
        drop(runtime);

        assert_eq!(drops.get(), 9);
        expect_tasks(&handle, 0);
        for mut task in tasks {
            match poll_with(Pin::new(&mut task), Waker::noop()) {
                Poll::Ready(result) => assert!(result.unwrap_err().is_cancelled()),
                Poll::Pending => panic!("a joiner would wait for ever"),
            }
        }
        // What lives on outside finds nobody, and does no harm.
        assert!(sender.try_send(()).is_err());
        slot.take().wake();
    });
}

#[test]
fn tasks_that_are_still_queued_are_dropped() {
    with_sizes(|workers| {
        for _ in 0..rounds(50) {
            let runtime = runtime(workers);
            let drops = Counter::new();
            drop(spawn_each(&runtime, 500, |_| {
                let held = drops.on_drop();
                async move {
                    yield_now().await;
                    holds(held).await;
                }
            }));
            drop(runtime);
            assert_eq!(drops.get(), 500);
        }
    });
}

/// A task in the midst of a poll is waited for.
#[test]
fn a_poll_that_has_begun_goes_on_to_its_end() {
    with_each_size(|runtime| {
        let workers = runtime.handle().workers();
        let (pause, after) = (Pause::new(), Counter::new());
        let task = runtime.spawn(async move {
            pause.here();
            after.add();
            yield_now().await;
            after.add();
        });
        pause.reached();
        let handle = runtime.handle().clone();
        let dropping = thread::spawn(move || drop(runtime));
        wait_for_end(&handle);
        assert!(!task.is_finished() && !dropping.is_finished());
        pause.pass();
        dropping.join().unwrap();
        // Another worker may have been just about to take a task.
        assert!(after.get() == 1 || workers > 1, "it was polled again");
        assert!(task.is_finished());
    });
}

/// The drop of one future wakes, aborts and drops others.
#[test]
fn futures_that_hold_each_other_are_all_dropped() {
    with_each_size(|runtime| {
        let drops = Counter::new();
        let mut previous: Option<(JoinHandle<()>, async_channel::Sender<()>)> = None;
        for _ in 0..1000 {
            let (sender, receiver) = async_channel::bounded(1);
            let held = (drops.on_drop(), previous.take());
            let task = runtime.spawn(async move {
                let _held = held;
                let _ = receiver.recv().await;
                pending::<()>().await;
            });
            previous = Some((task, sender));
        }
        runtime.block_on(yield_now());
        drop(runtime);
        assert_eq!(drops.get(), 1000);
    });
}

/// A future whose drop uses the runtime that drops it.
#[test]
fn the_drop_of_a_future_may_spawn_and_abort() {
    struct Spawner(Handle, Counter, JoinHandle<()>);
    impl Drop for Spawner {
        fn drop(&mut self) {
            self.2.abort();
            let late = self.0.spawn(async {});
            drop(self.0.spawn_blocking(|| {}));
            let _guard = self.0.enter();
            drop(arc::spawn(async {}));
            drop(late);
            self.1.add();
        }
    }
    with_sizes(|workers| {
        for _ in 0..20 {
            let runtime = runtime(workers);
            let (handle, drops) = (runtime.handle().clone(), Counter::new());
            for _ in 0..20 {
                let spawner = Spawner(handle.clone(), drops, runtime.spawn(pending()));
                drop(runtime.spawn(holds(spawner)));
            }
            drop(runtime);
            assert_eq!(drops.get(), 20);
            expect_tasks(&handle, 0);
        }
    });
}

// Races.

/// A waker that fires while the runtime goes away.
#[test]
fn wakes_that_race_with_the_end() {
    with_sizes(|workers| {
        for round in 0..rounds(300) {
            let runtime = runtime(workers);
            let drops = Counter::new();
            let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
            for _ in 0..4 {
                let (held, leave) = (drops.on_drop(), wakers.clone());
                drop(runtime.spawn(poll_fn(move |context| {
                    let _held = &held;
                    leave.lock().unwrap().push(context.waker().clone());
                    Poll::<()>::Pending
                })));
            }
            wait_until("the wakers", || wakers.lock().unwrap().len() >= 4);
            let mine = wakers.lock().unwrap().clone();
            let waking = Background::repeat(move || mine.iter().for_each(Waker::wake_by_ref));
            spin(round * 10);
            drop(runtime);
            // One that is being woken just then is dropped by who wakes it.
            drops.wait_for(4);
            drop(waking);
            wakers.lock().unwrap().clear();
            assert_eq!(drops.get(), 4);
        }
    });
}

#[test]
fn spawns_that_race_with_the_end_are_run_or_dropped() {
    with_sizes(|workers| {
        for _ in 0..rounds(100) {
            let runtime = runtime(workers);
            let handle = runtime.handle().clone();
            let (drops, begun, stop) = (Counter::new(), Counter::new(), Gate::new());
            let spawning = thread::spawn(move || {
                let mut tasks = Vec::new();
                while !stop.is_open() {
                    let held = drops.on_drop();
                    tasks.push(handle.spawn(async move {
                        let _held = held;
                        yield_now().await;
                    }));
                    begun.add();
                }
                // One that surely comes too late.
                let held = drops.on_drop();
                tasks.push(handle.spawn(async move { drop(held) }));
                tasks
            });
            begun.wait_for(10);
            drop(runtime);
            stop.open();
            let tasks = spawning.join().unwrap();
            assert_eq!(drops.get(), tasks.len());
            assert!(tasks.iter().all(JoinHandle::is_finished));
        }
    });
}

/// Of tasks, and of a thread that drops its own meanwhile.
#[test]
fn timers_sockets_and_jobs_that_race_with_the_end() {
    with_sizes(|workers| {
        for round in 0..rounds(60) {
            let runtime = runtime(workers);
            let handle = runtime.handle().clone();
            let begun = Counter::new();
            drop(spawn_each(&runtime, 8, |_| async move {
                loop {
                    begun.add();
                    let (_outside, inside) = sockets();
                    let Ok(mut inside) = Async::new(inside) else {
                        break;
                    };
                    let mut byte = [0];
                    let read = inside.read(&mut byte);
                    drop(timeout(micros(round as u64), read).await);
                    drop(spawn_blocking(|| {}).await);
                }
            }));
            let outside = runtime.block_on(async {
                let mut timer = Box::pin(sleep(HOUR));
                assert!(poll_with(timer.as_mut(), Waker::noop()).is_pending());
                (timer, Async::new(sockets().0))
            });
            begun.wait_for(8 + round);
            let thread = thread::spawn(move || drop(outside));
            drop(runtime);
            thread.join().unwrap();
            expect_tasks(&handle, 0);
        }
    });
}

#[test]
fn threads_in_block_on_that_race_with_the_end() {
    with_sizes(|workers| {
        for round in 0..rounds(100) {
            let runtime = runtime(workers);
            let entered = Counter::new();
            let threads = [(); 3].map(|()| {
                let handle = runtime.handle().clone();
                thread::spawn(move || {
                    handle.block_on(async {
                        entered.add();
                        // Ends when the runtime does.
                        while arc::spawn(yield_now()).await.is_ok() {}
                    });
                })
            });
            entered.wait_for(round % 4);
            drop(runtime);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
    });
}

// Using it afterwards.

#[test]
fn afterwards_spawning_gives_a_cancelled_task() {
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        drop(runtime);
        let drops = Counter::new();
        let held = [drops.on_drop(), drops.on_drop()];
        let [first, second] = held;
        let task = handle.spawn(async move { drop(first) });
        assert!(task.is_finished());
        assert_eq!(drops.get(), 1);
        assert!(handle.block_on(task).unwrap_err().is_cancelled());
        let job = handle.spawn_blocking(move || drop(second));
        assert!(handle.block_on(job).unwrap_err().is_cancelled());
        assert_eq!(drops.get(), 2);
    });
}

/// Polls a timer that has nobody to arm it.
#[track_caller]
fn expect_ended(timer: Pin<&mut arc::time::Sleep>, waker: &Waker) {
    let text = panic_of(|| poll_with(timer, waker));
    assert!(text.contains("has ended"), "{text}");
}

#[test]
fn afterwards_a_timer_panics_clearly_and_its_drop_is_silent() {
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        let (waker, wakes) = counting_waker();
        let _guard = handle.enter();
        let [mut armed, mut dropped] = [(); 2].map(|()| Box::pin(sleep(HOUR)));
        assert!(poll_with(armed.as_mut(), &waker).is_pending());
        assert!(poll_with(dropped.as_mut(), Waker::noop()).is_pending());
        drop(runtime);
        drop(dropped);
        // It was woken, and has nobody to arm it again.
        wakes.wait_for(1);
        expect_ended(armed.as_mut(), Waker::noop());
        expect_ended(Box::pin(sleep(HOUR)).as_mut(), Waker::noop());
        // What need not wait is over at once.
        let past = Instant::now();
        std::thread::sleep(millis(1));
        let mut over = Box::pin(sleep_until(past));
        assert!(poll_with(over.as_mut(), Waker::noop()).is_ready());
    });
}

/// It is cancelled where it waits, like any other, and does not panic: here a panic would
/// end the process.
#[test]
fn a_task_that_sleeps_first_after_the_end_has_begun_is_cancelled() {
    let name = "shutdown::a_task_that_sleeps_first_after_the_end_has_begun_is_cancelled";
    in_own_process(name, || {
        std::panic::set_hook(Box::new(|_| std::process::abort()));
        for workers in SIZES {
            let (other, runtime) = (runtime(1), runtime(workers));
            let pause = Pause::new();
            let task = runtime.spawn(async move {
                pause.here();
                let _ = timeout(HOUR, sleep(Duration::MAX)).await;
            });
            pause.reached();
            runtime.shutdown_background();
            pause.pass();
            assert!(other.block_on(task).unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn afterwards_a_timer_keeps_no_waker() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        drop(runtime);
        let (kept, waker) = Wakes::new();
        let _guard = handle.enter();
        for _ in 0..10 {
            expect_ended(Box::pin(sleep(HOUR)).as_mut(), &waker);
        }
        drop(waker);
        // A waker of block_on holds the runtime: in its wheel it would keep it for ever.
        assert_eq!(Arc::strong_count(&kept), 1, "the runtime that has ended holds a waker");
    });
}

#[track_caller]
fn has_ended<T>(result: io::Result<T>) {
    let error = result.err().expect("the runtime has ended");
    assert!(error.to_string().contains("has ended"), "{error}");
}

/// There is something to read, and room to write: it fails all the same.
#[test]
fn afterwards_sockets_fail_and_their_drop_is_silent() {
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        let (waker, wakes) = counting_waker();
        let (listener, mut client, server) = runtime.block_on(async {
            let listener = listen().await.0;
            let (mut client, server) = connect_to(&listener).await;
            client.write_all(b"hello").await.unwrap();
            server.readable().await.unwrap();
            // Somebody waits for the other one as the runtime ends.
            let mut byte = [0];
            assert!(poll_once(&mut client.read(&mut byte), &waker).is_pending());
            (listener, client, server)
        });
        drop(runtime);
        wakes.wait_for(1);

        has_ended(handle.block_on((&server).read(&mut [0])));
        has_ended(handle.block_on(client.write(b"x")));
        has_ended(try_read(&server, &mut [0]));
        has_ended(try_write(&client, b"x"));
        has_ended(handle.block_on(server.readable()));
        has_ended(handle.block_on(server.writable()));
        has_ended(handle.block_on(server.read_with(|server| server.peek(&mut [0]))));
        assert!(handle.block_on(listener.accept()).is_err());
        assert!(handle.block_on(TcpStream::connect(([127, 0, 0, 1], 1))).is_err());
        let _guard = handle.enter();
        has_ended(Async::new(sockets().0));

        // Std's socket can still be had.
        let mut text = [0; 5];
        let mut std = server.into_inner().unwrap();
        io::Read::read_exact(&mut std, &mut text).unwrap();
        io::Write::write_all(&mut std, &text).unwrap();
        assert_eq!(&text, b"hello");
        drop((listener, client));
    });
}

// Where it must not be dropped, and where it may.

const INSIDE: &str = "dropped inside a task or block_on";

#[test]
fn dropped_inside_a_task_it_panics_clearly_and_the_process_goes_on() {
    with_each_size(|inner| {
        let outer = runtime(2);
        let drops = Counter::new();
        drop(inner.spawn(drops.never()));
        let error = outer.block_on(outer.spawn(async move { drop(inner) })).unwrap_err();
        let text = message(error.into_panic());
        assert!(text.contains(INSIDE) && text.contains("shutdown_background"), "{text}");
        // It ends all the same.
        drops.wait_for(1);
        assert_eq!(outer.block_on(outer.spawn(async { 1 })).unwrap(), 1);
    });
}

#[test]
fn dropped_inside_one_of_its_own_tasks_it_panics_clearly_and_ends() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let (drops, held) = (Counter::new(), Counter::new());
        drop(handle.spawn(drops.never()));
        drop(handle.spawn(async move {
            yield_now().await;
            let text = panic_of(|| drop(runtime));
            assert!(text.contains(INSIDE), "{text}");
            held.add();
        }));
        held.wait_for(1);
        drops.wait_for(1);
        wait_for_no_tasks(&handle);
    });
}

#[test]
fn dropped_inside_block_on_it_panics_clearly() {
    with_each_size(|outer| {
        let inner = runtime(1);
        let text = panic_of(|| outer.block_on(async move { drop(inner) }));
        assert!(text.contains(INSIDE), "{text}");
        // Its own, by way of a handle.
        let handle = outer.handle().clone();
        let text = panic_of(|| handle.block_on(async move { drop(outer) }));
        assert!(text.contains(INSIDE), "{text}");
    });
}

/// While a panic unwinds another one would abort the process.
#[test]
fn dropped_by_a_panic_inside_a_task_it_keeps_quiet() {
    on_each([1], |outer| {
        let task = outer.spawn(async {
            let _inner = runtime(2);
            panic!("with a runtime {ON_PURPOSE}");
        });
        let error: arc::task::JoinError = outer.block_on(task).unwrap_err();
        assert!(error.to_string().contains("with a runtime"));
    });
}

/// So does a shutdown within no time, as tokio's `shutdown_timeout`.
#[test]
fn shutdown_background_works_inside_a_task() {
    let background: fn(Runtime) = Runtime::shutdown_background;
    let within_no_time: fn(Runtime) = |runtime| runtime.shutdown(Duration::ZERO);
    for end in [background, within_no_time] {
        with_sizes(move |workers| {
            let (outer, inner) = (runtime(1), runtime(workers));
            let drops = Counter::new();
            drop(inner.spawn(drops.never()));
            outer.block_on(outer.spawn(async move { end(inner) })).unwrap();
            drops.wait_for(1);

            // Also of its own runtime, and in block_on.
            let own = runtime(workers);
            let handle = own.handle().clone();
            drop(handle.spawn(async move { end(own) }));
            wait_for_end(&handle);
            wait_for_no_tasks(&handle);
            let another = runtime(workers);
            outer.block_on(async move { end(another) });
        });
    }
}

/// The last thing that its thread drops, when most of the thread is gone already. (On Windows it
/// would wait for ever: see the documentation of `Runtime`.)
#[cfg(not(windows))]
#[test]
fn dropped_with_the_thread_local_that_holds_it_it_ends() {
    use std::cell::Cell;
    thread_local!(static HELD: Cell<Option<Runtime>> = const { Cell::new(None) });
    with_sizes(|workers| {
        let drops = Counter::new();
        let thread = thread::spawn(move || {
            let runtime = runtime(workers);
            runtime.block_on(async {
                let task = arc::spawn(drops.never());
                yield_now().await;
                drop(task);
            });
            HELD.set(Some(runtime));
        });
        thread.join().unwrap();
        assert_eq!(drops.get(), 1);
    });
}

/// The futures that it leaves wake each other in their drops.
#[test]
fn dropped_by_a_panic_outside_it_ends_as_ever() {
    struct WakesInDrop(async_channel::Sender<()>);
    impl Drop for WakesInDrop {
        fn drop(&mut self) {
            let _ = self.0.try_send(());
        }
    }
    with_each_flavor(|runtime| {
        let (left, right) = (async_channel::bounded(1), async_channel::bounded(1));
        let drops = Counter::new();
        for (sender, receiver) in [(left.0, right.1), (right.0, left.1)] {
            let held = (WakesInDrop(sender), drops.on_drop());
            drop(runtime.spawn(async move {
                let _held = held;
                let _ = receiver.recv().await;
                pending::<()>().await;
            }));
        }
        let text = panic_of(|| {
            let runtime = runtime;
            runtime.block_on(async {
                yield_now().await;
                panic!("outside {ON_PURPOSE}");
            });
        });
        assert!(text.contains("outside"));
        assert_eq!(drops.get(), 2);
    });
}

#[test]
fn dropped_inside_one_of_its_own_blocking_jobs_it_ends() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let (drops, done) = (Counter::new(), Counter::new());
        drop(handle.spawn(drops.never()));
        drop(handle.spawn_blocking(move || {
            drop(runtime);
            done.add();
        }));
        done.wait_for(1);
        assert_eq!(drops.get(), 1);
    });
}

/// On a thread that has made it the current one.
#[test]
fn dropped_under_its_own_guard_it_waits_for_its_jobs_as_ever() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let (pause, done) = (Pause::new(), Counter::new());
        drop(runtime.spawn_blocking(move || {
            pause.here();
            done.add();
        }));
        pause.reached();
        let entered = handle.clone();
        let dropping = thread::spawn(move || {
            let _guard = entered.enter();
            drop(runtime);
            done.get()
        });
        wait_for_end(&handle);
        pause.pass();
        assert_eq!(dropping.join().unwrap(), 1, "it did not wait for the job");
    });
}

/// The thread that drops it is in a job, but in none of that runtime.
#[test]
fn a_runtime_dropped_in_a_job_of_another_is_waited_for() {
    with_sizes(|workers| {
        let outer = runtime(workers);
        let job = outer.spawn_blocking(move || {
            let (stopped, pause, ended) = (Counter::new(), Pause::new(), Gate::new());
            let mut builder = builder(workers).on_thread_stop(move || _ = stopped.add()).clone();
            let inner = builder.build().unwrap();
            let handle = inner.handle().clone();
            let _guard = handle.enter();
            drop(inner.spawn_blocking(move || {
                pause.here();
                ended.open();
            }));
            pause.reached();
            let opener = thread::spawn(move || {
                // The job alone is left: time to return too early.
                stopped.wait_for(workers);
                thread::sleep(millis(20));
                pause.pass();
            });
            drop(inner);
            let waited = ended.is_open();
            opener.join().unwrap();
            waited
        });
        assert!(outer.block_on(job).unwrap());
    });
}

#[test]
fn a_job_that_entered_another_runtime_can_drop_its_own() {
    with_sizes(|workers| {
        let (own, other) = (runtime(workers), runtime(workers));
        let (handle, ended) = (own.handle().clone(), Gate::new());
        drop(handle.spawn_blocking(move || {
            let _guard = other.enter();
            drop(own);
            ended.open();
        }));
        ended.wait();
    });
}

/// The last that has the runtime is a task of it, when another task ends it.
#[test]
fn a_runtime_that_its_own_task_drops_does_not_wait_for_itself() {
    with_sizes(|workers| {
        let runtime = Arc::new(runtime(workers));
        let owner = runtime.spawn(holds(runtime.clone()));
        let gate = Gate::new();
        let ending = runtime.spawn(async move {
            gate.wait();
            Handle::current().shutdown_background();
        });
        drop(runtime);
        gate.open();
        wait_for_all(&[owner, ending]);
    });
}

/// A job that waits until a value is dropped, and that value.
fn waits_for_a_drop(handle: &Handle) -> (mpsc::Sender<()>, JoinHandle<()>) {
    let (held, dropped) = mpsc::channel::<()>();
    let begun = Gate::new();
    let job = handle.spawn_blocking(move || {
        begun.open();
        dropped.recv().unwrap_err();
    });
    begun.wait();
    (held, job)
}

/// The same while jobs run on. Whichever of the futures is dropped first, they all are: a
/// job waits for each.
#[test]
fn a_runtime_that_its_own_task_drops_does_not_wait_for_its_jobs() {
    with_sizes(|workers| {
        let runtime = Arc::new(runtime(workers));
        let ((early, first), (late, second)) =
            (waits_for_a_drop(&runtime), waits_for_a_drop(&runtime));
        let mut tasks = vec![first, second];
        tasks.push(runtime.spawn(holds(early)));
        tasks.push(runtime.spawn(holds(runtime.clone())));
        tasks.push(runtime.spawn(holds(late)));
        let handle = runtime.handle().clone();
        drop(runtime);
        tasks.push(handle.spawn(async { Handle::current().shutdown_background() }));
        wait_for_all(&tasks);
    });
}

/// Nor for those of another runtime that the task has.
#[test]
fn a_runtime_that_a_task_of_another_drops_at_the_end_does_not_wait_for_jobs() {
    with_sizes(|workers| {
        let (outer, inner) = (runtime(workers), runtime(workers));
        let ((early, first), (late, second)) = (waits_for_a_drop(&inner), waits_for_a_drop(&inner));
        // Whichever of the futures is dropped first.
        drop(outer.spawn(holds(early)));
        drop(outer.spawn(holds(inner)));
        drop(outer.spawn(holds(late)));
        drop(outer);
        wait_for_all(&[first, second]);
    });
}

// With a limit.

/// A job counts as begun from the moment that a thread is on its way for it. One that waits behind
/// it is given up.
#[test]
fn a_job_whose_thread_has_just_started_is_run_after_a_shutdown() {
    with_sizes(|workers| {
        let (runtime, [job, behind], start) = with_a_job_about_to_begin(workers);
        runtime.shutdown(Duration::ZERO);
        assert!(!job.is_finished());
        start.pass();
        let outside = current_thread();
        assert_eq!(outside.block_on(job).unwrap(), 7);
        assert!(outside.block_on(behind).unwrap_err().is_cancelled());
    });
}

#[test]
fn shutdown_ends_as_soon_as_the_jobs_do() {
    with_sizes(|workers| {
        runtime(workers).shutdown(Duration::MAX);
        let runtime = runtime(workers);
        let (pause, done) = (Pause::new(), Counter::new());
        drop(runtime.spawn_blocking(move || {
            pause.here();
            done.add();
        }));
        pause.reached();
        let opener = thread::spawn(move || pause.pass());
        runtime.shutdown(HOUR);
        assert_eq!(done.get(), 1);
        opener.join().unwrap();
    });
}

#[test]
fn shutdown_within_no_time_does_not_wait_for_jobs() {
    with_each_size(|runtime| {
        let (job, pause) = begun_job(&runtime);
        runtime.shutdown(Duration::ZERO);
        assert!(!job.is_finished());
        pause.pass();
        // Left to itself, it ends, and its handle tells.
        wait_until("the job", || job.is_finished());
    });
}

// Again and again.

#[test]
fn hundreds_of_runtimes_are_built_used_and_dropped() {
    with_sizes(|workers| {
        for round in 0..300 {
            let runtime = runtime(workers);
            if round % 2 == 0 {
                let sum = runtime.block_on(async {
                    let task = arc::spawn(async { 1 });
                    sleep(micros(10)).await;
                    task.await.unwrap()
                });
                assert_eq!(sum, 1);
            }
            if round % 5 == 0 {
                drop(runtime.spawn(pending::<()>()));
            }
            match round % 3 {
                0 => drop(runtime),
                1 => runtime.shutdown(HOUR),
                _ => runtime.shutdown_background(),
            }
        }
    });
}

#[test]
fn several_runtimes_end_at_once() {
    within_deadline(|| {
        on_threads(4, |index| {
            for _ in 0..50 {
                runtime(1 + index % 3).block_on(async { arc::spawn(sleep(TICK)).await.unwrap() });
            }
        });
    });
}

#[cfg(target_os = "linux")]
mod leaves_nothing {
    use super::*;
    use std::fs;

    fn entries(folder: &str) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    /// One of them is the directory's own.
    fn descriptors() -> usize {
        entries("/proc/self/fd")
    }

    fn threads() -> usize {
        entries("/proc/self/task")
    }

    /// The runtime's own, also those that run its jobs.
    fn threads_named(prefix: &str) -> usize {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
        tasks.filter_map(|task| name(task.ok()?)).filter(|name| name.starts_with(prefix)).count()
    }

    /// A thread that ends may hold on to its runtime a moment longer, and one that was joined is
    /// listed a moment longer.
    #[track_caller]
    fn expect_only_descriptors(count: usize) {
        wait_until("the threads end", || threads_named("prey") == 0);
        wait_until("the descriptors are closed", || descriptors() == count);
    }

    fn memory_kilobytes() -> usize {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    fn use_all_of_it(runtime: &Runtime) {
        runtime.block_on(async {
            let (mut client, mut server) = pair().await;
            let task = arc::spawn(async move {
                server.write_all(b"x").await.unwrap();
                // Never ends by itself, with a socket in its hands.
                drop(arc::spawn(async move {
                    drop(server.read(&mut [0]).await);
                    pending::<()>().await;
                }));
            });
            client.read_exact(&mut [0]).await.unwrap();
            task.await.unwrap();
            drop(arc::spawn(sleep(HOUR)));
            drop(arc::spawn(holds(client)));
            assert_eq!(spawn_blocking(|| 1).await.unwrap(), 1);
            sleep(TICK).await;
        });
    }

    #[test]
    fn no_threads_and_no_descriptors_and_no_memory() {
        let name = "shutdown::leaves_nothing::no_threads_and_no_descriptors_and_no_memory";
        in_own_process(name, || {
            let files = descriptors();
            let use_and_drop = || {
                for workers in SIZES {
                    let runtime = builder(workers).thread_name_fn(named("prey")).build().unwrap();
                    // A thread has its name a moment after it was started.
                    wait_until("the threads", || threads_named("prey") == workers + 1);
                    use_all_of_it(&runtime);
                    drop(runtime);
                    expect_only_descriptors(files);
                }
            };
            // The first ones start what the process keeps.
            (0..30).for_each(|_| use_and_drop());
            let all = threads();
            let before = memory_kilobytes();
            (0..60).for_each(|_| use_and_drop());
            let growth = memory_kilobytes().saturating_sub(before);
            // A leaked runtime holds a wheel of 1.5 KiB and a ring of 4 KiB per worker, and more.
            assert!(growth < 180 * 8, "{growth} KiB more after 180 runtimes");
            // A thread of the pool is not joined, and is listed a moment longer.
            wait_until("no threads are left", || threads() <= all);
        });
    }

    #[test]
    fn a_build_that_fails_leaves_no_threads_and_no_descriptors() {
        let name =
            "shutdown::leaves_nothing::a_build_that_fails_leaves_no_threads_and_no_descriptors";
        in_own_process(name, || {
            let files = descriptors();
            for _ in 0..20 {
                // No machine has the memory.
                let mut huge =
                    builder(64).thread_stack_size(1 << 42).thread_name_fn(named("prey")).clone();
                let error = huge.build().unwrap_err();
                assert!(error.raw_os_error().is_some(), "{error}");
                expect_only_descriptors(files);
            }
        });
    }

    /// Idle, it does nothing at all, nor does anything that it started.
    #[test]
    fn an_idle_runtime_uses_no_time() {
        in_own_process("shutdown::leaves_nothing::an_idle_runtime_uses_no_time", || {
            for workers in SIZES {
                let runtime = runtime(workers);
                use_all_of_it(&runtime);
                expect_rest();
            }
        });
    }
}
