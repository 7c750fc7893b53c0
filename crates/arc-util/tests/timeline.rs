//! The timeline of a program: for each of seven reasons for which a task is late, it names the
//! culprit; and tasks that panicked. `cargo test -p arc-util --features trace --test timeline`.

#[allow(unexpected_cfgs, unused_imports, reason = "the core's features are not this crate's")]
#[path = "../../../tests/common/mod.rs"]
mod core_common;
#[path = "../../../tests/net_common/mod.rs"]
mod net_common;
#[path = "../../../tests/this_program/mod.rs"]
mod this_program;
mod watched;

use arc::task::{Id, spawn_blocking, spawn_named};
use arc::time::sleep;
use arc_trace::{Format, Options, Timeline};
use arc_util::runtime::{Builder, Runtime};
use arc_util::task::TaskState;
use core_common::Slot;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use watched::*;

/// The process has one recorder, so one test at a time uses it.
static RECORDER: Mutex<()> = Mutex::new(());

/// Records from now on, as long as the guard lives.
fn record() -> MutexGuard<'static, ()> {
    let guard = RECORDER.lock().unwrap_or_else(PoisonError::into_inner);
    arc_trace::start(Options::default());
    guard
}

fn timeline() -> Timeline {
    Timeline::new(&arc_trace::recording())
}

fn text() -> String {
    Format::Text.render(&timeline())
}

/// Finds the line of the text that has all of these parts.
#[track_caller]
fn finds(text: &str, parts: &[&str]) {
    let has_all = |line: &&str| parts.iter().all(|part| line.contains(part));
    assert!(text.lines().any(|line| has_all(&line)), "no line with {parts:?} in:\n{text}");
}

#[track_caller]
fn wait_for_idle(runtime: &Runtime, id: Id) {
    wait_until("the task waits", || {
        runtime.tasks().iter().any(|task| task.id == id && task.state == TaskState::Idle)
    });
}

/// A task of this name that ends when something is sent. It waits when this returns.
fn waiter(runtime: &Runtime, name: &'static str) -> (async_channel::Sender<()>, Waiter) {
    let (sender, receiver) = async_channel::bounded::<()>(1);
    let receives = async move { receiver.recv().await.expect("it is sent") };
    let task = spawn_in(runtime, name, receives);
    wait_for_idle(runtime, task.id());
    (sender, task)
}

type Waiter = arc::task::JoinHandle<()>;

/// Spawns a task of this name.
#[track_caller]
fn spawn_in<F>(runtime: &Runtime, name: &str, future: F) -> Waiter
where
    F: Future<Output = ()> + Send + 'static,
{
    let _guard = runtime.enter();
    spawn_named(name, future)
}

/// Takes a core for a time.
fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// What a late request may take, so that it stands out.
const LATE: Duration = Duration::from_millis(30);

/// The scenario of the first test: a task "victim" waits while "hog" is polled for long.
fn long_poll(runtime: &Runtime) {
    let (sender, victim) = waiter(runtime, "victim");
    let hog = spawn_in(runtime, "hog", async move {
        sender.try_send(()).expect("there is room");
        thread::sleep(LATE);
    });
    join_all(runtime, [hog, victim]);
}

#[test]
fn a_long_poll_is_named_with_whom_it_held_up() {
    within_deadline(|| {
        let _recorder = record();
        let runtime = runtime(1);
        long_poll(&runtime);
        let text = text();
        finds(
            &text,
            &[
                "long poll: task",
                "\"hog\" (crates/arc-util/tests/timeline.rs:",
                "held worker 0 up for",
            ],
        );
        finds(&text, &["\"victim\"", "in its queue behind one poll, of task", "\"hog\""]);
    });
}

#[test]
fn a_burst_is_named_with_the_line_that_spawned_it() {
    within_deadline(|| {
        let _recorder = record();
        let runtime = runtime(1);
        let (sender, request) = waiter(&runtime, "request");
        let line = line!() + 4;
        let _guard = runtime.enter();
        let burst = arc::spawn(async move {
            for _ in 0..300 {
                drop(arc::spawn(async { compute(Duration::from_micros(100)) }));
            }
            sender.try_send(()).expect("there is room");
        });
        runtime.block_on(async { (burst.await.unwrap(), request.await.unwrap()) });
        let location =
            format!("300 of them of tasks spawned at crates/arc-util/tests/timeline.rs:{line}:");
        let alone =
            format!("300 polls of tasks spawned at crates/arc-util/tests/timeline.rs:{line}:");
        let text = text();
        let found = text.contains(&location) || text.contains(&alone);
        assert!(found, "no burst in:\n{text}");
        finds(&text, &["\"request\"", "in its queue behind 30"]);
    });
}

#[test]
fn a_task_that_panicked_is_named() {
    let _alone = record();
    let runtime = Builder::new_multi_thread().workers(1).build().unwrap();
    let error = runtime.block_on(async {
        let task = spawn_named("victim", async { panic!("on purpose") });
        let error = task.await.unwrap_err();
        let job = spawn_blocking(|| panic!("on purpose"));
        job.await.unwrap_err();
        error
    });
    assert!(error.is_panic());
    let text = text();
    finds(&text, &["panic: task", "\"victim\"", "timeline.rs", "panicked"]);
    finds(&text, &["panic: job", "timeline.rs", "panicked"]);
}

#[test]
fn a_task_from_outside_that_nobody_takes_is_named_with_the_reason() {
    within_deadline(|| {
        let _recorder = record();
        let runtime = runtime(1);
        let pause = Pause::new();
        let grinder = spawn_in(&runtime, "grinder", async move {
            pause.here();
            thread::sleep(LATE);
        });
        pause.reached();
        let outsider = spawn_in(&runtime, "outsider", async {});
        pause.pass();
        join_all(&runtime, [grinder, outsider]);
        let why = "in the injector (for tasks from outside) behind one poll, of task";
        finds(&text(), &["\"outsider\"", why, "\"grinder\""]);
    });
}

#[test]
fn a_sleep_is_told_with_who_ended_it_for_a_task_from_outside() {
    let _guard = record();
    let runtime = runtime(2);
    let asleep = |worker| runtime.worker_counts(worker).parks > 0;
    wait_until("all workers sleep", || asleep(0) && asleep(1));
    runtime.block_on(spawn_in(&runtime, "outside", async {})).unwrap();
    // The runtime has not ended yet, so nothing else has woken a worker.
    wait_until("a worker was woken", || timeline().sleeps.iter().any(|it| it.woken.is_some()));
}

#[test]
fn a_worker_that_is_stuck_is_named_while_it_is() {
    within_deadline(|| {
        let _recorder = record();
        let runtime = runtime(1);
        let gate = Gate::new();
        let stuck = spawn_in(&runtime, "stuck", async move {
            drop(arc::spawn(async {}));
            gate.wait();
        });
        wait_until("it is told", || text().contains("is stuck"));
        let behind = "and 1 of its queue wait for that";
        finds(&text(), &["worker 0 is stuck: it has polled task", "\"stuck\"", behind]);
        gate.open();
        runtime.block_on(stuck).unwrap();
    });
}

#[test]
fn a_task_whose_wake_up_a_foreign_lock_lost_is_named() {
    within_deadline(|| {
        let _recorder = record();
        let runtime = runtime(2);
        // A lock that keeps the wakers of those who wait, and forgets to wake them.
        let lock = Slot::default();
        let loser = spawn_in(&runtime, "loser", lock.never());
        wait_for_idle(&runtime, loser.id());
        drop(lock.take());
        let why = "for nothing that arc knows of: a lock, a channel or a future";
        finds(
            &text(),
            &["task", "\"loser\" (crates/arc-util/tests/timeline.rs:", "has waited for", why],
        );
        loser.abort();
    });
}

#[test]
fn a_timer_that_is_late_is_told_with_the_slack() {
    within_deadline(|| {
        let _recorder = record();
        let runtime = runtime(1);
        let _guard = runtime.enter();
        let hog = spawn_named("hog", async {
            // More than once: a machine that stands still may let a timer expire in time.
            for _ in 0..3 {
                // While a worker is on the move, the monitor comes each 4 ms. So it looks at the
                // clock 4 to 8 ms after the worker has got stuck.
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(10) {
                    arc::task::yield_now().await;
                }
                let sleeper = spawn_named("sleeper", sleep(Duration::from_millis(1)));
                arc::task::yield_now().await;
                thread::sleep(LATE);
                sleeper.await.unwrap();
            }
        });
        runtime.block_on(hog).unwrap();
        let (text, late) = (text(), "late timer: the timer of task");
        finds(&text, &[late, "\"sleeper\"", "was due", "131 us of that are the timers' slack"]);
        finds(&text, &[late, "nobody looked at the clock, because of a poll of task", "\"hog\""]);
    });
}

// What a process writes as its environment says.

/// A name in the folder of the tests, which is the process's own.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// Runs one of the functions below in a process of its own.
fn run_apart(test: &str, variables: &[(&str, &Path)]) -> std::process::Output {
    let words = this_program::words();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["--exact", test, "--nocapture"]).env("ARC_APART", "1");
    command.envs(variables.iter().copied());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    this_program::output(child.expect("the test's own program"), DEADLINE)
}

/// Whether this is the process that another test has started for it.
fn is_apart() -> bool {
    std::env::var_os("ARC_APART").is_some()
}

/// Runs in a process whose blocking pool has one thread.
#[test]
fn apart_a_job_waits_for_the_only_thread() {
    if !is_apart() {
        return;
    }
    let runtime = Builder::new_multi_thread().workers(1).max_blocking_threads(1).build().unwrap();
    let _guard = runtime.enter();
    let (started, has_started) = mpsc::channel();
    let (queued, is_queued) = mpsc::channel::<()>();
    let first = spawn_blocking(move || {
        started.send(()).unwrap();
        is_queued.recv().unwrap();
        thread::sleep(LATE);
    });
    has_started.recv().unwrap();
    let second = spawn_blocking(|| ());
    queued.send(()).unwrap();
    runtime.block_on(async { (first.await.unwrap(), second.await.unwrap()) });
}

#[test]
fn a_full_blocking_pool_is_named_with_the_job_in_it() {
    let path = file("pool.txt");
    let output = run_apart("apart_a_job_waits_for_the_only_thread", &[("ARC_TRACE", &path)]);
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(&path).expect("it was written at the end of the runtime");
    finds(&text, &["late: job", "for a thread of the blocking pool behind one poll, of job"]);
    fs::remove_file(path).unwrap();
}

/// Runs in a process of its own.
#[test]
fn apart_a_task_ends() {
    if is_apart() {
        runtime(1).block_on(async { arc::spawn(async {}).await.unwrap() });
    }
}

#[test]
fn a_file_that_cannot_be_written_is_one_line_and_the_program_goes_on() {
    for (path, reason) in [
        ("/nowhere/at/all/run.html", "os error 2"),
        ("run.doc", "the name must end in .html, .json, .txt or .svg"),
        ("run", "the name must end in .html, .json, .txt or .svg"),
    ] {
        let output = run_apart("apart_a_task_ends", &[("ARC_TRACE", Path::new(path))]);
        assert!(output.status.success(), "{output:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        // On a busy machine a long poll may be told of as well.
        let is_ours = |line: &&str| line.starts_with("arc: ") && line.contains("timeline");
        let lines: Vec<&str> = told.lines().filter(is_ours).collect();
        let [line] = lines[..] else { panic!("not one line: {told}") };
        assert!(line.contains(&format!("no timeline is written to {path}: ")), "{line}");
        assert!(line.contains(reason), "{line}");
    }
}

#[test]
fn each_ending_of_the_name_gives_its_format() {
    for (ending, beginning) in
        [("html", "<!doctype html>"), ("json", "{\"displayTimeUnit\""), ("svg", "<svg ")]
    {
        let path = file(&format!("run.{ending}"));
        let output = run_apart("apart_a_task_ends", &[("ARC_TRACE", &path)]);
        assert!(output.status.success(), "{output:?}");
        let text = fs::read_to_string(&path).expect("it was written");
        assert!(text.starts_with(beginning), "{text}");
        fs::remove_file(path).unwrap();
    }
}

// The flight recorder.

#[test]
fn nothing_is_recorded_after_stop_and_start_forgets() {
    within_deadline(|| {
        let _recorder = record();
        let runtime = runtime(1);
        let spawn = |name: &str| runtime.block_on(spawn_in(&runtime, name, async {})).unwrap();
        spawn("recorded");
        arc_trace::stop();
        spawn("after the stop");
        let told = text();
        assert!(told.contains("\"recorded\""), "{told}");
        assert!(!told.contains("\"after the stop\""), "{told}");

        arc_trace::start(Options::default());
        spawn("after the start");
        let told = text();
        assert!(!told.contains("\"recorded\""), "{told}");
        assert!(told.contains("\"after the start\""), "{told}");
    });
}

#[test]
fn tasks_that_ended_while_nothing_was_recorded_are_forgotten_by_the_next_start() {
    let _recorder = record();
    on_each([1], |runtime| {
        let (sender, task) = waiter(&runtime, "ended unseen");
        let id = task.id().0;
        assert!(arc_trace::recording().tasks.contains_key(&id));
        arc_trace::stop();
        sender.try_send(()).expect("there is room");
        runtime.block_on(task).unwrap();
        arc_trace::start(Options::default());
        assert!(!arc_trace::recording().tasks.contains_key(&id));
    });
}

#[test]
fn a_task_that_the_end_drops_in_a_queue_does_not_wait_there_for_ever() {
    let _recorder = record();
    on_each([1], |runtime| {
        let pause = Pause::new();
        let _stuck = spawn_in(&runtime, "stuck", pause.stops());
        pause.reached();
        let drops = Counter::new();
        let _dropped = spawn_in(&runtime, "dropped", drops.never());
        compute(Duration::from_millis(5));
        // The worker leaves after the poll that it is in, and polls nothing more.
        runtime.shutdown_background();
        pause.pass();
        drops.wait_for(1);
        compute(Duration::from_millis(5));

        let text = text();
        assert!(!text.contains("still may_end"), "{text}");
        finds(&text, &["\"dropped\"", "waited in the injector until its runtime ended, for"]);
    });
}

/// The program idles: its `block_on` waits, and is no poll that goes on. Returns how many polls
/// this thread had.
#[track_caller]
fn finds_nothing_stuck() -> usize {
    let timeline = timeline();
    let findings = timeline.findings();
    let is_stuck = |finding: &arc_trace::Finding| finding.text.contains("is stuck");
    assert!(!findings.iter().any(is_stuck), "{findings:#?}");
    let this_thread = format!("{:?}", thread::current().id());
    let polls = timeline.polls.iter().filter(|poll| timeline.lanes[poll.lane].name == this_thread);
    for poll in polls.clone() {
        assert!(timeline.tasks[&poll.task].is_main, "{}", timeline.label(poll.task));
    }
    polls.count()
}

#[test]
fn a_program_that_idles_is_not_stuck_when_only_the_last_seconds_are_looked_at() {
    let _recorder = record();
    within_deadline(|| {
        let mut options = Options::default();
        options.last = Some(Duration::from_millis(300));
        arc_trace::start(options);
        let runtime = runtime(1);
        runtime.block_on(async {
            // Until the beginning is no longer among the last seconds.
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(400) {
                sleep(Duration::from_millis(20)).await;
            }
            // On a busy machine, nothing may have happened in the last seconds.
            let _polls = finds_nothing_stuck();
        });
    });
}

#[test]
fn a_program_that_idles_is_not_stuck_when_it_is_recorded_from_the_middle_on() {
    let _recorder = record();
    within_deadline(|| {
        arc_trace::stop();
        let runtime = runtime(1);
        runtime.block_on(async {
            arc_trace::start(Options::default());
            for _ in 0..3 {
                sleep(Duration::from_millis(20)).await;
            }
            assert!(finds_nothing_stuck() > 0, "it is polled here");
        });
    });
}

#[test]
fn older_events_are_left_out_and_counted() {
    within_deadline(|| {
        let guard = record();
        let mut options = Options::default();
        options.events_per_thread = 100;
        arc_trace::start(options);
        let runtime = runtime(1);
        let task = spawn_in(&runtime, "busy", yields(1_000));
        runtime.block_on(task).unwrap();
        let timeline = timeline();
        assert!(timeline.left_out > 1_000, "{}", timeline.left_out);
        assert!(timeline.polls.len() < 101 * timeline.lanes.len(), "{}", timeline.polls.len());
        let text = Format::Text.render(&timeline);
        finds(&text, &["older events were left out"]);
        // The name was told before all that is left.
        finds(&text, &["\"busy\""]);
        drop(guard);
    });
}

// The page, in a browser.

/// Opens a page in a browser and gives what it has become. None: there is no browser.
fn in_browser(page: &str, name: &str) -> Option<String> {
    let path = file(name);
    fs::write(&path, page).unwrap();
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]);
    command.arg("--dump-dom").arg(format!("file://{}", path.display()));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().ok()?;
    let output = this_program::output(child, 3 * DEADLINE);
    fs::remove_file(path).unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn two_clicks_in_the_page_name_the_culprit() {
    let recorder = record();
    let runtime = runtime(1);
    long_poll(&runtime);
    let timeline = timeline();
    drop(recorder); // a browser takes its time
    let findings = timeline.findings();
    let is_victim = |text: &str| text.contains("late: task") && text.contains("\"victim\"");
    let late = findings.iter().position(|finding| is_victim(&finding.text));
    let late = late.expect("the victim is late");

    // The page's own script runs first. This one clicks twice: on what stands out, and on the last
    // link of the chain that is shown then, which is the victim's poll.
    let page = Format::Html.render(&timeline).replace(
        "</html>",
        &format!(
            "<script>document.getElementById('finding-{late}').click();\
             [...document.querySelectorAll('.link')].at(-1).click();</script></html>"
        ),
    );
    let Some(page) = in_browser(&page, "clicks.html") else {
        return eprintln!("SKIPPED: chromium is not installed");
    };
    let panel = page.split("<aside").nth(1).expect("the panel").split("</aside>").next().unwrap();
    let panel = panel.replace("&quot;", "\"");
    assert!(panel.contains("Why did it run then?"), "{panel}");
    assert!(panel.contains("\"victim\""), "{panel}");
    assert!(panel.contains("the longest of task"), "{panel}");
    assert!(panel.contains("\"hog\""), "{panel}");
}
