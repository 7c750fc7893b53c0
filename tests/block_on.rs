//! `block_on`: the thread that calls it works as a worker, alone, after others,
//! beside others, and never inside of them.

mod common;

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};
use arc::runtime::Handle;
use arc::time::sleep;
use common::*;
use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_micros(50);

#[test]
fn gives_the_output_and_may_borrow_from_the_caller() {
    with_each_size(|runtime| {
        let text = String::from("borrowed");
        let length = runtime.block_on(async { text.len() });
        assert_eq!(length, 8);
    });
}

#[test]
fn may_run_a_future_that_is_not_send_and_drops_it_on_the_same_thread() {
    struct Home(Rc<Cell<u32>>, thread::ThreadId);
    impl Drop for Home {
        fn drop(&mut self) {
            assert_eq!(thread::current().id(), self.1);
            self.0.set(self.0.get() + 1);
        }
    }
    with_each_size(|runtime| {
        let drops = Rc::new(Cell::new(0));
        for _ in 0..100 {
            let home = Home(drops.clone(), thread::current().id());
            runtime.block_on(async move {
                arc::spawn(arc::task::yield_now()).await.unwrap();
                sleep(TICK).await;
                drop(home);
            });
        }
        assert_eq!(drops.get(), 100);
        // One that never ends by itself, and is dropped by a panic.
        let home = Home(drops.clone(), thread::current().id());
        let text = panic_of(|| {
            runtime.block_on(async move {
                let _home = home;
                arc::task::yield_now().await;
                panic!("the main future panics {ON_PURPOSE}");
            })
        });
        assert!(text.contains("main future"));
        assert_eq!(drops.get(), 101);
    });
}

#[test]
fn one_after_the_other_with_timers_in_between() {
    with_each_size(|runtime| {
        for round in 0..500 {
            assert_eq!(runtime.block_on(async { round }), round);
            runtime.block_on(sleep(TICK));
        }
    });
}

/// The worker's own thread sits in the seat when the next `block_on` comes.
#[test]
fn takes_the_worker_over_from_its_own_thread_that_waits_in_the_kernel() {
    with_each_size(|runtime| {
        for round in 0..300 {
            // From outside: the worker's own thread runs it and waits for it.
            let (done, finished) = mpsc::channel();
            let background = runtime.spawn(async move {
                sleep(TICK).await;
                done.send(()).unwrap();
                sleep(Duration::from_millis(2)).await;
                round
            });
            finished.recv_timeout(DEADLINE).unwrap();
            runtime.block_on(sleep(TICK));
            runtime.block_on(async {
                arc::spawn(sleep(TICK)).await.unwrap();
            });
            assert_eq!(runtime.block_on(background).unwrap(), round);
        }
    });
}

/// The future is woken by a thread that has nothing to do with the runtime,
/// while there is nothing else to wait for.
#[test]
fn is_woken_from_outside_just_after_it_has_taken_over_a_worker() {
    with_each_size(|runtime| {
        let (outside, requests) = mpsc::channel::<async_channel::Sender<usize>>();
        let replier = thread::spawn(move || {
            for (round, reply) in requests.into_iter().enumerate() {
                // At various distances from the take-over.
                for _ in 0..(round % 64) * 8 {
                    std::hint::spin_loop();
                }
                reply.send_blocking(round).unwrap();
            }
        });
        for round in 0..2000 {
            if round % 4 == 0 {
                // The worker's own thread goes to the seat.
                runtime.block_on(async {});
                let (done, finished) = mpsc::channel();
                drop(runtime.spawn(async move { done.send(()).unwrap() }));
                finished.recv_timeout(DEADLINE).unwrap();
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
    with_each_size(|runtime| {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let server = runtime.spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                drop(arc::spawn(async move {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).await.is_ok() {
                        stream.write_all(&byte).await.unwrap();
                    }
                }));
            }
        });
        let mut client = runtime.block_on(TcpStream::connect(address)).unwrap();
        let mut pause = Box::pin(sleep(TICK));
        for round in 0..300_u32 {
            let byte = [round as u8];
            runtime.block_on(client.write_all(&byte)).unwrap();
            let mut echo = [0];
            if round % 3 == 0 {
                // Armed by this one and over in the next.
                let waker = std::task::Waker::noop();
                let pause = pause.as_mut();
                runtime.block_on(async { poll_with(pause, waker) }).is_ready();
            }
            runtime.block_on(client.read_exact(&mut echo)).unwrap();
            assert_eq!(echo, byte);
            if round % 3 == 0 {
                runtime.block_on(pause.as_mut());
                pause.as_mut().reset(Instant::now() + TICK);
            }
        }
        server.abort();
        assert!(runtime.block_on(server).unwrap_err().is_cancelled());
    });
}

#[test]
fn tasks_go_on_when_no_thread_is_in_it() {
    with_each_size(|runtime| {
        let ticks = Counter::new();
        let count = ticks.clone();
        let mut task = None;
        runtime.block_on(async {
            task = Some(arc::spawn(async move {
                loop {
                    sleep(TICK).await;
                    count.add();
                }
            }));
        });
        let task = task.unwrap();
        ticks.wait_for(20);
        runtime.block_on(arc::task::yield_now());
        ticks.wait_for(ticks.get() + 20);
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn leaves_no_task_behind_in_the_worker_that_it_gives_back() {
    with_each_size(|runtime| {
        for _ in 0..1000 {
            let done = Counter::new();
            runtime.block_on(async {
                for _ in 0..5 {
                    let done = done.clone();
                    drop(arc::spawn(async move {
                        done.add();
                    }));
                }
            });
            // Nothing wakes the runtime from here on.
            done.wait_for(5);
        }
    });
}

#[test]
fn several_threads_at_once_each_wait_for_timers_tasks_and_each_other() {
    with_each_size(|runtime| {
        let runtime = Arc::new(runtime);
        let threads = 6;
        let barrier = Arc::new(Barrier::new(threads));
        let (forward, backward): (Vec<_>, Vec<_>) =
            (0..threads).map(|_| async_channel::bounded::<usize>(1)).unzip();
        let workers: Vec<_> = (0..threads)
            .map(|index| {
                let (runtime, barrier) = (runtime.clone(), barrier.clone());
                let next = forward[(index + 1) % threads].clone();
                let mine = backward[index].clone();
                thread::spawn(move || {
                    barrier.wait();
                    for round in 0..100 {
                        runtime.block_on(async {
                            next.send(round).await.unwrap();
                            assert_eq!(mine.recv().await, Ok(round));
                            assert_eq!(arc::spawn(async move { round }).await.unwrap(), round);
                        });
                        runtime.block_on(sleep(TICK));
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// A thread that leaves `block_on` gives its worker back asleep: neither the worker's own
/// thread nor the next one in `block_on` takes it while the other has it.
#[test]
fn one_worker_is_run_by_one_thread_at_a_time() {
    within_deadline(|| {
        for round in 0..50 {
            let runtime = runtime(1);
            let (is_running, done) = (Arc::new(AtomicBool::new(false)), Counter::new());
            let task = || {
                let (is_running, done) = (is_running.clone(), done.clone());
                async move {
                    assert!(!is_running.swap(true, Ordering::SeqCst), "two tasks run: {round}");
                    (0..50).for_each(|_| std::hint::spin_loop());
                    is_running.store(false, Ordering::SeqCst);
                    done.add();
                }
            };
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for _ in 0..50 {
                            runtime.block_on(async { arc::spawn(task()).await.unwrap() });
                        }
                    });
                }
                (0..50).for_each(|_| drop(runtime.spawn(task())));
            });
            done.wait_for(150);
        }
    });
}

#[test]
fn the_thread_in_it_runs_the_tasks_of_a_worker_that_slept() {
    within_deadline(|| {
        for _ in 0..100 {
            let runtime = runtime(1);
            let task = async { thread::current().id() };
            let thread = runtime.block_on(async { arc::spawn(task).await.unwrap() });
            assert_eq!(thread, thread::current().id());
        }
    });
}

#[test]
fn the_future_is_polled_only_when_it_was_woken() {
    with_each_size(|runtime| {
        let mut polls = 0;
        runtime.block_on(async {
            let mut task = arc::spawn(async {
                for _ in 0..100 {
                    arc::task::yield_now().await;
                    sleep(TICK).await;
                }
            });
            let task = poll_fn(|context| {
                polls += 1;
                Pin::new(&mut task).poll(context)
            });
            task.await.unwrap();
        });
        // At the beginning, and when the task was done.
        assert_eq!(polls, 2);
    });
}

// The time is read from /proc.
#[cfg(target_os = "linux")]
#[test]
fn a_thread_that_got_no_worker_costs_no_cpu() {
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

/// With more threads in `block_on` than workers some have none to run: what they
/// wait for comes all the same.
#[test]
fn a_thread_that_got_no_worker_hears_of_timers_and_sockets() {
    with_each_size(|runtime| {
        let runtime = Arc::new(runtime);
        let busy = Gate::new();
        let entered = Counter::new();
        let workers = runtime.handle().workers();
        // As many as there are workers, and each takes one.
        let holders: Vec<_> = (0..workers)
            .map(|_| {
                let (runtime, busy, entered) = (runtime.clone(), busy.clone(), entered.clone());
                thread::spawn(move || {
                    let (sender, receiver) = async_channel::bounded::<()>(1);
                    runtime.block_on(async move {
                        entered.add();
                        let opener = thread::spawn(move || {
                            busy.wait();
                            drop(sender);
                        });
                        assert!(receiver.recv().await.is_err());
                        opener.join().unwrap();
                    });
                })
            })
            .collect();
        entered.wait_for(workers);
        for _ in 0..100 {
            runtime.block_on(sleep(TICK));
        }
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let client = arc::spawn(async move { TcpStream::connect(address).await.unwrap() });
            let (mut server, _) = listener.accept().await.unwrap();
            server.write_all(b"x").await.unwrap();
            let mut byte = [0];
            client.await.unwrap().read_exact(&mut byte).await.unwrap();
            assert_eq!(&byte, b"x");
        });
        busy.open();
        for holder in holders {
            holder.join().unwrap();
        }
    });
}

#[test]
fn nested_it_panics_clearly_and_the_outer_one_goes_on() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let other = common::runtime(1);
        let sum = runtime.block_on(async {
            let text = panic_of(|| handle.block_on(async {}));
            assert!(text.contains("block_on was called inside"), "{text}");
            // Another runtime's does not do either: it would block this worker.
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
fn a_panic_in_it_restores_the_thread() {
    with_each_size(|runtime| {
        for _ in 0..50 {
            let text = panic_of(|| {
                runtime.block_on(async {
                    sleep(TICK).await;
                    panic!("inside {ON_PURPOSE}")
                })
            });
            assert!(text.contains("inside"));
            assert!(Handle::try_current().is_err(), "the thread is in no runtime");
            assert_eq!(runtime.block_on(async { arc::spawn(async { 1 }).await.unwrap() }), 1);
        }
    });
}

#[test]
fn one_runtime_after_another_on_one_thread() {
    within_deadline(|| {
        let runtimes: Vec<_> = SIZES.into_iter().map(runtime).collect();
        for _ in 0..50 {
            for (runtime, workers) in runtimes.iter().zip(SIZES) {
                let found = runtime.block_on(async {
                    sleep(TICK).await;
                    Handle::current().workers()
                });
                assert_eq!(found, workers);
            }
        }
    });
}

#[test]
fn works_in_a_blocking_job() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let job = runtime.spawn_blocking(move || {
            handle.block_on(async {
                sleep(TICK).await;
                arc::spawn(async { 5 }).await.unwrap()
            })
        });
        assert_eq!(runtime.block_on(job).unwrap(), 5);
    });
}

#[test]
fn the_future_that_wakes_itself_for_ever_lets_tasks_timers_and_sockets_on() {
    with_each_size(|runtime| {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let task = arc::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                sleep(TICK).await;
                stream.write_all(b"!").await.unwrap();
            });
            let client = arc::spawn(async move {
                let mut byte = [0];
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.read_exact(&mut byte).await.unwrap();
            });
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
            task.await.unwrap();
            client.await.unwrap();
        });
    });
}

/// The future goes on, its tasks do not.
#[test]
fn a_runtime_that_ends_meanwhile_does_not_leave_it_hanging() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let inside = Gate::new();
        let entered = inside.clone();
        let thread = thread::spawn(move || {
            let task = handle.spawn(pending::<()>());
            handle.block_on(async move {
                entered.open();
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
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        drop(runtime);
        for round in 0..20 {
            let (sender, receiver) = async_channel::bounded(1);
            let thread = thread::spawn(move || sender.send_blocking(round).unwrap());
            assert_eq!(handle.block_on(receiver.recv()), Ok(round));
            thread.join().unwrap();
            handle.block_on(arc::task::yield_now());
            let result = handle.block_on(async { arc::spawn(async {}).await });
            assert!(result.unwrap_err().is_cancelled());
        }
    });
}
