//! What a runtime tells of its tasks: the list, the report of a poll that goes on for too
//! long, and that of what a shutdown ended.

use crate::watched::*;
use arc::task::{JoinHandle, spawn_blocking, spawn_named, try_id, yield_now};
use arc::time::sleep;
use arc_util::runtime::{Builder, Handle, Runtime};
use arc_util::task::{Id, TaskInfo, TaskState};
use std::collections::HashMap;
use std::future::pending;
use std::panic::panic_any;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// What the runtime says of one task.
#[track_caller]
fn told(handle: &Handle, id: Id) -> TaskInfo {
    let task = handle.tasks().into_iter().find(|task| task.id == id);
    task.expect("it has not ended")
}

#[track_caller]
fn wait_for_state(handle: &Handle, id: Id, state: TaskState) {
    wait_until(&format!("the state {state:?}"), || told(handle, id).state == state);
}

/// Waits until it has been polled for so long.
#[track_caller]
fn wait_for_running_time(handle: &Handle, id: Id, least: Duration) {
    wait_until("the poll lasts", || match told(handle, id).state {
        TaskState::Running { time, .. } => time >= least,
        _ => false,
    });
}

// The list.

#[test]
fn every_task_is_listed_with_its_line_until_it_has_ended() {
    with_each_size(|runtime| {
        let line = line!() + 1;
        let tasks = [(); 300].map(|()| runtime.spawn(pending::<()>()));
        let list = runtime.tasks();
        assert_eq!(list.len(), tasks.len());
        for task in &tasks {
            let told = list.iter().find(|told| told.id == task.id()).expect("listed");
            assert_eq!((told.location.file(), told.location.line()), (file!(), line));
            assert_eq!(told.name, None);
        }
        tasks.iter().for_each(|task| task.abort());
        wait_for_no_tasks(&runtime);
    });
}

#[test]
fn each_way_to_spawn_tells_the_line_of_its_caller() {
    with_each_flavor(|runtime| {
        let lines = runtime.block_on(async {
            let lines = [line!() + 1, line!() + 2, line!() + 3];
            drop(arc::spawn(pending::<()>()));
            drop(spawn_named("named", pending::<()>()));
            drop(Handle::current().spawn(pending::<()>()));
            lines
        });
        let mut told: Vec<_> = runtime.tasks().iter().map(|task| task.location.line()).collect();
        told.sort_unstable();
        assert_eq!(told, lines);
        let names = runtime.tasks().into_iter().filter_map(|task| task.name);
        assert_eq!(Vec::from_iter(names), [Arc::from("named")]);
    });
}

#[test]
fn the_state_is_what_the_task_does() {
    on_each([1], |runtime| {
        let pause = Pause::new();
        let idle = runtime.spawn(pending::<()>());
        wait_for_state(&runtime, idle.id(), TaskState::Idle);
        let running = runtime.spawn(async move {
            pause.here();
            pending::<()>().await;
        });
        pause.reached();
        let queued = runtime.spawn(pending::<()>());
        let of_queued = || told(&runtime, queued.id());
        assert_eq!((of_queued().state, of_queued().polls), (TaskState::Queued, 0));
        let state = told(&runtime, running.id()).state;
        assert!(matches!(state, TaskState::Running { worker: 0, .. }), "{state:?}");
        wait_for_running_time(&runtime, running.id(), millis(20));
        pause.pass();
        wait_for_state(&runtime, running.id(), TaskState::Idle);
        wait_for_state(&runtime, queued.id(), TaskState::Idle);
        assert_eq!(of_queued().polls, 1);
    });
}

#[test]
fn a_job_is_blocking_from_its_line_to_its_end() {
    with_each_flavor(|runtime| {
        let pause = Pause::new();
        let line = line!() + 1;
        let job = runtime.spawn_blocking(move || pause.here());
        pause.reached();
        let info = told(&runtime, job.id());
        assert_eq!((info.state, info.location.line()), (TaskState::Blocking, line));
        pause.pass();
        runtime.block_on(job).unwrap();
        wait_for_no_tasks(&runtime);
    });
}

/// The poll that began it may not have ended yet.
#[test]
fn a_job_that_looks_at_itself_is_blocking() {
    with_each_flavor(|runtime| {
        for _ in 0..1_000 {
            let handle = runtime.handle().clone();
            let job = runtime.spawn_blocking(move || handle.tasks());
            let jobs = runtime.block_on(job).unwrap();
            assert!(jobs.iter().all(|job| job.state == TaskState::Blocking), "{jobs:?}");
        }
    });
}

#[test]
fn polls_are_counted() {
    with_each_size(|runtime| {
        let task = runtime.spawn(async {
            yields(1000).await;
            pending::<()>().await;
        });
        wait_until("1,001 polls", || told(&runtime, task.id()).polls >= 1001);
        wait_for_state(&runtime, task.id(), TaskState::Idle);
        assert_eq!(told(&runtime, task.id()).polls, 1001);
    });
}

/// Woken from all sides, it is idle in the end, as many polls as there may have been.
#[test]
fn states_stay_true_under_wakes_from_everywhere() {
    with_each_size(|runtime| {
        let (sender, receiver) = async_channel::bounded::<()>(1);
        let tasks = spawn_each(&runtime, 8, |_| {
            let receiver = receiver.clone();
            async move { while receiver.recv().await.is_ok() {} }
        });
        on_threads(4, |_| (0..500).for_each(|_| sender.send_blocking(()).unwrap()));
        wait_until("all is received", || receiver.is_empty());
        for task in &tasks {
            wait_for_state(&runtime, task.id(), TaskState::Idle);
        }
        drop(sender);
        wait_for_no_tasks(&runtime);
    });
}

/// The list is made block by block, while others grow the number of blocks and use places again.
#[test]
fn tasks_that_are_there_all_the_time_are_listed_once_while_others_come_and_go() {
    with_each_size(|runtime| {
        let stays = |number: usize| match number % 2 {
            0 => runtime.spawn(pending::<()>()),
            _ => runtime.block_on(async { spawn_named("named", pending::<()>()) }),
        };
        let stay: Vec<_> = (0..500).map(stays).collect();
        let handle = runtime.handle().clone();
        let others = Background::repeat(move || {
            let come = spawn_each(&handle, 300, |_| pending::<()>());
            come.iter().for_each(JoinHandle::abort);
            wait_for_all(&come);
        });
        for _ in 0..50 {
            let mut listed = HashMap::new();
            for task in runtime.tasks() {
                assert!(listed.insert(task.id, task.name).is_none(), "it is listed twice");
            }
            for (number, task) in stay.iter().enumerate() {
                let name = listed[&task.id()].as_deref();
                assert_eq!(name, (number % 2 == 1).then_some("named"));
            }
        }
        drop(others);
    });
}

#[test]
fn places_go_from_runtime_to_runtime() {
    within_deadline(|| {
        for round in 0..200 {
            let runtime = runtime(1 + round % 3);
            let tasks: Vec<_> = (0..100).map(|_| runtime.spawn(pending::<()>())).collect();
            tasks.iter().step_by(2).for_each(|task| task.abort());
            wait_until("half are left", || runtime.tasks().len() == 50);
            let old = tasks[1].abort_handle();
            drop(runtime);
            assert!(old.is_finished());
            old.abort();
        }
    });
}

#[test]
fn a_task_that_is_polled_is_in_the_list_as_running_on_worker_0() {
    on_current_thread(|runtime| {
        let handle = runtime.handle().clone();
        let task = runtime.spawn(async move { handle.tasks() });
        let told = runtime.block_on(task).unwrap();
        assert!(matches!(told[0].state, TaskState::Running { worker: 0, .. }), "{told:?}");
    });
}

// Long polls.

const LIMIT: Duration = millis(20);

/// A runtime that reports polls of 20 ms, and its reports.
fn watched(builder: Builder) -> (Runtime, mpsc::Receiver<TaskInfo>) {
    watched_and(builder, || {})
}

/// The same, with a hook that also does something.
fn watched_and(
    mut builder: Builder,
    act: impl Fn() + Send + Sync + 'static,
) -> (Runtime, mpsc::Receiver<TaskInfo>) {
    let (sender, reports) = mpsc::channel();
    let report = move |task: &TaskInfo| {
        // Nobody hears it when the test is over.
        let _ = sender.send(task.clone());
        act();
    };
    (builder.long_poll_limit(LIMIT).on_long_poll(report).build().unwrap(), reports)
}

#[track_caller]
fn reported(reports: &mpsc::Receiver<TaskInfo>) -> TaskInfo {
    reports.recv_timeout(DEADLINE).expect("it is reported")
}

/// A test with each number of workers, and on a current-thread runtime.
fn with_each_builder(test: fn(Builder)) {
    for builder in builders() {
        within_deadline(move || test(builder));
    }
}

#[test]
fn a_long_poll_is_reported_once_while_it_is_stuck() {
    with_each_builder(|builder| {
        let (runtime, reports) = watched(builder);
        for _ in 0..3 {
            let gate = Gate::new();
            let guard = runtime.enter();
            let line = line!() + 1;
            let stuck = spawn_named("stuck", gate.blocks());
            let id = stuck.id();
            drop(guard);
            thread::scope(|scope| {
                // On a current-thread runtime, this polls it: nothing is said of `block_on`.
                let caller = scope.spawn(|| runtime.block_on(stuck).unwrap());
                let report = reported(&reports);
                assert_eq!((report.id, report.location.line()), (id, line));
                assert_eq!((report.name.as_deref(), report.polls), (Some("stuck"), 1));
                let TaskState::Running { worker, time } = report.state else {
                    panic!("{report}");
                };
                assert!(worker < runtime.workers() && time >= LIMIT, "{report}");
                let text = report.to_string();
                assert!(text.contains("\"stuck\"") && text.contains("inspect.rs:"), "{text}");
                // Ten more ticks of the monitor.
                wait_for_running_time(&runtime, id, millis(70));
                gate.open();
                caller.join().unwrap();
            });
            assert!(reports.try_recv().is_err(), "once");
        }
    });
}

/// It is no task, but it is told like one: while it lasts, and once.
#[test]
fn a_long_poll_of_block_on_is_reported_once_with_the_line_of_its_caller() {
    with_each_builder(|builder| {
        let (runtime, reports) = watched(builder);
        for _ in 0..2 {
            // Long enough that the monitor sleeps: the poll has to wake it. Nothing is
            // asserted that needs it to be long enough.
            thread::sleep(millis(100));
            let (gate, line) = (Gate::new(), line!() + 3);
            thread::scope(|scope| {
                let caller = scope.spawn(|| {
                    runtime.block_on(async {
                        // A short poll, and then a long one.
                        yield_now().await;
                        assert_eq!(try_id(), None);
                        gate.wait();
                        yield_now().await;
                    });
                });
                let report = reported(&reports);
                assert_eq!((report.location.file(), report.location.line()), (file!(), line));
                assert_eq!((report.name.as_deref(), report.polls), (Some("block_on"), 2));
                let TaskState::InBlockOn { time } = report.state else { panic!("{report}") };
                assert!(time >= LIMIT, "{report}");
                let text = report.to_string();
                assert!(text.contains("\"block_on\"") && text.contains("inspect.rs:"), "{text}");
                // It is no task.
                assert!(runtime.tasks().is_empty());
                gate.open();
                caller.join().unwrap();
            });
            assert!(reports.try_recv().is_err(), "once");
        }
    });
}

/// The thread waits, and polls nothing meanwhile.
#[test]
fn a_block_on_that_waits_for_long_is_not_reported() {
    with_each_builder(|builder| {
        let (runtime, reports) = watched(builder);
        // The monitor is kept awake by one that is reported, and by short polls.
        let gate = Gate::new();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| runtime.block_on(sleep(millis(100))));
            let stuck = scope.spawn(|| runtime.block_on(gate.blocks()));
            assert_eq!(reported(&reports).location.line(), line!() - 1);
            waiting.join().unwrap();
            gate.open();
            stuck.join().unwrap();
        });
        assert!(reports.try_recv().is_err(), "the one that waits is none");
    });
}

#[test]
fn short_polls_and_idle_tasks_are_not_reported() {
    with_sizes(|workers| {
        // Beyond what a poll of these takes on a loaded machine.
        let mut builder = builder(workers).long_poll_limit(DEADLINE / 2).clone();
        let reports = Counter::new();
        let runtime = builder.on_long_poll(move |_| _ = reports.add()).build().unwrap();
        drop(runtime.spawn(pending::<()>()));
        runtime.block_on(async {
            for _ in 0..10 {
                sleep(millis(5)).await;
                arc::spawn(yield_now()).await.unwrap();
            }
        });
        drop(runtime);
        assert_eq!(reports.get(), 0);
    });
}

#[test]
fn a_hook_that_panics_does_no_harm() {
    within_deadline(|| {
        let carried = Arc::new(());
        let kept = carried.clone();
        let (runtime, reports) = watched_and(builder(2), move || panic_any(kept.clone()));
        for _ in 0..3 {
            let gate = Gate::new();
            let stuck = runtime.spawn(gate.blocks());
            reported(&reports);
            gate.open();
            runtime.block_on(stuck).unwrap();
        }
        // This one's and the hook's: what the panics carried is dropped.
        wait_until("nothing is kept", || Arc::strong_count(&carried) == 2);
    });
}

/// The hook blocks as long as the gate is shut, and says when it is called.
fn with_a_hook_that_blocks(workers: usize) -> (Runtime, mpsc::Receiver<TaskInfo>, Gate) {
    let gate = Gate::new();
    let (runtime, reports) = watched_and(builder(workers), move || gate.wait());
    (runtime, reports, gate)
}

/// Tasks behind a stuck worker and timers beside stuck ones are served by the monitor, and the end
/// of the runtime waits for no hook.
#[test]
fn a_hook_that_never_returns_holds_up_neither_the_monitor_nor_the_end() {
    within_deadline(|| {
        let (runtime, reports, hook) = with_a_hook_that_blocks(2);
        let (is_called, behind) = (Gate::new(), Counter::new());
        let stuck = runtime.spawn(async move {
            is_called.wait();

            // They are in the queue of this worker, which does not come to them.
            for _ in 0..10 {
                drop(arc::spawn(async move { _ = behind.add() }));
            }
            behind.wait_for(10);
        });
        reported(&reports);
        is_called.open();
        wait_until("those behind it", || stuck.is_finished());

        // All workers are stuck, and a thread that is none of them waits for a timer.
        let pause = Pause::new();
        let tasks = spawn_each(&runtime, 2, |_| pause.stops());
        pause.reached_by(2);
        runtime.block_on(sleep(millis(1)));
        pause.pass();
        join_all(&runtime, tasks);

        drop(runtime);
        assert!(!hook.is_open(), "the hook has not returned");
        hook.open();
    });
}

#[test]
fn a_poll_that_gets_stuck_during_a_report_is_reported_after_it() {
    within_deadline(|| {
        let (runtime, reports, hook) = with_a_hook_that_blocks(2);
        let gate = Gate::new();
        let first = runtime.spawn(gate.blocks());
        assert_eq!(reported(&reports).id, first.id());

        // Its time is below the limit by no more than a step, which is 2 ms at most: it is judged
        // again with each.
        let second = runtime.spawn(gate.blocks());
        wait_for_running_time(&runtime, second.id(), millis(18));
        wait_for_running_time(&runtime, first.id(), millis(100));
        assert!(reports.try_recv().is_err(), "one at a time");
        hook.open();
        assert_eq!(reported(&reports).id, second.id());
        wait_for_running_time(&runtime, second.id(), millis(50));
        gate.open();
        join_all(&runtime, [first, second]);
        assert!(reports.try_recv().is_err(), "once each");
    });
}

/// The same for the future in `block_on`.
#[test]
fn a_block_on_that_gets_stuck_during_a_report_is_reported_after_it() {
    within_deadline(|| {
        let (runtime, reports, hook) = with_a_hook_that_blocks(1);
        let (gate, inside) = (Gate::new(), Gate::new());
        let stuck = runtime.spawn(gate.blocks());
        assert_eq!(reported(&reports).id, stuck.id());

        thread::scope(|scope| {
            let caller = scope.spawn(|| {
                runtime.block_on(async {
                    inside.open();
                    gate.wait();
                });
            });
            inside.wait();
            // Many ticks of the monitor, in which the poll reaches the limit.
            let now = match told(&runtime, stuck.id()).state {
                TaskState::Running { time, .. } => time,
                state => panic!("{state:?}"),
            };
            wait_for_running_time(&runtime, stuck.id(), now + millis(100));
            assert!(reports.try_recv().is_err(), "one at a time");
            hook.open();
            let report = reported(&reports);
            assert!(matches!(report.state, TaskState::InBlockOn { .. }), "{report}");
            gate.open();
            caller.join().unwrap();
        });
        runtime.block_on(stuck).unwrap();
        assert!(reports.try_recv().is_err(), "once each");
    });
}

/// By default a report goes to standard error. That may be a pipe which is full, as its reader is
/// stuck itself.
#[cfg(unix)]
#[test]
fn a_standard_error_that_nobody_reads_holds_up_nobody() {
    use std::io::{ErrorKind, Write};
    use std::os::fd::OwnedFd;

    let (near, _far) = sockets();
    near.set_nonblocking(true).unwrap();
    let full = loop {
        if let Err(error) = (&near).write(&[b'.'; 1 << 16]) {
            break error;
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    near.set_nonblocking(false).unwrap();
    let name = "inspect::a_standard_error_that_nobody_reads_holds_up_nobody";
    in_process_with(name, "", OwnedFd::from(near).into(), || {
        report_by_default(|| {
            let ran = Counter::new();
            drop(arc::spawn(async move { _ = ran.add() }));
            ran.wait_for(1);
        });
    });
}

/// Lets a poll go on until it has been reported, or tries to be, and then some more.
#[cfg(unix)]
fn report_by_default(goes_on: impl FnOnce() + Send + 'static) {
    let runtime = builder(2).long_poll_limit(LIMIT).build().unwrap();
    let handle = runtime.handle().clone();
    let stuck = runtime.spawn(async move {
        wait_for_running_time(&handle, try_id().unwrap(), 5 * LIMIT);
        goes_on();
    });
    runtime.block_on(stuck).unwrap();
}

/// Nor does one that cannot be written: a panic would end this process, as its hook says.
#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_written_harms_nobody() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let name = "inspect::a_report_that_cannot_be_written_harms_nobody";
    in_process_with(name, "", full.into(), || {
        std::panic::set_hook(Box::new(|_| std::process::exit(70)));
        report_by_default(|| {});
    });
}

/// A panic that stays in its poll, and whose printing blocks. The poll is reported for what comes
/// after that, and not before.
#[cfg(unix)]
fn panic_is_printed_for_long(poll: fn(&Runtime, Gate), is_its: fn(&TaskInfo) -> bool) {
    let printing = Pause::new();
    std::panic::set_hook(Box::new(move |panic| match panic.payload().downcast_ref() {
        Some(&ON_PURPOSE) => printing.here(),
        _ => eprintln!("{panic}"),
    }));

    // So long no thread has to wait for a core between the begin of its poll and its panic.
    let limit = millis(200);
    let (sender, reports) = mpsc::channel();
    let report = move |task: &TaskInfo| _ = sender.send(task.clone());
    let runtime = builder(2).long_poll_limit(limit).on_long_poll(report).build().unwrap();
    let end = Gate::new();
    thread::scope(|scope| {
        let caller = scope.spawn(|| poll(&runtime, end));
        printing.reached();

        // The monitor looks at this poll as often as at these.
        for _ in 0..3 {
            let gate = Gate::new();
            let stuck = runtime.spawn(gate.blocks());
            while reported_of_others(&reports, is_its) != stuck.id() {}
            gate.open();
            wait_for_all(&[stuck]);
        }
        printing.pass();
        while !is_its(&reported(&reports)) {}
        end.open();
        caller.join().unwrap();
    });
}

/// The task of the next report. On a busy machine any poll may be reported, but not this one.
#[cfg(unix)]
fn reported_of_others(reports: &mpsc::Receiver<TaskInfo>, is_it: fn(&TaskInfo) -> bool) -> Id {
    let report = reported(reports);
    assert!(!is_it(&report), "{report:#}");
    report.id
}

/// Panics, and goes on.
#[cfg(unix)]
fn panics_and_waits(end: Gate) {
    let panics = std::panic::catch_unwind(|| std::panic::panic_any(ON_PURPOSE));
    assert!(panics.is_err());
    end.wait();
}

#[cfg(unix)]
#[test]
fn a_panic_of_a_task_that_is_printed_for_long_is_no_long_poll() {
    let name = "inspect::a_panic_of_a_task_that_is_printed_for_long_is_no_long_poll";
    in_own_process(name, || {
        let poll = |runtime: &Runtime, end: Gate| {
            let _guard = runtime.enter();
            let task = spawn_named("panics", async move { panics_and_waits(end) });
            runtime.block_on(task).unwrap();
        };
        panic_is_printed_for_long(poll, |report| report.name.as_deref() == Some("panics"));
    });
}

#[cfg(unix)]
#[test]
fn a_panic_in_block_on_that_is_printed_for_long_is_no_long_poll() {
    let name = "inspect::a_panic_in_block_on_that_is_printed_for_long_is_no_long_poll";
    in_own_process(name, || {
        let poll =
            |runtime: &Runtime, end: Gate| runtime.block_on(async move { panics_and_waits(end) });
        let is_its = |report: &TaskInfo| matches!(report.state, TaskState::InBlockOn { .. });
        panic_is_printed_for_long(poll, is_its);
    });
}

/// The end waits for it, and the report says so. (The limit leaves time for the end to begin.)
#[test]
fn a_poll_that_holds_up_the_end_is_reported() {
    with_sizes(|workers| {
        let (tell, told) = mpsc::channel();
        let runtime = builder(workers)
            .long_poll_limit(millis(100))
            .on_long_poll(move |task| tell.send(task.id).unwrap())
            .build()
            .unwrap();
        let pause = Pause::new();
        let task = runtime.spawn(async move {
            pause.here();
        });
        pause.reached();
        let dropping = thread::spawn(move || drop(runtime));
        assert_eq!(told.recv(), Ok(task.id()));
        assert!(!dropping.is_finished());
        pause.pass();
        dropping.join().unwrap();
    });
}

// The shutdown.

#[test]
fn shutdown_tells_of_the_tasks_that_were_left() {
    on_current_thread(|runtime| {
        let queued = runtime.spawn(pending::<()>());
        let left = runtime.shutdown(DEADLINE);
        let [left] = &left[..] else { panic!("{left:?}") };
        assert_eq!((left.id, left.state, left.polls), (queued.id(), TaskState::Queued, 0));
    });
}

#[test]
fn what_a_shutdown_tells_is_printed_as_a_list() {
    let left = current_thread().shutdown(DEADLINE);
    assert_eq!(left.to_string(), "all tasks had finished");

    for (count, head) in [(1, "1 task had not finished:"), (2, "2 tasks had not finished:")] {
        let runtime = current_thread();
        let tasks = Vec::from_iter((0..count).map(|_| runtime.spawn(pending::<()>())));
        let line = line!() - 1;
        let text = runtime.shutdown(DEADLINE).to_string();
        let (first, rest) = text.split_once('\n').expect("a line for each task");
        assert_eq!(first, head);
        for (task, told) in tasks.iter().zip(rest.split('\n')) {
            let place = format!("  task {}, spawned at {}:{line}:", task.id(), file!());
            assert!(told.starts_with(&place) && told.contains("never polled"), "{text}");
        }
        assert_eq!(rest.split('\n').count(), count, "{text}");
    }
}

#[test]
fn shutdown_tells_which_jobs_still_run() {
    with_each_size(|runtime| {
        let pause = Pause::new();
        let mut line = 0;
        for _ in 0..3 {
            line = line!() + 1;
            drop(runtime.spawn_blocking(move || pause.here()));
        }
        pause.reached_by(3);
        let left = runtime.shutdown(millis(10));
        assert_eq!(left.len(), 3, "{left:?}");
        assert!(left.iter().all(|job| job.state == TaskState::Blocking), "{left:?}");
        assert!(left.iter().all(|job| job.location.line() == line), "{left:?}");
        pause.pass();
    });
}

/// It counts as begun. The one that waits behind it is given up.
#[test]
fn shutdown_tells_of_a_job_whose_thread_has_just_started() {
    with_sizes(|workers| {
        let (runtime, [job, _behind], start) = with_a_job_about_to_begin(workers);
        let left = runtime.shutdown(Duration::ZERO);
        assert_eq!(left.iter().map(|job| job.id).collect::<Vec<_>>(), [job.id()], "{left:?}");
        start.pass();
    });
}

/// Those that have not begun are given up, however long the limit is. The only thread for jobs is
/// busy until the other job was dropped.
#[test]
fn jobs_that_are_given_up_are_not_in_the_report() {
    for limit in [Duration::MAX, Duration::ZERO] {
        within_deadline(move || {
            let runtime = builder(1).max_blocking_threads(1).build().unwrap();
            let (begun, dropped) = (Gate::new(), Counter::new());
            let first = runtime.spawn_blocking(move || {
                begun.open();
                dropped.wait_for(1);
            });
            begun.wait();
            let held = dropped.on_drop();
            drop(runtime.spawn_blocking(move || drop(held)));

            let left = runtime.shutdown(limit);
            assert!(left.iter().all(|job| job.id == first.id()), "{left:?}");
            if limit == Duration::MAX {
                assert!(left.is_empty(), "{left:?}");
            }
        });
    }
}

/// The job ends when the end of the runtime has begun.
#[test]
fn a_job_that_ends_within_the_limit_is_not_in_the_report() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let (_job, pause) = begun_job(&runtime);
        let opener = thread::spawn(move || {
            wait_for_end(&handle);
            pause.pass();
        });
        let left = runtime.shutdown(DEADLINE);
        // To see that the end has begun is to spawn tasks, some of which are left.
        assert!(left.iter().all(|left| left.state != TaskState::Blocking), "{left:?}");
        opener.join().unwrap();
    });
}

/// Each tells of its own tasks alone, and of all of them.
#[test]
fn hundreds_of_runtimes_tell_what_they_left() {
    with_sizes(|workers| {
        for round in 0..200 {
            let runtime = runtime(workers);
            if round % 2 == 0 {
                runtime.block_on(runtime.spawn(yields(1))).unwrap();
            }
            let tasks = spawn_each(&runtime, round % 3, |_| pending::<()>());

            let left = runtime.shutdown(DEADLINE);
            let mut left: Vec<_> = left.iter().map(|left| left.id).collect();
            left.sort_unstable();
            assert_eq!(left, tasks.iter().map(JoinHandle::id).collect::<Vec<_>>());
        }
    });
}

#[test]
fn what_was_done_is_not_in_the_report() {
    with_each_flavor(|runtime| {
        runtime.block_on(async {
            arc::spawn(yield_now()).await.unwrap();
            spawn_blocking(|| {}).await.unwrap();
        });
        let left = runtime.shutdown(DEADLINE);
        assert!(left.is_empty(), "{left:?}");
    });
}

#[test]
fn tasks_that_waited_are_told_with_their_lines() {
    with_each_size(|runtime| {
        let line = line!() + 1;
        let task = runtime.spawn(pending::<()>());
        wait_for_state(&runtime, task.id(), TaskState::Idle);
        let left = runtime.shutdown(DEADLINE);
        let [left] = &left[..] else { panic!("{left:?}") };
        assert_eq!((left.id, left.location.line()), (task.id(), line));
        assert_eq!(left.state, TaskState::Idle);
    });
}

#[test]
fn polls_that_go_on_are_told_when_the_time_is_over() {
    with_each_size(|runtime| {
        let (stuck, poll) = block_worker(&runtime);
        // Even with one worker, which is stuck.
        let (job, work) = begun_job(&runtime);
        let left = runtime.shutdown(millis(20));
        let state = |id| left.iter().find(|left| left.id == id).map(|left| left.state);
        let of_stuck = state(stuck.id());
        assert!(matches!(of_stuck, Some(TaskState::Running { .. })), "{left:?}");
        assert_eq!(state(job.id()), Some(TaskState::Blocking), "{left:?}");
        work.pass();
        poll.pass();
        wait_until("the poll ends", || stuck.is_finished());
    });
}

/// Its thread goes on beyond the limit, after the tasks were dropped.
#[test]
fn the_report_is_there_though_a_thread_ends_late() {
    with_sizes(|workers| {
        let gate = Gate::new();
        let runtime = builder(workers).on_thread_stop(move || gate.wait()).build().unwrap();
        let task = runtime.spawn(pending::<()>());
        let left = runtime.shutdown(millis(50));
        assert_eq!(left.iter().map(|left| left.id).collect::<Vec<_>>(), [task.id()]);
        gate.open();
    });
}

#[test]
fn a_hook_may_end_its_runtime() {
    with_sizes(|workers| {
        let slot: Arc<Mutex<Option<Runtime>>> = Arc::default();
        let (taken, ended, gate) = (slot.clone(), Gate::new(), Gate::new());
        let (runtime, _reports) = watched_and(builder(workers), move || {
            let runtime = taken.lock().unwrap().take();
            gate.open();
            drop(runtime);
            ended.open();
        });
        let handle = slot.lock().unwrap().insert(runtime).handle().clone();
        let stuck = handle.spawn(gate.blocks());
        ended.wait();
        assert!(stuck.is_finished());
    });
}
