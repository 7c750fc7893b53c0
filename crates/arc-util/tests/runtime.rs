//! tokio's names for runtimes, tasks and writers.

use crate::common::{DEADLINE, all_text, soon, tcp_pair, until};
use arc_util::io::AsyncWriteExt;
use arc_util::net::UdpSocket;
use arc_util::runtime::{
    Builder, Dump, Handle, LocalOptions, LocalRuntime, is_rt_shutdown_err, worker_index,
};
#[cfg(unix)]
use arc_util::signal::unix::SignalKind;
use arc_util::task::{self, TaskInfo, TaskState};
use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[test]
fn a_program_for_tokio_builds_and_ends_its_runtime() {
    let runtime = Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap();
    assert_eq!(runtime.workers(), 3);
    let task = runtime.spawn(pending::<()>());
    runtime.shutdown_timeout(DEADLINE);
    assert!(task.is_finished());
    let runtime = Builder::new_current_thread().enable_io().enable_time().build().unwrap();
    assert_eq!(runtime.block_on(async { 7 }), 7);
}

#[arc::test]
async fn tasks_have_the_names_that_they_were_given() {
    let handle = Handle::current();
    let named = task::Builder::new().name("one").spawn(pending::<()>()).unwrap();
    let other = task::Builder::new().name("two").spawn_on(pending::<()>(), &handle).unwrap();
    let nameless = task::Builder::new().spawn(pending::<()>()).unwrap();
    let tasks = handle.tasks();
    let name = |id| tasks.iter().find(|task| task.id == id).unwrap().name.as_deref();
    assert_eq!(name(named.id()), Some("one"));
    assert_eq!(name(other.id()), Some("two"));
    assert_eq!(name(nameless.id()), None);
}

#[arc::test]
async fn tasks_of_a_set_tell_the_line_that_spawned_them() {
    let mut set = task::JoinSet::new();
    let line = line!() + 1;
    set.spawn(pending::<()>());
    let tracker = task::TaskTracker::new();
    let tracked = tracker.spawn(pending::<()>());
    let mut lines: Vec<_> =
        Handle::current().tasks().iter().map(|task| task.location.line()).collect();
    lines.sort_unstable();
    assert_eq!(lines, [line, line + 2]);
    tracked.abort();
}

#[arc::test]
async fn shutdown_ends_the_sending_direction() {
    let (mut left, mut right) = tcp_pair().await;
    left.write_all(b"the end").await.unwrap();
    left.shutdown().await.unwrap();
    assert_eq!(all_text(&mut right).await, "the end");
}

#[arc::test]
async fn a_runtime_counts_its_tasks_by_what_they_do() {
    let metrics = Handle::current().metrics();
    assert_eq!((metrics.num_workers(), metrics.num_alive_tasks()), (1, 0));
    let idle = arc::spawn(pending::<()>());
    arc::task::yield_now().await;

    let (sender, receiver) = mpsc::channel::<()>();
    let blocking = arc::task::spawn_blocking(move || receiver.recv().is_err());
    let queued = arc::spawn(async {});
    assert_eq!((metrics.num_alive_tasks(), metrics.num_queued_tasks()), (2, 1));
    assert_eq!((metrics.num_blocking_tasks(), metrics.polls_of_alive_tasks()), (1, 1));

    queued.await.unwrap();
    let running = arc::spawn({
        let metrics = metrics.clone();
        async move { (metrics.num_running_tasks(), metrics.num_alive_tasks()) }
    });
    assert_eq!(running.await.unwrap(), (1, 2));
    drop(sender);
    assert!(soon(blocking).await.unwrap());
    idle.abort();
    assert!(soon(idle).await.is_err());
    assert_eq!((metrics.num_alive_tasks(), metrics.num_blocking_tasks()), (0, 0));
}

#[arc::test(crate = "arc_util")]
async fn a_runtime_tells_what_its_worker_has_done() {
    let handle = Handle::current();
    let metrics = handle.metrics();
    let tasks: Vec<_> = (0..3).map(|_| arc::spawn(async {})).collect();
    // While polls are long, or nothing is known of them, the global queue has them all.
    let waiting = || metrics.worker_local_queue_depth(0) + metrics.global_queue_depth();
    assert_eq!((waiting(), metrics.worker_poll_count(0)), (3, 0));
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!((waiting(), metrics.worker_poll_count(0)), (0, 3));
    assert_eq!(metrics.worker_steal_count(0), 0);

    // The worker sleeps while the other thread has not come yet.
    let before = metrics.worker_park_count(0);
    let (sender, receiver) = arc_util::sync::oneshot::channel();
    let counts = metrics.clone();
    let waker = thread::spawn(move || {
        while counts.worker_park_count(0) == before {
            thread::yield_now();
        }
        sender.send(()).unwrap();
    });
    soon(receiver).await.unwrap();
    waker.join().unwrap();
    assert_eq!(metrics.worker_park_count(0), handle.worker_counts(0).parks);
}

#[arc::test]
async fn a_dump_tells_which_tasks_have_not_been_polled_since_the_last_one() {
    let waiter = arc::task::spawn_named("waiter", pending::<()>());
    let (sender, mut receiver) = arc_util::sync::mpsc::channel(1);
    let busy =
        arc::task::spawn_named("busy", async move { while receiver.recv().await.is_some() {} });
    arc::task::yield_now().await;
    let first = Handle::current().dump();
    assert!(!first.to_string().contains("so for at least"), "{first}");

    let polls = |task: &TaskInfo| (task.id, task.polls, task.state);
    let before = first.tasks().iter().find(|task| task.id == busy.id()).unwrap().polls;
    sender.send(1).await.unwrap();
    let after = (busy.id(), before + 1, TaskState::Idle);
    until(|| Handle::current().tasks().iter().any(|task| polls(task) == after)).await;
    let second = Handle::current().dump().after(&first);
    let third = Handle::current().dump().after(&second);
    let ids: Vec<_> = second.tasks().iter().map(|task| task.id).collect();
    assert_eq!(ids, [waiter.id(), busy.id()]);

    let is_same = |dump: &Dump, name: &str| {
        let text = dump.to_string();
        let line = text.lines().find(|line| line.contains(name)).expect("its line").to_owned();
        assert!(line.contains("spawned at ") && line.contains("idle"), "{line}");
        line.contains(", so for at least ")
    };
    assert!(is_same(&second, "\"waiter\"") && !is_same(&second, "\"busy\""), "{second}");
    assert!(is_same(&third, "\"waiter\"") && is_same(&third, "\"busy\""), "{third}");
    waiter.abort();
}

/// The only worker waits for the end of the standard input, and so does the report of it.
#[cfg(unix)]
#[test]
fn a_signal_prints_a_dump_even_if_the_workers_hang() {
    use std::io::{BufRead, BufReader, stdin};

    let test = "runtime::a_signal_prints_a_dump_even_if_the_workers_hang";
    let Some(mut child) = crate::common::child(test, ":") else {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.workers(1).long_poll_limit(Duration::MAX).build().unwrap();
        let quit = SignalKind::quit();
        runtime.dump_on_signal(quit).unwrap();
        let hangs = runtime.block_on(async {
            arc::task::spawn_named("hangs", async move {
                signal_hook::low_level::raise(quit.as_raw_value()).unwrap();
                stdin().lines().count()
            })
        });
        assert_eq!(runtime.block_on(hangs).unwrap(), 0);
        return;
    };

    let errors = BufReader::new(child.stderr.take().expect("piped"));
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || errors.lines().try_for_each(|line| sender.send(line.unwrap())));
    let line = || lines.recv_timeout(DEADLINE).expect("a line of the report");
    assert_eq!(line(), "arc: 1 unfinished task, 1 worker");
    let task = line();
    assert!(
        task.contains("\"hangs\", spawned at ") && task.contains("running on worker 0"),
        "{task}"
    );
    crate::common::ended(child);
}

/// The pipe has no room for all of it. So nothing would go on if something were locked until
/// somebody reads.
#[cfg(unix)]
#[test]
fn a_dump_that_nobody_reads_holds_nobody_up() {
    use std::io::{BufRead, BufReader, Write, stdin, stdout};

    let test = "runtime::a_dump_that_nobody_reads_holds_nobody_up";
    let Some(mut child) = crate::common::child(test, "") else {
        let runtime = Builder::new_multi_thread().workers(2).build().unwrap();
        let quit = SignalKind::quit();
        runtime.dump_on_signal(quit).unwrap();
        let name = "one of many tasks that wait for nothing";
        let spawn = |_| task::Builder::new().name(name).spawn_on(pending::<()>(), &runtime);
        let tasks: Vec<_> = (0..4_000).map(|place| spawn(place).unwrap()).collect();
        signal_hook::low_level::raise(quit.as_raw_value()).unwrap();

        // It is being printed.
        assert_eq!(stdin().lines().count(), 0);
        let another = Builder::new_multi_thread().build().unwrap();
        assert_eq!(another.block_on(runtime.spawn(async { 7 })).unwrap(), 7);
        assert_eq!(runtime.dump().tasks().len(), tasks.len());
        tasks.iter().for_each(|task| task.abort());
        for task in tasks {
            assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        }
        writeln!(stdout(), "all goes on").unwrap();
        return;
    };

    let mut errors = BufReader::new(child.stderr.take().expect("piped"));
    let mut first = String::new();
    errors.read_line(&mut first).unwrap();
    assert_eq!(first, "arc: 4000 unfinished tasks, 2 workers\n");
    drop(child.stdin.take());

    let output = BufReader::new(child.stdout.take().expect("piped"));
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || output.lines().try_for_each(|line| sender.send(line.unwrap())));
    // The line has begun with the name of the test.
    while !lines.recv_timeout(DEADLINE).expect("it goes on").ends_with("all goes on") {}
    drop(errors);
    assert!(child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_dump_cannot_be_asked_for_by_every_signal() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let error = runtime.dump_on_signal(SignalKind::from_raw(9)).unwrap_err();
    assert_eq!(error.to_string(), "programs cannot listen for signal 9");
}

#[test]
fn a_local_runtime_runs_both_kinds_of_tasks_on_its_thread() {
    let runtime = LocalRuntime::new().unwrap();
    let here = thread::current().id();
    let before = runtime.spawn_local(async move { thread::current().id() == here });
    let text = Rc::new(String::from("text"));
    let output = runtime.block_on(async {
        let sent = arc::spawn(async move { thread::current().id() == here });
        let kept = text.clone();
        let local = task::spawn_local(async move {
            let inner = task::spawn_local(async move { kept.len() });
            arc::time::sleep(Duration::from_millis(1)).await;
            inner.await.unwrap()
        });
        (before.await.unwrap(), sent.await.unwrap(), local.await.unwrap())
    });
    assert_eq!(output, (true, true, 4));
    assert_eq!(runtime.metrics().num_workers(), 1);
}

/// What a task holds may still use its runtime when it is dropped.
struct Spawner(Rc<()>);

impl Drop for Spawner {
    fn drop(&mut self) {
        assert!(Handle::try_current().is_ok() && Rc::strong_count(&self.0) > 1);
        SPAWNED.with(|spawned| spawned.set(spawned.get() + 1));
        drop(arc::spawn(async {}));
    }
}

thread_local! {
    static SPAWNED: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn a_local_runtime_drops_its_tasks_when_it_ends() {
    for end in 0..3 {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.build_local(LocalOptions::default()).unwrap();
        let kept = Rc::new(());
        let inner = Spawner(kept.clone());
        let task = runtime.spawn_local(async move {
            let _inner = inner;
            pending::<()>().await;
        });
        runtime.block_on(arc::task::yield_now());
        match end {
            0 => drop(runtime),
            1 => runtime.shutdown_timeout(DEADLINE),
            _ => runtime.shutdown_background(),
        }
        assert_eq!((Rc::strong_count(&kept), task.is_finished()), (1, true));
        assert_eq!(SPAWNED.with(Cell::get), end + 1, "the drop panicked");
    }
}

#[test]
fn an_error_tells_that_its_runtime_has_ended() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let socket = runtime.block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
    let error = socket.try_recv(&mut [0]).unwrap_err();
    assert!(!is_rt_shutdown_err(&error), "{error}");
    drop(runtime);
    let error = socket.try_recv(&mut [0]).unwrap_err();
    assert!(is_rt_shutdown_err(&error), "{error}");
}

#[cfg(unix)]
#[test]
fn an_error_of_a_unix_socket_tells_that_the_runtime_has_ended() {
    use arc_util::net::{TcpListener, UnixDatagram, UnixListener, UnixStream};
    use futures_util::FutureExt;

    let folder = crate::common::Folder::new("runtime-has-ended");
    let path = |name| folder.0.join(name);
    let there = std::os::unix::net::UnixListener::bind(path("there")).unwrap();
    let runtime = Builder::new_current_thread().build().unwrap();
    let handle = runtime.handle().clone();
    let _guard = handle.enter();
    let missing = UnixStream::connect(path("missing")).now_or_never().unwrap().unwrap_err();
    assert!(!is_rt_shutdown_err(&missing), "{missing}");

    drop(runtime);
    let errors = [
        UnixListener::bind(path("one")).unwrap_err(),
        UnixDatagram::bind(path("two")).unwrap_err(),
        UnixStream::connect(path("there")).now_or_never().unwrap().unwrap_err(),
        UnixListener::from_std(there).unwrap_err(),
        UdpSocket::bind("127.0.0.1:0").now_or_never().unwrap().unwrap_err(),
        TcpListener::bind("127.0.0.1:0").now_or_never().unwrap().unwrap_err(),
    ];
    for error in errors {
        assert!(is_rt_shutdown_err(&error), "{error}");
    }
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn two_tasks_that_run_at_once_have_different_workers() {
    let both = std::sync::Arc::new(std::sync::Barrier::new(2));
    let mut tasks = task::JoinSet::new();
    for _ in 0..2 {
        let both = both.clone();
        tasks.spawn(async move {
            // Each waits until the other one runs, too.
            both.wait();
            let worker = worker_index();
            both.wait();
            worker
        });
    }
    let mut workers = soon(tasks.join_all()).await;
    workers.sort_unstable();
    assert_eq!(workers, [Some(0), Some(1)]);
    assert_eq!(arc::task::spawn_blocking(worker_index).await.unwrap(), None);
}
