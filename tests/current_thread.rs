//! The current-thread flavor: everything runs on a thread in `block_on`, and on one at a
//! time; nothing runs while there is none.

use crate::common::*;
use arc::runtime::{Builder, Handle};
use arc::task::{JoinHandle, spawn_blocking, yield_now};
use arc::time::sleep;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Barrier, Mutex};
use std::task::Waker;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

const TICK: Duration = micros(50);

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

/// The thread that runs a task that this one waits for.
fn thread_of_a_joined_task(handle: &Handle) -> ThreadId {
    handle.block_on(handle.spawn(async { here() })).unwrap()
}

/// A task that counts each turn, and sleeps between them.
fn ticker(handle: &Handle) -> (JoinHandle<()>, Counter) {
    let turns = Counter::new();
    let task = handle.spawn(async move {
        loop {
            turns.add();
            sleep(TICK).await;
        }
    });
    (task, turns)
}

/// A thread in `block_on`, until it is told to leave.
struct Caller {
    thread: thread::JoinHandle<()>,
    leave: async_channel::Sender<()>,
    id: ThreadId,
}

impl Caller {
    /// Returns when the thread is in `block_on`. It runs the worker, unless another one does.
    fn enter(handle: &Handle) -> Self {
        Self::enter_and(handle, || {})
    }

    /// `end` is the last thing that the future does.
    fn enter_and(handle: &Handle, end: impl FnOnce() + Send + 'static) -> Self {
        let (handle, entered) = (handle.clone(), Gate::new());
        let (leave, left) = async_channel::bounded::<()>(1);
        let thread = thread::spawn(move || {
            let me = here();
            handle.block_on(async move {
                entered.open();
                let _ = left.recv().await;
                assert_eq!(here(), me, "a future is polled on its own thread");
                end();
            });
        });
        entered.wait();
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
    on_current_thread(|runtime| {
        let early = runtime.spawn(async { here() });
        let seen = runtime.block_on(async {
            let after_a_sleep = async {
                sleep(TICK).await;
                here()
            };
            let nested = arc::spawn(async { arc::spawn(after_a_sleep).await.unwrap() });
            // Woken by another thread.
            let (sender, receiver) = async_channel::bounded(1);
            let woken = arc::spawn(async move {
                receiver.recv().await.unwrap();
                here()
            });
            let waking = thread::spawn(move || sender.send_blocking(()).unwrap());
            let woken = woken.await.unwrap();
            waking.join().unwrap();
            // Woken by a job.
            let after_a_job = arc::spawn(async { (spawn_blocking(here).await.unwrap(), here()) });
            let (job, task) = after_a_job.await.unwrap();
            assert_ne!(job, task);
            [here(), early.await.unwrap(), nested.await.unwrap(), woken, task]
        });
        assert_eq!(seen, [here(); 5]);
    });
}

/// Nobody could run them: the threads of the runtime are the monitor's alone.
#[test]
fn no_task_runs_while_nobody_is_in_block_on() {
    on_current_thread(|runtime| {
        let ran = Counter::new();
        let tasks = spawn_each(&runtime, 10, |_| async move { ran.add() });
        let mut timer = Box::pin(sleep(TICK));
        let guard = runtime.enter();
        assert!(poll_with(timer.as_mut(), Waker::noop()).is_pending());
        drop(guard);
        // Several ticks of the monitor. However long it is, they must not run.
        thread::sleep(millis(30));
        expect_tasks(&runtime, 10);
        assert_eq!(ran.get(), 0);

        join_all(&runtime, tasks);
        assert_eq!(ran.get(), 10);
        runtime.block_on(timer);
    });
}

#[test]
fn the_next_block_on_goes_on_with_the_tasks_of_the_last_one() {
    on_current_thread(|runtime| {
        let (task, turns) = ticker(&runtime);
        runtime.block_on(yield_now());
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
    on_current_thread(|runtime| {
        let (sender, receiver) = async_channel::bounded(1);
        let polls = Counter::new();
        let task = runtime.spawn(polls.polls_of(async move { receiver.recv().await.unwrap() }));
        runtime.block_on(async {
            while polls.get() == 0 {
                yield_now().await;
            }
        });
        thread::spawn(move || sender.send_blocking(7).unwrap()).join().unwrap();
        assert_eq!((polls.get(), runtime.global_queue_depth()), (1, 1));
        assert_eq!(runtime.block_on(task).unwrap(), 7);
        assert_eq!(polls.get(), 2);
    });
}

/// Turns of tasks between two polls of the main future, as on tokio.
const INTERVAL: usize = 61;

/// Tests of programs lean on this: "spawn, yield once, assert".
#[test]
fn the_main_future_comes_again_after_the_tasks_that_were_ready() {
    for ready in [0, 1, INTERVAL - 2, INTERVAL - 1, INTERVAL, 3 * INTERVAL] {
        on_current_thread(move |runtime| {
            let ran = Counter::new();
            runtime.block_on(async {
                // The first wakes the main future, and is a turn as well.
                let (sender, receiver) = async_channel::bounded(1);
                drop(arc::spawn(async move { sender.try_send(()).unwrap() }));
                for _ in 0..ready {
                    drop(arc::spawn(async move { ran.add() }));
                }
                receiver.recv().await.unwrap();
                assert_eq!(ran.get(), ready.min(INTERVAL - 1));
            });
        });
    }
}

/// Three tasks that are always ready, and a main future that is so, too.
#[test]
fn the_main_future_and_the_tasks_take_turns() {
    for interval in [INTERVAL, 1, 2, 7] {
        within_deadline(move || {
            let mut builder = Builder::new_current_thread();
            if interval != INTERVAL {
                builder.event_interval(interval.try_into().unwrap());
            }
            let runtime = builder.build().unwrap();
            let turns = Counter::new();
            drop(spawn_each(&runtime, 3, |_| async move {
                loop {
                    turns.add();
                    yield_now().await;
                }
            }));
            runtime.block_on(async {
                for polls in 0..50 {
                    assert_eq!(turns.get(), polls * interval);
                    yield_now().await;
                }
            });
        });
    }
}

/// The thread sleeps in the kernel, and nothing else is to be waited for.
#[test]
fn a_wake_from_another_thread_ends_the_sleep() {
    on_current_thread(|runtime| {
        let (requests, asked) = std::sync::mpsc::channel::<async_channel::Sender<u32>>();
        let replier = thread::spawn(move || {
            for (reply, round) in asked.into_iter().zip(0_u32..) {
                spin(round % 64 * 8);
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
                let task = async move { answer.recv().await };
                runtime.block_on(async { arc::spawn(task).await.unwrap() })
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
    on_current_thread(|runtime| {
        let first = Caller::enter(&runtime);
        let others = [(); 3].map(|()| Caller::enter(&runtime));
        for _ in 0..20 {
            assert_eq!(thread_of_a_task(&runtime), first.id);
        }
        // One of the others leaves, which changes nothing.
        for other in others {
            other.leave().unwrap();
            assert_eq!(thread_of_a_task(&runtime), first.id);
        }
        // Nor does one that comes and goes.
        assert_eq!(thread_of_a_joined_task(&runtime), first.id);
        first.leave().unwrap();
        assert_eq!(thread_of_a_joined_task(&runtime), here());
    });
}

#[test]
fn the_thread_that_leaves_hands_the_tasks_to_one_that_stays() {
    for _ in 0..20 {
        on_current_thread(|runtime| {
            let (_task, turns) = ticker(&runtime);
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
        });
    }
}

#[test]
fn a_main_future_that_panics_hands_the_tasks_over() {
    for _ in 0..50 {
        on_current_thread(|runtime| {
            let first = Caller::enter_and(&runtime, || panic!("the main future {ON_PURPOSE}"));
            let second = Caller::enter(&runtime);
            assert_eq!(thread_of_a_task(&runtime), first.id);
            assert!(message(first.leave().unwrap_err()).contains("the main future"));
            assert_eq!(thread_of_a_task(&runtime), second.id);
            second.leave().unwrap();
            assert_eq!(thread_of_a_joined_task(&runtime), here());
        });
    }
}

/// Tasks from outside, while threads come and go: whoever is in there runs them.
#[test]
fn no_task_and_no_wake_up_is_lost_as_the_tasks_change_hands() {
    on_current_thread(|runtime| {
        let stays = Caller::enter(&runtime);
        on_threads(4, |index| {
            let done = Counter::new();
            for round in 1..=400 {
                match (round + index) % 4 {
                    // The fourth thread is never in there.
                    _ if index == 3 => {
                        drop(runtime.spawn(async move {
                            yield_now().await;
                            done.add();
                        }));
                        spin_until("the task", || done.get() == round);
                    }
                    0 => runtime.block_on(sleep(TICK)),
                    1 => runtime.block_on(yield_now()),
                    2 => runtime.block_on(async { arc::spawn(yield_now()).await.unwrap() }),
                    _ => assert_eq!(runtime.block_on(runtime.spawn(async { 3 })).unwrap(), 3),
                }
            }
        });
        stays.leave().unwrap();
    });
}

/// Nobody stays: each one that leaves may be the last.
#[test]
fn threads_that_enter_and_leave_at_once_run_one_task_at_a_time() {
    on_current_thread(|runtime| {
        let is_running = Arc::new(Mutex::new(()));
        on_threads(4, |_| {
            for round in 0..500 {
                let is_running = is_running.clone();
                let task = runtime.spawn(async move {
                    let one = is_running.try_lock().expect("two tasks run at once");
                    spin(50);
                    drop(one);
                    yield_now().await;
                    round
                });
                assert_eq!(runtime.block_on(task).unwrap(), round);
            }
        });
        expect_tasks(&runtime, 0);
    });
}

/// The thread in the loop is stuck in a task. The others' futures need only themselves.
#[test]
fn a_thread_beside_the_one_that_runs_a_long_poll_is_not_held_up() {
    on_current_thread(|runtime| {
        let first = Caller::enter(&runtime);
        let (stuck, pause) = block_worker(&runtime);
        let (sender, receiver) = async_channel::bounded(1);
        let sending = thread::spawn(move || sender.send_blocking(3).unwrap());
        assert_eq!(runtime.block_on(receiver.recv()), Ok(3));
        // The monitor looks at the clock for it.
        runtime.block_on(sleep(TICK));
        assert!(!stuck.is_finished());
        pause.pass();
        runtime.block_on(stuck).unwrap();
        first.leave().unwrap();
        sending.join().unwrap();
    });
}

/// A thread that is not in the loop polls its future when that was woken, and never else.
#[test]
fn a_future_beside_the_thread_that_runs_the_tasks_is_polled_only_when_it_was_woken() {
    on_current_thread(|runtime| {
        let first = Caller::enter(&runtime);
        let ((_task, turns), polls) = (ticker(&runtime), Counter::new());
        let (sender, receiver) = async_channel::bounded::<()>(1);
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(runtime.block_on(polls.polls_of(receiver.recv())).is_err());
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

/// The threads that have dropped something, in order.
type Threads = Arc<Mutex<Vec<ThreadId>>>;

/// Tells by which thread it was dropped.
struct Tells(Threads);

impl Drop for Tells {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(here());
    }
}

/// Three tasks that never end, each in another state, and who has dropped them.
fn leave_tasks(handle: &Handle) -> ([JoinHandle<()>; 3], Threads) {
    let futures: [Pin<Box<dyn Future<Output = ()> + Send>>; 3] = [
        Box::pin(pending()),
        Box::pin(sleep(HOUR)),
        Box::pin(async { drop(arc::spawn(pending::<()>()).await) }),
    ];
    let drops = Threads::default();
    let tasks = futures.map(|future| {
        let tells = Tells(drops.clone());
        handle.spawn(async move {
            let _tells = tells;
            future.await;
        })
    });
    (tasks, drops)
}

/// They have all ended, with the runtime.
#[track_caller]
fn expect_end(handle: &Handle, tasks: &[JoinHandle<()>]) {
    assert!(tasks.iter().all(JoinHandle::is_finished));
    expect_tasks(handle, 0);
}

#[test]
fn dropped_with_tasks_the_runtime_drops_their_futures_on_that_thread() {
    for is_polled in [false, true] {
        on_current_thread(move |runtime| {
            let (tasks, drops) = leave_tasks(&runtime);
            if is_polled {
                // They are all ready, and have their turns before this one's next.
                runtime.block_on(yields(2));
            }
            let handle = runtime.handle().clone();
            drop(runtime);
            assert_eq!(*drops.lock().unwrap(), [here(); 3]);
            expect_end(&handle, &tasks);
            for task in tasks {
                assert!(handle.block_on(task).unwrap_err().is_cancelled());
            }
        });
    }
}

/// The thread in `block_on` runs the worker. It leaves the loop, and then either of the two may be
/// the one that closes the runtime.
#[test]
fn dropped_while_another_thread_is_in_block_on_one_of_the_two_drops_the_futures() {
    for round in 0..50 {
        on_current_thread(move |runtime| {
            let (tasks, drops) = leave_tasks(&runtime);
            let last = runtime.spawn(pending::<()>());
            let (handle, entered) = (runtime.handle().clone(), Gate::new());
            let caller = thread::spawn(move || {
                handle.block_on(async move {
                    entered.open();
                    assert!(last.await.unwrap_err().is_cancelled());
                    // It goes on without its runtime.
                    assert!(arc::spawn(async {}).await.unwrap_err().is_cancelled());
                });
                here()
            });
            entered.wait();
            spin(round * 50);
            let handle = runtime.handle().clone();
            drop(runtime);
            assert_eq!(drops.lock().unwrap().len(), 3, "dropped before the drop returns");
            let caller = caller.join().unwrap();
            let drops = drops.lock().unwrap();
            assert!(*drops == [caller; 3] || *drops == [here(); 3]);
            expect_end(&handle, &tasks);
        });
    }
}

/// It is no longer in the list of those that may enter the loop.
#[test]
fn a_thread_that_left_block_on_is_not_unparked_when_another_leaves_the_loop() {
    on_current_thread(|runtime| {
        let runs_the_worker = Caller::enter(&runtime);
        let (handle, pause) = (runtime.handle().clone(), Pause::new());
        let beside = thread::spawn(move || {
            handle.block_on(async {});
            thread::park_timeout(Duration::ZERO); // uses up what `block_on` may have left
            pause.here();
            let start = Instant::now();
            thread::park_timeout(20 * TICK);
            start.elapsed()
        });
        pause.reached();
        runs_the_worker.leave().unwrap();
        pause.pass();
        assert!(beside.join().unwrap() >= 20 * TICK, "nobody unparks it");
    });
}

/// Whoever leaves the loop last: exactly one of them drops everything.
#[test]
fn an_end_that_races_with_threads_in_block_on_drops_each_future_once() {
    for round in 0..rounds(300) {
        on_current_thread(move |runtime| {
            let (tasks, drops) = leave_tasks(&runtime);
            let entered = Counter::new();
            let callers = [(); 3].map(|()| {
                let handle = runtime.handle().clone();
                thread::spawn(move || {
                    // Each call may be the one that finds the runtime ended.
                    while handle.block_on(async { arc::spawn(yield_now()).await.is_ok() }) {
                        entered.add();
                    }
                })
            });
            entered.wait_for(round % 7);
            drop(runtime);
            assert_eq!(drops.lock().unwrap().len(), 3, "dropped before the drop returns");
            callers.into_iter().for_each(|caller| caller.join().unwrap());
            assert!(tasks.iter().all(JoinHandle::is_finished));
        });
    }
}

/// A thread that has just entered the loop, and has not polled anything yet, is waited for as well.
#[test]
fn an_end_waits_for_a_thread_that_is_about_to_run_tasks() {
    within_deadline(|| {
        for round in 0..rounds(3000) {
            let runtime = current_thread();
            let dropped = Counter::new();
            drop(runtime.spawn(dropped.never()));
            let (handle, start) = (runtime.handle().clone(), Arc::new(Barrier::new(2)));
            let starts = start.clone();
            let caller = thread::spawn(move || {
                starts.wait();
                handle.block_on(yield_now());
            });
            start.wait();
            spin(round % 400 * 5);
            drop(runtime);
            assert_eq!(dropped.get(), 1, "dropped before the drop returns");
            caller.join().unwrap();
        }
    });
}

#[test]
fn shutdown_background_works_inside_a_task_of_its_own() {
    for _ in 0..50 {
        on_current_thread(|runtime| {
            let (tasks, drops) = leave_tasks(&runtime);
            let last = runtime.spawn(pending::<()>());
            let (handle, ended) = (runtime.handle().clone(), Counter::new());
            handle.block_on(async move {
                drop(arc::spawn(async move {
                    runtime.shutdown_background();
                    // The poll goes on to its end.
                    ended.add();
                    pending::<()>().await;
                }));
                assert!(last.await.unwrap_err().is_cancelled());
            });
            assert_eq!(ended.get(), 1);
            assert_eq!(*drops.lock().unwrap(), [here(); 3]);
            expect_end(&handle, &tasks);
        });
    }
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

/// Those of jobs. The monitor calls none, and the thread in `block_on` is the program's.
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
        assert_eq!(*started.lock().unwrap(), [Some("arc-blocking".to_owned())]);
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
            let mut leave = Vec::new();
            for count in 1..=2 {
                let (sender, receiver) = async_channel::bounded::<()>(1);
                leave.push(sender);
                let (entered, runtime) = (Gate::new(), &runtime);
                let named = thread::Builder::new().name(format!("arc-caller-{count}"));
                let caller = named.spawn_scoped(scope, move || {
                    runtime.block_on(async move {
                        entered.open();
                        assert!(receiver.recv().await.is_err());
                    });
                });
                caller.unwrap();
                entered.wait();
                expect_rest();
            }
            drop(leave);
        });
        expect_rest();
    });
}
