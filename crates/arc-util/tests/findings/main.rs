//! Programs with a mistake in what waits for what: the timeline has it as its first or second
//! finding. `cargo test -p arc-util --features trace --test findings`.

mod healthy;
mod planted;

use arc::task::{JoinHandle, spawn_named, yield_now};
use arc::time::{Duration, sleep};
use arc_trace::{Format, Options, Timeline};
use arc_util::runtime::{Builder, Runtime};
use arc_util::select;
use arc_util::sync::{Barrier, Mutex, Notify, Semaphore, mpsc, oneshot};
use arc_util::task::TaskState;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Instant;

/// The process has one recorder, so one test at a time uses it.
static RECORDER: std::sync::Mutex<()> = std::sync::Mutex::new(());

const DEADLINE: Duration = Duration::from_secs(60);

/// Long enough to stand out.
const LATE: Duration = Duration::from_millis(100);

/// Begins to record, and builds a runtime.
fn record(workers: usize) -> (MutexGuard<'static, ()>, Runtime) {
    let guard = RECORDER.lock().unwrap_or_else(PoisonError::into_inner);
    arc_trace::start(Options::default());
    (guard, Builder::new_multi_thread().workers(workers).build().unwrap())
}

fn timeline() -> Timeline {
    Timeline::new(&arc_trace::recording())
}

/// One of the first two findings has all of these parts, in each of the formats that list them.
/// Between two parts stand two dots.
#[track_caller]
fn stands_out(parts: &str) {
    let timeline = timeline();
    let Some(found) = found(&timeline, parts) else {
        let text = Format::Text.render(&timeline);
        panic!("{parts:?} are not in the first two findings:\n{text}");
    };
    let page = Format::Html.render(&timeline);
    let quoted = found.replace('"', "\\\"");
    assert!(page.contains(&quoted), "{quoted} is not in the page");
}

fn found(timeline: &Timeline, parts: &str) -> Option<String> {
    let first = timeline.findings().into_iter().take(2).map(|finding| finding.text);
    first.into_iter().find(|text| parts.split(" .. ").all(|part| text.contains(part)))
}

/// Waits until a finding stands out: what goes on costs more and more.
#[track_caller]
fn comes_to_stand_out(parts: &str) {
    let start = Instant::now();
    while found(&timeline(), parts).is_none() && start.elapsed() < DEADLINE {
        std::thread::sleep(Duration::from_millis(20));
    }
    stands_out(parts);
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "not so: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until all tasks wait.
fn wait_until_idle(runtime: &Runtime) {
    wait_until("all tasks wait", || {
        runtime.tasks().iter().all(|task| task.state == TaskState::Idle && task.polls > 0)
    });
}

/// The beginning of a place in the file of the caller.
#[track_caller]
fn here(line: u32) -> String {
    format!("{}:{line}:", std::panic::Location::caller().file())
}

#[test]
fn lock_held_across_an_await() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let lock = Arc::new(Mutex::new(0));
    let (shared, (locked, is_locked)) = (lock.clone(), oneshot::channel());
    let had = here(line!() + 2);
    let holder = spawn_named("holder", async move {
        let mut guard = shared.lock().await;
        locked.send(()).unwrap();
        sleep(LATE).await;
        *guard += 1;
    });
    runtime.block_on(is_locked).unwrap();
    let waited = here(line!() + 1);
    let victim = spawn_named("victim", async move { *lock.lock().await += 1 });
    runtime.block_on(async { (holder.await.unwrap(), victim.await.unwrap()) });
    stands_out(&format!(
        "lock: task .. \"victim\" .. {waited} .. for the Mutex made at {made} .. \"holder\" .. \
         since {had} .. , across an await: it waited "
    ));
    stands_out("for a timer that was due at");
}

#[test]
fn tasks_that_wait_for_each_other() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let (left, right) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let meet = Arc::new(Barrier::new(2));
    let take = |name, first: &Arc<Mutex<()>>, second: &Arc<Mutex<()>>| {
        let (first, second, meet) = (first.clone(), second.clone(), meet.clone());
        spawn_named(name, async move {
            let _first = first.lock().await;
            meet.wait().await;
            let _second = second.lock().await;
        })
    };
    let (had, waits) = (here(line!() - 5), here(line!() - 3));
    let tasks = [take("ann", &left, &right), take("bob", &right, &left)];
    comes_to_stand_out(&format!(
        "deadlock: tasks wait for each other .. \"ann\" .. \"bob\" .. {made} .. \
         has had since {had} .. waits at {waits}"
    ));
    tasks.iter().for_each(JoinHandle::abort);
}

#[test]
fn many_are_woken_and_one_goes_on() {
    let (_recorder, runtime) = record(1);
    let _guard = runtime.enter();
    const WAITERS: usize = 100;
    let (notify, free) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let line = here(line!() + 4);
    let mut waiters = Vec::new();
    for _ in 0..WAITERS {
        let (notify, free) = (notify.clone(), free.clone());
        waiters.push(spawn_named("waiter", async move {
            loop {
                let notified = notify.notified();
                let taken =
                    free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1));
                if taken.is_ok() {
                    return;
                }
                notified.await;
            }
        }));
    }
    wait_until_idle(&runtime);
    let waker = spawn_named("waker", async move {
        for _ in 0..WAITERS {
            free.fetch_add(1, Ordering::Relaxed);
            notify.notify_waiters();
            sleep(Duration::from_millis(1)).await;
        }
    });
    runtime.block_on(async {
        waker.await.unwrap();
        for waiter in waiters {
            waiter.await.unwrap();
        }
    });
    stands_out(&format!(
        r#"wake-ups that did nothing: .. "waiter" .. {line} .. were by task .. "waker""#
    ));
}

#[test]
fn task_that_wakes_itself_over_and_over() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let is_done = Arc::new(AtomicUsize::new(0));
    let done = is_done.clone();
    let spins = spawn_named("spins", async move {
        while done.load(Ordering::Relaxed) == 0 {
            yield_now().await;
        }
    });
    runtime.block_on(sleep(3 * LATE));
    is_done.store(1, Ordering::Relaxed);
    runtime.block_on(spins).unwrap();
    stands_out(r#"spins: task .. "spins" .. woke itself over and over: "#);
}

#[test]
fn branch_that_another_one_starves() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let (stop, mut stops) = mpsc::unbounded_channel();
    let (work, mut works) = mpsc::unbounded_channel();
    // More than the server takes until the time is over.
    (0..1_000_000).for_each(|_| work.send(()).unwrap());
    let (begun, has_begun) = oneshot::channel();
    let server = spawn_named("server", async move {
        let start = Instant::now();
        let mut begun = Some(begun);
        loop {
            select! {
                biased;
                Some(()) = works.recv(), if start.elapsed() < 3 * LATE => {
                    begun.take().map(|begun| begun.send(()));
                    yield_now().await;
                }
                Some(()) = stops.recv() => return,
            }
        }
    });
    runtime.block_on(has_begun).unwrap();
    stop.send(()).unwrap();
    runtime.block_on(server).unwrap();
    stands_out(&format!(
        r#"starved: a value waited .. {made} .. its receiver task .. "server" .. for other things"#
    ));
}

#[test]
fn permits_that_one_task_keeps() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let permits = Arc::new(Semaphore::new(1));
    let permit = permits.clone();
    let (begun, has_begun) = oneshot::channel();
    let holder = spawn_named("holder", async move {
        let _permit = permit.acquire().await.unwrap();
        begun.send(()).unwrap();
        sleep(LATE).await;
    });
    runtime.block_on(has_begun).unwrap();
    let victim = spawn_named("victim", async move { drop(permits.acquire().await) });
    runtime.block_on(async { (holder.await.unwrap(), victim.await.unwrap()) });
    stands_out(&format!(
        r#"lock: task .. "victim" .. permits of the Semaphore .. {made} .. "holder""#
    ));
}

/// What the others wait for is known, although a task that spins has driven it out of the record.
#[test]
fn busy_task_does_not_wipe_out_what_the_others_wait_for() {
    let (_recorder, runtime) = record(1);
    let _guard = runtime.enter();
    let lock = Arc::new(Mutex::new(()));
    let guard = lock.clone().try_lock_owned().unwrap();
    let notify = Arc::new(Notify::new());
    let wait = notify.clone();
    let (shared, sleeps) = (lock.clone(), sleep(DEADLINE));
    let joins = spawn_named("joined", pending::<()>());
    let waiting = [
        spawn_named("locks", async move { drop(shared.lock().await) }),
        spawn_named("notified", async move { wait.notified().await }),
        spawn_named("sleeps", sleeps),
        spawn_named("joins", async move { joins.await.unwrap() }),
    ];
    wait_until_idle(&runtime);
    let spins = spawn_named("spins", async {
        for _ in 0..200_000 {
            yield_now().await;
        }
    });
    runtime.block_on(spins).unwrap();

    let timeline = timeline();
    assert!(timeline.left_out > 100_000, "{} left out", timeline.left_out);
    let text = Format::Text.render(&timeline);
    for (name, wait) in [
        ("\"locks\"", "for the Mutex made at"),
        ("\"notified\"", "for the Notify made at"),
        ("\"sleeps\"", "for a timer that is due"),
        ("\"joins\"", "to end"),
        ("\"joined\"", "for nothing that arc knows of"),
    ] {
        let is_it = |line: &str| line.contains(name) && line.contains(wait);
        assert!(text.lines().any(is_it), "no {name} with {wait} in:\n{text}");
    }
    drop(guard);
    waiting.iter().for_each(JoinHandle::abort);
}
