//! `spawn_blocking`: jobs that block have threads of their own.

use crate::common::*;
use arc::runtime::{Builder, Handle};
use arc::task::{spawn_blocking, yield_now};
use arc::time::sleep;
use std::collections::HashSet;
use std::future::pending;
use std::sync::{Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Tasks run, and timers fire.
#[track_caller]
fn tasks_go_on(handle: &Handle) {
    handle.block_on(async {
        for _ in 0..20 {
            arc::spawn(sleep(micros(50))).await.unwrap();
        }
    });
}

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
        let jobs = spawn_jobs(&runtime, 8, |_| move || gate.wait());
        tasks_go_on(&runtime);
        assert!(jobs.iter().all(|job| !job.is_finished()));
        gate.open();
        join_all(&runtime, jobs);
    });
}

/// Each waits for the others: a pool with too few threads would hang.
#[test]
fn jobs_that_wait_for_each_other_run_at_once() {
    with_each_flavor(|runtime| {
        for count in [2, 7, 30] {
            let all = Counter::new();
            let job = move || {
                all.add();
                all.wait_for(count);
            };
            join_all(&runtime, spawn_jobs(&runtime, count, |_| job));
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
                let job = spawn_blocking(move || {
                    ran.open();
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

#[test]
fn an_aborted_job_that_has_begun_gives_its_output() {
    with_each_flavor(|runtime| {
        for round in 0..50 {
            let (pause, ended) = (Pause::new(), Counter::new());
            let job = runtime.spawn_blocking(move || {
                pause.here();
                ended.add();
                "output"
            });
            pause.reached();
            job.abort();
            let abort = job.abort_handle();
            assert!(!job.is_finished() && !abort.is_finished());
            // It goes on to its end, whether or not anybody waits for it.
            let job = (round % 2 == 0).then_some(job);
            pause.pass();
            abort.abort();
            if let Some(job) = job {
                assert_eq!(runtime.block_on(job).unwrap(), "output");
                assert!(abort.is_finished());
            }
            ended.wait_for(1);
        }
    });
}

#[test]
fn a_job_runs_on_no_worker_and_not_on_the_thread_in_block_on() {
    fn here() -> ThreadId {
        thread::current().id()
    }
    with_each_flavor(|runtime| {
        let (mut polling, mut blocking) = (HashSet::from([here()]), HashSet::new());
        runtime.block_on(async {
            for _ in 0..50 {
                let (job, task) = (spawn_blocking(here), arc::spawn(async { here() }));
                blocking.insert(job.await.unwrap());
                polling.insert(task.await.unwrap());
            }
        });
        assert!(!blocking.is_empty());
        assert!(polling.is_disjoint(&blocking));
    });
}

#[test]
fn many_short_jobs_are_all_done() {
    with_each_flavor(|runtime| {
        let done = Counter::new();
        let jobs = spawn_jobs(&runtime, 3000, |index| {
            move || {
                done.add();
                index
            }
        });
        assert!(join_all(&runtime, jobs).into_iter().eq(0..3000));
        assert_eq!(done.get(), 3000);
        wait_for_no_tasks(&runtime);
    });
}

#[test]
fn jobs_one_after_the_other_from_several_threads() {
    with_each_flavor(|runtime| {
        on_threads(3, |_| {
            for round in 0..500 {
                let job = runtime.spawn_blocking(move || round);
                assert_eq!(runtime.block_on(job).unwrap(), round);
            }
        });
    });
}

#[test]
fn a_job_may_spawn_join_and_block_on() {
    with_each_flavor(|runtime| {
        let job = runtime.spawn_blocking(|| {
            let task = arc::spawn(async {
                yield_now().await;
                3
            });
            Handle::current().block_on(async {
                sleep(micros(50)).await;
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
        let abort = |round| {
            let held = dropped.on_drop();
            let job = runtime.spawn_blocking(move || {
                begun.add();
                thread::yield_now();
                ended.add();
                drop(held);
            });
            spin(round % 50);
            job.abort();
            job
        };
        let jobs: Vec<_> = (0..500).map(abort).collect();
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
        wait_for_no_tasks(&runtime);
    });
}

#[test]
fn when_the_runtime_ends_jobs_that_run_are_waited_for() {
    with_each_size(|runtime| {
        let (pause, ended) = (Pause::new(), Counter::new());
        let jobs = spawn_jobs(&runtime, 4, |number| {
            move || {
                pause.here();
                ended.add();
                number
            }
        });
        pause.reached_by(4);
        let handle = runtime.handle().clone();
        let dropping = thread::spawn(move || drop(runtime));
        wait_for_end(&handle);
        assert!(!dropping.is_finished());
        pause.pass();
        dropping.join().unwrap();
        assert_eq!(ended.get(), 4);

        // What they gave is still there.
        assert_eq!(join_all(&current_thread(), jobs), [0, 1, 2, 3]);
    });
}

/// Such as the buffer of a file, which is written when it is dropped.
#[test]
fn the_end_waits_for_the_drop_of_an_output_that_nobody_wants() {
    struct Slow(Gate);
    impl Drop for Slow {
        fn drop(&mut self) {
            assert!(Handle::try_current().is_some(), "it is still a job");
            thread::sleep(millis(5));
            self.0.open();
        }
    }
    with_sizes(|workers| {
        let stopped = Counter::new();
        let runtime = builder(workers).on_thread_stop(move || _ = stopped.add()).build().unwrap();
        let (dropped, pause) = (Gate::new(), Pause::new());
        drop(runtime.spawn_blocking(move || {
            let output = Slow(dropped);
            pause.here();
            output
        }));
        pause.reached();
        let ending = thread::spawn(|| drop(runtime));
        // All workers: the task is gone.
        stopped.wait_for(workers);
        pause.pass();
        ending.join().unwrap();
        assert!(dropped.is_open());
    });
}

/// The only thread of the pool is busy. The handle hears of the abort when a thread comes to it.
#[test]
fn an_aborted_job_that_has_not_begun_never_runs() {
    within_deadline(|| {
        let runtime = builder(2).max_blocking_threads(1).build().unwrap();
        for _ in 0..50 {
            let (first, pause) = begun_job(&runtime);
            let (ran, dropped) = (Counter::new(), Counter::new());
            let held = dropped.on_drop();
            let second = runtime.spawn_blocking(move || {
                ran.add();
                drop(held);
            });
            let third = runtime.spawn_blocking(|| 3);
            second.abort();
            assert!(!second.is_finished(), "no thread has come to it");
            pause.pass();
            assert!(runtime.block_on(second).unwrap_err().is_cancelled());
            assert_eq!((ran.get(), dropped.get()), (0, 1));
            assert_eq!(runtime.block_on(third).unwrap(), 3);
            runtime.block_on(first).unwrap();
        }
    });
}

/// The only thread of the pool is busy until the other job was dropped.
#[test]
fn jobs_that_have_not_begun_are_given_up_when_the_runtime_ends() {
    for limit in [Duration::MAX, Duration::ZERO] {
        within_deadline(move || {
            let runtime = builder(1).max_blocking_threads(1).build().unwrap();
            let (dropped, inside) = (Counter::new(), Gate::new());
            let first = runtime.spawn_blocking(move || {
                inside.open();
                dropped.wait_for(1);
            });
            inside.wait();
            let ran = Counter::new();
            let captured = (dropped.on_drop(), PanicOnDrop);
            let second = runtime.spawn_blocking(move || {
                ran.add();
                drop(captured);
            });
            runtime.shutdown(limit);
            let other = current_thread();
            assert!(other.block_on(second).unwrap_err().is_cancelled());
            assert_eq!((ran.get(), dropped.get()), (0, 1));
            other.block_on(first).unwrap();
        });
    }
}

/// Neither of two threads that are being started comes to be, as no name is found for them. Each
/// caller gets that panic, and no job is left.
#[test]
fn jobs_whose_threads_fail_together_are_both_refused() {
    within_deadline(|| {
        let name = |_: &str| {
            // The threads of jobs alone are named inside the runtime.
            assert!(Handle::try_current().is_none(), "{ON_PURPOSE}");
            "a thread".to_owned()
        };
        let runtime = Builder::new_current_thread().thread_name_fn(name).build().unwrap();
        let dropped = Counter::new();
        on_threads(2, |_| {
            let held = dropped.on_drop();
            let text = panic_of(|| drop(runtime.spawn_blocking(move || drop(held))));
            assert!(text.contains(ON_PURPOSE), "{text}");
        });
        assert_eq!(dropped.get(), 2);
        expect_tasks(&runtime, 0);
    });
}

/// The runtime begins to end while the thread for the job is being started. A poll waits for the
/// job, so no worker leaves before that is dropped.
#[test]
fn a_poll_may_wait_for_its_job_while_the_runtime_ends() {
    within_deadline(|| {
        let pause = Pause::new();
        let hook = move || {
            if thread::current().name().unwrap().ends_with("blocking") {
                pause.here();
            }
        };
        let runtime = builder(1).on_thread_start(hook).build().unwrap();
        let handle = runtime.handle().clone();
        let task = runtime.spawn(async {
            let (held, is_dropped) = mpsc::channel::<()>();
            drop(spawn_blocking(move || drop(held)));
            is_dropped.recv().unwrap_err();
        });
        pause.reached();
        let dropping = thread::spawn(move || drop(runtime));
        wait_until("the end has begun", || handle.spawn(pending::<()>()).is_finished());
        assert!(!task.is_finished());
        pause.pass();
        dropping.join().unwrap();
        assert!(task.is_finished());
    });
}

/// Nobody finds the runtime by its id any more when the job is refused.
#[test]
fn a_job_that_is_refused_after_the_runtime_is_in_no_list() {
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        drop(runtime);
        let dropped = Counter::new();
        let held = dropped.on_drop();
        let job = handle.spawn_blocking(move || {
            drop(held);
            unreachable!("the runtime has ended")
        });
        assert!(job.is_finished());
        assert_eq!(dropped.get(), 1);
        expect_tasks(&handle, 0);
    });
}

/// Each holds what the other's drop waits for. Two threads of the pool come free at the end.
#[test]
fn jobs_that_are_given_up_are_dropped_by_whoever_is_free() {
    within_deadline(|| {
        let runtime = builder(1).max_blocking_threads(2).build().unwrap();
        let busy = [begun_job(&runtime), begun_job(&runtime)];
        let both = Counter::new();
        for _ in 0..2 {
            let meets = Meets(both);
            drop(runtime.spawn_blocking(move || drop(meets)));
        }
        let handle = runtime.handle().clone();
        let dropping = thread::spawn(move || drop(runtime));
        wait_for_end(&handle);
        for (_, pause) in &busy {
            pause.pass();
        }
        dropping.join().unwrap();
    });
}

/// Its drop waits until two have begun to be dropped.
struct Meets(Counter);

impl Drop for Meets {
    fn drop(&mut self) {
        self.0.add();
        self.0.wait_for(2);
    }
}

/// One holds a runtime, whose job waits for what the next one holds. The worker is in a poll, so it
/// is the thread of the pool that drops them.
#[test]
fn a_job_that_is_given_up_may_hold_a_runtime_that_waits_for_another_one() {
    within_deadline(|| {
        let runtime = builder(1).max_blocking_threads(1).build().unwrap();
        let (_task, poll) = block_worker(&runtime);
        let (_busy, job) = begun_job(&runtime);

        let (other, waits) = (current_thread(), Gate::new());
        let (held, is_dropped) = mpsc::channel::<()>();
        let hears = other.spawn_blocking(move || {
            waits.open();
            is_dropped.recv().is_err()
        });
        // A job that has not begun would be given up with its runtime.
        waits.wait();
        drop(runtime.spawn_blocking(move || drop(other)));
        drop(runtime.spawn_blocking(move || drop(held)));
        let handle = runtime.handle().clone();
        let dropping = thread::spawn(move || drop(runtime));
        // From then on a job is given up at once.
        wait_until("the end", || handle.spawn_blocking(|| ()).is_finished());
        job.pass();
        assert!(current_thread().block_on(hears).unwrap());
        poll.pass();
        dropping.join().unwrap();
    });
}

/// The worker does not come to drop the job: the thread that was busy does.
#[test]
fn a_job_that_is_dropped_unbegun_lets_a_poll_that_waits_for_it_go_on() {
    with_sizes(|workers| {
        let runtime = builder(workers).max_blocking_threads(1).build().unwrap();
        let (_busy, pause) = begun_job(&runtime);
        let (waits, ran) = (Gate::new(), Counter::new());
        let task = runtime.spawn(async move {
            let (held, is_dropped) = mpsc::channel::<()>();
            let job = spawn_blocking(move || {
                ran.add();
                drop(held);
            });
            waits.open();
            is_dropped.recv().unwrap_err();
            job
        });
        waits.wait();
        let handle = runtime.handle().clone();
        let dropping = thread::spawn(move || drop(runtime));
        // From then on a job is given up at once.
        wait_until("the end", || handle.spawn_blocking(|| ()).is_finished());
        assert!(!task.is_finished());

        pause.pass();
        dropping.join().unwrap();
        let outside = current_thread();
        let job = outside.block_on(task).unwrap();
        assert!(outside.block_on(job).unwrap_err().is_cancelled());
        assert_eq!(ran.get(), 0);
    });
}

/// Counts the threads that start, and those that stop.
fn counted(builder: &mut Builder) -> (Counter, Counter) {
    let (starts, stops) = (Counter::new(), Counter::new());
    builder.on_thread_start(move || _ = starts.add()).on_thread_stop(move || _ = stops.add());
    (starts, stops)
}

/// Of more jobs than there may be threads, the others wait, and each runs in its turn.
#[test]
fn there_are_never_more_threads_for_jobs_than_the_limit() {
    for limit in [1, 3] {
        within_deadline(move || {
            let mut builder = builder(1);
            let (starts, stops) = counted(&mut builder);
            let runtime = builder.max_blocking_threads(limit).build().unwrap();
            // How many run, and how many ever ran at once.
            let running = kept(Mutex::new((0, 0)));
            let job = move || {
                {
                    let mut running = running.lock().unwrap();
                    running.0 += 1;
                    running.1 = running.0.max(running.1);
                }
                thread::yield_now();
                running.lock().unwrap().0 -= 1;
            };
            join_all(&runtime, spawn_jobs(&runtime, 200, |_| job));
            assert!(running.lock().unwrap().1 <= limit);
            drop(runtime);
            // One worker and the monitor, and those of the jobs. All of them have ended.
            assert!(starts.get() <= 2 + limit, "{}", starts.get());
            assert_eq!(starts.get(), stops.get());
        });
    }
}

/// They are threads of the runtime: its hooks, its names and its size of stacks are theirs.
#[test]
fn threads_of_jobs_are_configured_as_all_threads_of_the_runtime() {
    within_deadline(|| {
        let runtime = Builder::new_current_thread()
            .thread_name_fn(named("server"))
            .thread_stack_size(16 << 20)
            .thread_keep_alive(Duration::ZERO)
            .build()
            .unwrap();
        let name = runtime.spawn_blocking(|| thread::current().name().map(str::to_owned));
        assert_eq!(runtime.block_on(name).unwrap().as_deref(), Some("server-blocking"));
        // 3 MiB are more than a thread has by default.
        let deep = runtime.spawn_blocking(|| std::hint::black_box([1_u8; 3 << 20])[7]);
        assert_eq!(runtime.block_on(deep).unwrap(), 1);
    });
}

/// The end of the thread is waited for before the next job comes, which has another one. There may
/// be one at a time: the one that has ended must not be counted any more.
#[test]
fn a_thread_that_has_no_job_for_long_enough_ends() {
    within_deadline(|| {
        let mut builder = Builder::new_current_thread();
        let (starts, stops) = counted(&mut builder);
        let builder = builder.thread_keep_alive(Duration::ZERO).max_blocking_threads(1);
        let runtime = builder.build().unwrap();
        for jobs in 1..=20 {
            runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
            stops.wait_for(jobs);
        }
        drop(runtime);
        assert_eq!((starts.get(), stops.get()), (20, 20));
    });
}

/// One thread serves jobs that come one after the other.
#[test]
fn a_thread_that_waits_for_a_job_gets_it() {
    within_deadline(|| {
        let mut builder = Builder::new_current_thread();
        let (starts, _stops) = counted(&mut builder);
        let runtime = builder.thread_keep_alive(Duration::MAX).build().unwrap();
        for _ in 0..20 {
            let (job, pause) = begun_job(&runtime);
            pause.pass();
            runtime.block_on(job).unwrap();
        }
        // A thread may be about to wait when the next job comes. Then another one is started.
        assert!(starts.get() < 20, "{}", starts.get());
    });
}

/// If the function that names the thread panics, that panic is the caller's.
#[test]
#[should_panic(expected = "no more names")]
fn a_job_whose_thread_cannot_be_named_is_refused() {
    let names = Counter::new();
    let runtime = Builder::new_current_thread()
        .thread_name_fn(move |_| {
            names.add();
            assert!(names.get() < 2, "no more names");
            "monitor".to_owned()
        })
        .build()
        .unwrap();
    hush();
    drop(runtime.spawn_blocking(|| ()));
}

/// Whoever awaits a job hears of its end although the runtime ends meanwhile.
#[test]
fn a_joiner_outside_hears_of_a_job_that_outlives_the_runtime() {
    with_each_size(|runtime| {
        let pause = Pause::new();
        let mut job = runtime.spawn_blocking(move || {
            pause.here();
            7
        });
        pause.reached();
        let (waker, wakes) = counting_waker();
        assert!(poll_with(std::pin::Pin::new(&mut job), &waker).is_pending());
        runtime.shutdown_background();
        pause.pass();
        wakes.wait_for(1);
        assert!(job.is_finished());
        assert_eq!(current_thread().block_on(job).unwrap(), 7);
    });
}

/// The drop of what it holds gives the runtime another one.
#[test]
fn a_job_that_comes_after_the_end_is_dropped_where_its_drop_may_come_back() {
    struct Again(Handle, Counter);
    impl Drop for Again {
        fn drop(&mut self) {
            let job = self.0.spawn_blocking(|| unreachable!("the runtime has ended"));
            self.1.add();
            drop(job);
        }
    }
    with_each_flavor(|runtime| {
        let handle = runtime.handle().clone();
        drop(runtime);
        let drops = Counter::new();
        let again = Again(handle.clone(), drops);
        let job = handle.spawn_blocking(move || drop(again));
        let other = current_thread();
        assert!(other.block_on(job).unwrap_err().is_cancelled());
        drops.wait_for(1);
    });
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
    use super::*;
    use crate::thread_limit::allow_threads;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const EAGAIN: i32 = 11;

    fn with_limited_threads(name: &'static str, test: impl FnOnce() + Send + 'static) {
        let name = format!("blocking::when_no_thread_can_be_started::{name}");
        within_deadline(move || crate::thread_limit::with_limited_threads(&name, test));
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
                    let mut builder = builder(8)
                        .on_thread_start(move || {
                            started.add();
                        })
                        .clone();
                    let built = if inside {
                        outer.block_on(async { builder.build() })
                    } else {
                        builder.build()
                    };
                    assert_eq!(built.map(drop).unwrap_err().raw_os_error(), Some(EAGAIN));
                    half_built += usize::from(started.get() > 0);
                    while threads() > before {
                        thread::yield_now();
                    }
                }
                assert!(half_built > 0, "none had begun");
            }
        });
    }

    #[test]
    fn a_runtime_is_not_built_and_says_why() {
        with_limited_threads("a_runtime_is_not_built_and_says_why", || {
            allow_threads(0);
            assert_eq!(builder(2).build().unwrap_err().raw_os_error(), Some(EAGAIN));
            allow_threads(1000);
            assert_eq!(runtime(2).block_on(async { 1 }), 1);
        });
    }

    /// The one thread that there is runs all jobs. Workers and timers go on meanwhile.
    #[test]
    fn jobs_wait_for_the_thread_that_there_is() {
        with_limited_threads("jobs_wait_for_the_thread_that_there_is", || {
            let runtime = runtime(2);
            let (first, pause) = begun_job(&runtime);
            allow_threads(0);
            let jobs = spawn_jobs(&runtime, 50, |number| move || number);
            tasks_go_on(&runtime);
            assert!(jobs.iter().all(|job| !job.is_finished()));
            pause.pass();
            assert!(join_all(&runtime, jobs).into_iter().eq(0..50));
            runtime.block_on(first).unwrap();
        });
    }

    /// That is told to whoever spawns one.
    #[test]
    fn a_job_without_any_thread_is_refused() {
        with_limited_threads("a_job_without_any_thread_is_refused", || {
            let runtime = runtime(1);
            allow_threads(0);
            let dropped = Counter::new();
            let held = dropped.on_drop();
            let spawn = || runtime.spawn_blocking(move || drop(held));
            let panic = catch_unwind(AssertUnwindSafe(spawn)).map(drop).unwrap_err();
            let text = panic.downcast_ref::<String>().expect("a text");
            assert!(text.contains("can start none") && text.contains("code: 11"), "{text}");
            assert_eq!(dropped.get(), 1);
            let tried = runtime.block_on(async { arc::task::try_spawn_blocking(|| ()).map(drop) });
            let error = tried.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(EAGAIN));
            expect_tasks(&runtime, 0);
            allow_threads(1000);
            assert_eq!(runtime.block_on(runtime.spawn_blocking(|| 7)).unwrap(), 7);
        });
    }
}
