//! Thirty programs that are healthy, of which neither the dump nor the timeline says anything, and
//! thirty with a mistake each, which they name: docs/TIMELINE.md has the table.
//! `cargo test -p arc-util --features waits --test thirty`. `ARC_RUNS=10` runs each so often.

mod healthy;
mod planted;
#[cfg(target_os = "linux")]
mod threads;

use arc_trace::{Format, Options, Timeline};
use arc_util::runtime::{Builder, Runtime};
use arc_util::sync::Notify;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The process has one recorder, so one program at a time runs.
static RECORDER: Mutex<()> = Mutex::new(());

/// What does not come by then never does, on however busy a machine.
const DEADLINE: Duration = Duration::from_secs(30);

type Program = Pin<Box<dyn Future<Output = ()>>>;

fn runs() -> usize {
    std::env::var("ARC_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1)
}

fn runtime() -> Runtime {
    arc_trace::start(Options::default());
    Builder::new_multi_thread().workers(2).build().unwrap()
}

fn timeline() -> Timeline {
    Timeline::new(&arc_trace::recording())
}

/// How the lines of a dump begin that accuse, and those of a timeline.
const ACCUSE: [&str; 14] = [
    "deadlock: ",
    "perhaps ",
    "handed over: ",
    "nobody is left",
    "lock: ",
    "full: ",
    "lost: ",
    "grows: ",
    "piles up: ",
    "spins: ",
    "starved: ",
    "missed: ",
    "unanswered: ",
    "wake-ups that did nothing",
];

fn accuses(line: &str) -> bool {
    ACCUSE.iter().any(|begin| line.starts_with(begin))
}

/// Runs a program to its end. Meanwhile and afterwards nothing is said against it.
fn healthy(name: &str, program: impl Fn() -> Program + Sync) {
    let _recorder = RECORDER.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..runs() {
        let runtime = runtime();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let dump = runtime.dump().to_string();
                    let line = dump.lines().find(|line| accuses(line.trim_start()));
                    assert_eq!(line, None, "{name} is accused: {dump}");
                    says_nothing(name, &timeline());
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
            runtime.block_on(program());
            is_over.store(true, Ordering::Relaxed);
        });
        says_nothing(name, &timeline());
    }
}

fn says_nothing(name: &str, timeline: &Timeline) {
    // A machine that stands still for a moment makes everybody wait, for no fault of theirs.
    let is_slip = |text: &str, cost| text.starts_with("lock: ") && cost < 200_000_000;
    let found = timeline
        .findings()
        .into_iter()
        .find(|finding| accuses(&finding.text) && !is_slip(&finding.text, finding.cost));
    if let Some(found) = found {
        panic!("{name} is accused: {}\n{}", found.text, Format::Text.render(timeline));
    }
}

/// What is to be found in one line, between two dots each: of the dump, and of the timeline.
/// Empty: it cannot name this.
struct Line(&'static str, &'static str);

/// Runs a program until both have named its mistake.
fn planted<F>(name: &str, Line(in_dump, in_timeline): Line, program: impl Fn() -> F + Sync)
where
    F: Future<Output = ()> + Send + 'static,
{
    let _recorder = RECORDER.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..runs() {
        let runtime = runtime();
        let stop = Arc::new(Notify::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                runtime.block_on(async {
                    // Awaited last: what it waits for is no way out of the mistake.
                    let program = arc::spawn(program());
                    arc_util::select! {
                        _ = program => {}
                        () = stop.notified() => {}
                    }
                });
            });
            let has = |text: &str, parts: &str| {
                let is_it = |line: &str| parts.split(" .. ").all(|part| line.contains(part));
                parts.is_empty() || text.lines().any(is_it)
            };
            let begun = Instant::now();
            let mut first = runtime.dump();
            let (mut dump, mut text) = (String::new(), String::new());
            let (mut is_in_dump, mut is_in_timeline) = (false, false);
            while !(is_in_dump && is_in_timeline) && begun.elapsed() < DEADLINE {
                std::thread::sleep(Duration::from_millis(20));
                let next = runtime.dump().after(&first);
                dump = next.to_string();
                first = next;
                is_in_dump |= has(&dump, in_dump);
                text = timeline().findings().iter().map(|it| format!("{}\n", it.text)).collect();
                is_in_timeline |= has(&text, in_timeline);
            }
            stop.notify_one();
            assert!(is_in_dump, "{name}: no line with {in_dump:?} in the dump:\n{dump}");
            assert!(is_in_timeline, "{name}: no line with {in_timeline:?} in:\n{text}");
        });
        // What goes on would belong to the next program.
        drop(runtime);
    }
}
