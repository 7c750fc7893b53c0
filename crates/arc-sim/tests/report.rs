//! What a test says when a seed fails, hangs or does not repeat, and which seeds it tries.

mod process;

use arc::task::{spawn_blocking, spawn_named, yield_now};
use arc::time::{Duration, sleep};
use arc_sim::{Failure, Test, UnhandledPanic, simulate};
use arc_util::select;
use arc_util::sync::{Mutex, mpsc, oneshot};
use process::{CHILD, in_another_process};
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::thread;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Whether another process has started this one.
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// What another process prints and tells that runs this as the test of that name. `None` in that
/// process.
fn told_by(name: &str, run: impl FnOnce()) -> Option<(String, String)> {
    if is_child() {
        run();
        return None;
    }
    Some(in_another_process(name, &[]))
}

#[arc_sim::test(seeds = 3)]
#[ignore = "fails on purpose"]
async fn returns_an_error() -> Result<(), String> {
    sleep(SECOND).await;
    Err("the disk is full".to_owned())
}

#[test]
fn error_that_a_test_returns_is_told() {
    let (_, told) = in_another_process("returns_an_error", &[]);
    assert!(told.contains(r#"with seed 0, it returned "the disk is full""#), "{told}");
    assert!(told.contains("to repeat it: ARC_SEED=0 cargo test -p arc-sim "), "{told}");
}

#[test]
fn test_that_is_ignored_is_repeated_all_the_same() {
    let (_, told) = in_another_process("returns_an_error", &[]);
    let options = "returns_an_error -- --exact --include-ignored --nocapture\n";
    assert!(told.contains(options), "{told}");
}

/// It fails in the runs of these numbers, which the program counts from 0.
fn fails_in_runs(fails: impl Fn(u64) -> bool) {
    let runs = AtomicU64::new(0);
    let (runs, fails) = (&runs, &fails);
    Test::new("report::fails_in_runs", None).seeds(3).run(|| async move {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        yield_now().await;
        assert!(!fails(run), "oh no");
    });
}

#[test]
fn seed_that_does_not_repeat_is_told() {
    let run = || fails_in_runs(|run| run == 2);
    let Some((_, told)) = told_by("seed_that_does_not_repeat_is_told", run) else { return };
    assert!(told.contains("fails_in_runs fails with seed 1"), "{told}");
    assert!(
        told.contains("the seed does not repeat: something else decides. Run again, it passes")
    );
    assert!(told.contains("to try it again: ARC_SEED=1") && !told.contains("to repeat it"));
}

#[test]
fn second_run_that_fails_is_told() {
    let run = || fails_in_runs(|run| run == 1);
    let Some((_, told)) = told_by("second_run_that_fails_is_told", run) else { return };
    assert!(told.contains("fails_in_runs fails with seed 0"), "{told}");
    assert!(told.contains("The first run of this seed passed, and this was the second"), "{told}");
}

#[test]
fn seed_that_repeats_is_not_doubted_and_its_panic_is_told_once() {
    let run = || fails_in_runs(|run| run >= 2);
    let Some((_, told)) =
        told_by("seed_that_repeats_is_not_doubted_and_its_panic_is_told_once", run)
    else {
        return;
    };
    assert!(
        told.contains("to repeat it: ARC_SEED=1") && !told.contains("something else"),
        "{told}"
    );
    assert_eq!(told.matches("oh no").count(), 1, "{told}");
}

#[test]
fn seed_that_fails_in_another_way_is_told() {
    if is_child() {
        let runs = AtomicU64::new(0);
        return Test::new("report::another", None).run(|| async {
            sleep(SECOND * runs.fetch_add(1, Ordering::Relaxed) as u32).await;
            assert!(!arc_sim::is_running(), "late");
        });
    }
    let (_, told) = in_another_process("seed_that_fails_in_another_way_is_told", &[]);
    assert!(told.contains("Run again, it fails as well, but differs from event 1 on"), "{told}");
}

#[test]
fn panic_of_a_task_that_nobody_awaits_fails_the_test() {
    if is_child() {
        return Test::new("report::nobody", None).seeds(3).run(|| async {
            drop(arc::spawn(async { panic!("nobody looks") }));
            sleep(SECOND).await;
        });
    }
    let (_, told) = in_another_process("panic_of_a_task_that_nobody_awaits_fails_the_test", &[]);
    assert!(
        told.contains("nobody looks") && told.contains("with seed 0, a task or a job"),
        "{told}"
    );
    assert!(told.contains("to repeat it: ARC_SEED=0"), "{told}");
}

#[arc_sim::test(seeds = 5)]
#[should_panic(expected = "a task or a job of spawn_blocking panicked")]
async fn panic_of_a_job_fails_the_test() {
    drop(spawn_blocking(|| panic!("on purpose")));
    sleep(SECOND).await;
}

/// Its own panic is what it says.
#[arc_sim::test(seeds = 5)]
#[should_panic(expected = "of the main future")]
async fn panic_of_the_main_future_is_its_own() {
    yield_now().await;
    panic!("of the main future");
}

#[arc_sim::test(seeds = 5, unhandled_panic = "ignore")]
async fn tasks_may_panic_on_purpose() {
    drop(arc::spawn(async { panic!("on purpose") }));
    assert!(arc::spawn(async { panic!("on purpose") }).await.unwrap_err().is_panic());
    sleep(SECOND).await;
}

/// A task waits for ever, and another one keeps the simulation from a deadlock.
async fn heartbeat_beside_a_task_that_is_stuck() {
    spawn_named("heartbeat", async {
        loop {
            sleep(SECOND).await;
        }
    });
    spawn_named("stuck", pending::<()>()).await.unwrap();
}

#[test]
fn too_many_polls_list_the_tasks() {
    let outcome = simulate(1, heartbeat_beside_a_task_that_is_stuck()).outcome;
    let text = outcome.unwrap_err().to_string();
    let place = |what| text.find(what).unwrap_or_else(|| panic!("no {what:?}: {text}"));
    assert!(place("\"stuck\", spawned at crates/arc-sim/tests/report.rs") < place("\"heartbeat\""));
    assert!(place("the main future, last polled") < place("\"heartbeat\""), "{text}");
}

#[arc_sim::test(seeds = 3, limit = "1h")]
#[should_panic(expected = "it has not ended after 3600s of simulated time")]
async fn heartbeat_ends_at_a_limit_of_time() {
    heartbeat_beside_a_task_that_is_stuck().await;
}

#[arc_sim::test(seeds = 20, limit = "1h")]
#[should_panic(expected = "it has not ended after 3600s of simulated time")]
async fn end_that_comes_after_the_limit_is_too_late() {
    sleep(HOUR + SECOND).await;
}

#[arc_sim::test(seeds = 3, limit = "1h")]
async fn limit_that_is_not_reached_does_nothing() {
    sleep(HOUR - SECOND).await;
}

#[test]
fn deadlock_is_told_by_the_numbers_of_the_log() {
    let told = || {
        let run = simulate(1, async {
            arc::spawn(async {}).await.unwrap();
            spawn_named("stuck", pending::<()>()).await.unwrap();
        });
        let failure = run.outcome.unwrap_err();
        let Failure::Deadlock(unfinished) = &failure else { panic!("{failure}") };
        let stuck = unfinished.iter().find(|it| it.task.is_some()).unwrap();
        let polled = run.log.events().iter().rev();
        let last = polled.map(|event| event.what).find(|what| *what != arc_sim::What::PolledMain);
        assert_eq!(last, stuck.number.map(arc_sim::What::Polled), "{failure}");
        failure.to_string()
    };
    assert_eq!(told(), told());
}

/// What the main future holds is dropped when the simulation ends, and wakes those who wait for it.
/// They are listed as they were before.
#[test]
fn tasks_are_listed_before_the_main_future_is_dropped() {
    let run = simulate(1, async {
        let (sender, receiver) = oneshot::channel::<()>();
        spawn_named("stuck", receiver).await.unwrap().unwrap();
        drop(sender);
    });
    let text = run.outcome.unwrap_err().to_string();
    assert!(text.contains("\"stuck\"") && text.contains("ago: Idle, "), "{text}");
}

#[test]
fn list_says_what_each_task_waits_for_by_the_numbers_of_the_log() {
    let run = simulate(1, async {
        // The ids of these are in front of those of the tasks that wait.
        arc::spawn(async {}).await.unwrap();
        let waits = spawn_named("waits", pending::<()>());
        let joins = spawn_named("joins", async move { waits.await.unwrap() });
        joins.await.unwrap();
    });
    let Err(Failure::Deadlock(unfinished)) = run.outcome else { panic!("no deadlock") };
    let of = |name: &str| {
        let mut tasks = unfinished.iter();
        tasks.find(|it| it.task.as_ref().and_then(|task| task.name.as_deref()) == Some(name))
    };
    let (waits, joins) = (of("waits").unwrap(), of("joins").unwrap());
    assert_eq!(waits.waits.as_deref(), Some("for nothing that arc knows of"));
    let number = waits.number.unwrap();
    let text = joins.to_string();
    assert!(text.contains(&format!("ago: Idle, for task {number} \"waits\" (")), "{text}");

    // The page has the same numbers.
    let timeline = arc_trace::Timeline::new(&run.recording);
    assert_eq!(timeline.tasks[&(number as u64)].name.as_deref(), Some("waits"));
}

/// The package has the locks of arc-util tell who waits for them, and no test asks for a feature.
#[test]
fn deadlock_names_the_locks_and_says_what_else_is_not_known() {
    let run = simulate(1, async {
        let lock = Arc::new(Mutex::new(()));
        let _guard = lock.lock().await;
        let waits = lock.clone();
        arc::spawn(async move { drop(waits.lock().await) }).await.unwrap();
    });
    let text = run.outcome.unwrap_err().to_string();
    assert!(text.contains("for the Mutex made at crates/arc-sim/tests/report.rs"), "{text}");
    assert!(!text.contains("of another crate"), "{text}");

    let run = simulate(1, async { arc::spawn(pending::<()>()).await.unwrap() });
    let text = run.outcome.unwrap_err().to_string();
    assert!(text.contains("one that is not known is of another crate"), "{text}");
}

/// A poll that does a lot, and then waits for ever: that is its last line.
#[arc_sim::test(seeds = 1)]
#[ignore = "fails on purpose"]
async fn does_a_lot_and_waits() {
    let (sender, receiver) = oneshot::channel::<()>();
    let busy = spawn_named("busy", async move {
        let (values, mut received) = mpsc::channel(1);
        for value in 0..20 {
            values.send(value).await.unwrap();
            received.recv().await.unwrap();
        }
        receiver.await.unwrap();
    });
    busy.await.unwrap();
    drop(sender);
}

#[test]
fn list_that_is_cut_keeps_its_last_lines() {
    let (_, told) = in_another_process("does_a_lot_and_waits", &[]);
    let (_, busy) = told.split_once("task 1 is polled \"busy\"").expect("the poll of the task");
    let (_, last) = busy.split_once(" more)\n").expect("the list is cut");
    let (last, _) = last.split_once("arc-sim: report::").unwrap();
    assert!(last.contains("waits for the value of the oneshot channel made at"), "{told}");
}

/// The value that the dropped branch had received is lost.
#[arc_sim::test(seeds = 1)]
#[ignore = "fails on purpose"]
async fn loses_a_value() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let relay = spawn_named("relay", async move {
        let mut sum = 0;
        loop {
            let slowly = async {
                let value: u32 = receiver.recv().await?;
                sleep(SECOND).await;
                Some(value)
            };
            select! {
                value = slowly => match value {
                    Some(value) => sum += value,
                    None => return sum,
                },
                () = sleep(SECOND / 2) => {}
            }
        }
    });
    sender.send(7).unwrap();
    drop(sender);
    assert_eq!(relay.await.unwrap(), 7);
}

#[test]
fn report_of_a_wrong_answer_tells_of_timers_messages_and_dropped_branches() {
    let (_, told) = in_another_process("loses_a_value", &[]);
    let events = told.split("arc-sim: the last of ").nth(1).expect("a list of events");
    let events = events.split("arc-sim: report::").next().unwrap();
    // In this order, and in the poll of this task.
    let mut rest = events;
    for part in [
        "the main future is polled\n",
        "sends into the channel made at ",
        "task 1 is polled \"relay\"",
        "spawned by block_on ",
        "receives 1 from the channel made at ",
        "waits for a timer that is due at 1",
        "waits for a timer that is due at 5",
        "task 1 is polled \"relay\"",
        "because its timer of 5",
        "takes branch 2 of 2 of the select! made at ",
        "and drops the others",
        "ends\n",
        "the main future is polled\n",
    ] {
        let Some((_, behind)) = rest.split_once(part) else { panic!("no {part:?} in {rest}") };
        rest = behind;
    }
}

/// A poll that blocks for longer than the test allows.
#[test]
fn poll_that_does_not_return_is_told() {
    if is_child() {
        let test = Test::new("report::blocks", Some("x")).seeds(1);
        return test.hangs_after(Duration::from_millis(100)).run(|| async {
            let blocks = async { thread::sleep(Duration::from_millis(500)) };
            spawn_named("blocks", blocks).await.unwrap();
        });
    }
    let (_, told) = in_another_process("poll_that_does_not_return_is_told", &[]);
    let expected = "arc-sim: report::blocks, seed 0: task 1 \"blocks\", spawned at ";
    assert!(told.contains(expected), "{told}");
    assert!(told.contains(" has been polled for 100ms, and has not returned\n"), "{told}");
    assert!(told.contains("to repeat it: ARC_SEED=0 cargo test -p x blocks -- --exact"), "{told}");
    // Once for each of the two runs.
    assert_eq!(told.matches(expected).count(), 2, "{told}");
}

/// A simulation that waits for a peer outside polls nothing meanwhile.
#[test]
fn wait_for_a_peer_outside_is_not_told() {
    if is_child() {
        let test = Test::new("report::waits", Some("x")).seeds(1);
        return test.hangs_after(SECOND / 2).run(|| async {
            let _hold = arc_sim::hold_clock();
            let is_done = Arc::new(AtomicBool::new(false));
            let mut thread = None;
            poll_fn(|context| {
                let (waker, done) = (context.waker().clone(), is_done.clone());
                thread.get_or_insert_with(|| {
                    thread::spawn(move || {
                        thread::sleep(SECOND);
                        done.store(true, Ordering::SeqCst);
                        waker.wake();
                    })
                });
                if is_done.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        });
    }
    let (tried, told) = in_another_process("wait_for_a_peer_outside_is_not_told", &[]);
    assert!(tried.contains("arc-sim: 1 seeds") && !told.contains("has not returned"), "{told}");
}

#[arc_sim::test(seeds = 4)]
#[ignore = "another process runs it"]
async fn passes() {
    sleep(SECOND).await;
}

#[test]
fn environment_chooses_the_seeds() {
    let tried = |variables: &[_]| in_another_process("passes", variables).0;
    assert!(tried(&[]).contains("arc-sim: 4 seeds, 4s of"));
    assert!(tried(&[("ARC_SEEDS", "7")]).contains("arc-sim: 7 seeds, 7s of"));
    assert!(tried(&[("ARC_SEEDS", "1000..1009")]).contains("arc-sim: 9 seeds, 9s of"));
    // The single one comes first.
    let both = [("ARC_SEEDS", "1000..1009"), ("ARC_SEED", "3")];
    assert!(tried(&both).contains("arc-sim: 1 seeds, 1s of"));

    let (_, told) = in_another_process("returns_an_error", &[("ARC_SEEDS", "1000..2000")]);
    assert!(told.contains("with seed 1000, it returned"), "{told}");
}

#[test]
fn wrong_seeds_of_the_environment_are_refused() {
    for wrong in ["", "x", "0", "5..5", "9..3", "1..2..3", "-1"] {
        let (_, told) = in_another_process("passes", &[("ARC_SEEDS", wrong)]);
        assert!(told.contains("ARC_SEEDS must be a number of seeds from 1, or a range"), "{told}");
    }
}

#[cfg(unix)]
#[test]
fn seeds_that_are_no_text_are_refused() {
    use std::os::unix::ffi::OsStrExt;

    let wrong = std::ffi::OsStr::from_bytes(b"7\xff");
    for name in ["ARC_SEED", "ARC_SEEDS"] {
        let (_, told) = process::in_another_process_with("passes", &[(name, wrong)]);
        let expected = format!("{name} must be a number");
        assert!(told.contains(&expected) && told.contains(r#"not "7\xFF""#), "{told}");
    }
}

#[test]
#[should_panic(expected = "a test of no seeds tries nothing")]
fn no_seeds_are_refused() {
    Test::new("none", None).seeds(0).run(|| async {});
}

#[test]
fn very_long_name_has_a_timeline() {
    if is_child() {
        let name = "report::a_part_of_a_very_long_name::".repeat(20) + "ends_here";
        return Test::new(name.leak(), None).seeds(1).run(|| async { Err::<(), _>("oh") });
    }
    let (_, told) = in_another_process("very_long_name_has_a_timeline", &[]);
    let path = told.split("its timeline is ").nth(1).and_then(|rest| rest.split('\n').next());
    let path = path.unwrap_or_else(|| panic!("no timeline: {told}"));
    assert!(path.ends_with("-ends_here-seed-0.html"), "{path}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn sockets_of_the_kernel_are_told_to_be_the_reason_not_to_compare() {
    if is_child() {
        return Test::new("report::sockets", None).seeds(1).run(|| async {
            let listener = arc::net::TcpListener::bind(([127, 0, 0, 1], 0)).await.unwrap();
            arc::spawn(async move { listener.accept().await.map(drop) });
            sleep(SECOND).await;
        });
    }
    let name = "sockets_of_the_kernel_are_told_to_be_the_reason_not_to_compare";
    let (tried, told) = in_another_process(name, &[]);
    assert!(tried.contains("; not compared: kernel sockets\n"), "{tried}{told}");
    let (tried, _) = in_another_process("passes", &[]);
    assert!(!tried.contains("not compared"), "{tried}");
}

/// What the option says by the builder.
#[test]
fn policy_of_panics_may_be_set_without_the_attribute() {
    let test = Test::new("policy", None).seeds(3).unhandled_panic(UnhandledPanic::Ignore);
    test.run(|| async { drop(arc::spawn(async { panic!("on purpose") })) });
}
