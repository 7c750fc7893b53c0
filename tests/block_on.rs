//! `block_on`: alone, after others, beside others, and never inside of them. On a
//! multi-thread runtime the thread polls its own future, and tasks belong to the workers.

use crate::common::*;
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::TcpStream;
use arc::runtime::Handle;
use arc::task::{JoinHandle, yield_now};
use arc::time::{Instant, sleep};
use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

const TICK: Duration = micros(50);

fn here() -> ThreadId {
    thread::current().id()
}

#[test]
fn gives_the_output_and_may_borrow_from_the_caller() {
    with_each_flavor(|runtime| {
        let text = String::from("borrowed");
        let length = runtime.block_on(async { text.len() });
        assert_eq!(length, 8);
    });
}

#[test]
fn may_run_a_future_that_is_not_send_and_drops_it_on_the_same_thread() {
    struct Home(Rc<Cell<u32>>, ThreadId);
    impl Drop for Home {
        fn drop(&mut self) {
            assert_eq!(here(), self.1);
            self.0.set(self.0.get() + 1);
        }
    }
    with_each_flavor(|runtime| {
        let drops = Rc::new(Cell::new(0));
        for _ in 0..100 {
            let home = Home(drops.clone(), here());
            runtime.block_on(async move {
                arc::spawn(yield_now()).await.unwrap();
                sleep(TICK).await;
                drop(home);
            });
        }
        assert_eq!(drops.get(), 100);
        // One that never ends by itself, and is dropped by a panic.
        let home = Home(drops.clone(), here());
        let text = panic_of(|| {
            runtime.block_on(async move {
                let _home = home;
                yield_now().await;
                panic!("the main future panics {ON_PURPOSE}");
            })
        });
        assert!(text.contains("main future"));
        assert_eq!(drops.get(), 101);
    });
}

#[test]
fn one_after_the_other_with_timers_in_between() {
    with_each_flavor(|runtime| {
        for round in 0..500 {
            assert_eq!(runtime.block_on(async { round }), round);
            runtime.block_on(sleep(TICK));
        }
    });
}

/// A worker sits in the seat when the next `block_on` comes.
#[test]
fn begins_while_a_worker_waits_in_the_kernel() {
    with_each_size(|runtime| {
        for round in 0..rounds(500) {
            // From outside: a worker runs it and waits for its timer.
            let begun = Gate::new();
            let background = runtime.spawn(async move {
                sleep(TICK).await;
                begun.open();
                sleep(millis(2)).await;
                round
            });
            begun.wait();
            runtime.block_on(sleep(TICK));
            runtime.block_on(async { arc::spawn(sleep(TICK)).await.unwrap() });
            assert_eq!(runtime.block_on(background).unwrap(), round);
        }
    });
}

/// The future is woken by a thread that has nothing to do with the runtime,
/// while there is nothing else to wait for.
#[test]
fn is_woken_from_outside_just_as_it_parks() {
    with_each_size(|runtime| {
        let (outside, requests) = mpsc::channel::<async_channel::Sender<usize>>();
        let replier = thread::spawn(move || {
            for (round, reply) in requests.into_iter().enumerate() {
                // At various distances from the first poll.
                spin((round % 64) * 8);
                reply.send_blocking(round).unwrap();
            }
        });
        for round in 0..2000 {
            if round % 4 == 0 {
                // A worker goes to the seat.
                runtime.block_on(async {});
                let ran = Gate::new();
                drop(runtime.spawn(async move { ran.open() }));
                ran.wait();
            }
            let (reply, answer) = async_channel::bounded(1);
            outside.send(reply).unwrap();
            assert_eq!(runtime.block_on(answer.recv()), Ok(round));
        }
        drop(outside);
        replier.join().unwrap();
    });
}

#[test]
fn sockets_and_timers_of_one_are_used_by_the_next() {
    with_each_flavor(|runtime| {
        let (mut client, mut server) = runtime.block_on(pair());
        let server = runtime.spawn(async move {
            let mut byte = [0];
            while server.read_exact(&mut byte).await.is_ok() {
                server.write_all(&byte).await.unwrap();
            }
        });
        let mut pause = Box::pin(sleep(TICK));
        for round in 0..=255 {
            runtime.block_on(client.write_all(&[round])).unwrap();
            // Armed by this one and over in the next.
            let armed = pause.as_mut();
            let _ = runtime.block_on(async { poll_with(armed, Waker::noop()) });
            let mut echo = [0];
            runtime.block_on(client.read_exact(&mut echo)).unwrap();
            assert_eq!(echo, [round]);
            runtime.block_on(pause.as_mut());
            pause.as_mut().reset(Instant::now() + TICK);
        }
        server.abort();
        assert!(runtime.block_on(server).unwrap_err().is_cancelled());
    });
}

#[test]
fn tasks_go_on_when_no_thread_is_in_it() {
    with_each_size(|runtime| {
        let ticks = Counter::new();
        let ticker = async move {
            loop {
                sleep(TICK).await;
                ticks.add();
            }
        };
        let task: JoinHandle<()> = runtime.block_on(async { arc::spawn(ticker) });
        ticks.wait_for(20);
        runtime.block_on(yield_now());
        ticks.wait_for(ticks.get() + 20);
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn tasks_that_it_has_spawned_run_after_it_has_returned() {
    with_each_size(|runtime| {
        for _ in 0..1000 {
            let done = Counter::new();
            runtime.block_on(async {
                for _ in 0..5 {
                    drop(arc::spawn(async move { _ = done.add() }));
                }
            });
            // Nothing wakes the runtime from here on.
            done.wait_for(5);
        }
    });
}

#[test]
fn several_threads_at_once_each_wait_for_timers_tasks_and_each_other() {
    const THREADS: usize = 6;
    with_each_flavor(|runtime| {
        let barrier = Barrier::new(THREADS);
        let (forward, backward): (Vec<_>, Vec<_>) =
            (0..THREADS).map(|_| async_channel::bounded::<usize>(1)).unzip();
        on_threads(THREADS, |index| {
            let (next, mine) = (&forward[(index + 1) % THREADS], &backward[index]);
            barrier.wait();
            for round in 0..100 {
                runtime.block_on(async {
                    next.send(round).await.unwrap();
                    assert_eq!(mine.recv().await, Ok(round));
                    assert_eq!(arc::spawn(async move { round }).await.unwrap(), round);
                });
                runtime.block_on(sleep(TICK));
            }
        });
    });
}

#[test]
fn one_worker_runs_one_task_at_a_time_however_many_threads_wait_for_them() {
    within_deadline(|| {
        for _ in 0..rounds(100) {
            let (runtime, done) = (runtime(1), Counter::new());
            let is_running = Arc::new(Mutex::new(()));
            let task = || {
                let is_running = is_running.clone();
                async move {
                    let one = is_running.try_lock().expect("two tasks run at once");
                    spin(50);
                    drop(one);
                    done.add();
                }
            };
            on_threads(3, |index| {
                for _ in 0..50 {
                    match index {
                        0 => drop(runtime.spawn(task())),
                        _ => runtime.block_on(async { arc::spawn(task()).await.unwrap() }),
                    }
                }
            });
            done.wait_for(150);
        }
    });
}

#[test]
fn no_task_runs_on_the_thread_in_it() {
    with_each_size(|runtime| {
        for _ in 0..100 {
            let early = runtime.spawn(async { here() });
            let threads = runtime.block_on(async {
                let task = async {
                    yield_now().await;
                    [here(), arc::spawn(async { here() }).await.unwrap()]
                };
                let [task, nested] = arc::spawn(task).await.unwrap();
                [early.await.unwrap(), task, nested]
            });
            assert!(!threads.contains(&here()));
        }
    });
}

/// That is the worker's trouble: another one runs the task that the caller waits for.
#[test]
fn a_task_may_want_the_lock_that_the_caller_holds() {
    on_each([2, 4], |runtime| {
        let lock = Arc::new(Mutex::new(0));
        for round in 0..50 {
            let mut held = lock.lock().unwrap();
            let wanted = lock.clone();
            let wants = runtime.block_on(async {
                // From outside a task, so that any worker may take it.
                let wants = arc::spawn(async move { *wanted.lock().unwrap() += 1 });
                let other = arc::spawn(async {
                    yield_now().await;
                    sleep(TICK).await;
                    5
                });
                assert_eq!(other.await.unwrap(), 5);
                wants
            });
            assert_eq!(*held, 2 * round);
            *held += 1;
            drop(held);
            runtime.block_on(wants).unwrap();
        }
    });
}

/// The stack of the thread in `block_on` has not the room.
#[test]
fn a_task_has_the_stack_of_a_worker_however_small_the_callers_is() {
    /// In a function of its own: it is not to become a part of the future.
    #[inline(never)]
    fn needs_a_mebibyte() -> usize {
        let big = [1_u8; 1 << 20];
        std::hint::black_box(&big).iter().map(|&byte| usize::from(byte)).sum()
    }
    // An overflow of the stack ends the process.
    let name = "block_on::a_task_has_the_stack_of_a_worker_however_small_the_callers_is";
    in_own_process(name, || {
        for workers in SIZES {
            let small = thread::Builder::new().stack_size(256 << 10);
            let caller = small.spawn(move || {
                let runtime = runtime(workers);
                for _ in 0..10 {
                    let task = runtime.block_on(async {
                        let nested = async { arc::spawn(async { needs_a_mebibyte() }).await };
                        arc::spawn(nested).await.unwrap().unwrap() + needs_no_more().await
                    });
                    assert_eq!(task, 1 << 20);
                }
            });
            caller.unwrap().join().unwrap();
        }
    });
}

async fn needs_no_more() -> usize {
    yield_now().await;
    0
}

/// Neither with one worker, which is stuck, nor with several, one of which must be free.
#[test]
fn its_timers_fire_while_tasks_block_the_workers() {
    with_each_size(|runtime| {
        for stuck in 1..=runtime.handle().workers() {
            let pause = Pause::new();
            let tasks = runtime.block_on(async {
                let tasks = spawn_each(&Handle::current(), stuck, |_| pause.stops());
                pause.reached_by(stuck);
                sleep(TICK).await;
                // The timer of a task that cannot be polled does not keep this one waiting.
                let sleeps = arc::spawn(sleep(TICK));
                sleep(TICK).await;
                assert!(tasks.iter().all(|task| !task.is_finished()));
                pause.pass();
                sleeps.await.unwrap();
                tasks
            });
            join_all(&runtime, tasks);
        }
    });
}

#[test]
fn the_future_is_polled_only_when_it_was_woken() {
    with_each_flavor(|runtime| {
        let polls = Counter::new();
        runtime.block_on(async {
            let task = arc::spawn(async {
                for _ in 0..100 {
                    yield_now().await;
                    sleep(TICK).await;
                }
            });
            polls.polls_of(task).await.unwrap();
        });
        // At the beginning, and when the task was done.
        assert_eq!(polls.get(), 2);
    });
}

// The time is read from /proc.
#[cfg(target_os = "linux")]
#[test]
fn a_thread_that_waits_in_it_costs_no_cpu() {
    fn cpu_ticks() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }
    within_deadline(|| {
        let (runtime, busy, entered) = (runtime(1), Gate::new(), Counter::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                runtime.block_on(async {
                    entered.add();
                    busy.wait();
                });
            });
            entered.wait_for(1);
            let (sender, receiver) = async_channel::bounded::<()>(1);
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(500));
                drop(sender);
            });
            let before = cpu_ticks();
            assert!(runtime.block_on(receiver.recv()).is_err());
            // A tick is 10 ms: a thread that spins would have 50.
            let ticks = cpu_ticks() - before;
            busy.open();
            assert!(ticks < 20, "{ticks} ticks of CPU time in half a second");
        });
    });
}

/// Also if it is not the one that runs the tasks of a current-thread runtime.
#[test]
fn a_thread_beside_others_hears_of_timers_and_sockets() {
    with_each_flavor(|runtime| {
        let entered = Counter::new();
        let workers = runtime.handle().workers();
        let (sender, receiver) = async_channel::bounded::<()>(1);
        thread::scope(|scope| {
            // As many as there are workers.
            for _ in 0..workers {
                scope.spawn(|| {
                    runtime.block_on(async {
                        entered.add();
                        assert!(receiver.recv().await.is_err());
                    });
                });
            }
            entered.wait_for(workers);
            for _ in 0..100 {
                runtime.block_on(sleep(TICK));
            }
            runtime.block_on(async {
                let (listener, address) = listen().await;
                let client = arc::spawn(async move { TcpStream::connect(address).await.unwrap() });
                let (mut server, _) = listener.accept().await.unwrap();
                server.write_all(b"x").await.unwrap();
                client.await.unwrap().read_exact(&mut [0]).await.unwrap();
            });
            drop(sender);
        });
    });
}

#[test]
fn nested_it_panics_clearly_and_the_outer_one_goes_on() {
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        let other = crate::common::runtime(1);
        let sum = runtime.block_on(async {
            let text = panic_of(|| handle.block_on(async {}));
            assert!(text.contains("block_on was called inside"), "{text}");
            // Another runtime's does not do either.
            let text = panic_of(|| other.block_on(async {}));
            assert!(text.contains("block_on was called inside"), "{text}");
            // The context is what it was.
            sleep(TICK).await;
            arc::spawn(async { 3 }).await.unwrap()
        });
        assert_eq!(sum, 3);
        let handle = runtime.handle().clone();
        let error = runtime.block_on(runtime.spawn(async move { handle.block_on(async {}) }));
        let text = message(error.unwrap_err().into_panic());
        assert!(text.contains("spawn_blocking"), "{text}");
        runtime.block_on(sleep(TICK));
    });
}

#[test]
fn one_runtime_after_another_on_one_thread() {
    within_deadline(|| {
        let runtimes = SIZES.map(runtime);
        for _ in 0..50 {
            let workers = runtimes.each_ref().map(|runtime| {
                runtime.block_on(async {
                    sleep(TICK).await;
                    Handle::current().workers()
                })
            });
            assert_eq!(workers, SIZES);
        }
    });
}

#[test]
fn the_future_that_wakes_itself_for_ever_lets_tasks_timers_and_sockets_on() {
    with_each_flavor(|runtime| {
        runtime.block_on(async {
            let (mut client, mut server) = pair().await;
            let task = arc::spawn(async move {
                sleep(TICK).await;
                server.write_all(b"!").await.unwrap();
            });
            let client = arc::spawn(async move { client.read_exact(&mut [0]).await.unwrap() });
            let start = Instant::now();
            poll_fn(|context| {
                context.waker().wake_by_ref();
                assert!(start.elapsed() < DEADLINE, "the tasks never ran");
                if task.is_finished() && client.is_finished() {
                    return Poll::Ready(());
                }
                Poll::Pending
            })
            .await;
            join([task, client]).await;
        });
    });
}

/// The future goes on, its tasks do not.
#[test]
fn a_runtime_that_ends_meanwhile_does_not_leave_it_hanging() {
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        let inside = Gate::new();
        let thread = thread::spawn(move || {
            let task = handle.spawn(pending::<()>());
            handle.block_on(async move {
                inside.open();
                assert!(task.await.unwrap_err().is_cancelled());
            });
        });
        inside.wait();
        drop(runtime);
        thread.join().unwrap();
    });
}

#[test]
fn after_the_runtime_has_ended_it_still_runs_what_needs_no_runtime() {
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        drop(runtime);
        for round in 0..20 {
            let (sender, receiver) = async_channel::bounded(1);
            let thread = thread::spawn(move || sender.send_blocking(round).unwrap());
            assert_eq!(handle.block_on(receiver.recv()), Ok(round));
            thread.join().unwrap();
            handle.block_on(yield_now());
            let result = handle.block_on(async { arc::spawn(async {}).await });
            assert!(result.unwrap_err().is_cancelled());
        }
    });
}
