//! What a simulation promises: the seed decides everything, the clock jumps, a deadlock is told.

mod process;

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};
use arc::task::{spawn_blocking, spawn_named, yield_now};
use arc::time::{Duration, Instant, sleep};
use arc_sim::{Failure, find, run, simulate};
use arc_util::time::timeout;
use process::{CHILD, in_another_process};
use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

const HOUR: Duration = Duration::from_secs(3600);

/// Tasks that sleep, yield, wake each other and run jobs, and the order of what they did.
async fn program() -> Vec<usize> {
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..10)
        .map(|number| {
            let order = order.clone();
            arc::spawn(async move {
                for round in 0..5 {
                    sleep(Duration::from_millis(fastrand::u64(1..5))).await;
                    yield_now().await;
                    order.lock().unwrap().push(number * 10 + round);
                }
                let job = order.clone();
                spawn_blocking(move || job.lock().unwrap().push(number)).await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    order.lock().unwrap().clone()
}

#[test]
fn seed_decides_the_order_of_everything() {
    let first = simulate(7, program());
    let order = first.outcome.unwrap();
    for _ in 0..1000 {
        let again = simulate(7, program());
        assert_eq!(again.log.first_difference(&first.log), None);
        assert_eq!(again.log.fingerprint(), first.log.fingerprint());
        assert_eq!(again.elapsed, first.elapsed);
        assert_eq!(again.outcome.unwrap(), order);
    }

    // Another seed gives another order.
    assert_ne!(run(8, program()), order);
}

#[test]
fn seed_means_the_same_in_another_process() {
    const TIMES: usize = 50;
    let fingerprint = |seed| simulate(seed, program()).log.fingerprint();
    if std::env::var_os(CHILD).is_some() {
        return (0..TIMES).for_each(|_| println!("fingerprint {}.", fingerprint(7)));
    }
    let expected = format!("fingerprint {}.", fingerprint(7));
    // An emulator takes minutes for a thousand runs.
    let processes = if std::env::var_os("ARC_TEST_RUNNER").is_some() { 2 } else { 20 };
    for _ in 0..processes {
        let (text, _) = in_another_process("seed_means_the_same_in_another_process", &[]);
        assert_eq!(text.matches(&expected).count(), TIMES, "{text}");
    }
    assert_ne!(expected, format!("fingerprint {}.", fingerprint(8)));
}

/// This must not change, unless what a seed means is to change: recorded failures would not repeat
/// any more. The time depends on all that was drawn.
#[test]
fn seed_means_the_same_on_every_machine() {
    let run = simulate(17, program());
    let order = run.outcome.unwrap();
    assert_eq!(
        (run.elapsed.as_nanos(), &order[..10]),
        (18_658_220, &[60, 80, 40, 30, 70, 10, 50, 11, 81, 20][..])
    );
}

#[test]
fn hour_of_sleeps_passes_at_once() {
    let start = std::time::Instant::now();
    let run = simulate(1, async {
        let start = Instant::now();
        let sleepers: Vec<_> =
            (1..=60).map(|minute| arc::spawn(sleep(HOUR / 60 * minute))).collect();
        for sleeper in sleepers {
            sleeper.await.unwrap();
        }
        start.elapsed()
    });
    let elapsed = run.outcome.unwrap();
    assert!((HOUR..HOUR + Duration::from_millis(10)).contains(&elapsed), "{elapsed:?}");
    assert!(run.elapsed >= HOUR);
    assert!(start.elapsed() < HOUR / 60);
}

#[test]
fn loop_that_polls_the_clock_ends() {
    run(1, async {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(100) {
            yield_now().await;
        }
    });
}

#[test]
fn timers_expire_while_tasks_are_busy() {
    run(1, async {
        let busy = arc::spawn(async {
            loop {
                yield_now().await;
            }
        });
        sleep(Duration::from_millis(50)).await;
        busy.abort();
        assert!(busy.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn deadlock_is_told_with_the_tasks_that_wait() {
    let run = simulate(1, async {
        let waits = spawn_named("waits for ever", pending::<()>());
        let sleeps = spawn_named("sleeps", sleep(HOUR));
        sleeps.await.unwrap();
        waits.await.unwrap();
    });
    let Err(Failure::Deadlock(tasks)) = &run.outcome else { panic!("{:?}", run.outcome) };
    let [first, main] = &tasks[..] else { panic!("{tasks:?}") };
    assert_eq!(first.task.as_ref().unwrap().name.as_deref(), Some("waits for ever"));
    assert!(main.task.is_none() && first.idle >= HOUR && main.idle < first.idle);
    assert!(run.elapsed >= HOUR);
    let text = run.outcome.unwrap_err().to_string();
    assert!(text.contains("every task waits") && text.contains("simulation.rs"), "{text}");
}

#[test]
fn loop_that_never_ends_is_told() {
    let run = simulate(1, async {
        loop {
            yield_now().await;
        }
    });
    assert!(matches!(run.outcome, Err(Failure::TooManyPolls(200_000, _))));
    let run = simulate(1, async {
        let _spins = arc::spawn(async {
            loop {
                sleep(Duration::from_secs(1)).await;
            }
        });
        pending::<()>().await;
    });
    assert!(matches!(run.outcome, Err(Failure::TooManyPolls(..))));
}

/// What runs after the simulation is not simulated any more.
#[test]
fn panic_of_the_future_ends_the_simulation() {
    let run = simulate(1, async {
        let _waits = arc::spawn(pending::<()>());
        yield_now().await;
        panic!("oh");
    });
    assert_eq!(run.outcome.map(|()| {}).unwrap_err().to_string(), "it panicked: oh");
    assert!(!arc_sim::is_running());
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(1) {
        thread::yield_now();
    }
}

#[test]
fn woken_main_future_is_not_always_first() {
    let turns = |seed| {
        run(seed, async {
            let count = Arc::new(AtomicUsize::new(0));
            for _ in 0..20 {
                let count = count.clone();
                arc::spawn(async move { count.fetch_add(1, Ordering::Relaxed) });
            }
            yield_now().await;
            count.load(Ordering::Relaxed)
        })
    };
    let counts: std::collections::BTreeSet<_> = (0..50).map(turns).collect();
    assert!(counts.len() > 2, "{counts:?}");
}

/// The order of a HashMap's entries differs from map to map.
#[test]
#[should_panic(expected = "something decides that is not the seed")]
fn order_of_a_hash_map_is_told() {
    arc_sim::Test::new("order", None).seeds(1).run(|| async {
        let map: HashMap<u64, u64> = (0..100).map(|number| (number, number)).collect();
        for number in map.into_values().take(10) {
            sleep(Duration::from_millis(number)).await;
        }
    });
}

#[test]
#[should_panic(expected = "something decides that is not the seed")]
fn state_that_a_run_leaves_is_told() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    arc_sim::Test::new("state", None).seeds(1).run(|| async {
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_secs(run)).await;
    });
}

#[test]
#[should_panic(expected = "something decides that is not the seed")]
fn clock_of_the_system_is_told() {
    arc_sim::Test::new("clock", None).seeds(1).run(|| async {
        let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        sleep(since_1970).await;
    });
}

#[test]
fn job_runs_in_the_simulation() {
    let thread = thread::current().id();
    let ids = run(3, async move {
        let job = spawn_blocking(|| (thread::current().id(), Instant::now()));
        let before = Instant::now();
        let (id, time) = job.await.unwrap();
        assert!(time >= before, "it did not run inside of `spawn_blocking`");
        let panics = spawn_blocking(|| panic!("oh"));
        assert!(panics.await.unwrap_err().is_panic());
        id
    });
    assert_eq!(ids, thread);
}

#[test]
fn block_on_in_a_job_is_refused() {
    let run = simulate(1, async {
        let handle = arc::runtime::Handle::current();
        spawn_blocking(move || handle.block_on(arc::spawn(async { 7 }))).await
    });
    let error = run.outcome.unwrap().unwrap_err();
    let payload = error.into_panic();
    let text = payload.downcast_ref::<&str>().expect("a text");
    assert!(text.contains("a job of spawn_blocking called block_on in a simulation"), "{text}");
}

/// It is not the runtime that waits for the job.
#[test]
fn job_may_have_a_runtime_of_its_own() {
    let sum = run(1, async {
        let job = || {
            let own = arc::runtime::Builder::new_current_thread().build().unwrap();
            [1, 2].map(|number| {
                own.block_on(async { arc::spawn(async move { number }).await.unwrap() })
            })
        };
        spawn_blocking(job).await.unwrap()
    });
    assert_eq!(sum, [1, 2]);
}

/// An executor of the job's own polls arc's futures, which must not find the budget used up.
#[test]
fn job_has_a_budget_of_its_own() {
    const UNITS: usize = 100;
    for seed in 0..50 {
        run(seed, async {
            let count = move || {
                let mut budget = std::pin::pin!(async {
                    for _ in 0..UNITS {
                        arc::task::consume_budget().await;
                    }
                });
                let mut context = std::task::Context::from_waker(Waker::noop());
                assert!(budget.as_mut().poll(&mut context).is_ready(), "with seed {seed}");
            };
            let job = spawn_blocking(count);
            for _ in 0..UNITS {
                arc::task::consume_budget().await;
            }
            job.await.unwrap();
        });
    }
}

#[test]
fn jobs_and_tasks_run_in_many_orders() {
    let order = |seed| {
        run(seed, async {
            let (sender, receiver) = mpsc::channel();
            for job in 0..3 {
                let sender = sender.clone();
                spawn_blocking(move || sender.send(job).unwrap());
            }
            arc::spawn(async move { sender.send(3).unwrap() });
            sleep(Duration::from_secs(1)).await;
            receiver.iter().collect::<Vec<_>>()
        })
    };
    let orders: std::collections::BTreeSet<_> = (0..1000).map(order).collect();
    assert_eq!(orders.len(), 24, "{orders:?}");
}

/// The bytes are there before an hour has passed.
#[test]
fn real_sockets_are_asked_before_the_clock_jumps() {
    for seed in 0..20 {
        run(seed, async {
            let listener = TcpListener::bind(([127, 0, 0, 1], 0)).await.unwrap();
            let address = listener.get_ref().local_addr().unwrap();
            let server = arc::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut text = [0; 5];
                stream.read_exact(&mut text).await.unwrap();
                sleep(Duration::from_secs(1)).await;
                stream.write_all(&text).await.unwrap();
            });
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"hello").await.unwrap();
            let mut text = [0; 5];
            timeout(HOUR, stream.read_exact(&mut text)).await.unwrap().unwrap();
            assert_eq!(&text, b"hello");
            server.await.unwrap();
        });
    }
}

/// Another thread answers, and the hour of the timeout does not pass.
#[test]
fn held_clock_waits_for_another_thread() {
    let answered = |is_held: bool| {
        let (ask, asked) = mpsc::channel::<Waker>();
        let (answer, mut wait) = (Arc::new(Mutex::new(false)), true);
        let answers = answer.clone();
        let thread = thread::spawn(move || {
            // In the simulation that does not wait, it is not asked to the end.
            let Ok(waker) = asked.recv() else { return };
            *answers.lock().unwrap() = true;
            waker.wake();
        });
        let outcome = run(1, async move {
            let _hold = is_held.then(arc_sim::hold_clock);
            let reply = poll_fn(move |context| {
                if std::mem::take(&mut wait) && is_held {
                    ask.send(context.waker().clone()).unwrap();
                }
                if *answer.lock().unwrap() { Poll::Ready(()) } else { Poll::Pending }
            });
            timeout(HOUR, reply).await.is_ok()
        });
        thread.join().unwrap();
        outcome
    };
    assert!(answered(true));
    assert!(!answered(false));
}

/// Files, child processes, signals and names are the system's own, as docs/SIMULATION.md says.
#[cfg(unix)]
#[test]
fn what_is_asked_of_the_system_is_real() {
    use arc_util::signal::unix::{SignalKind, signal};
    let this_process = std::process::id().to_string();
    let path = std::env::temp_dir().join(format!("arc-sim-real-{this_process}"));
    let written = path.clone();
    run(1, async move {
        let _hold = arc_sim::hold_clock();
        arc_util::fs::write(&written, "by a simulation").await.unwrap();

        let mut told = signal(SignalKind::user_defined1()).unwrap();
        let mut shell = arc_util::process::Command::new("sh");
        shell.args(["-c", "kill -USR1 $0; cat $1", &this_process]).arg(&written);
        let output = timeout(HOUR, shell.output()).await.unwrap().unwrap();
        assert_eq!(output.stdout, b"by a simulation");
        timeout(HOUR, told.recv()).await.unwrap().unwrap();

        let mut found = arc_util::net::lookup_host("127.0.0.1:80").await.unwrap();
        assert_eq!(found.next().unwrap().to_string(), "127.0.0.1:80");
    });
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "by a simulation");
    std::fs::remove_file(path).unwrap();
}

/// The feature is on, but a runtime that arc-sim has not built lives by the system's clock, on its
/// own threads.
#[test]
fn other_runtimes_are_as_always() {
    let runtime = arc::runtime::Builder::new_current_thread().build().unwrap();
    let start = std::time::Instant::now();
    runtime.block_on(async {
        sleep(Duration::from_millis(20)).await;
        let here = thread::current().id();
        assert_ne!(spawn_blocking(|| thread::current().id()).await.unwrap(), here);
        // First in, first out.
        let (sender, receiver) = mpsc::channel();
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let sender = sender.clone();
                arc::spawn(async move { sender.send(number).unwrap() })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        drop(sender);
        assert!(receiver.iter().eq(0..100));
    });
    assert!(start.elapsed() >= Duration::from_millis(20));
    assert!(!arc_sim::is_running());
}

/// Its threads live by the system's clock, whatever the simulated one has jumped over.
#[test]
fn timers_of_another_runtime_expire_after_the_clock_has_jumped() {
    let run = simulate(1, async {
        sleep(100 * HOUR).await;
        let other = arc::runtime::Builder::new_multi_thread().workers(1).build().unwrap();
        let (sender, receiver) = mpsc::channel();
        other.spawn(async move {
            let start = std::time::Instant::now();
            sleep(Duration::from_millis(5)).await;
            sender.send(start.elapsed()).unwrap();
        });
        let slept = receiver.recv_timeout(Duration::from_secs(60));
        other.shutdown_background();
        slept
    });
    let slept = run.outcome.unwrap().expect("the timer expires");
    assert!(slept >= Duration::from_millis(5), "{slept:?}");
}

/// It has nothing of a simulation any more, and arc works there as always.
#[test]
fn destructor_of_a_thread_local_may_use_arc() {
    struct AtEnd(mpsc::Sender<u32>);

    impl Drop for AtEnd {
        fn drop(&mut self) {
            let runtime = arc::runtime::Builder::new_current_thread().build().unwrap();
            let sum = runtime.block_on(async {
                let one = arc::spawn(async { 1 }).await.unwrap();
                one + spawn_blocking(|| 2).await.unwrap()
            });
            self.0.send(sum).unwrap();
        }
    }

    thread_local! {
        static AT_END: std::cell::RefCell<Option<AtEnd>> = const { std::cell::RefCell::new(None) };
    }

    let (sender, receiver) = mpsc::channel();
    // Destructors run in the opposite order of the first uses, so that arc's run before.
    let thread = thread::spawn(|| {
        AT_END.set(Some(AtEnd(sender)));
        run(1, async {});
    });
    thread.join().unwrap();
    assert_eq!(receiver.recv(), Ok(3));
}

#[test]
fn greatest_seed_is_a_seed() {
    const NAME: &str = "greatest_seed_is_a_seed";
    if std::env::var_os(CHILD).is_some() {
        let test = arc_sim::Test::new("simulation::greatest_seed_is_a_seed", None);
        return test.run(|| async { println!("a seed is tried") });
    }
    let greatest = u64::MAX.to_string();
    let (tried, text) = in_another_process(NAME, &[("ARC_SEED", &greatest)]);
    // Once more to compare both runs.
    assert_eq!(tried.matches("a seed is tried").count(), 2, "{text}");
    assert!(tried.contains("arc-sim: 1 seeds"), "{tried}");
}

#[test]
fn log_begins_at_zero_nanoseconds() {
    let log = simulate(1, async {}).log;
    let first = log.describe(&log.events()[0]).to_string();
    assert_eq!(first.trim(), "0ns  the main future is polled");
}

#[test]
fn simulations_run_on_several_threads_at_once() {
    let expected = simulate(5, program()).log.fingerprint();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(simulate(5, program()).log.fingerprint(), expected);
                }
            });
        }
    });
}

#[test]
#[should_panic(expected = "cannot begin inside a task or block_on")]
fn simulation_inside_another_one_is_refused() {
    run(1, async {
        run(2, async {});
    });
}

/// The random numbers that a thread draws afterwards are its own again.
#[test]
fn seed_is_given_back() {
    fastrand::seed(1);
    let expected: Vec<u64> = (0..10).map(|_| fastrand::u64(..)).collect();
    fastrand::seed(1);
    run(99, async { fastrand::u64(..) });
    assert!((0..10).map(|_| fastrand::u64(..)).eq(expected));
}

/// A lost update that needs two tasks to read before one writes.
#[test]
fn race_is_found_and_repeated() {
    let body = || async {
        let count = Arc::new(AtomicUsize::new(0));
        let add = |count: Arc<AtomicUsize>| async move {
            let before = count.load(Ordering::Relaxed);
            yield_now().await;
            count.store(before + 1, Ordering::Relaxed);
        };
        let (one, two) = (arc::spawn(add(count.clone())), arc::spawn(add(count.clone())));
        one.await.unwrap();
        two.await.unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 2);
    };
    let (seed, failure) = find(0..500, body).expect("some seed mixes the two tasks");
    assert!(matches!(failure, Failure::Panicked(_)));
    assert!(simulate(seed, body()).outcome.is_err());
    assert!((0..500).any(|seed| simulate(seed, body()).outcome.is_ok()));
}

/// The command that is printed repeats the failure, with this seed alone.
#[test]
fn failure_says_how_it_is_repeated() {
    const NAME: &str = "failure_says_how_it_is_repeated";
    if std::env::var_os(CHILD).is_some() {
        let test = arc_sim::Test::new("simulation::failure_says_how_it_is_repeated", Some("x"));
        return test.seeds(500).run(|| async {
            let first = arc::task::spawn_named("first", async {});
            arc::spawn(async {}).await.unwrap();
            println!("a seed is tried");
            assert!(first.is_finished(), "the second was first");
        });
    }
    let (tried, text) = in_another_process(NAME, &[]);
    let seed = text.split("ARC_SEED=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let command = format!("ARC_SEED={seed} cargo test -p x {NAME} -- --exact --nocapture\n");
    assert!(text.contains(&command), "{text}");
    assert!(text.contains("the second was first"), "{text}");
    assert!(text.contains("task 1 is polled"), "{text}");
    assert!(text.contains("its timeline is "), "{text}");
    // The first seed is tried twice, to compare both runs, and so is the one that fails.
    let before: usize = seed.parse().unwrap();
    let expected = if before == 0 { 2 } else { before + 3 };
    assert_eq!(tried.matches("a seed is tried").count(), expected);

    let (tried, text) = in_another_process(NAME, &[("ARC_SEED", seed)]);
    assert!(text.contains(&command) && text.contains("the second was first"), "{text}");
    assert_eq!(tried.matches("a seed is tried").count(), 1);
}

/// What stands between two texts in another one.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split(before).nth(1);
    rest.and_then(|rest| rest.split(after).next())
        .unwrap_or_else(|| panic!("no {before:?}: {text}"))
}

/// A program that fails after an hour, of a task that waits in vain.
async fn waits_in_vain() {
    let _waits = spawn_named("waits in vain", pending::<()>());
    spawn_named("sleeps", sleep(HOUR)).await.unwrap();
    panic!("an hour is over");
}

/// The timeline has the events of this seed alone, by the simulated clock.
#[test]
fn failure_writes_the_timeline_of_its_seed() {
    const NAME: &str = "failure_writes_the_timeline_of_its_seed";
    if std::env::var_os(CHILD).is_some() {
        return arc_sim::Test::new("simulation::in_vain", None).seeds(3).run(waits_in_vain);
    }
    let (_, told) = in_another_process(NAME, &[]);
    let path = std::path::Path::new(between(&told, "its timeline is ", "\n"));
    assert!(path.ends_with("arc-sim/simulation-in_vain-seed-0.html"), "{told}");
    let page = std::fs::read_to_string(path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(page.contains("<!doctype html>") && page.contains("\"sleeps\""), "{page}");

    // `ARC_TRACE` says where, and of which kind.
    let path = std::env::temp_dir().join(format!("arc-sim-{}.txt", std::process::id()));
    let (_, told) = in_another_process(NAME, &[("ARC_TRACE", path.to_str().unwrap())]);
    assert_eq!(between(&told, "its timeline is ", "\n"), path.to_str().unwrap());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(text.contains("of 1 threads and 3 tasks"), "not of this seed alone: {text}");
    assert!(text.contains("block_on 3 (crates/arc-sim/tests/simulation.rs"), "{text}");
    assert!(text.contains("has waited for 3600 s for nothing that arc knows of"), "{text}");
}

/// So does a single simulation, if it is asked to.
#[test]
fn run_that_fails_writes_its_timeline_where_the_environment_says() {
    if std::env::var_os(CHILD).is_some() {
        return run(17, waits_in_vain());
    }
    let test = "run_that_fails_writes_its_timeline_where_the_environment_says";
    let (_, told) = in_another_process(test, &[]);
    assert!(told.contains("to see its timeline, set ARC_TRACE=run.html"), "{told}");
    assert!(!told.contains("its timeline is "), "{told}");

    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("run-17.html");
    let (_, told) = in_another_process(test, &[("ARC_TRACE", path.to_str().unwrap())]);
    assert!(told.contains(&format!("its timeline is {}\n", path.display())), "{told}");
    let page = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(page.contains("\"waits in vain\""), "{page}");
}

/// Nothing could come any more, so nothing is waited for.
#[test]
fn deadlock_without_sockets_takes_no_time() {
    let start = std::time::Instant::now();
    for seed in 0..200 {
        assert!(matches!(simulate(seed, pending::<()>()).outcome, Err(Failure::Deadlock(_))));
    }
    // To wait for sockets takes 100 ms each time.
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[test]
fn numbers_that_the_program_notes_are_in_the_log() {
    let run = simulate(1, async {
        sleep(HOUR).await;
        arc_sim::note(42);
    });
    let last = run.log.events().last().unwrap();
    assert_eq!(last.what, arc_sim::What::Noted(42));
    assert!(Duration::from_nanos(last.nanos) >= HOUR);
}

/// tokio's tests of time may say this.
#[arc_sim::test(start_paused = true, seeds = 5)]
async fn clock_is_paused_and_moved_on() {
    arc_sim::pause();
    let start = Instant::now();
    let sleeper = arc::spawn(sleep(HOUR));
    arc_sim::advance(HOUR / 2).await;
    assert!((HOUR / 2..HOUR).contains(&start.elapsed()));
    assert!(!sleeper.is_finished());
    arc_sim::advance(HOUR / 2).await;
    sleeper.await.unwrap();
    assert!(start.elapsed() < 2 * HOUR);
}

/// A waker that notes whether it was woken.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A sleep that was polled once, and the flag that it sets when it wakes its task.
fn armed(duration: Duration) -> (Pin<Box<arc::time::Sleep>>, Arc<Flag>) {
    let flag = Arc::new(Flag::default());
    let mut sleep = Box::pin(sleep(duration));
    let waker = Waker::from(flag.clone());
    assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    (sleep, flag)
}

#[arc_sim::test(seeds = 300)]
async fn advance_returns_when_the_timers_that_are_due_have_woken_their_tasks() {
    for duration in [Duration::from_nanos(2), Duration::from_millis(1), HOUR] {
        let (_first, is_first_woken) = armed(duration / 2);
        let (_last, is_last_woken) = armed(duration);
        let (_later, is_later_woken) = armed(2 * HOUR);
        arc_sim::advance(duration).await;
        assert!(is_first_woken.0.load(Ordering::Relaxed), "{duration:?}");
        assert!(is_last_woken.0.load(Ordering::Relaxed), "{duration:?}");
        assert!(!is_later_woken.0.load(Ordering::Relaxed), "{duration:?}");
    }
}

/// What else the caller waits for may wake it before.
#[arc_sim::test(seeds = 300)]
async fn advance_that_is_polled_again_and_again_returns_no_sooner() {
    let (_sleep, is_woken) = armed(Duration::from_millis(1));
    let mut advance = pin!(arc_sim::advance(HOUR));
    poll_fn(|context| {
        context.waker().wake_by_ref();
        advance.as_mut().poll(context)
    })
    .await;
    assert!(is_woken.0.load(Ordering::Relaxed));
}

/// As on tokio, where they stand before the caller in the queue.
#[arc_sim::test(seeds = 300)]
async fn advance_in_a_task_returns_when_the_tasks_that_it_woke_were_polled() {
    let polled = Arc::new(AtomicUsize::new(0));
    for minutes in 1..=20 {
        let polled = polled.clone();
        arc::spawn(async move {
            sleep(Duration::from_secs(60 * minutes)).await;
            polled.fetch_add(1, Ordering::Relaxed);
        });
    }
    // One that is always in the queue must not keep the caller for ever.
    arc::spawn(async {
        loop {
            yield_now().await;
        }
    });
    let caller = arc::spawn(async move {
        // Their timers are armed by then.
        arc_sim::advance(Duration::from_secs(1)).await;
        arc_sim::advance(HOUR).await;
        assert_eq!(polled.load(Ordering::Relaxed), 20);
    });
    caller.await.unwrap();
}

/// The main future is in no queue, and waits for them all the same.
#[arc_sim::test(seeds = 300)]
async fn advance_in_the_main_future_returns_when_the_tasks_that_it_woke_were_polled() {
    let polled = Arc::new(AtomicUsize::new(0));
    for minutes in 1..=20 {
        let polled = polled.clone();
        arc::spawn(async move {
            sleep(Duration::from_secs(60 * minutes)).await;
            polled.fetch_add(1, Ordering::Relaxed);
        });
    }
    arc_sim::advance(Duration::from_secs(1)).await;
    arc_sim::advance(HOUR).await;
    assert_eq!(polled.load(Ordering::Relaxed), 20);
}

#[test]
fn advance_ends_at_the_end_of_the_clock() {
    run(1, async {
        for _ in 0..3 {
            arc_sim::advance(Duration::MAX).await;
        }
        arc_sim::advance(Duration::ZERO).await;
    });
}

/// Its writers share the standard output with other simulations, of which it must not hear.
#[test]
fn seed_means_the_same_beside_others_that_write() {
    use arc_util::io::stdout;
    if std::env::var_os(CHILD).is_none() {
        let test = "seed_means_the_same_beside_others_that_write";
        let (text, errors) = in_another_process(test, &[]);
        let told = errors.lines().filter(|line| line.starts_with("fingerprint ")).count();
        assert_eq!(told, 2, "{text}{errors}");
        assert!(text.contains("1 passed"), "{text}{errors}");
        return;
    }
    let writes = || {
        let program = async {
            let tasks = (0..10).map(|_| {
                arc::spawn(async {
                    for _ in 0..5 {
                        stdout().write_all(b".").await.unwrap();
                    }
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                task.await.unwrap();
            }
        };
        simulate(7, program).log.fingerprint()
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let first = writes();
                (0..100).for_each(|_| assert_eq!(writes(), first));
                eprintln!("fingerprint {first}");
            });
        }
    });
}
