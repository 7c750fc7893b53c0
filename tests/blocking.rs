//! `spawn_blocking`: jobs that block have threads of their own.

mod common;
#[cfg(target_os = "linux")]
mod thread_limit;

use arc::runtime::{Handle, Runtime};
use arc::task::{TaskState, spawn_blocking, yield_now};
use arc::time::sleep;
use common::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[test]
fn a_job_gives_its_output() {
    with_each_flavor(|runtime| {
        let job = runtime.spawn_blocking(|| "output".to_owned());
        assert_eq!(runtime.block_on(job).unwrap(), "output");
        let nested = runtime.block_on(async {
            let job = spawn_blocking(|| Handle::current().spawn_blocking(|| 2));
            job.await.unwrap().await.unwrap()
        });
        assert_eq!(nested, 2);
    });
}

#[test]
fn a_job_that_blocks_keeps_no_worker_from_its_tasks() {
    with_each_flavor(|runtime| {
        let gate = Gate::new();
        let jobs: Vec<_> = (0..8)
            .map(|_| {
                let wait = gate.clone();
                runtime.spawn_blocking(move || wait.wait())
            })
            .collect();
        runtime.block_on(async {
            for _ in 0..20 {
                arc::spawn(sleep(Duration::from_micros(50))).await.unwrap();
            }
        });
        assert!(jobs.iter().all(|job| !job.is_finished()));
        gate.open();
        for job in jobs {
            runtime.block_on(job).unwrap();
        }
    });
}

/// Each waits for the others: a pool with too few threads would hang.
#[test]
fn jobs_that_wait_for_each_other_run_at_once() {
    with_each_flavor(|runtime| {
        for count in [2, 7, 30] {
            let all = Counter::new();
            let jobs: Vec<_> = (0..count)
                .map(|_| {
                    let all = all.clone();
                    runtime.spawn_blocking(move || {
                        all.add();
                        all.wait_for(count);
                    })
                })
                .collect();
            for job in jobs {
                runtime.block_on(job).unwrap();
            }
        }
    });
}

/// The job is what ends the poll.
#[test]
fn a_job_begins_while_the_poll_that_spawned_it_goes_on() {
    with_each_flavor(|runtime| {
        for _ in 0..50 {
            let spawn_and_wait = || {
                let ran = Gate::new();
                let tell = ran.clone();
                let job = spawn_blocking(move || {
                    tell.open();
                    1
                });
                ran.wait();
                job
            };
            // In the poll of a task, and in that of the future in block_on.
            let task = runtime.spawn(async move { spawn_and_wait().await.unwrap() });
            assert_eq!(runtime.block_on(task).unwrap(), 1);
            assert_eq!(runtime.block_on(async { spawn_and_wait().await.unwrap() }), 1);
        }
    });
}

/// A runtime with so many workers, and so many threads for jobs at most.
fn with_threads(workers: usize, threads: usize) -> Runtime {
    builder(workers).max_blocking_threads(threads).build().unwrap()
}

#[test]
fn as_many_jobs_run_at_once_as_there_may_be_threads_and_no_more() {
    within_deadline(|| {
        for threads in [1, 2, 5] {
            let runtime = with_threads(2, threads);
            let running = Arc::new(AtomicUsize::new(0));
            let jobs: Vec<_> = (0..20 * threads)
                .map(|_| {
                    let running = running.clone();
                    runtime.spawn_blocking(move || {
                        assert!(running.fetch_add(1, Ordering::SeqCst) < threads);
                        thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                    })
                })
                .collect();
            for job in jobs {
                runtime.block_on(job).unwrap();
            }
            // Each of these waits for the others.
            let all = Counter::new();
            let jobs: Vec<_> = (0..threads)
                .map(|_| {
                    let all = all.clone();
                    runtime.spawn_blocking(move || {
                        all.add();
                        all.wait_for(threads);
                    })
                })
                .collect();
            for job in jobs {
                runtime.block_on(job).unwrap();
            }
        }
    });
}

#[test]
fn with_one_thread_jobs_run_one_after_the_other_as_they_came() {
    within_deadline(|| {
        let runtime = with_threads(2, 1);
        let order = Arc::new(Mutex::new(Vec::new()));
        let threads = Arc::new(Mutex::new(HashSet::new()));
        let jobs: Vec<_> = (0..200)
            .map(|number| {
                let (order, threads) = (order.clone(), threads.clone());
                runtime.spawn_blocking(move || {
                    order.lock().unwrap().push(number);
                    threads.lock().unwrap().insert(thread::current().id());
                })
            })
            .collect();
        for job in jobs {
            runtime.block_on(job).unwrap();
        }
        assert_eq!(*order.lock().unwrap(), Vec::from_iter(0..200));
        assert_eq!(threads.lock().unwrap().len(), 1);
    });
}

#[test]
fn a_limit_of_no_threads_is_refused() {
    let text = panic_of(|| builder(1).max_blocking_threads(0));
    assert!(text.contains("max_blocking_threads must be in"), "{text}");
}

/// The first runtime's jobs take no thread from the second one's.
#[test]
fn each_runtime_has_threads_of_its_own_for_its_jobs() {
    within_deadline(|| {
        let (one, two) = (with_threads(1, 1), with_threads(1, 1));
        let (gate, inside) = (Gate::new(), Gate::new());
        let (wait, tell) = (gate.clone(), inside.clone());
        let stuck = one.spawn_blocking(move || {
            tell.open();
            wait.wait();
        });
        inside.wait();
        assert_eq!(two.block_on(two.spawn_blocking(|| 2)).unwrap(), 2);
        assert!(!stuck.is_finished());
        gate.open();
        one.block_on(stuck).unwrap();
    });
}

/// Nothing but time passes: this test takes as long as the threads stay.
#[test]
fn a_thread_that_has_had_no_job_for_long_ends_and_the_next_job_has_another() {
    within_deadline(|| {
        let (started, stopped) = (Counter::new(), Counter::new());
        let (start, stop) = (started.clone(), stopped.clone());
        let is_for_jobs =
            || thread::current().name().is_some_and(|name| name.ends_with("blocking"));
        let builder = builder(1).on_thread_start(move || _ = is_for_jobs() && start.add() > 0);
        let builder = builder.on_thread_stop(move || _ = is_for_jobs() && stop.add() > 0);
        let runtime = builder.build().unwrap();
        let together = Counter::new();
        let jobs = [(); 3].map(|()| {
            let together = together.clone();
            runtime.spawn_blocking(move || {
                together.add();
                together.wait_for(3);
            })
        });
        for job in jobs {
            runtime.block_on(job).unwrap();
        }
        assert_eq!((started.get(), stopped.get()), (3, 0));
        stopped.wait_for(3);
        runtime.block_on(runtime.spawn_blocking(|| {})).unwrap();
        assert_eq!((started.get(), stopped.get()), (4, 3));
        drop(runtime);
        assert_eq!(stopped.get(), 4);
    });
}

#[test]
fn the_threads_end_with_the_runtime() {
    for workers in SIZES {
        within_deadline(move || {
            let (started, stopped) = (Counter::new(), Counter::new());
            let (start, stop) = (started.clone(), stopped.clone());
            let builder = builder(workers).on_thread_start(move || _ = start.add());
            let runtime = builder.on_thread_stop(move || _ = stop.add()).build().unwrap();
            let all = Counter::new();
            let jobs = [(); 5].map(|()| {
                let all = all.clone();
                runtime.spawn_blocking(move || {
                    all.add();
                    all.wait_for(5);
                })
            });
            for job in jobs {
                runtime.block_on(job).unwrap();
            }
            drop(runtime);
            assert_eq!(started.get(), workers + 1 + 5);
            assert_eq!(stopped.get(), started.get());
        });
    }
}

#[test]
fn an_aborted_job_that_has_begun_gives_its_output() {
    with_each_flavor(|runtime| {
        for _ in 0..50 {
            let (gate, inside) = (Gate::new(), Gate::new());
            let (wait, tell) = (gate.clone(), inside.clone());
            let job = runtime.spawn_blocking(move || {
                tell.open();
                wait.wait();
                "output"
            });
            inside.wait();
            job.abort();
            let abort = job.abort_handle();
            assert!(!job.is_finished() && !abort.is_finished());
            gate.open();
            abort.abort();
            assert_eq!(runtime.block_on(job).unwrap(), "output");
            assert!(abort.is_finished());
        }
    });
}

/// Its handle hears of it when a thread comes to it.
#[test]
fn an_aborted_job_that_has_not_begun_never_runs() {
    within_deadline(|| {
        let runtime = with_threads(2, 1);
        for _ in 0..50 {
            let (gate, inside) = (Gate::new(), Gate::new());
            let (wait, tell) = (gate.clone(), inside.clone());
            let first = runtime.spawn_blocking(move || {
                tell.open();
                wait.wait();
            });
            inside.wait();
            let (ran, dropped) = (Counter::new(), Counter::new());
            let (count, held) = (ran.clone(), dropped.on_drop());
            let second = runtime.spawn_blocking(move || {
                count.add();
                drop(held);
            });
            let third = runtime.spawn_blocking(|| 3);
            second.abort();
            assert!(!second.is_finished(), "no thread has come to it");
            gate.open();
            assert!(runtime.block_on(second).unwrap_err().is_cancelled());
            assert_eq!((ran.get(), dropped.get()), (0, 1));
            assert_eq!(runtime.block_on(third).unwrap(), 3);
            runtime.block_on(first).unwrap();
        }
    });
}

#[test]
fn a_job_runs_on_no_worker_and_not_on_the_thread_in_block_on() {
    with_each_flavor(|runtime| {
        let seen = || Arc::new(Mutex::new(HashSet::from([thread::current().id()])));
        let (polling, blocking) = (seen(), Arc::new(Mutex::new(HashSet::new())));
        runtime.block_on(async {
            for _ in 0..50 {
                let (polling, blocking) = (polling.clone(), blocking.clone());
                let job = spawn_blocking(move || {
                    blocking.lock().unwrap().insert(thread::current().id());
                });
                let task = arc::spawn(async move {
                    polling.lock().unwrap().insert(thread::current().id());
                });
                job.await.unwrap();
                task.await.unwrap();
            }
        });
        let (polling, blocking) = (polling.lock().unwrap(), blocking.lock().unwrap());
        assert!(!blocking.is_empty());
        assert!(polling.is_disjoint(&blocking));
    });
}

#[test]
fn many_short_jobs_are_all_done() {
    with_each_flavor(|runtime| {
        let done = Counter::new();
        let jobs: Vec<_> = (0..3000)
            .map(|index| {
                let done = done.clone();
                runtime.spawn_blocking(move || {
                    done.add();
                    index
                })
            })
            .collect();
        for (index, job) in jobs.into_iter().enumerate() {
            assert_eq!(runtime.block_on(job).unwrap(), index);
        }
        assert_eq!(done.get(), 3000);
        wait_until("none is left", || runtime.handle().tasks().is_empty());
    });
}

#[test]
fn jobs_one_after_the_other_from_several_threads() {
    with_each_flavor(|runtime| {
        let runtime = Arc::new(runtime);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let runtime = runtime.clone();
                thread::spawn(move || {
                    for round in 0..500 {
                        let job = runtime.spawn_blocking(move || round);
                        assert_eq!(runtime.block_on(job).unwrap(), round);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_job_may_spawn_join_and_block_on() {
    with_each_flavor(|runtime| {
        let job = runtime.spawn_blocking(|| {
            let handle = Handle::current();
            let task = arc::spawn(async {
                yield_now().await;
                3
            });
            handle.block_on(async {
                sleep(Duration::from_micros(50)).await;
                task.await.unwrap() + spawn_blocking(|| 4).await.unwrap()
            })
        });
        assert_eq!(runtime.block_on(job).unwrap(), 7);
    });
}

/// An aborted job that waits for its turn is dropped; one that runs is not
/// disturbed. Which of them waits depends on the pool, so both are counted.
#[test]
fn an_aborted_job_is_run_to_its_end_or_not_at_all() {
    with_each_flavor(|runtime| {
        let (begun, ended, dropped) = (Counter::new(), Counter::new(), Counter::new());
        let jobs: Vec<_> = (0..500)
            .map(|round| {
                let (begun, ended, held) = (begun.clone(), ended.clone(), dropped.on_drop());
                let job = runtime.spawn_blocking(move || {
                    begun.add();
                    thread::yield_now();
                    ended.add();
                    drop(held);
                });
                for _ in 0..round % 50 {
                    std::hint::spin_loop();
                }
                job.abort();
                job
            })
            .collect();
        let mut finished = 0;
        for job in jobs {
            match runtime.block_on(job) {
                Ok(()) => finished += 1,
                Err(error) => assert!(error.is_cancelled()),
            }
        }
        dropped.wait_for(500);
        assert_eq!(begun.get(), ended.get());
        assert_eq!(ended.get(), finished);
        wait_until("none is left", || runtime.handle().tasks().is_empty());
    });
}

#[test]
fn when_the_runtime_ends_jobs_that_run_are_waited_for() {
    for workers in SIZES {
        within_deadline(move || {
            let runtime = runtime(workers);
            let (gate, inside, ended) = (Gate::new(), Counter::new(), Counter::new());
            for _ in 0..4 {
                let (wait, tell, count) = (gate.clone(), inside.clone(), ended.clone());
                drop(runtime.spawn_blocking(move || {
                    tell.add();
                    wait.wait();
                    count.add();
                }));
            }
            inside.wait_for(4);
            let handle = runtime.handle().clone();
            let dropping = thread::spawn(move || drop(runtime));
            wait_until("the end has begun", || handle.spawn(async {}).is_finished());
            assert!(!dropping.is_finished());
            gate.open();
            dropping.join().unwrap();
            assert_eq!(ended.get(), 4);
        });
    }
}

/// Such as the buffer of a file, which is written when it is dropped.
#[test]
fn the_end_waits_for_the_drop_of_an_output_that_nobody_wants() {
    struct Slow(Arc<Mutex<bool>>);
    impl Drop for Slow {
        fn drop(&mut self) {
            assert!(Handle::try_current().is_ok(), "it is still a job");
            thread::sleep(Duration::from_millis(5));
            *self.0.lock().unwrap() = true;
        }
    }
    for workers in SIZES {
        within_deadline(move || {
            let stopped = Counter::new();
            let stop = stopped.clone();
            let runtime = builder(workers).on_thread_stop(move || _ = stop.add()).build().unwrap();
            let (dropped, gate, begun) = (Arc::default(), Gate::new(), Gate::new());
            let (output, wait, tell) = (Slow(Arc::clone(&dropped)), gate.clone(), begun.clone());
            drop(runtime.spawn_blocking(move || {
                tell.open();
                wait.wait();
                output
            }));
            begun.wait();
            let ending = thread::spawn(|| drop(runtime));
            // The workers and the monitor: the task is gone.
            stopped.wait_for(workers + 1);
            gate.open();
            ending.join().unwrap();
            assert!(*dropped.lock().unwrap());
        });
    }
}

/// The only thread of the pool is busy.
#[test]
fn jobs_that_have_not_begun_are_given_up_when_the_runtime_ends() {
    for limit in [Duration::MAX, Duration::from_millis(20), Duration::ZERO] {
        within_deadline(move || {
            let (runtime, other) = (with_threads(1, 1), runtime(1));
            let (gate, inside) = (Gate::new(), Gate::new());
            let (wait, tell) = (gate.clone(), inside.clone());
            let running = runtime.spawn_blocking(move || {
                tell.open();
                wait.wait();
                6
            });
            inside.wait();
            let (dropped, ran) = (Counter::new(), Counter::new());
            let jobs: Vec<_> = (0..3)
                .map(|_| {
                    let (captured, ran) = ((dropped.on_drop(), PanicOnDrop), ran.clone());
                    runtime.spawn_blocking(move || {
                        ran.add();
                        drop(captured);
                    })
                })
                .collect();
            if limit == Duration::MAX {
                // It ends only when the job does: once the others were given up.
                let (open, given_up) = (gate.clone(), dropped.clone());
                drop(thread::spawn(move || {
                    given_up.wait_for(3);
                    open.open();
                }));
            }
            let id = running.id();
            let left = runtime.shutdown(limit);
            // Those that have begun, and still run.
            let ids: Vec<_> = left.iter().map(|task| task.id).collect();
            assert_eq!(ids, if limit == Duration::MAX { vec![] } else { vec![id] });
            assert!(left.iter().all(|task| task.state == TaskState::Blocking), "{left:?}");
            dropped.wait_for(3);
            for job in jobs {
                assert!(other.block_on(job).unwrap_err().is_cancelled());
            }
            gate.open();
            assert_eq!(other.block_on(running).unwrap(), 6);
            assert_eq!(ran.get(), 0);
        });
    }
}

/// A worker is in a poll, so that nothing is taken apart yet.
#[test]
fn no_job_begins_once_the_end_of_the_runtime_has_begun() {
    within_deadline(|| {
        let stopped = Counter::new();
        let stop = stopped.clone();
        let is_for_jobs =
            || thread::current().name().is_some_and(|name| name.ends_with("blocking"));
        let builder = builder(1).max_blocking_threads(1);
        let builder = builder.on_thread_stop(move || _ = is_for_jobs() && stop.add() > 0);
        let runtime = builder.build().unwrap();
        let (poll, job, inside) = (Gate::new(), Gate::new(), Counter::new());
        let (wait, tell) = (poll.clone(), inside.clone());
        let stuck = runtime.spawn(async move {
            tell.add();
            wait.wait();
        });
        let (wait, tell) = (job.clone(), inside.clone());
        drop(runtime.spawn_blocking(move || {
            tell.add();
            wait.wait();
        }));
        inside.wait_for(2);
        let ran = Counter::new();
        let count = ran.clone();
        let late = runtime.spawn_blocking(move || count.add());
        runtime.shutdown_background();
        job.open();
        stopped.wait_for(1);
        assert_eq!(ran.get(), 0);
        assert!(!stuck.is_finished());
        poll.open();
        wait_until("it is given up", || late.is_finished());
        assert_eq!(ran.get(), 0);
    });
}

/// Whoever awaits a job hears of its end although the runtime ends meanwhile.
#[test]
fn a_joiner_outside_hears_of_a_job_that_outlives_the_runtime() {
    for workers in SIZES {
        within_deadline(move || {
            let runtime = runtime(workers);
            let (gate, inside) = (Gate::new(), Gate::new());
            let (wait, tell) = (gate.clone(), inside.clone());
            let mut job = runtime.spawn_blocking(move || {
                tell.open();
                wait.wait();
            });
            inside.wait();
            let (waker, wakes) = counting_waker();
            assert!(poll_with(std::pin::Pin::new(&mut job), &waker).is_pending());
            runtime.shutdown_background();
            gate.open();
            wakes.wait_for(1);
            assert!(job.is_finished());
        });
    }
}

/// What the job sends arrives while its own worker sleeps.
#[test]
fn a_job_feeds_a_task_by_a_channel() {
    with_each_flavor(|runtime| {
        let (sender, receiver) = async_channel::bounded(4);
        let job = runtime.spawn_blocking(move || {
            for number in 0..2000_u64 {
                sender.send_blocking(number).unwrap();
            }
        });
        let sum = runtime.block_on(async {
            let mut sum = 0;
            while let Ok(number) = receiver.recv().await {
                sum += number;
            }
            sum
        });
        assert_eq!(sum, 1999 * 1000);
        runtime.block_on(job).unwrap();
    });
}

#[cfg(target_os = "linux")]
mod when_no_thread_can_be_started {
    use super::thread_limit::allow_threads;
    use super::*;
    use std::sync::Barrier;

    fn with_limited_threads(name: &'static str, test: impl FnOnce() + Send + 'static) {
        let name = format!("when_no_thread_can_be_started::{name}");
        within_deadline(move || thread_limit::with_limited_threads(&name, test));
    }

    /// Also inside `block_on`, where a runtime must not be dropped.
    #[test]
    fn a_runtime_is_undone_when_it_is_half_built() {
        with_limited_threads("a_runtime_is_undone_when_it_is_half_built", || {
            let outer = runtime(1);
            let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
            let before = threads();
            for inside in [false, true] {
                let mut half_built = 0;
                for more in 0..8 {
                    allow_threads(more);
                    let started = Counter::new();
                    let start = started.clone();
                    let builder = builder(8).on_thread_start(move || {
                        start.add();
                    });
                    let built = if inside {
                        outer.block_on(async { builder.build() })
                    } else {
                        builder.build()
                    };
                    let text = built.map(drop).unwrap_err().to_string();
                    assert!(text.contains("thread"), "{text}");
                    half_built += usize::from(started.get() > 0);
                    while threads() > before {
                        thread::yield_now();
                    }
                }
                assert!(half_built > 0, "none had begun");
            }
        });
    }

    /// Nothing waits for a thread that does not come; and there are jobs again later.
    #[test]
    fn a_job_gives_a_panic_that_says_why() {
        with_limited_threads("a_job_gives_a_panic_that_says_why", || {
            // None of them ends before: a thread that ends makes room for another one.
            let runtimes = Vec::from_iter(SIZES.map(runtime).into_iter().chain([current_thread()]));
            for runtime in &runtimes {
                allow_threads(0);
                for _ in 0..20 {
                    let dropped = Counter::new();
                    let held = dropped.on_drop();
                    let job = runtime.spawn_blocking(move || drop(held));
                    let error = runtime.block_on(job).unwrap_err();
                    assert!(error.is_panic(), "{error}");
                    assert_eq!(dropped.get(), 1, "the job is gone");
                    let text = message(error.into_panic());
                    assert!(text.starts_with("a job of spawn_blocking did not run: "), "{text}");
                    assert!(text.contains("blocking of an arc runtime"), "{text}");
                }
                // Without anybody who waits for it.
                drop(runtime.spawn_blocking(|| {}));
                allow_threads(1000);
                assert_eq!(runtime.block_on(runtime.spawn_blocking(|| 1)).unwrap(), 1);
            }
        });
    }

    #[test]
    fn a_job_that_did_not_run_is_no_longer_in_the_list() {
        with_limited_threads("a_job_that_did_not_run_is_no_longer_in_the_list", || {
            let runtime = runtime(1);
            allow_threads(0);
            for _ in 0..20 {
                let job = runtime.spawn_blocking(|| {});
                let abort = job.abort_handle();
                assert!(runtime.block_on(job).unwrap_err().is_panic());
                assert!(abort.is_finished());
            }
            wait_until("none is left", || runtime.tasks().is_empty());
        });
    }

    /// It waits for that one.
    #[test]
    fn a_job_runs_if_there_is_a_thread_of_the_pool_already() {
        with_limited_threads("a_job_runs_if_there_is_a_thread_of_the_pool_already", || {
            let runtime = runtime(1);
            for _ in 0..20 {
                allow_threads(1000);
                let (gate, inside) = (Gate::new(), Gate::new());
                let (wait, tell) = (gate.clone(), inside.clone());
                let first = runtime.spawn_blocking(move || {
                    tell.open();
                    wait.wait();
                });
                inside.wait();
                allow_threads(0);
                let others: Vec<_> =
                    (0..3).map(|number| runtime.spawn_blocking(move || number)).collect();
                assert!(others.iter().all(|job| !job.is_finished()) || runtime.tasks().len() < 4);
                gate.open();
                for (number, job) in others.into_iter().enumerate() {
                    assert_eq!(runtime.block_on(job).unwrap(), number);
                }
                runtime.block_on(first).unwrap();
            }
        });
    }

    /// Those that come while another one's thread fails to start hear of it as well.
    #[test]
    fn jobs_from_several_threads_all_give_a_panic() {
        with_limited_threads("jobs_from_several_threads_all_give_a_panic", || {
            let runtime = runtime(2);
            let (jobs, begin) = (Mutex::new(Vec::new()), Barrier::new(4));
            thread::scope(|scope| {
                let spawn = || {
                    begin.wait();
                    begin.wait();
                    for _ in 0..200 {
                        let job = runtime.spawn_blocking(|| {});
                        jobs.lock().unwrap().push(job);
                    }
                    // A thread that ends makes room for another one.
                    begin.wait();
                };
                (0..3).for_each(|_| drop(scope.spawn(spawn)));
                begin.wait();
                allow_threads(0);
                begin.wait();
                begin.wait();
            });
            for job in jobs.into_inner().unwrap() {
                let error = runtime.block_on(job).unwrap_err();
                assert!(error.is_panic(), "it is told why: {error}");
            }
            allow_threads(1000);
            assert_eq!(runtime.block_on(runtime.spawn_blocking(|| 1)).unwrap(), 1);
        });
    }

    #[test]
    fn a_runtime_is_not_built_and_says_why() {
        with_limited_threads("a_runtime_is_not_built_and_says_why", || {
            allow_threads(0);
            let text = builder(2).build().unwrap_err().to_string();
            assert!(text.contains("thread"), "{text}");
            allow_threads(1000);
            assert_eq!(runtime(2).block_on(async { 1 }), 1);
        });
    }
}
