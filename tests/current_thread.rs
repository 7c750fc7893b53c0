//! The current-thread flavor: everything runs on a thread in `block_on`, and on one at a
//! time; nothing runs while there is none.

use crate::common::*;
use arc::runtime::{Builder, Handle, UnhandledPanic};
use arc::task::{JoinHandle, TaskState, spawn_blocking, yield_now};
use arc::time::sleep;
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Barrier, Mutex};
use std::task::Waker;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_micros(50);

fn here() -> ThreadId {
    thread::current().id()
}

/// The thread that runs a task that is spawned now. Another thread is in `block_on`.
#[track_caller]
fn thread_of_a_task(handle: &Handle) -> ThreadId {
    let (sender, receiver) = std::sync::mpsc::channel();
    drop(handle.spawn(async move {
        yield_now().await;
        sleep(TICK).await;
        sender.send(here()).unwrap();
    }));
    receiver.recv_timeout(DEADLINE).expect("somebody runs the tasks")
}

/// A thread in `block_on`, until it is told to leave.
struct Caller {
    thread: thread::JoinHandle<()>,
    leave: async_channel::Sender<()>,
    id: ThreadId,
}

impl Caller {
    /// Returns when the thread is in `block_on`. It has the lease, unless another one has it.
    fn enter(handle: &Handle) -> Self {
        Self::enter_and(handle, || {})
    }

    /// `end` is the last thing that the future does.
    fn enter_and(handle: &Handle, end: impl FnOnce() + Send + 'static) -> Self {
        let (handle, inside) = (handle.clone(), Gate::new());
        let (leave, left) = async_channel::bounded::<()>(1);
        let entered = inside.clone();
        let thread = thread::spawn(move || {
            let me = here();
            handle.block_on(async move {
                entered.open();
                let _ = left.recv().await;
                assert_eq!(here(), me, "a future is polled on its own thread");
                end();
            });
        });
        inside.wait();
        let id = thread.thread().id();
        Self { thread, leave, id }
    }

    fn leave(self) -> thread::Result<()> {
        drop(self.leave);
        self.thread.join()
    }
}

// Where tasks run, and when.

#[test]
fn everything_runs_on_the_thread_in_block_on() {
    within_deadline(|| {
        let runtime = current_thread();
        let early = runtime.spawn(async { here() });
        let seen = runtime.block_on(async {
            let mut seen = vec![here(), early.await.unwrap()];
            let nested = arc::spawn(async {
                let task = arc::spawn(async {
                    sleep(TICK).await;
                    here()
                });
                task.await.unwrap()
            });
            seen.push(nested.await.unwrap());
            // Woken by another thread.
            let (sender, receiver) = async_channel::bounded(1);
            let woken = arc::spawn(async move {
                receiver.recv().await.unwrap();
                here()
            });
            let waking = thread::spawn(move || sender.send_blocking(()).unwrap());
            seen.push(woken.await.unwrap());
            waking.join().unwrap();
            // Woken by a job.
            let after_a_job = arc::spawn(async {
                let job = spawn_blocking(here).await.unwrap();
                (job, here())
            });
            let (job, task) = after_a_job.await.unwrap();
            assert_ne!(job, task);
            seen.push(task);
            seen
        });
        assert_eq!(seen, [here(); 5]);
    });
}

/// Nobody could run them: the threads of the runtime are the monitor's alone.
#[test]
fn no_task_runs_while_nobody_is_in_block_on() {
    within_deadline(|| {
        let runtime = current_thread();
        let ran = Counter::new();
        let tasks: Vec<_> = (0..10)
            .map(|_| {
                let ran = ran.clone();
                runtime.spawn(async move { ran.add() })
            })
            .collect();
        let timer = {
            let _guard = runtime.enter();
            let mut timer = Box::pin(sleep(TICK));
            assert!(poll_with(timer.as_mut(), Waker::noop()).is_pending());
            timer
        };
        // Several ticks of the monitor. However long it is, they must not run.
        thread::sleep(Duration::from_millis(30));
        let described = runtime.tasks();
        assert_eq!(described.len(), 10);
        assert!(described.iter().all(|task| task.state == TaskState::Queued && task.polls == 0));
        assert_eq!(ran.get(), 0);

        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        assert_eq!(ran.get(), 10);
        runtime.block_on(timer);
    });
}

#[test]
fn the_next_block_on_goes_on_with_the_tasks_of_the_last_one() {
    within_deadline(|| {
        let runtime = current_thread();
        let turns = Counter::new();
        let count = turns.clone();
        let task = runtime.block_on(async {
            let task = arc::spawn(async move {
                loop {
                    count.add();
                    sleep(TICK).await;
                }
            });
            yield_now().await;
            task
        });
        for _ in 0..100 {
            let before = turns.get();
            runtime.block_on(async {
                while turns.get() < before + 3 {
                    yield_now().await;
                }
            });
            // Not a moment longer.
            let after = turns.get();
            thread::yield_now();
            assert_eq!(turns.get(), after);
        }
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
    });
}

/// It is woken while nobody can poll it.
#[test]
fn a_task_woken_between_two_calls_is_polled_by_the_next_one() {
    within_deadline(|| {
        let runtime = current_thread();
        let (sender, receiver) = async_channel::bounded(1);
        let polls = Counter::new();
        let count = polls.clone();
        let task = runtime.spawn(async move {
            let mut receive = Box::pin(receiver.recv());
            poll_fn(|context| {
                count.add();
                receive.as_mut().poll(context)
            })
            .await
            .unwrap()
        });
        runtime.block_on(async {
            while polls.get() == 0 {
                yield_now().await;
            }
        });
        thread::spawn(move || sender.send_blocking(7).unwrap()).join().unwrap();
        assert_eq!(runtime.tasks()[0].state, TaskState::Queued);
        assert_eq!(polls.get(), 1);
        assert_eq!(runtime.block_on(task).unwrap(), 7);
        assert_eq!(polls.get(), 2);
    });
}

#[test]
fn the_main_future_and_the_tasks_take_turns() {
    within_deadline(|| {
        let runtime = current_thread();
        let turns = Counter::new();
        for _ in 0..3 {
            let turns = turns.clone();
            drop(runtime.spawn(async move {
                loop {
                    turns.add();
                    yield_now().await;
                }
            }));
        }
        // Three tasks that are always ready, and a main future that is so, too.
        let mut polls = 0;
        runtime.block_on(async {
            while turns.get() < 300 {
                polls += 1;
                yield_now().await;
            }
        });
        assert!((299..=301).contains(&polls), "{polls} polls beside {} turns", turns.get());
    });
}

#[test]
fn a_task_that_is_polled_is_in_the_list_as_running_on_worker_0() {
    within_deadline(|| {
        let runtime = current_thread();
        let handle = runtime.handle().clone();
        let task = runtime.spawn(async move { handle.tasks() });
        let told = runtime.block_on(task).unwrap();
        assert!(matches!(told[0].state, TaskState::Running { worker: 0, .. }), "{told:?}");
    });
}

/// The thread sleeps in the kernel, and nothing else is to be waited for.
#[test]
fn a_wake_from_another_thread_ends_the_sleep() {
    within_deadline(|| {
        let runtime = current_thread();
        let (requests, asked) = std::sync::mpsc::channel::<async_channel::Sender<u32>>();
        let replier = thread::spawn(move || {
            for (reply, round) in asked.into_iter().zip(0_u32..) {
                (0..round % 64 * 8).for_each(|_| std::hint::spin_loop());
                reply.send_blocking(round).unwrap();
            }
        });
        for round in 0..2_000 {
            let (reply, answer) = async_channel::bounded(1);
            requests.send(reply).unwrap();
            // The main future is woken, or a task that wakes it.
            let told = if round % 2 == 0 {
                runtime.block_on(answer.recv())
            } else {
                runtime.block_on(async {
                    arc::spawn(async move { answer.recv().await }).await.unwrap()
                })
            };
            assert_eq!(told, Ok(round));
        }
        drop(requests);
        replier.join().unwrap();
    });
}

// Several threads.

#[test]
fn of_several_threads_one_runs_the_tasks_and_each_polls_its_own_future() {
    within_deadline(|| {
        let runtime = current_thread();
        let first = Caller::enter(&runtime);
        let others: Vec<_> = (0..3).map(|_| Caller::enter(&runtime)).collect();
        for _ in 0..20 {
            assert_eq!(thread_of_a_task(&runtime), first.id);
        }
        // One of the others leaves, which changes nothing.
        for other in others {
            other.leave().unwrap();
            assert_eq!(thread_of_a_task(&runtime), first.id);
        }
        // Nor does one that comes and goes.
        assert_eq!(runtime.block_on(runtime.spawn(async { here() })).unwrap(), first.id);
        first.leave().unwrap();
        assert_eq!(runtime.block_on(runtime.spawn(async { here() })).unwrap(), here());
    });
}

#[test]
fn the_thread_that_leaves_hands_the_tasks_to_one_that_stays() {
    within_deadline(|| {
        for _ in 0..20 {
            let runtime = current_thread();
            let turns = Counter::new();
            let count = turns.clone();
            drop(runtime.spawn(async move {
                loop {
                    sleep(TICK).await;
                    count.add();
                }
            }));
            let mut callers: Vec<_> = (0..4).map(|_| Caller::enter(&runtime)).collect();
            while !callers.is_empty() {
                let runs_tasks = thread_of_a_task(&runtime);
                let index = callers.iter().position(|caller| caller.id == runs_tasks);
                callers.remove(index.expect("one of them")).leave().unwrap();
                if !callers.is_empty() {
                    turns.wait_for(turns.get() + 3);
                }
            }
            let after = turns.get();
            thread::yield_now();
            assert_eq!(turns.get(), after, "nobody is left");
        }
    });
}

#[test]
fn a_main_future_that_panics_hands_the_tasks_over() {
    within_deadline(|| {
        for _ in 0..50 {
            let runtime = current_thread();
            let first = Caller::enter_and(&runtime, || panic!("the main future {ON_PURPOSE}"));
            let second = Caller::enter(&runtime);
            assert_eq!(thread_of_a_task(&runtime), first.id);
            assert!(message(first.leave().unwrap_err()).contains("the main future"));
            assert_eq!(thread_of_a_task(&runtime), second.id);
            second.leave().unwrap();
            assert_eq!(runtime.block_on(runtime.spawn(async { here() })).unwrap(), here());
        }
    });
}

/// Tasks from outside, while threads come and go: whoever is in there runs them.
#[test]
fn no_task_and_no_wake_up_is_lost_as_the_tasks_change_hands() {
    within_deadline(|| {
        let runtime = current_thread();
        let stays = Caller::enter(&runtime);
        thread::scope(|scope| {
            for index in 0..3 {
                let runtime = &runtime;
                scope.spawn(move || {
                    for round in 0..400 {
                        match (round + index) % 4 {
                            0 => runtime.block_on(sleep(TICK)),
                            1 => runtime.block_on(yield_now()),
                            2 => runtime.block_on(async { arc::spawn(yield_now()).await.unwrap() }),
                            _ => {
                                assert_eq!(runtime.block_on(runtime.spawn(async { 3 })).unwrap(), 3)
                            }
                        }
                    }
                });
            }
            let done = Counter::new();
            for round in 1..=500 {
                let done = done.clone();
                let tell = done.clone();
                drop(runtime.spawn(async move {
                    yield_now().await;
                    tell.add();
                }));
                spin_until("the task", || done.get() == round);
            }
        });
        stays.leave().unwrap();
    });
}

/// Nobody stays: each one that leaves may be the last.
#[test]
fn threads_that_enter_and_leave_at_once_run_one_task_at_a_time() {
    within_deadline(|| {
        let runtime = current_thread();
        let is_running = Arc::new(Mutex::new(()));
        thread::scope(|scope| {
            for _ in 0..4 {
                let (runtime, is_running) = (&runtime, &is_running);
                scope.spawn(move || {
                    for round in 0..500 {
                        let is_running = is_running.clone();
                        let task = runtime.spawn(async move {
                            let one = is_running.try_lock().expect("two tasks run at once");
                            (0..50).for_each(|_| std::hint::spin_loop());
                            drop(one);
                            yield_now().await;
                            round
                        });
                        assert_eq!(runtime.block_on(task).unwrap(), round);
                    }
                });
            }
        });
        assert!(runtime.tasks().is_empty());
    });
}

/// The thread with the lease is stuck in a task. The others' futures need only themselves.
#[test]
fn a_thread_beside_the_one_that_runs_a_long_poll_is_not_held_up() {
    within_deadline(|| {
        let runtime = current_thread();
        let first = Caller::enter(&runtime);
        let Blocked { gate, task: stuck } = block_worker(&runtime);
        let (sender, receiver) = async_channel::bounded(1);
        let sending = thread::spawn(move || sender.send_blocking(3).unwrap());
        assert_eq!(runtime.block_on(receiver.recv()), Ok(3));
        // The monitor looks at the clock for it.
        runtime.block_on(sleep(TICK));
        assert!(!stuck.is_finished());
        gate.open();
        runtime.block_on(stuck).unwrap();
        first.leave().unwrap();
        sending.join().unwrap();
    });
}

/// A thread that has not the lease polls its future when that was woken, and never else.
#[test]
fn a_future_beside_the_thread_that_runs_the_tasks_is_polled_only_when_it_was_woken() {
    within_deadline(|| {
        let runtime = current_thread();
        let first = Caller::enter(&runtime);
        let (turns, polls) = (Counter::new(), Counter::new());
        let count = turns.clone();
        drop(runtime.spawn(async move {
            loop {
                count.add();
                sleep(TICK).await;
            }
        }));
        let (sender, receiver) = async_channel::bounded::<()>(1);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut receive = Box::pin(receiver.recv());
                let counted = poll_fn(|context| {
                    polls.add();
                    receive.as_mut().poll(context)
                });
                assert!(runtime.block_on(counted).is_err());
            });
            polls.wait_for(1);
            turns.wait_for(turns.get() + 100);
            assert_eq!(polls.get(), 1);
            drop(sender);
        });
        assert_eq!(polls.get(), 2);
        first.leave().unwrap();
    });
}

// The end.

/// Tells by which thread it was dropped.
struct Tells(Arc<Mutex<Vec<ThreadId>>>);

impl Drop for Tells {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(here());
    }
}

/// Tasks that never end, each in another state.
fn leave_tasks(handle: &Handle, drops: &Arc<Mutex<Vec<ThreadId>>>) -> Vec<JoinHandle<()>> {
    let futures: [Pin<Box<dyn Future<Output = ()> + Send>>; 3] = [
        Box::pin(pending()),
        Box::pin(sleep(DEADLINE)),
        Box::pin(async { drop(arc::spawn(pending::<()>()).await) }),
    ];
    let spawn = |future: Pin<Box<dyn Future<Output = ()> + Send>>| {
        let tells = Tells(drops.clone());
        handle.spawn(async move {
            let _tells = tells;
            future.await;
        })
    };
    futures.into_iter().map(spawn).collect()
}

#[test]
fn dropped_with_tasks_the_runtime_drops_their_futures_on_that_thread() {
    within_deadline(|| {
        for is_polled in [false, true] {
            let runtime = current_thread();
            let drops = Arc::default();
            let tasks = leave_tasks(&runtime, &drops);
            if is_polled {
                runtime.block_on(async {
                    let waits = |task: &arc::task::TaskInfo| task.polls > 0;
                    while !Handle::current().tasks().iter().all(waits) {
                        yield_now().await;
                    }
                });
            }
            let handle = runtime.handle().clone();
            drop(runtime);
            assert_eq!(*drops.lock().unwrap(), [here(); 3]);
            assert!(tasks.iter().all(JoinHandle::is_finished));
            assert!(handle.tasks().is_empty());
            for task in tasks {
                assert!(handle.block_on(task).unwrap_err().is_cancelled());
            }
        }
    });
}

#[test]
fn shutdown_tells_of_the_tasks_that_were_left() {
    within_deadline(|| {
        let runtime = current_thread();
        let queued = runtime.spawn(pending::<()>());
        let left = runtime.shutdown(DEADLINE);
        let [left] = &left[..] else { panic!("{left:?}") };
        assert_eq!((left.id, left.state, left.polls), (queued.id(), TaskState::Queued, 0));
    });
}

/// The thread in `block_on` has the lease. It gives that up, and then either may take it.
#[test]
fn dropped_while_another_thread_is_in_block_on_one_of_the_two_drops_the_futures() {
    within_deadline(|| {
        for round in 0..50 {
            let runtime = current_thread();
            let drops = Arc::default();
            let tasks = leave_tasks(&runtime, &drops);
            let last = runtime.spawn(pending::<()>());
            let (handle, inside) = (runtime.handle().clone(), Gate::new());
            let entered = inside.clone();
            let caller = thread::spawn(move || {
                handle.block_on(async move {
                    entered.open();
                    assert!(last.await.unwrap_err().is_cancelled());
                    // It goes on without its runtime.
                    assert!(arc::spawn(async {}).await.unwrap_err().is_cancelled());
                });
                here()
            });
            inside.wait();
            (0..round * 50).for_each(|_| std::hint::spin_loop());
            let handle = runtime.handle().clone();
            drop(runtime);
            assert_eq!(drops.lock().unwrap().len(), 3, "dropped before the drop returns");
            let caller = caller.join().unwrap();
            let drops = drops.lock().unwrap();
            assert!(*drops == [caller; 3] || *drops == [here(); 3]);
            assert!(tasks.iter().all(JoinHandle::is_finished));
            assert!(handle.tasks().is_empty());
        }
    });
}

/// Its name is no longer among those that wait for the lease.
#[test]
fn a_thread_that_left_block_on_is_not_unparked_when_the_lease_ends() {
    within_deadline(|| {
        let runtime = current_thread();
        let runs_the_worker = Caller::enter(runtime.handle());
        let (handle, left, ended) = (runtime.handle().clone(), Gate::new(), Gate::new());
        let (leaves, ends) = (left.clone(), ended.clone());
        let beside = thread::spawn(move || {
            handle.block_on(async {});
            thread::park_timeout(Duration::ZERO); // uses up what `block_on` may have left
            leaves.open();
            ends.wait();
            let start = Instant::now();
            thread::park_timeout(20 * TICK);
            start.elapsed()
        });
        left.wait();
        runs_the_worker.leave().unwrap();
        ended.open();
        assert!(beside.join().unwrap() >= 20 * TICK, "nobody unparks it");
    });
}

/// Whoever takes the lease last: exactly one of them drops everything.
#[test]
fn an_end_that_races_with_threads_in_block_on_drops_each_future_once() {
    within_deadline(|| {
        for round in 0..300 {
            let runtime = current_thread();
            let drops = Arc::default();
            let tasks = leave_tasks(&runtime, &drops);
            let entered = Counter::new();
            let callers: Vec<_> = (0..3)
                .map(|_| {
                    let (handle, entered) = (runtime.handle().clone(), entered.clone());
                    thread::spawn(move || {
                        // Each call may be the one that finds the runtime ended.
                        while handle.block_on(async { arc::spawn(yield_now()).await.is_ok() }) {
                            entered.add();
                        }
                    })
                })
                .collect();
            entered.wait_for(round % 7);
            drop(runtime);
            assert_eq!(drops.lock().unwrap().len(), 3, "dropped before the drop returns");
            for caller in callers {
                caller.join().unwrap();
            }
            assert!(tasks.iter().all(JoinHandle::is_finished));
        }
    });
}

/// A thread that has just taken the lease, and has not polled anything yet, is waited for as well.
#[test]
fn an_end_waits_for_a_thread_that_is_about_to_run_tasks() {
    within_deadline(|| {
        for round in 0..3000 {
            let runtime = current_thread();
            let drops = Arc::default();
            let tells = Tells(Arc::clone(&drops));
            drop(runtime.spawn(holds(tells)));
            let (handle, start) = (runtime.handle().clone(), Arc::new(Barrier::new(2)));
            let starts = start.clone();
            let caller = thread::spawn(move || {
                starts.wait();
                handle.block_on(yield_now());
            });
            start.wait();
            (0..round % 400 * 5).for_each(|_| std::hint::spin_loop());
            drop(runtime);
            assert_eq!(drops.lock().unwrap().len(), 1, "dropped before the drop returns");
            caller.join().unwrap();
        }
    });
}

#[test]
fn shutdown_background_works_inside_a_task_of_its_own() {
    within_deadline(|| {
        for _ in 0..50 {
            let runtime = current_thread();
            let drops = Arc::default();
            let tasks = leave_tasks(&runtime, &drops);
            let last = runtime.spawn(pending::<()>());
            let handle = runtime.handle().clone();
            let ended = Counter::new();
            let count = ended.clone();
            handle.block_on(async move {
                drop(arc::spawn(async move {
                    runtime.shutdown_background();
                    // The poll goes on to its end.
                    count.add();
                    pending::<()>().await;
                }));
                assert!(last.await.unwrap_err().is_cancelled());
            });
            assert_eq!(ended.get(), 1);
            assert_eq!(*drops.lock().unwrap(), [here(); 3]);
            assert!(tasks.iter().all(JoinHandle::is_finished));
            assert!(handle.tasks().is_empty());
        }
    });
}

#[test]
fn a_panic_of_a_task_ends_the_runtime_and_every_block_on_if_it_shall() {
    within_deadline(|| {
        for _ in 0..50 {
            let policy = UnhandledPanic::ShutdownRuntime;
            let runtime = Builder::new_current_thread().unhandled_panic(policy).build().unwrap();
            let callers: Vec<_> = (0..3).map(|_| Caller::enter(&runtime)).collect();
            let other = runtime.spawn(pending::<()>());
            drop(runtime.spawn(async { panic!("{ON_PURPOSE}") }));
            for caller in callers {
                // Its future is not woken: the sender lives on.
                let text = message(caller.thread.join().unwrap_err());
                assert!(text.contains("UnhandledPanic::ShutdownRuntime"), "{text}");
                drop(caller.leave);
            }
            wait_until("the other is cancelled", || other.is_finished());
            let text = panic_of(|| runtime.block_on(async {}));
            assert!(text.contains("UnhandledPanic::ShutdownRuntime"), "{text}");
        }
    });
}

#[test]
fn a_long_poll_of_a_task_is_reported_and_not_that_of_its_block_on() {
    within_deadline(|| {
        let (sender, reports) = std::sync::mpsc::channel();
        let sender = Mutex::new(sender);
        let mut builder =
            Builder::new_current_thread().long_poll_limit(Duration::from_millis(20)).clone();
        let report =
            move |task: &arc::task::TaskInfo| _ = sender.lock().unwrap().send(task.clone());
        let runtime = builder.on_long_poll(report).build().unwrap();
        for _ in 0..3 {
            let pause = Pause::default();
            let inside = pause.clone();
            let stuck = runtime.spawn(async move {
                inside.here();
            });
            let id = stuck.id();
            thread::scope(|scope| {
                let caller = scope.spawn(|| runtime.block_on(stuck).unwrap());
                pause.reached();
                let report = reports.recv_timeout(DEADLINE).expect("it is reported");
                assert_eq!(report.id, id);
                assert!(matches!(report.state, TaskState::Running { worker: 0, .. }), "{report}");
                pause.pass();
                caller.join().unwrap();
            });
            assert!(reports.try_recv().is_err(), "once");
        }
    });
}

// What it is made of.

#[test]
fn it_has_one_worker_whatever_the_builder_is_told() {
    within_deadline(|| {
        let runtime = Builder::new_current_thread().workers(8).build().unwrap();
        assert_eq!(runtime.handle().workers(), 1);
        let text = panic_of(|| Builder::new_current_thread().workers(0).clone());
        assert!(text.contains("workers"), "{text}");
    });
}

/// The monitor's and those of jobs. The thread in `block_on` is the program's.
#[test]
fn hooks_are_called_on_its_own_threads_alone() {
    within_deadline(|| {
        let started = Arc::new(Mutex::new(Vec::new()));
        let start = started.clone();
        let hook = move || start.lock().unwrap().push(thread::current().name().map(str::to_owned));
        let runtime = Builder::new_current_thread().on_thread_start(hook).build().unwrap();
        runtime.block_on(async { arc::spawn(yield_now()).await.unwrap() });
        runtime.block_on(runtime.spawn_blocking(|| {})).unwrap();
        drop(runtime);
        // Sorted, as both threads begin at about the same time.
        let mut started = started.lock().unwrap();
        started.sort();
        assert_eq!(*started, ["arc-blocking", "arc-monitor"].map(|name| Some(name.to_owned())));
    });
}

#[arc::main(flavor = "current_thread")]
async fn threads_of_main() -> (ThreadId, ThreadId) {
    let task = arc::spawn(async {
        yield_now().await;
        here()
    });
    (here(), task.await.unwrap())
}

#[test]
fn the_attribute_runs_everything_on_the_calling_thread() {
    within_deadline(|| assert_eq!(threads_of_main(), (here(), here())));
}

/// Idle, it does nothing at all: with a thread in `block_on`, with two, and with none.
#[cfg(target_os = "linux")]
#[test]
fn idle_it_uses_no_time() {
    in_own_process("current_thread::idle_it_uses_no_time", || {
        let runtime = current_thread();
        drop(runtime.spawn(pending::<()>()));
        runtime.block_on(async { arc::spawn(sleep(TICK)).await.unwrap() });
        runtime.block_on(runtime.spawn_blocking(|| {})).unwrap();
        expect_rest();
        thread::scope(|scope| {
            let leave = Arc::new(Mutex::new(Vec::new()));
            for count in 1..=2 {
                let (sender, receiver) = async_channel::bounded::<()>(1);
                leave.lock().unwrap().push(sender);
                let entered = Gate::new();
                let (tell, runtime) = (entered.clone(), &runtime);
                let named = thread::Builder::new().name(format!("arc-caller-{count}"));
                let caller = named.spawn_scoped(scope, move || {
                    runtime.block_on(async move {
                        tell.open();
                        assert!(receiver.recv().await.is_err());
                    });
                });
                caller.unwrap();
                entered.wait();
                expect_rest();
            }
            leave.lock().unwrap().clear();
        });
        expect_rest();
    });
}
