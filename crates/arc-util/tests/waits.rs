//! The dump says what each task waits for, and names deadlocks, while nothing is recorded.
//! `cargo test -p arc-util --features waits --test waits`.

use arc::task::{JoinHandle, spawn_named, yield_now};
use arc::time::{Duration, sleep};
use arc_util::net::TcpListener;
use arc_util::runtime::{Dump, Handle, Runtime};
use arc_util::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use arc_util::time::timeout;
use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

/// A machine that is busy with other things may take long. What does not come by then never does.
const DEADLINE: Duration = Duration::from_secs(60);

/// Takes dumps until one has a line with all of these parts.
#[track_caller]
fn dump_with(handle: &Handle, parts: &[&str]) -> String {
    let start = Instant::now();
    loop {
        let dump = handle.dump().to_string();
        if dump.lines().any(|line| parts.iter().all(|part| line.contains(part))) {
            return dump;
        }
        assert!(start.elapsed() < DEADLINE, "no line with {parts:?} in:\n{dump}");
        std::thread::yield_now();
    }
}

/// The dump when all of these tasks wait, which is when no deadlock can come any more.
fn dump_of_idle(handle: &Handle, names: &[&str]) -> Dump {
    for name in names {
        dump_with(handle, &[name, "idle"]);
    }
    handle.dump()
}

fn runtime() -> Runtime {
    arc_util::runtime::Builder::new_multi_thread().workers(2).build().unwrap()
}

#[test]
fn two_tasks_over_two_mutexes() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let made = line!() + 1;
    let (left, right) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let both_have_one = Arc::new(arc_util::sync::Barrier::new(2));
    let take = |name, first: &Arc<Mutex<()>>, second: &Arc<Mutex<()>>| {
        let (first, second) = (first.clone(), second.clone());
        let meet = both_have_one.clone();
        spawn_named(name, async move {
            let _first = first.lock().await;
            meet.wait().await;
            let _second = second.lock().await;
        })
    };
    let had = line!() - 5;
    let waits = line!() - 4;
    let tasks = [take("ann", &left, &right), take("bob", &right, &left)];

    let dump = dump_with(&runtime, &["deadlock: tasks wait for each other", "\"ann\"", "\"bob\""]);
    let deadlock = dump.lines().find(|line| line.contains("deadlock")).unwrap();
    let (file, lock) = (file!(), "for the Mutex made at");
    for part in [
        format!("waits at {file}:{waits}:"),
        format!("{lock} {file}:{made}:"),
        format!(" has had since {file}:{had}:"),
    ] {
        assert_eq!(deadlock.matches(&part).count(), 2, "{part} in {dump}");
    }
    // The lines of the tasks say since when.
    assert_eq!(dump.matches("      it has waited ").count(), 2, "{dump}");

    // As soon as one goes on, there is no deadlock.
    tasks[0].abort();
    runtime.block_on(async {
        for task in tasks {
            let _ = task.await;
        }
    });
    assert!(!runtime.dump().to_string().contains("deadlock"));
}

/// A reader that does something at each part of a text.
struct Acts<F>(F);

impl<F: FnMut()> std::fmt::Write for Acts<F> {
    fn write_str(&mut self, _part: &str) -> std::fmt::Result {
        (self.0)();
        Ok(())
    }
}

/// While it is printed, another thread does all that could wait for what the dump has looked at.
#[test]
fn nothing_is_locked_while_a_dump_is_printed() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let (lock, both) = (Arc::new(Mutex::new(())), Arc::new(Barrier::new(2)));
    for name in ["ann", "bob"] {
        let (lock, other, both) = (lock.clone(), Arc::new(Mutex::new(())), both.clone());
        spawn_named(name, async move {
            let _other = other.lock().await;
            both.wait().await;
            let _first = lock.lock().await;
            let _second = lock.lock().await;
        });
    }
    let dump = dump_with(&runtime, &["deadlock: a task waits for itself"]);
    assert!(dump.contains("which task"), "{dump}");

    let (ask, asked) = std::sync::mpsc::channel::<()>();
    let (answer, answered) = std::sync::mpsc::channel();
    let handle = runtime.handle().clone();
    std::thread::spawn(move || {
        for () in asked {
            let another = arc_util::runtime::Builder::new_multi_thread().workers(1).build();
            let lock = Arc::new(Mutex::new(()));
            let guard = lock.try_lock().unwrap();
            let waits = lock.clone();
            let task = handle.spawn(async move { drop(waits.lock().await) });
            until_it_waits(&handle, task.id());
            drop(guard);
            another.unwrap().block_on(task).unwrap();
            answer.send(()).unwrap();
        }
    });
    let mut parts = 0;
    let mut acts = Acts(|| {
        parts += 1;
        ask.send(()).unwrap();
        answered.recv_timeout(DEADLINE).expect("nobody waits for the end of the dump");
    });
    std::fmt::Write::write_fmt(&mut acts, format_args!("{}", runtime.dump())).unwrap();
    assert!(parts > 20, "{parts}");
}

/// Takes dumps until one says that the task waits for a lock.
fn until_it_waits(handle: &Handle, id: arc::task::Id) {
    let begin = format!("  task {id}, ");
    let waits = || {
        let dump = handle.dump().to_string();
        let mut lines = dump.lines().skip_while(|line| !line.starts_with(&begin));
        lines.nth(1).is_some_and(|line| line.contains("for the Mutex made at"))
    };
    while !waits() {
        std::thread::yield_now();
    }
}

#[test]
fn a_task_that_joins_itself() {
    let runtime = runtime();
    let (sender, receiver) = oneshot::channel::<JoinHandle<()>>();
    let _guard = runtime.enter();
    let task = spawn_named("ouroboros", async move {
        receiver.await.expect("it is sent").await.unwrap();
    });
    let abort = task.abort_handle();
    sender.send(task).unwrap();
    let waits = "waits for the end of task";
    dump_with(&runtime, &["deadlock: a task waits for itself: task", "\"ouroboros\"", waits]);
    abort.abort();
}

#[test]
fn a_bounded_channel_and_a_lock() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let lock = Arc::new(Mutex::new(()));
    let made = line!() + 1;
    let (sender, mut receiver) = mpsc::channel(1);
    let is_locked = Arc::new(Notify::new());

    let (shared, locked) = (lock.clone(), is_locked.clone());
    let consumer = spawn_named("consumer", async move {
        while let Some(()) = receiver.recv().await {
            locked.notified().await;
            let _lock = shared.lock().await;
        }
    });
    let producer = spawn_named("producer", async move {
        let _lock = lock.lock().await;
        sender.send(()).await.unwrap();
        is_locked.notify_one();
        loop {
            sender.send(()).await.unwrap();
        }
    });
    let room = format!("waits for room in the channel made at {}:{made}:", file!());
    let parts = ["deadlock: tasks wait for each other", "\"consumer\"", "\"producer\"", &room];
    dump_with(&runtime, &parts);
    consumer.abort();
    producer.abort();
}

#[test]
fn a_mutex_that_is_locked_twice_and_who_waits_behind() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let lock = Arc::new(Mutex::new(()));
    let twice = lock.clone();
    let both = spawn_named("twice", async move {
        let _first = twice.lock().await;
        let _second = twice.lock().await;
    });
    let dump = dump_with(&runtime, &["deadlock: a task waits for itself", "\"twice\""]);
    let behind = spawn_named("behind", async move { drop(lock.lock().await) });
    let dump_behind = dump_of_idle(&runtime, &["\"behind\""]).to_string();
    // Who waits behind a deadlock is no part of it.
    let deadlock = dump_behind.lines().find(|line| line.contains("deadlock")).unwrap();
    assert!(!deadlock.contains("behind"), "{dump} {dump_behind}");
    both.abort();
    runtime.block_on(behind).unwrap();
}

/// Each of these could still go on.
#[test]
fn waits_that_may_end_are_no_deadlock() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let (left, right) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let both_have_one = Arc::new(arc_util::sync::Barrier::new(2));
    let take = |name, first: &Arc<Mutex<()>>, second: &Arc<Mutex<()>>, limit: Duration| {
        let (first, second) = (first.clone(), second.clone());
        let meet = both_have_one.clone();
        spawn_named(name, async move {
            let _first = first.lock().await;
            meet.wait().await;
            let _ = timeout(limit, second.lock()).await;
        })
    };
    // One of them gives up some time.
    let patient = take("patient", &left, &right, DEADLINE);
    let stuck = take("impatient", &right, &left, DEADLINE / 2);

    // Tasks that wait for others, which wait for a timer or for nothing.
    let sleeper = spawn_named("sleeper", sleep(DEADLINE));
    let joins = spawn_named("joins", sleeper);
    let never = spawn_named("never", pending::<()>());
    let joins_never = spawn_named("joins never", never);
    let permits = Arc::new(Semaphore::new(1));
    let (holds, waits) = (permits.clone(), permits);
    let (begun, has_begun) = oneshot::channel();
    let holder = spawn_named("holder", async move {
        let _permit = holds.acquire().await;
        begun.send(()).unwrap();
        pending::<()>().await;
    });
    runtime.block_on(has_begun).unwrap();
    let waiter = spawn_named("waiter", async move { drop(waits.acquire().await) });

    let names = ["\"patient\"", "\"impatient\"", "\"joins\"", "\"joins never\"", "\"waiter\""];
    dump_with(&runtime, &["for the Mutex made at"]);
    let dump = dump_of_idle(&runtime, &names).to_string();
    assert!(!dump.contains("deadlock"), "{dump}");
    for task in [patient, stuck, holder, waiter] {
        task.abort();
    }
    joins.abort();
    joins_never.abort();
}

#[test]
fn each_kind_of_wait_is_named() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let (sender, mut values) = mpsc::unbounded_channel::<()>();
    let (answer, answered) = oneshot::channel::<()>();
    let (state, mut states) = watch::channel(0);
    let notify = Notify::new();
    let token = arc_util::sync::CancellationToken::new();
    let permits = Semaphore::new(0);
    let (news, mut hears) = broadcast::channel::<()>(1);
    let meet = Barrier::new(2);
    let lock = Arc::new(RwLock::new(()));
    let (reads, writes) = (lock.clone(), lock.clone());
    let guard = lock.try_write().unwrap();
    let tasks = [
        spawn_named("sleeper", sleep(DEADLINE)),
        spawn_named("acceptor", async move { drop(listener.accept().await) }),
        spawn_named("receiver", async move { assert!(values.recv().await.is_none()) }),
        spawn_named("asker", async move { assert!(answered.await.is_err()) }),
        spawn_named("watcher", async move { assert!(states.changed().await.is_err()) }),
        spawn_named("notified", async move { notify.notified().await }),
        spawn_named("cancelled", async move { token.cancelled().await }),
        spawn_named("acquirer", async move { drop(permits.acquire().await) }),
        spawn_named("hearer", async move { assert!(hears.recv().await.is_err()) }),
        spawn_named("comer", async move { assert!(!meet.wait().await.is_leader()) }),
        spawn_named("reader", async move { drop(reads.read().await) }),
        spawn_named("writer", async move { drop(writes.write_owned().await) }),
    ];
    for (name, wait) in [
        ("sleeper", "until "),
        ("acceptor", "can be read"),
        ("receiver", "for a value from the channel made at"),
        ("asker", "for the value of the oneshot channel made at"),
        ("watcher", "for a new value of the watch channel made at"),
        ("notified", "for the Notify made at"),
        ("cancelled", "for the CancellationToken made at"),
        ("acquirer", "for permits of the Semaphore made at"),
        ("hearer", "for a value from the broadcast channel made at"),
        ("comer", "for the other tasks at the Barrier made at"),
        ("reader", "for the RwLock made at"),
        ("writer", "for the RwLock made at"),
    ] {
        dump_with(&runtime, &[&format!("\"{name}\""), "idle"]);
        let dump = runtime.dump().to_string();
        let mut lines = dump.lines().skip_while(|line| !line.contains(&format!("\"{name}\"")));
        let line = lines.nth(1).unwrap();
        assert!(line.contains("it has waited ") && line.contains(wait), "{name}: {dump}");
        // The line that made it is of this file.
        assert!(!wait.ends_with("made at") || line.contains(file!()), "{name}: {dump}");
    }
    drop((sender, answer, state, news, guard));
    tasks.iter().for_each(JoinHandle::abort);
}

#[test]
fn a_wait_is_as_old_as_its_first_poll() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let made = line!() + 1;
    let first = Arc::new(Notify::new());
    let often = Arc::new(Notify::new());
    let wakes = often.clone();
    let task = spawn_named("often", async move {
        let mut waits = std::pin::pin!(first.notified());
        loop {
            arc_util::select! {
                biased;
                () = &mut waits => return,
                () = often.notified() => {}
            }
        }
    });
    dump_with(&runtime, &["for the Notify made at"]);
    let start = Instant::now();
    // It is woken and waits again, until it has waited for longer than it takes to print zero.
    while start.elapsed() < Duration::from_millis(200) {
        wakes.notify_one();
        runtime.block_on(yield_now());
    }
    let first = format!("for the Notify made at {}:{made}:", file!());
    let dump = dump_of_idle(&runtime, &["\"often\""]).to_string();
    let line = dump.lines().find(|line| line.contains(&first)).unwrap();
    assert!(line.contains("it has waited ") && !line.contains("waited 0.0 s"), "{dump}");
    task.abort();
}

#[test]
fn a_future_in_block_on_is_listed_while_it_waits() {
    let runtime = runtime();
    let lock = Arc::new(Mutex::new(()));
    let guard = lock.try_lock().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| runtime.block_on(async { drop(lock.lock().await) }));
        dump_with(&runtime, &["of a block_on: it has waited", "for the Mutex made at"]);
        drop(guard);
    });
    assert!(!runtime.dump().to_string().contains("for the Mutex made at"));
}

#[test]
fn a_task_that_spins_stands_out() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let spins = spawn_named("spins", async {
        loop {
            yield_now().await;
        }
    });
    let waits = spawn_named("waits", pending::<()>());
    let polls = || {
        let tasks = runtime.tasks();
        tasks.iter().find(|task| task.id == spins.id()).map_or(0, |task| task.polls)
    };
    let first = dump_of_idle(&runtime, &["\"waits\""]);
    let before = polls();
    while polls() < before + 10_000 {
        std::thread::yield_now();
    }
    let dump = runtime.dump().after(&first).to_string();
    let rate = |name: &str| {
        let line = dump.lines().find(|line| line.contains(name)).unwrap();
        let (line, _) = line.split_once(" polls a second")?;
        line.rsplit(' ').next()?.parse::<u64>().ok()
    };
    assert!(rate("\"spins\"").is_some_and(|rate| rate > 100), "{dump}");
    assert_eq!(rate("\"waits\""), None, "{dump}");
    spins.abort();
    waits.abort();
}

/// What a task held or waited for is not kept when it has ended, nor when its runtime has.
#[test]
fn nothing_is_kept_of_what_has_ended() {
    let runtime = runtime();
    let notify = Arc::new(Notify::new());
    let weak = Arc::downgrade(&notify);
    let ids = runtime.block_on(async {
        let waits = notify.clone();
        let ended = arc::spawn(async move { waits.notified().await });
        let aborted = arc::spawn(pending::<()>());
        let ids = [ended.id().0, aborted.id().0];
        yield_now().await;
        notify.notify_one();
        ended.await.unwrap();
        aborted.abort();
        aborted.await.unwrap_err();
        ids
    });
    let is_kept = |id: &u64| arc_trace::waits::waiting().iter().any(|it| it.task == *id);
    assert!(!ids.iter().any(is_kept));

    let waits = notify.clone();
    let dropped = runtime.spawn(async move { waits.notified().await }).id().0;
    dump_with(&runtime, &["for the Notify made at"]);
    assert!(is_kept(&dropped));
    drop(runtime);
    assert!(!is_kept(&dropped));
    drop(notify);
    assert!(weak.upgrade().is_none());
}

/// Such a task waits for its next turn alone, and has what the others wait for.
macro_rules! has_without_budget {
    ($lock:ident, $way:ident) => {
        let runtime = runtime();
        let lock = Arc::new($lock::new(()));
        let (has, waits) = (lock.clone(), lock);
        let _guard = runtime.enter();
        let first = spawn_named("has", async move {
            while arc::task::has_budget_remaining() {
                arc::task::consume_budget().await;
            }
            let mut way = std::pin::pin!(has.$way());
            assert!(futures_util::poll!(way.as_mut()).is_pending());
            pending::<()>().await;
        });
        dump_with(&runtime, &["\"has\"", "idle"]);
        let second = spawn_named("waits", async move { drop(waits.$way().await) });
        dump_with(&runtime, &[stringify!($lock), "\"has\"", "has had since"]);
        first.abort();
        runtime.block_on(second).unwrap();
    };
}

#[test]
fn a_lock_that_came_without_budget_is_held() {
    has_without_budget!(Mutex, lock);
    has_without_budget!(RwLock, write);
}
