//! What is made of records, with records that were written by hand: no clock, no threads.

use arc_trace::{By, Event, Format, Origin, Record, Recording, Thread, Timeline};
use arc_trace::{ThreadRecorder, tell};
use std::collections::BTreeMap;
use std::panic::Location;

const MS: u64 = 1_000_000;

/// The number of a task that is a job of `spawn_blocking`.
const JOB: u64 = 100;

/// A timeline of threads, each with a worker and its events ([`events`]).
fn recording(threads: &[&str]) -> Timeline {
    Timeline::new(&records(threads))
}

fn records(threads: &[&str]) -> Recording {
    records_of(&threads.iter().map(|text| events(text)).collect::<Vec<_>>())
}

/// The events of a thread: when, what, and the numbers that it has.
fn events(text: &str) -> Vec<(u64, Event)> {
    let event = |text: &str| {
        let (at, event) = text.split_once(' ').expect("when, and what");
        let (what, numbers) = event.split_once(' ').unwrap_or((event, ""));
        let numbers: Vec<u64> = numbers.split_whitespace().map(nanos).collect();
        let event = match (what, &numbers[..]) {
            ("spawned", &[task]) => spawned(task),
            ("spawned", &[task, runtime]) => Event::Spawned { task, runtime },
            ("step", &[task, number]) => step(task, number),
            ("polled", &[task]) => polled(task),
            ("polled", &[task, operations]) => {
                Event::Polled { task, operations: operations as u32 }
            }
            ("ended", &[task]) => Event::Ended { task },
            ("blocks_on", &[task]) => Event::BlocksOn { task },
            ("reads" | "writes", &[source]) => {
                Event::WaitsForIo { source: source as i64, write: what == "writes", waiter: 0 }
            }
            ("ready", &[source]) => {
                Event::Ready { source: source as i64, read: true, write: false }
            }
            // Each timer has a place of its own.
            ("timer", &[deadline]) => Event::WaitsForTime { deadline, waiter: deadline },
            ("over", &[deadline]) => Event::NoLongerWaits { waiter: deadline },
            ("waits" | "looks", []) => Event::AsksKernel { waits: what == "waits" },
            ("told", []) => Event::KernelTold,
            ("sleeps", []) => Event::Sleeps,
            ("awake", []) => Event::Awake,
            ("closes", &[runtime]) => Event::RuntimeCloses { runtime },
            _ => panic!("no event: {text}"),
        };
        (nanos(at), event)
    };
    text.split(", ").map(event).collect()
}

/// Nanoseconds; `20ms+1` is one after 20 milliseconds.
fn nanos(text: &str) -> u64 {
    let part = |part: &str| match part.strip_suffix("ms") {
        Some(millis) => millis.parse::<u64>().expect("a number") * MS,
        None => part.parse().expect("a number"),
    };
    text.split('+').map(part).sum()
}

fn records_of(threads: &[Vec<(u64, Event)>]) -> Recording {
    let thread = |(index, events): (usize, &Vec<(u64, Event)>)| Thread {
        name: format!("arc-worker-{index}"),
        worker: Some((0, index as u32)),
        main: None,
        records: events.iter().map(|&(at, event)| Record { at, event }).collect(),
        left_out: 0,
    };
    let threads: Vec<Thread> = threads.iter().enumerate().map(thread).collect();
    let ids = threads.iter().flat_map(|thread| &thread.records).filter_map(|record| {
        if let Event::Spawned { task, .. } = record.event { Some(task) } else { None }
    });
    let location = Location::caller();
    let origin = |id| Origin {
        name: Some(format!("name {id}").into()),
        location,
        runtime: 0,
        is_job: id == JOB,
        ended: None,
    };
    let tasks: BTreeMap<u64, Origin> = ids.map(|id| (id, origin(id))).collect();
    let taken = threads.iter().flat_map(|thread| thread.records.last()).map(|last| last.at).max();
    let taken = taken.unwrap_or(0);
    Recording { threads, tasks, taken, ..Recording::default() }
}

fn spawned(task: u64) -> Event {
    Event::Spawned { task, runtime: 0 }
}

fn step(task: u64, number: u64) -> Event {
    Event::Step { task, number }
}

fn polled(task: u64) -> Event {
    Event::Polled { task, operations: 0 }
}

#[track_caller]
fn finds(timeline: &Timeline, part: &str) {
    let findings = timeline.findings();
    let found = findings.iter().any(|finding| finding.text.contains(part));
    assert!(found, "no finding with {part:?} in {findings:#?}");
}

#[track_caller]
fn finds_not(timeline: &Timeline, part: &str) {
    let findings = timeline.findings();
    let found = findings.iter().any(|finding| finding.text.contains(part));
    assert!(!found, "a finding with {part:?} in {findings:#?}");
}

#[track_caller]
fn finds_line(text: &str, part: &str, other: &str) {
    let has_both = |line: &str| line.contains(part) && line.contains(other);
    assert!(text.lines().any(has_both), "no line with {part:?} and {other:?} in:\n{text}");
}

/// A task that is woken by the kernel so often, and waits for the same again, with so many
/// operations between.
fn woken(times: u64, operations: u32) -> Timeline {
    Timeline::new(&records_of_woken(times, operations))
}

fn records_of_woken(times: u64, operations: u32) -> Recording {
    let mut text =
        "0 spawned 1, 1 step 1 1, 2 step 1 2, 3 reads 5, 4 polled 1, 5 waits, 9 told".to_owned();
    for time in 1..=times {
        let (at, step) = (10 * time, 2 * time + 1);
        text += &format!(
            ", {at} ready 5, {at}+1 step 1 {step}, {at}+2 step 1 {step}+1, {at}+3 reads 5, \
             {at}+4 polled 1 {operations}, {at}+5 waits, {at}+6 told"
        );
    }
    records(&[&text])
}

#[test]
fn wake_ups_that_did_nothing_are_told_and_those_that_read_are_not() {
    finds(&woken(10, 0), "wake-ups that did nothing: 10; task 1 \"name 1\"");
    finds_not(&woken(10, 1), "did nothing");
    // A few happen in any program.
    finds_not(&woken(9, 0), "did nothing");
}

#[test]
fn an_event_of_the_kernel_is_the_cause_of_the_poll_that_it_brought() {
    let timeline = woken(1, 1);
    assert_eq!(timeline.polls[1].queued.map(|queued| queued.by), Some(By::Look(0)));
    let why = timeline.why(1);
    let first = why.links.first().expect("a chain");
    assert!(first.text.contains("descriptor 5 can be read"), "{first:?}");
}

/// A descriptor with a name has a number of its own in a timeline, which nobody else knows.
#[test]
fn an_event_of_the_kernel_is_told_by_the_name_of_its_source() {
    let recorder = ThreadRecorder::begin(|| 0);
    tell::names_source(5, "the signal SIGTERM");
    let named = recorder.recording().named;
    let timeline = Timeline::new(&Recording { named, ..records_of_woken(1, 1) });
    let why = timeline.why(1);
    let first = why.links.first().expect("a chain");
    assert_eq!(first.text, "the kernel told of the signal SIGTERM");
}

#[test]
fn a_worker_that_slept_while_work_waited_is_told() {
    let events = |slept: u64| {
        recording(&[
            "\
                0 spawned 1, 1 spawned 2, 2 step 1 1, 3 step 1 2, 4 step 2 1, \
                20ms polled 1, 20ms+1 step 2 2, 20ms+2 polled 2",
            &format!("5 sleeps, 5+{slept} awake"),
        ])
    };
    finds(&events(15 * MS), "worker 1 slept for 15.0 ms while task 2 \"name 2\"");
    finds_not(&events(MS), "slept");
}

#[test]
fn a_timer_that_a_long_poll_held_up_names_the_poll() {
    let timeline = recording(&["\
        0 spawned 1, 1 spawned 2, 2 step 1 1, 3 step 1 2, 4 timer 1ms, 5 polled 1, \
        6 step 2 1, 7 step 2 2, 40ms polled 2, 40ms+1 looks, 40ms+2 told, \
        40ms+3 step 1 3, 40ms+4 step 1 4, 40ms+5 polled 1"]);
    finds(&timeline, "late timer: the timer of task 1 \"name 1\"");
    finds(&timeline, "nobody looked at the clock, because of a poll of task 2 \"name 2\"");
}

/// The second poll finds its timer over, and waits for another one. A third timer was asked for
/// meanwhile, and dropped: nobody waits for it.
#[test]
fn a_timer_that_nobody_waits_for_is_not_late() {
    let timeline = |lateness: u64| {
        recording(&[&format!(
            "\
            0 spawned 1, 1 step 1 1, 2 step 1 2, 3 timer 500ms, 4 polled 1, 5 waits, \
            500ms told, 500ms+1 step 1 3, 500ms+2 step 1 4, 500ms+3 over 500ms, \
            500ms+4 timer 700ms, 500ms+5 timer 1000ms, 500ms+6 polled 1, 500ms+7 waits, \
            1000ms+{lateness} told, 1000ms+{lateness}+1 step 1 5, \
            1000ms+{lateness}+2 step 1 6, 1000ms+{lateness}+3 polled 1"
        )])
    };
    finds_not(&timeline(0), "late timer");
    // A sleep that ends, and then something that is no timer.
    let other = recording(&["\
        0 spawned 1, 1 step 1 1, 2 step 1 2, 3 timer 2, 3 over 2, 4 reads 7, 5 polled 1, 6 waits, \
        90ms told, 90ms+1 step 1 3, 90ms+2 step 1 4, 90ms+3 polled 1"]);
    finds_not(&other, "late timer");
    // Its own poll may have held it up.
    let held_up = recording(&["\
        0 spawned 1, 1 step 1 1, 2 step 1 2, 3 timer 10ms, 50ms polled 1, 50ms+1 looks, \
        50ms+2 told, 50ms+3 step 1 3, 50ms+4 step 1 4, 50ms+5 polled 1"]);
    finds(&held_up, ") was due 40.0 ms before");
    finds(&timeline(7 * MS), ") was due 7.00 ms before");
    // The slack of the timers is nobody's fault, nor is the time of a wake-up.
    finds_not(&timeline(131_000), "late timer");
    finds_not(&timeline(180_000), "late timer");
}

#[test]
fn a_long_name_is_cut() {
    let name = "n\u{e4}".repeat(100_000);
    let mut recording = records(&["0 spawned 1, 1 step 1 1, 2 step 1 2, 30ms polled 1"]);
    recording.tasks.get_mut(&1).expect("it was spawned").name = Some(name.as_str().into());
    recording.threads[0].name = name.clone();
    let timeline = Timeline::new(&recording);
    let cut = format!("task 1 \"{}...\" (", "n\u{e4}".repeat(100));
    assert!(timeline.label(1).starts_with(&cut), "{}", timeline.label(1));
    for format in [Format::Html, Format::Json, Format::Text, Format::Svg] {
        let length = format.render(&timeline).len();
        assert!(length < 40 * 1024, "{format:?} has {length} bytes");
    }
}

#[test]
fn a_task_that_was_taken_by_another_worker_waited_in_the_queue_of_the_first() {
    let timeline = recording(&[
        "0 spawned 1, 1 spawned 2, 2 step 2 1, 3 step 2 2, 4 step 1 1",
        "5ms step 1 2, 5ms+1 polled 1",
    ]);
    finds(&timeline, "waited 5.00 ms in the queue of worker 0 behind one poll, of task 2");
}

/// Of the second task nothing is known: it is an old one, of too many.
#[test]
fn what_the_end_of_the_runtime_woke_waits_for_what_it_waited_for() {
    let timeline = recording(&["\
        0 spawned 1, 1 step 1 1, 2 step 1 2, 3 writes 7, 4 polled 1, 20ms closes 0, \
        20ms+1 step 1 3, 20ms+1 step 2 3, 90ms sleeps"]);
    let text = Format::Text.render(&timeline);
    assert!(text.contains("has waited for 20.0 ms to write to descriptor 7"), "{text}");
    finds_not(&timeline, "waits in");
}

/// The end of the runtime drops one task where it waits for its turn. One that is over, one of
/// another runtime and a job that has begun have nothing to do with that.
#[test]
fn what_the_end_of_the_runtime_dropped_waits_no_longer() {
    let timeline = recording(&[
        "\
            0 spawned 1, 1 spawned 2, 2 spawned 3 9, 3 spawned 100, 4 step 1 1, \
            5 step 2 1, 6 step 3 1, 7 step 100 1, 8 step 2 2, 9 ended 2, 10 polled 2, \
            30ms closes 0, 90ms sleeps",
        "11 step 100 2",
    ]);
    let dropped: Vec<u64> = timeline
        .tasks
        .iter()
        .filter(|(_, task)| task.dropped.is_some())
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(dropped, [1]);
    finds(&timeline, "task 1 \"name 1\"");
    finds(&timeline, "waited in a queue until its runtime ended, for 30.0 ms");
    finds_not(&timeline, "still waits in a queue");
    finds(&timeline, "task 3 \"name 3\"");
}

/// `Handle::block_on` in a job of `spawn_blocking`.
#[test]
fn block_on_in_a_job_ends_and_the_job_as_well() {
    let timeline = recording(&["\
        0 spawned 100, 1 step 100 1, 2 step 100 2, 3 spawned 8, 4 blocks_on 8, \
        5 step 8 1, 6 spawned 1, 7 step 8 2, 8 ended 8, 9 step 1 1, 10 ended 100, \
        11 spawned 2, 90ms sleeps"]);
    let ends: Vec<_> = timeline.polls.iter().map(|poll| (poll.task, poll.end)).collect();
    assert_eq!(ends, [(JOB, Some(10)), (8, Some(7))]);
    assert_eq!(timeline.tasks[&1].spawned, Some((6, By::Poll(1))));
    assert_eq!(timeline.tasks[&1].queued.map(|queued| queued.by), Some(By::Poll(0)));
    assert_eq!(timeline.tasks[&2].spawned, Some((11, By::Thread(0))));
    assert!(timeline.tasks[&JOB].ended.is_some() && timeline.polls[0].is_last);
}

/// The main future of a simulation runs the jobs in its polls.
#[test]
fn job_in_a_block_on_leaves_the_rest_of_the_poll_to_it() {
    let timeline = recording(&["\
        0 spawned 8, 1 blocks_on 8, 2 spawned 100, 3 step 100 1, 4 step 8 1, \
        5 step 100 2, 6 ended 100, 7 spawned 1, 8 step 8 2"]);
    let ends: Vec<_> = timeline.polls.iter().map(|poll| (poll.task, poll.end)).collect();
    assert_eq!(ends, [(8, Some(8)), (JOB, Some(6))]);
    assert_eq!(timeline.tasks[&1].spawned, Some((7, By::Poll(0))));
}

/// The threads go on while the recording is taken. What they told after that is left out.
#[test]
fn what_happened_after_the_end_is_left_out_in_each_format() {
    let record = |(at, event)| Record { at, event };
    let slow: Vec<Record> = [(10, step(1, 1)), (20, step(1, 2))].map(record).into();
    let fast: Vec<Record> = [
        (101, Event::AsksKernel { waits: true }),
        (102, Event::KernelTold),
        (103, Event::Sleeps),
        (900 * MS, Event::Awake),
        (900 * MS + 1, step(2, 1)),
        (900 * MS + 2, step(2, 2)),
        (900 * MS + 3, polled(2)),
    ]
    .map(record)
    .into();
    let name = || "one".to_owned();
    let thread = |records| Thread { name: name(), worker: None, main: None, records, left_out: 0 };
    for threads in [vec![thread(slow), thread(fast.clone())], vec![thread(fast)]] {
        let expected = if threads.len() == 2 { 2 } else { 0 };
        let tasks = BTreeMap::new();
        let timeline =
            Timeline::new(&Recording { threads, tasks, taken: 100, ..Recording::default() });
        assert_eq!(timeline.events, expected);
        for format in [Format::Html, Format::Json, Format::Text, Format::Svg] {
            assert!(!format.render(&timeline).is_empty());
        }
    }
}

#[test]
fn names_are_quoted_in_each_format() {
    let threads = vec![Thread {
        name: "</script><b>&\"".to_owned(),
        worker: None,
        main: None,
        records: vec![
            Record { at: 0, event: Event::Sleeps },
            Record { at: MS, event: Event::Awake },
        ],
        left_out: 0,
    }];
    let tasks = BTreeMap::new();
    let timeline = Timeline::new(&Recording { threads, tasks, taken: MS, ..Recording::default() });
    let page = Format::Html.render(&timeline);
    assert_eq!(page.matches("</script>").count(), 1, "only the page's own");
    assert!(!Format::Svg.render(&timeline).contains("<b>"));
    assert!(Format::Json.render(&timeline).contains(r#"\u003c/script>\u003cb>&\""#));
}

#[test]
fn script_and_style_of_the_page_are_small() {
    let empty =
        Recording { threads: Vec::new(), tasks: BTreeMap::new(), taken: 0, ..Recording::default() };
    let page = Format::Html.render(&Timeline::new(&empty));
    assert!(page.len() < 40 * 1024, "{} bytes", page.len());
    for outside in ["http:", "https:", "<link", " src="] {
        assert!(!page.contains(outside), "the page needs the network: {outside}");
    }
}

/// Tasks of one line wait for the same. One sentence says so, and for the one that waited longest.
#[test]
fn tasks_of_one_line_that_wait_are_told_together() {
    let mut events = vec![(0, spawned(1)), (1, step(1, 1)), (2, step(1, 2))];
    for task in 2..12 {
        events.extend([(task, spawned(task)), (task, step(task, 1))]);
    }
    // Three more wait for nothing, since they were polled.
    for task in 12..15 {
        let polls = [spawned(task), step(task, 1), step(task, 2), polled(task)];
        events.extend(polls.map(|event| (10 + task, event)));
    }
    events.push((30 * MS, Event::Sleeps));
    let timeline = Timeline::new(&records_of(&[events.clone()]));
    let findings = timeline.findings();
    assert_eq!(findings.len(), 3, "{findings:#?}");
    finds(&timeline, "worker 0 is stuck: it has polled task 1");
    finds(&timeline, "task 2 \"name 2\"");
    finds(&timeline, "30.0 ms; with it, 10 tasks from this line do so");
    finds(&timeline, "task 12 \"name 12\"");
    finds(&timeline, "nobody has woken; with it, 3 tasks from this line do so");

    // The end of the runtime drops them.
    events.push((40 * MS, Event::RuntimeCloses { runtime: 0 }));
    let timeline = Timeline::new(&records_of(&[events.clone()]));
    finds(&timeline, "waited in a queue until its runtime ended, for 40.0 ms behind");
    finds(&timeline, "; with it, 10 tasks from this line did so");
}

/// However long other things took, a panic comes first. It is one finding for each line.
#[test]
fn tasks_that_panicked_are_told_first_and_by_their_line() {
    let mut events = vec![(0, spawned(9)), (1, step(9, 1)), (2, step(9, 2)), (30 * MS, polled(9))];
    for task in [3, 2, JOB] {
        let panicked = Event::Panicked { task };
        let steps = [spawned(task), step(task, 1), step(task, 2), panicked, Event::Ended { task }];
        events.extend(steps.map(|event| (31 * MS + 100 - task, event)));
        if task != JOB {
            events.push((31 * MS + 100 - task, polled(task)));
        }
    }
    // A task of a `LocalSet`, of which nothing else is known.
    events.push((31 * MS + 100, Event::Panicked { task: 77 }));
    let timeline = Timeline::new(&records_of(&[events.clone()]));
    let findings = timeline.findings();
    let first = "panic: job 100 \"name 100\"";
    assert!(findings[0].text.starts_with(first), "{findings:#?}");
    assert!(findings[0].text.ends_with("panicked; with it, 3 tasks from this line did so"));
    assert_eq!(findings[0].at, 31 * MS);
    assert!(findings[1].text.starts_with("long poll: task 9"), "{findings:#?}");
    assert!(!timeline.tasks.contains_key(&77));
    let json = Format::Json.render(&timeline);
    assert_eq!(json.matches("\"panicked\":true").count(), 3, "{json}");
    assert_eq!(json.matches("\"panicked\":false").count(), 1, "{json}");
}

/// As many polls as tasks that wait behind them: each is looked at for the line, and not for each
/// task. Without that the test takes minutes.
#[test]
fn a_long_queue_is_written_in_no_time() {
    let mut events = Vec::new();
    for task in 1..40_001 {
        events.extend([(task, spawned(task)), (task, step(task, 1))]);
    }
    for task in 1..20_001 {
        let begin = 100_000 + 20_000 * task;
        events.extend([(begin, step(task, 2)), (begin + 19_000, polled(task))]);
        events.push((begin + 19_000, Event::Ended { task }));
    }
    let timeline = Timeline::new(&records_of(&[events.clone()]));
    let start = std::time::Instant::now();
    finds(&timeline, "; with it, 20000 tasks from this line do so");
    for format in [Format::Html, Format::Json, Format::Text, Format::Svg] {
        assert!(format.render(&timeline).contains("20000"));
    }
    assert!(start.elapsed().as_secs() < 20, "it took {:?}", start.elapsed());
}

/// A task is polled all the time. Only its first step and its last poll are left: the first one
/// brought another poll.
#[test]
fn a_poll_belongs_to_the_step_before_it_and_to_no_other() {
    let timeline = |number| {
        recording(&[&format!("0 spawned 1, 1 step 1 1, 500ms step 1 {number}, 500ms+1 polled 1")])
    };
    finds_not(&timeline(20_000), "late");
    assert_eq!(timeline(20_000).polls[0].queued, None);
    finds(&timeline(2), "late: task 1 \"name 1\"");
}

/// One thread tells when a task was queued or polled. What another one told meanwhile is lost.
#[test]
fn nothing_is_said_of_a_task_whose_later_steps_may_be_left_out() {
    let timeline = |left_out, ended| {
        let mut recording = records(&[
            "\
                0 spawned 1, 1 spawned 2, 2 step 2 1, 3 step 1 1, 4 step 2 2, 5 polled 2, \
                6 spawned 3, 7 step 3 1",
            "80ms step 3 2, 80ms+1 reads 1, 90ms polled 3",
        ]);
        recording.threads[1].left_out = left_out;
        recording.tasks.get_mut(&1).expect("it was spawned").ended = ended;
        recording.tasks.get_mut(&2).expect("it was spawned").ended = ended;
        Timeline::new(&recording)
    };
    let whole = timeline(0, None);
    finds(&whole, "task 1 \"name 1\"");
    finds(&whole, "still waits in a queue, for 90.0 ms");
    finds(&whole, "task 2 \"name 2\"");
    finds(&whole, "has waited for 90.0 ms for nothing that arc knows of");
    for incomplete in [timeline(1, None), timeline(0, Some(70 * MS))] {
        finds_not(&incomplete, "still waits");
        finds_not(&incomplete, "has waited for");
        let text = Format::Text.render(&incomplete);
        let (_, waiting) = text.split_once("What waited at the end").expect("a part of the text");
        assert!(!waiting.contains("task 2 "), "{text}");
    }
    // Another thread tells of the end after the recording was taken.
    finds(&timeline(0, Some(91 * MS)), "still waits in a queue, for 90.0 ms");
    // What is known is told, and what it waited behind is not.
    finds(&timeline(1, None), "late: task 3 \"name 3\"");
    finds(&timeline(1, None), "and what ran meanwhile was left out");
}

/// Two runtimes with a worker each. What runs on the one holds up nothing of the other.
#[test]
fn the_culprit_is_of_the_same_runtime() {
    let mut recording = records(&[
        // The one polls "name 11" all the time.
        "0 spawned 11 1, 1 step 11 1, 2 step 11 2, 90ms polled 11",
        // The other one polls "name 21", and looks neither at its queue nor at the clock.
        "\
            3 spawned 22 2, 4 step 22 1, 5 step 22 2, 6 timer 1ms, 7 polled 22, \
            8 spawned 23 2, 9 step 23 1, 10 step 23 2, 11 reads 5, 12 polled 23, \
            13 looks, 14 told, 15 spawned 21 2, 16 step 21 1, 17 step 21 2, \
            40ms polled 21, 40ms+1 looks, 40ms+2 told, 40ms+2 ready 5, 40ms+3 step 22 3, \
            40ms+3 step 23 3, 40ms+4 step 22 4, 40ms+5 polled 22, 40ms+5 step 23 4, \
            40ms+6 polled 23, 40ms+7 step 24 2, 40ms+8 polled 24",
        // A thread of no runtime spawns two tasks, of which one is never polled.
        "18 spawned 24 2, 19 step 24 1, 20 spawned 25 2, 21 step 25 1",
        // The first one has another worker, which sleeps, and looks at the kernel meanwhile.
        "22 sleeps, 20ms looks, 20ms told, 90ms awake",
    ]);
    recording.threads[0].worker = Some((1, 0));
    recording.threads[1].worker = Some((2, 0));
    recording.threads[2].worker = None;
    recording.threads[3].worker = Some((1, 1));
    let timeline = Timeline::new(&recording);

    finds(&timeline, "\"name 11\"");
    finds(&timeline, "held worker 0 of runtime 1 up for 90.0 ms");
    finds(&timeline, "late: task 24 \"name 24\"");
    finds(&timeline, "still waits in the injector, for 90.0 ms behind 4 polls");
    finds(&timeline, "late timer: the timer of task 22 \"name 22\"");
    let text = Format::Text.render(&timeline);
    finds_line(
        &text,
        "task 24 \"name 24\"",
        "in the injector (for tasks from outside) behind 3 polls",
    );
    finds_line(&text, "because of a poll of task 21 \"name 21\"", "for the rest nobody looked");
    finds_line(
        &text,
        "because of a poll of task 21 \"name 21\"",
        "nobody had asked it for 40.0 ms",
    );
    for line in text.lines().filter(|line| !line.contains("held worker 0 of runtime 1")) {
        let names_it = ["behind", "because of"].iter().any(|word| line.contains(word));
        assert!(!names_it || !line.contains("\"name 11\""), "{line} in:\n{text}");
    }
    finds_not(&timeline, "slept");
}

/// The time of a step may be that of the event before it on its thread, before the task had come
/// into its queue on another one.
#[test]
fn a_poll_comes_after_its_task_was_queued_whatever_the_clock_was_when_it_was_read() {
    let timeline = recording(&[
        "1ms step 1 2, 2ms polled 1, 2ms step 2 2, 2ms reads 5, 4ms polled 2",
        "3ms spawned 2, 3ms step 2 1",
    ]);
    let poll = timeline.polls.iter().find(|poll| poll.task == 2).expect("it is there");
    assert_eq!((poll.begin, poll.end), (3 * MS + 1, Some(4 * MS)));
    assert_eq!(poll.queued.map(|queued| queued.at), Some(3 * MS));
    assert!(timeline.tasks[&2].queued.is_none(), "it is in no queue after that");
}
