//! The end of a runtime: every future is dropped, every thread ends, nothing
//! hangs, and whoever still uses it gets an error.

use crate::common::*;
use crate::net_common::spin;
use arc::io::{Async, AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};
use arc::runtime::{Handle, Runtime};
use arc::task::{JoinHandle, TaskState, spawn_blocking, yield_now};
use arc::time::{Instant, sleep, sleep_until, timeout};
use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

const TICK: Duration = Duration::from_micros(100);

// What becomes of the tasks.

#[test]
fn the_futures_of_all_tasks_are_dropped_whatever_they_wait_for() {
    with_sizes(|workers| {
        let runtime = runtime(workers);
        let drops = Counter::new();
        let waiting = Counter::new();
        // The other halves live on outside.
        let (sender, receiver) = async_channel::bounded::<()>(1);
        let (outside, inside) = sockets();
        let slot = Slot::default();
        let leave = slot.clone();
        let other = crate::common::runtime(1);
        let elsewhere = other.spawn(pending::<()>());
        let mut tasks: Vec<JoinHandle<()>> = Vec::new();
        let mut spawn = |future: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| {
            let (held, waiting) = (drops.on_drop(), waiting.clone());
            tasks.push(runtime.spawn(async move {
                let _held = held;
                waiting.add();
                future.await;
            }));
        };
        spawn(Box::pin(sleep(DEADLINE)));
        spawn(Box::pin(pending()));
        spawn(Box::pin(async move { receiver.recv().await.unwrap() }));
        spawn(Box::pin(async move {
            let inside = Async::new(inside).unwrap();
            drop((&inside).read(&mut [0]).await);
        }));
        spawn(Box::pin(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            drop(listener.accept().await);
        }));
        spawn(Box::pin(poll_fn(move |context| {
            leave.leave(context);
            Poll::Pending
        })));
        spawn(Box::pin(async move { drop(elsewhere.await) }));
        spawn(Box::pin(async {
            drop(arc::spawn(pending::<()>()).await);
        }));
        spawn(Box::pin(async {
            timeout(DEADLINE, pending::<()>()).await.unwrap();
        }));
        let count = tasks.len();
        waiting.wait_for(count);
        runtime.block_on(yield_now());
        let handle = runtime.handle().clone();
        drop(runtime);
        assert_eq!(drops.get(), count);
        assert_eq!(handle.tasks().len(), 0);
        for mut task in tasks {
            match poll_with(std::pin::Pin::new(&mut task), Waker::noop()) {
                Poll::Ready(result) => assert!(result.unwrap_err().is_cancelled()),
                Poll::Pending => panic!("a joiner would wait for ever"),
            }
        }
        // What lives on outside finds nobody, and does no harm.
        assert!(sender.try_send(()).is_err());
        slot.take().wake();
        drop(outside);
    });
}

#[test]
fn tasks_that_are_still_queued_are_dropped() {
    with_sizes(|workers| {
        for _ in 0..50 {
            let runtime = runtime(workers);
            let drops = Counter::new();
            for _ in 0..500 {
                let held = drops.on_drop();
                drop(runtime.spawn(async move {
                    let _held = held;
                    yield_now().await;
                    pending::<()>().await;
                }));
            }
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
        let (pause, after) = (Pause::default(), Counter::new());
        let (inside, count) = (pause.clone(), after.clone());
        let task = runtime.spawn(async move {
            inside.here();
            count.add();
            yield_now().await;
            count.add();
        });
        pause.reached();
        let handle = runtime.handle().clone();
        let dropping = thread::spawn(move || drop(runtime));
        wait_for_shutdown(&handle);
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
            let held = drops.on_drop();
            let (sender, receiver) = async_channel::bounded(1);
            let neighbour = previous.take();
            let task = runtime.spawn(async move {
                let _held = (held, neighbour);
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
            let drops = Counter::new();
            for _ in 0..20 {
                let other = runtime.spawn(pending());
                let spawner = Spawner(runtime.handle().clone(), drops.clone(), other);
                drop(runtime.spawn(holds(spawner)));
            }
            let handle = runtime.handle().clone();
            drop(runtime);
            assert_eq!(drops.get(), 20);
            assert_eq!(handle.tasks().len(), 0);
        }
    });
}

// Races.

/// A waker that fires while the runtime goes away.
#[test]
fn wakes_that_race_with_the_end() {
    with_sizes(|workers| {
        for round in 0..300 {
            let runtime = runtime(workers);
            let drops = Counter::new();
            let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
            for _ in 0..4 {
                let (held, leave) = (drops.on_drop(), wakers.clone());
                drop(runtime.spawn(async move {
                    let _held = held;
                    poll_fn(|context| {
                        leave.lock().unwrap().push(context.waker().clone());
                        Poll::<()>::Pending
                    })
                    .await;
                }));
            }
            wait_until("the wakers", || wakers.lock().unwrap().len() >= 4);
            let stop = Arc::new(AtomicBool::new(false));
            let stopped = stop.clone();
            let mine = wakers.lock().unwrap().clone();
            let waking = thread::spawn(move || {
                while !stopped.load(Ordering::SeqCst) {
                    for waker in &mine {
                        waker.wake_by_ref();
                    }
                }
            });
            spin(round * 10);
            drop(runtime);
            // One that is being woken just then is dropped by who wakes it.
            drops.wait_for(4);
            stop.store(true, Ordering::SeqCst);
            waking.join().unwrap();
            wakers.lock().unwrap().clear();
            assert_eq!(drops.get(), 4);
        }
    });
}

#[test]
fn spawns_that_race_with_the_end_are_run_or_dropped() {
    with_sizes(|workers| {
        for _ in 0..100 {
            let runtime = runtime(workers);
            let handle = runtime.handle().clone();
            let (drops, stop) = (Counter::new(), Arc::new(AtomicBool::new(false)));
            let (count, stopped) = (drops.clone(), stop.clone());
            let begun = Counter::new();
            let begin = begun.clone();
            let spawning = thread::spawn(move || {
                let mut tasks = Vec::new();
                while !stopped.load(Ordering::SeqCst) {
                    let held = count.on_drop();
                    tasks.push(handle.spawn(async move {
                        let _held = held;
                        yield_now().await;
                    }));
                    begin.add();
                }
                // One that surely comes too late.
                let held = count.on_drop();
                tasks.push(handle.spawn(async move { drop(held) }));
                tasks
            });
            begun.wait_for(10);
            drop(runtime);
            stop.store(true, Ordering::SeqCst);
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
        for round in 0..60 {
            let runtime = runtime(workers);
            let handle = runtime.handle().clone();
            let begun = Counter::new();
            for _ in 0..8 {
                let begun = begun.clone();
                drop(runtime.spawn(async move {
                    loop {
                        begun.add();
                        let (_outside, inside) = sockets();
                        let Ok(inside) = Async::new(inside) else {
                            break;
                        };
                        let mut byte = [0];
                        let mut io = &inside;
                        let read = io.read(&mut byte);
                        drop(timeout(Duration::from_micros(round), read).await);
                        drop(spawn_blocking(|| {}).await);
                    }
                }));
            }
            let outside = runtime.block_on(async {
                let mut timer = Box::pin(sleep(DEADLINE));
                assert!(poll_with(timer.as_mut(), Waker::noop()).is_pending());
                (timer, Async::new(sockets().0))
            });
            begun.wait_for(8 + round as usize);
            let thread = thread::spawn(move || drop(outside));
            drop(runtime);
            thread.join().unwrap();
            assert_eq!(handle.tasks().len(), 0);
        }
    });
}

#[test]
fn threads_in_block_on_that_race_with_the_end() {
    with_sizes(|workers| {
        for round in 0..100 {
            let runtime = runtime(workers);
            let entered = Counter::new();
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (handle, entered) = (runtime.handle().clone(), entered.clone());
                    thread::spawn(move || {
                        handle.block_on(async {
                            entered.add();
                            // Ends when the runtime does.
                            while arc::spawn(yield_now()).await.is_ok() {}
                        });
                    })
                })
                .collect();
            entered.wait_for(round % 4);
            drop(runtime);
            for thread in threads {
                thread.join().unwrap();
            }
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
        let held = drops.on_drop();
        let task = handle.spawn(async move { drop(held) });
        assert!(task.is_finished());
        assert_eq!(drops.get(), 1);
        assert!(handle.block_on(task).unwrap_err().is_cancelled());
        let held = drops.on_drop();
        let job = handle.spawn_blocking(move || drop(held));
        assert!(handle.block_on(job).unwrap_err().is_cancelled());
        assert_eq!(drops.get(), 2);
    });
}

#[test]
fn afterwards_a_timer_panics_clearly_and_its_drop_is_silent() {
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        let (waker, wakes) = counting_waker();
        let mut armed = Box::pin(sleep(DEADLINE));
        {
            let _guard = runtime.enter();
            assert!(poll_with(armed.as_mut(), &waker).is_pending());
        }
        let mut dropped = Box::pin(sleep(DEADLINE));
        runtime.block_on(async { poll_with(dropped.as_mut(), Waker::noop()) }).is_ready();
        drop(runtime);
        drop(dropped);
        // It was woken, and has nobody to arm it again.
        wakes.wait_for(1);
        let _guard = handle.enter();
        let text = panic_of(|| poll_with(armed.as_mut(), Waker::noop()));
        assert!(text.contains("has ended"), "{text}");
        let mut new = Box::pin(sleep(DEADLINE));
        let text = panic_of(|| poll_with(new.as_mut(), Waker::noop()));
        assert!(text.contains("has ended"), "{text}");
        // What need not wait is over at once.
        let mut over = Box::pin(sleep_until(Instant::now()));
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
            let other = runtime(1);
            let runtime = runtime(workers);
            let pause = Pause::default();
            let inside = pause.clone();
            let task = runtime.spawn(async move {
                inside.here();
                let _ = timeout(Duration::from_secs(1000), sleep(Duration::MAX)).await;
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
    struct Kept;
    impl std::task::Wake for Kept {
        fn wake(self: Arc<Self>) {
            drop(self);
        }
    }
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        drop(runtime);
        let kept = Arc::new(Kept);
        let waker = Waker::from(kept.clone());
        let _guard = handle.enter();
        for _ in 0..10 {
            let mut timer = Box::pin(sleep(DEADLINE));
            let text = panic_of(|| poll_with(timer.as_mut(), &waker));
            assert!(text.contains("has ended"), "{text}");
        }
        drop(waker);
        // A waker of block_on holds the runtime: in its wheel it would keep it for ever.
        assert_eq!(Arc::strong_count(&kept), 1, "the runtime that has ended holds a waker");
    });
}

#[test]
fn afterwards_sockets_fail_and_their_drop_is_silent() {
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        let (listener, mut client, (waker, wakes)) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            (listener, client, counting_waker())
        });
        // Somebody waits for it as the runtime ends.
        let mut byte = [0];
        {
            let mut read = client.read(&mut byte);
            assert!(poll_with(std::pin::Pin::new(&mut read), &waker).is_pending());
        }
        drop(runtime);
        wakes.wait_for(1);
        let read = handle.block_on(client.read(&mut byte));
        assert!(read.unwrap_err().to_string().contains("has ended"));
        let written = handle.block_on(client.write(b"x"));
        assert!(written.unwrap_err().to_string().contains("has ended"));
        assert!(handle.block_on(listener.accept()).is_err());
        assert!(handle.block_on(TcpStream::connect("127.0.0.1:1")).is_err());
        let _guard = handle.enter();
        let (socket, _) = sockets();
        let error = Async::new(socket).unwrap_err();
        assert!(error.to_string().contains("has ended"), "{error}");
        drop((listener, client));
    });
}

// Where it must not be dropped, and where it may.

#[test]
fn dropped_inside_a_task_it_panics_clearly_and_the_process_goes_on() {
    within_deadline(|| {
        let outer = runtime(2);
        for workers in SIZES {
            let drops = Counter::new();
            let inner = runtime(workers);
            drop(inner.spawn(drops.never()));
            let error = outer.block_on(outer.spawn(async move { drop(inner) })).unwrap_err();
            let text = message(error.into_panic());
            assert!(text.contains("dropped inside a task"), "{text}");
            assert!(text.contains("shutdown_background"), "{text}");
            // It ends all the same.
            drops.wait_for(1);
        }
        assert_eq!(outer.block_on(outer.spawn(async { 1 })).unwrap(), 1);
    });
}

#[test]
fn dropped_inside_one_of_its_own_tasks_it_panics_clearly_and_ends() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let (drops, held) = (Counter::new(), Counter::new());
        let other = drops.on_drop();
        drop(handle.spawn(holds(other)));
        let count = held.clone();
        drop(handle.spawn(async move {
            yield_now().await;
            let text = panic_of(|| drop(runtime));
            assert!(text.contains("dropped inside a task"), "{text}");
            count.add();
        }));
        held.wait_for(1);
        drops.wait_for(1);
        wait_until("it has ended", || handle.tasks().is_empty());
    });
}

#[test]
fn dropped_inside_block_on_it_panics_clearly() {
    with_sizes(|workers| {
        let (outer, inner) = (runtime(workers), runtime(1));
        let text = panic_of(|| outer.block_on(async move { drop(inner) }));
        assert!(text.contains("dropped inside a task or block_on"), "{text}");
        // Its own, by way of a handle.
        let handle = outer.handle().clone();
        let text = panic_of(|| handle.block_on(async move { drop(outer) }));
        assert!(text.contains("dropped inside a task or block_on"), "{text}");
    });
}

/// While a panic unwinds another one would abort the process.
#[test]
fn dropped_by_a_panic_inside_a_task_it_keeps_quiet() {
    within_deadline(|| {
        let outer = runtime(1);
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
    let within_no_time: fn(Runtime) = |runtime| drop(runtime.shutdown(Duration::ZERO));
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
            wait_until("it has ended", || handle.spawn(pending::<()>()).is_finished());
            wait_until("no task is left", || handle.tasks().is_empty());
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
    thread_local!(static HELD: Cell<Option<arc::runtime::Runtime>> = const { Cell::new(None) });
    with_sizes(|workers| {
        let drops = Counter::new();
        let held = drops.on_drop();
        let thread = thread::spawn(move || {
            let runtime = runtime(workers);
            runtime.block_on(async {
                let task = arc::spawn(holds(held));
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
        let panics = std::panic::AssertUnwindSafe(|| {
            let runtime = runtime;
            runtime.block_on(async {
                yield_now().await;
                panic!("outside {ON_PURPOSE}");
            });
        });
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(drops.get(), 2);
    });
}

#[test]
fn dropped_inside_one_of_its_own_blocking_jobs_it_ends() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let (drops, done) = (Counter::new(), Counter::new());
        let (held, count) = (drops.on_drop(), done.clone());
        drop(handle.spawn(holds(held)));
        drop(handle.spawn_blocking(move || {
            drop(runtime);
            count.add();
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
        let _guard = handle.enter();
        let (gate, inside, done) = (Gate::new(), Gate::new(), Counter::new());
        let (wait, tell, count) = (gate.clone(), inside.clone(), done.clone());
        drop(runtime.spawn_blocking(move || {
            tell.open();
            wait.wait();
            count.add();
        }));
        inside.wait();
        let dropping = {
            let handle = handle.clone();
            thread::spawn(move || {
                let _guard = handle.enter();
                drop(runtime);
                done.get()
            })
        };
        wait_until("the end has begun", || handle.spawn(pending::<()>()).is_finished());
        gate.open();
        assert_eq!(dropping.join().unwrap(), 1, "it did not wait for the job");
    });
}

// With a limit.

#[test]
fn shutdown_tells_which_jobs_still_run() {
    with_each_size(|runtime| {
        let (gate, inside) = (Gate::new(), Counter::new());
        let mut line = 0;
        for _ in 0..3 {
            let (wait, tell) = (gate.clone(), inside.clone());
            let job = move || {
                tell.add();
                wait.wait();
            };
            line = line!() + 1;
            drop(runtime.spawn_blocking(job));
        }
        inside.wait_for(3);
        let left = runtime.shutdown(Duration::from_millis(10));
        assert_eq!(left.len(), 3, "{left:?}");
        assert!(left.iter().all(|job| job.state == TaskState::Blocking), "{left:?}");
        assert!(left.iter().all(|job| job.location.line() == line), "{left:?}");
        gate.open();
    });
}

#[test]
fn shutdown_ends_as_soon_as_the_jobs_do() {
    with_sizes(|workers| {
        let idle = runtime(workers);
        assert!(idle.shutdown(Duration::MAX).is_empty());
        let runtime = runtime(workers);
        let (pause, done) = (Pause::default(), Counter::new());
        let (inside, count) = (pause.clone(), done.clone());
        drop(runtime.spawn_blocking(move || {
            inside.here();
            count.add();
        }));
        pause.reached();
        let opener = thread::spawn(move || pause.pass());
        assert!(runtime.shutdown(DEADLINE + DEADLINE).is_empty());
        assert_eq!(done.get(), 1);
        opener.join().unwrap();
    });
}

#[test]
fn shutdown_within_no_time_does_not_wait_for_jobs() {
    with_each_size(|runtime| {
        let pause = Pause::default();
        let inside = pause.clone();
        let job = runtime.spawn_blocking(move || {
            inside.here();
            6
        });
        pause.reached();
        assert!(!runtime.shutdown(Duration::ZERO).is_empty());
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
                    sleep(Duration::from_micros(10)).await;
                    task.await.unwrap()
                });
                assert_eq!(sum, 1);
            }
            if round % 5 == 0 {
                drop(runtime.spawn(pending::<()>()));
            }
            match round % 3 {
                0 => drop(runtime),
                1 => assert!(runtime.shutdown(DEADLINE).len() <= 1),
                _ => runtime.shutdown_background(),
            }
        }
    });
}

#[test]
fn several_runtimes_end_at_once() {
    within_deadline(|| {
        let threads: Vec<_> = (0..4)
            .map(|index| {
                thread::spawn(move || {
                    for _ in 0..50 {
                        let runtime = runtime(1 + index % 3);
                        runtime.block_on(async {
                            arc::spawn(sleep(TICK)).await.unwrap();
                        });
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[cfg(target_os = "linux")]
mod leaves_nothing {
    use super::*;
    use std::fs;

    fn descriptors() -> usize {
        // One of them is the directory's own.
        fs::read_dir("/proc/self/fd").unwrap().count()
    }

    /// The runtime's own, also those that run its jobs.
    fn threads_named(prefix: &str) -> usize {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
        tasks.filter_map(|task| name(task.ok()?)).filter(|name| name.starts_with(prefix)).count()
    }

    /// A thread that ends may hold on to its runtime a moment longer.
    #[track_caller]
    fn expect_descriptors(count: usize) {
        wait_until("the descriptors are closed", || descriptors() == count);
    }

    /// A thread that was joined is listed a moment longer.
    #[track_caller]
    fn expect_no_threads() {
        wait_until("the threads end", || threads_named("prey") == 0);
    }

    fn threads() -> usize {
        fs::read_dir("/proc/self/task").unwrap().count()
    }

    fn memory_kilobytes() -> usize {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    fn use_all_of_it(runtime: &Runtime) {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = arc::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.write_all(b"x").await.unwrap();
                // Never ends by itself, with a socket in its hands.
                drop(arc::spawn(async move {
                    let mut byte = [0];
                    drop(stream.read(&mut byte).await);
                    pending::<()>().await;
                }));
            });
            let mut client = TcpStream::connect(address).await.unwrap();
            client.read_exact(&mut [0]).await.unwrap();
            server.await.unwrap();
            drop(arc::spawn(sleep(DEADLINE)));
            drop(arc::spawn(async move {
                pending::<()>().await;
                drop(client);
            }));
            assert_eq!(spawn_blocking(|| 1).await.unwrap(), 1);
            sleep(TICK).await;
        });
    }

    #[test]
    fn no_threads_and_no_descriptors_and_no_memory() {
        in_own_process(
            "shutdown::leaves_nothing::no_threads_and_no_descriptors_and_no_memory",
            || {
                let round = |workers| {
                    let runtime = builder(workers).thread_name("prey").build().unwrap();
                    // A thread has its name a moment after it was started.
                    wait_until("the threads", || threads_named("prey") == workers + 1);
                    use_all_of_it(&runtime);
                    drop(runtime);
                    expect_no_threads();
                };
                let files = descriptors();
                // The first ones start what the process keeps.
                for _ in 0..30 {
                    SIZES.into_iter().for_each(round);
                    expect_descriptors(files);
                }
                let all = threads();
                let before = memory_kilobytes();
                for _ in 0..60 {
                    SIZES.into_iter().for_each(round);
                    expect_descriptors(files);
                }
                let growth = memory_kilobytes().saturating_sub(before);
                // A leaked runtime holds a timer wheel of 8 KiB per worker and more.
                assert!(growth < 180 * 8, "{growth} KiB more after 180 runtimes");
                // A thread of the pool is not joined, and is listed a moment longer.
                wait_until("no threads are left", || threads() <= all);
            },
        );
    }

    #[test]
    fn a_build_that_fails_leaves_no_threads_and_no_descriptors() {
        let name =
            "shutdown::leaves_nothing::a_build_that_fails_leaves_no_threads_and_no_descriptors";
        in_own_process(name, || {
            let files = descriptors();
            for _ in 0..20 {
                // No machine has the memory.
                let mut huge = builder(64).thread_stack_size(1 << 42).thread_name("prey").clone();
                let error = huge.build().unwrap_err();
                assert!(error.raw_os_error().is_some(), "{error}");
                expect_no_threads();
                expect_descriptors(files);
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
