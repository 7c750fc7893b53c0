//! What is kept of what threads tell, and whose it is.

use arc_trace::{Event, Options, Recording, Resource, ThreadRecorder, Timeline, What, tell};
use std::cell::Cell;
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

thread_local! {
    /// The time of a recording by hand.
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// The process has one recorder, so one test at a time uses it.
fn alone() -> MutexGuard<'static, ()> {
    static RECORDER: Mutex<()> = Mutex::new(());
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A poll of a task of this number.
fn poll(task: u64) {
    let name = Some(format!("number {task}").into());
    tell::spawned(task, 0, &name, Location::caller(), 0);
    tell::step(task, 1);
    tell::step(task, 2);
    tell::polled(task);
}

/// The tasks that were polled, and those that are known by name.
fn tasks(recording: &Recording) -> (Vec<u64>, Vec<u64>) {
    let records = recording.threads.iter().flat_map(|thread| &thread.records);
    let polled = records.filter_map(|record| match record.event {
        Event::Polled { task, .. } => Some(task),
        _ => None,
    });
    (polled.collect(), recording.tasks.keys().copied().collect())
}

/// Calls a function on a thread of its own, which ends.
fn apart<R: Send>(act: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(act).join().unwrap())
}

#[test]
fn worker_is_known_to_a_recording_that_begins_later() {
    let _alone = alone();
    arc_trace::stop();
    apart(|| {
        tell::runs_worker(5, 3);
        arc_trace::start(Options::default());
        poll(101);
    });
    let timeline = Timeline::new(&arc_trace::recording());
    assert_eq!(timeline.lanes[0].worker, Some((5, 3)));
}

#[test]
fn worker_is_known_when_its_oldest_events_are_left_out() {
    let _alone = alone();
    let mut options = Options::default();
    options.events_per_thread = 10;
    arc_trace::start(options);
    apart(|| {
        tell::runs_worker(5, 3);
        (201..1_201).for_each(poll);
    });
    let recording = arc_trace::recording();
    let thread = &recording.threads[0];
    assert_eq!(thread.worker, Some((5, 3)));
    assert_eq!(thread.records.len(), 10);
    assert!(thread.left_out > 3_990, "{}", thread.left_out);
    assert_eq!(tasks(&recording).0.last(), Some(&1_200));
}

/// What only adds to an event has its time, and costs no look at the clock.
#[test]
fn event_without_a_time_has_that_of_the_one_before() {
    let _alone = alone();
    let recorder = ThreadRecorder::begin(|| {
        static TICKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(100);
        TICKS.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    });
    tell::kernel_told(&[(5, [true, false])]);
    tell::waits_for_io(0, 5, 0);
    tell::sleeps();
    let times: Vec<u64> =
        recorder.recording().threads[0].records.iter().map(|record| record.at).collect();
    assert_eq!(times, [101, 101, 101, 102]);
}

/// A worker that has ended a poll falls asleep or asks the kernel at once.
#[test]
fn what_a_worker_does_right_after_a_poll_has_the_time_of_its_end() {
    let _alone = alone();
    let recorder = ThreadRecorder::begin(|| NOW.get());
    let told: [&dyn Fn(); 7] = [
        &|| tell::polled(301),
        &tell::sleeps,
        &|| tell::asks_kernel(true),
        &|| tell::kernel_told(&[]),
        &tell::awake,
        // No poll has ended since.
        &tell::sleeps,
        &|| tell::asks_kernel(true),
    ];
    for (at, tell) in (10..).zip(told) {
        NOW.set(at);
        tell();
    }
    let times: Vec<u64> =
        recorder.recording().threads[0].records.iter().map(|record| record.at).collect();
    assert_eq!(times, [10, 10, 10, 13, 14, 15, 16]);
}

/// A task that is out of budget in two polls one after the other has waited for two turns.
#[test]
fn wait_for_a_turn_begins_with_the_poll_that_asks_for_it() {
    let _alone = alone();
    let _recorder = ThreadRecorder::begin(|| NOW.get());
    for (at, step) in [(100, 2), (1_100, 4)] {
        NOW.set(at);
        tell::step(302, step);
        tell::out_of_budget();
        tell::polled(302);
    }
    NOW.set(1_150);
    let waits = |task: u64| {
        let waiting = arc_trace::waits::waiting();
        let waiting = waiting.iter().find(|waiting| waiting.task == task);
        waiting.map(|waiting| waiting.describe(&|task| task.to_string()))
    };
    let text = "for its next turn, as its budget is used up".to_owned();
    assert_eq!(waits(302), Some(vec![(Duration::from_nanos(50), text)]));

    // Then it waits for something else.
    tell::step(302, 6);
    tell::waits_for_task(303);
    tell::polled(302);
    let text = "for the end of 303".to_owned();
    assert_eq!(waits(302), Some(vec![(Duration::ZERO, text)]));
    tell::ended(302);
    assert_eq!(waits(302), None);
}

#[test]
fn recording_of_one_thread_is_its_own() {
    let _alone = alone();
    arc_trace::start(Options::default());
    apart(|| {
        poll(1);
        let recorder = ThreadRecorder::begin(|| 7);
        poll(2);
        apart(|| poll(3));
        tell::ended(2);
        let own = recorder.recording();
        assert_eq!(tasks(&own), (vec![2], vec![2]));
        assert!(own.threads[0].records.iter().all(|record| record.at == 7));
        assert_eq!((own.taken, own.tasks[&2].ended), (7, Some(7)));
        drop(recorder);
        poll(4);
    });
    let (polled, named) = tasks(&arc_trace::recording());
    assert_eq!(polled, [1, 4, 3]);
    assert!(!named.contains(&2));
    assert!([1, 3, 4].iter().all(|task| named.contains(task)), "{named:?}");

    // Nothing else has to be on for that.
    arc_trace::stop();
    let recorder = ThreadRecorder::begin(|| 7);
    poll(5);
    apart(|| poll(6));
    assert_eq!(tasks(&recorder.recording()).0, [5]);
    drop(recorder);
    poll(7);
    assert_eq!(tasks(&arc_trace::recording()).0, [1, 4, 3]);
}

/// Of a thread that tells much, the oldest events are not left out for lack of room if they are
/// older than what was asked for.
#[test]
fn what_is_older_than_the_last_seconds_is_not_left_out() {
    let _alone = alone();
    let mut options = Options::default();
    options.events_per_thread = 10;
    let left_out = |options| {
        arc_trace::start(options);
        apart(|| {
            (2_001..3_001).for_each(poll);
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(2) {
                std::hint::spin_loop();
            }
            poll(3_001);
        });
        arc_trace::recording().threads[0].left_out
    };
    assert!(left_out(options) > 3_990);
    // It reaches back to the pause, or to less than that.
    options.last = Some(Duration::from_nanos(1));
    assert_eq!(left_out(options), 0);
}

/// The end of a runtime wakes all tasks. What is told of that must not hide the end itself.
#[test]
fn end_of_a_runtime_is_known_when_it_is_among_the_events_that_are_left_out() {
    let _alone = alone();
    let mut options = Options::default();
    options.events_per_thread = 1_000;
    arc_trace::start(options);
    apart(|| {
        (4_001..8_001).for_each(poll);
        tell::runtime_closes(0);
        (4_001..8_001).for_each(|task| tell::step(task, 3));
    });
    let timeline = Timeline::new(&arc_trace::recording());
    assert!(timeline.left_out > 3_000, "{}", timeline.left_out);
    let waits = timeline.tasks.values().filter(|task| task.dropped.is_none()).count();
    assert_eq!(waits, 0, "tasks that the end has not dropped");
}

/// Whether it is told that a task has perhaps missed a notification, when the runtime has ended
/// while the task that had notified before waited for something.
fn is_missed(waits_again: &dyn Fn()) -> bool {
    NOW.set(0);
    let recorder = ThreadRecorder::begin(|| NOW.get() * 1_000_000_000);
    let ready = Resource::new(What::Notify, Location::caller());
    let poll = |task, at, act: &dyn Fn()| {
        tell::spawned(task, 0, &None, Location::caller(), 0);
        tell::step(task, 1);
        NOW.set(at);
        tell::step(task, 2);
        act();
        tell::polled(task);
    };
    poll(1, 1, &|| {
        tell::provides(&ready);
        waits_again();
    });
    poll(2, 2, &|| tell::waits_for(&ready, None, 1, 0));

    NOW.set(100);
    tell::runtime_closes(0);
    let findings = Timeline::new(&recorder.recording()).findings();
    findings.iter().any(|finding| finding.text.starts_with("perhaps missed: task 2"))
}

#[test]
fn who_notifies_every_hour_would_have_done_so_again_had_the_runtime_not_ended() {
    let _alone = alone();
    let by_a_timer = || is_missed(&|| tell::waits_for_time(2, Duration::from_secs(3600)));
    assert!(!apart(by_a_timer));

    // This one waits for nothing from outside.
    let by_a_lock = || {
        let lock = Resource::new(What::Mutex, Location::caller());
        is_missed(&|| tell::waits_for(&lock, None, 2, 0))
    };
    assert!(apart(by_a_lock));
}
