//! Twelve mistakes that services make, and one that looks like one of them.

use crate::{LATE, comes_to_stand_out, here, record, stands_out};
use arc::task::{JoinHandle, spawn_named, yield_now};
use arc::time::{Duration, sleep};
use arc_util::sync::{
    Barrier, Mutex, Notify, OwnedSemaphorePermit, RwLock, Semaphore, mpsc, oneshot, watch,
};
use arc_util::task::JoinSet;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn full_channel_whose_receiver_waits_for_the_sender() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let (sender, mut receiver) = mpsc::channel(1);
    let (handle, of_client) = oneshot::channel::<JoinHandle<()>>();
    let server = spawn_named("server", async move {
        receiver.recv().await.unwrap();
        of_client.await.unwrap().await.unwrap();
    });
    let client = spawn_named("client", async move {
        for _ in 0..3 {
            sender.send(()).await.unwrap();
        }
    });
    let abort = client.abort_handle();
    handle.send(client).unwrap();
    comes_to_stand_out(&format!(
        "deadlock: tasks wait for each other .. \"server\" .. \"client\" .. \
         for room in the channel made at {made}"
    ));
    abort.abort();
    server.abort();
}

#[test]
fn two_tasks_that_want_a_second_permit_each() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let permits = Arc::new(Semaphore::new(2));
    let meet = Arc::new(Barrier::new(2));
    let tasks = ["ann", "bob"].map(|name| {
        let (permits, meet) = (permits.clone(), meet.clone());
        spawn_named(name, async move {
            let _first = permits.acquire().await.unwrap();
            meet.wait().await;
            let _second = permits.acquire().await.unwrap();
        })
    });
    comes_to_stand_out(&format!(
        "deadlock: tasks wait for each other .. \"ann\" .. \"bob\" .. \
         for permits of the Semaphore made at {made}"
    ));
    tasks.iter().for_each(JoinHandle::abort);
}

#[test]
fn task_that_joins_itself() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let (handle, own) = oneshot::channel::<JoinHandle<()>>();
    let line = here(line!() + 1);
    let task = spawn_named("ouroboros", async move { own.await.unwrap().await.unwrap() });
    let abort = task.abort_handle();
    handle.send(task).unwrap();
    comes_to_stand_out(&format!(
        r#"deadlock: a task waits for itself: task .. "ouroboros" .. {line} .. to end"#
    ));
    abort.abort();
}

#[test]
fn reader_that_asks_to_write() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let lock = Arc::new(RwLock::new(0));
    let (reads, writes) = (here(line!() + 2), here(line!() + 4));
    let task = spawn_named("upgrades", async move {
        let value = lock.read().await;
        if *value == 0 {
            *lock.write().await = 1;
        }
    });
    comes_to_stand_out(&format!(
        "deadlock: a task waits for itself .. \"upgrades\" .. waits at {writes} .. \
         for the RwLock made at {made} .. has had since {reads}"
    ));
    task.abort();
}

#[test]
fn writer_behind_a_reader_that_sleeps() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let lock = Arc::new(RwLock::new(0));
    let (shared, (begun, has_begun)) = (lock.clone(), oneshot::channel());
    let reader = spawn_named("reader", async move {
        let value = shared.read().await;
        begun.send(()).unwrap();
        sleep(LATE).await;
        assert_eq!(*value, 0);
    });
    runtime.block_on(has_begun).unwrap();
    let writer = spawn_named("writer", async move { *lock.write().await = 1 });
    runtime.block_on(async { (reader.await.unwrap(), writer.await.unwrap()) });
    stands_out(&format!(
        "lock: task .. \"writer\" .. for the RwLock made at {made} .. \"reader\" .. \
         , across an await: "
    ));
}

#[test]
fn permit_that_is_kept_in_a_map() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let sessions: Arc<Mutex<HashMap<u32, OwnedSemaphorePermit>>> = Arc::default();
    let made = here(line!() + 1);
    let permits = Arc::new(Semaphore::new(1));
    let (kept, of_login) = (sessions.clone(), permits.clone());
    let login = spawn_named("login", async move {
        let permit = of_login.acquire_owned().await.unwrap();
        kept.lock().await.insert(1, permit);
    });
    runtime.block_on(login).unwrap();
    let next = spawn_named("next login", async move { drop(permits.acquire().await) });
    runtime.block_on(sleep(LATE));
    stands_out(&format!(
        "lock: task .. \"next login\" .. for permits of the Semaphore made at {made} .. \
         \"login\" .. it has ended meanwhile"
    ));
    next.abort();
    drop(sessions);
}

#[test]
fn notification_that_comes_before_anybody_waits() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let ready = Arc::new(Notify::new());
    let tells = ready.clone();
    let starter = spawn_named("starter", async move { tells.notify_waiters() });
    runtime.block_on(starter).unwrap();
    let waiter = spawn_named("waiter", async move { ready.notified().await });
    comes_to_stand_out(&format!(
        "missed: task .. \"waiter\" .. for the Notify made at {made} .. \"starter\" .. \
         before anybody waited"
    ));
    waiter.abort();
}

#[test]
fn answer_whose_sender_is_kept_in_a_map() {
    const LOST: u32 = 7;
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let (requests, mut requested) = mpsc::channel::<(u32, oneshot::Sender<u32>)>(16);
    let server = spawn_named("server", async move {
        let mut pending = HashMap::new();
        while let Some((id, answer)) = requested.recv().await {
            pending.insert(id, answer);
            sleep(Duration::from_millis(1)).await;
            if id != LOST {
                pending.remove(&id).unwrap().send(id).unwrap();
            }
        }
    });
    let made = here(line!() + 4);
    let mut clients = Vec::new();
    for id in 0..10 {
        let requests = requests.clone();
        let (answer, answered) = oneshot::channel();
        clients.push(spawn_named(&format!("client {id}"), async move {
            requests.send((id, answer)).await.unwrap();
            assert_eq!(answered.await, Ok(id));
        }));
    }
    comes_to_stand_out(&format!(
        "unanswered: task .. \"client 7\" .. for the value of the oneshot channel made at {made} \
         .. 9 others from there came within"
    ));
    clients.iter().for_each(JoinHandle::abort);
    server.abort();
}

#[test]
fn watcher_that_never_marks_a_value_as_seen() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let (config, changes) = watch::channel(0);
    config.send(1).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    let watcher = spawn_named("watcher", async move {
        while !over.load(Ordering::Relaxed) {
            changes.clone().changed().await.unwrap();
        }
    });
    runtime.block_on(sleep(LATE));
    is_over.store(true, Ordering::Relaxed);
    runtime.block_on(watcher).unwrap();
    stands_out(&format!(
        "spins: task .. \"watcher\" .. saw values of the watch channel made at {made} .. \
         does not mark them as seen"
    ));
}

#[test]
fn call_that_blocks_the_thread() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let (sender, receiver) = std::sync::mpsc::channel();
    let (begun, has_begun) = oneshot::channel();
    let line = here(line!() + 1);
    let task = spawn_named("blocks", async move {
        begun.send(()).unwrap();
        receiver.recv().unwrap();
    });
    runtime.block_on(has_begun).unwrap();
    runtime.block_on(sleep(LATE));
    stands_out(&format!(r#"is stuck: it has polled task .. "blocks" .. {line}"#));
    sender.send(()).unwrap();
    runtime.block_on(task).unwrap();
    stands_out(&format!(r#"long poll: task .. "blocks" .. {line}"#));
}

#[test]
fn set_of_tasks_that_nobody_joins() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let (stop, mut stops) = oneshot::channel();
    let made = here(line!() + 2);
    let server = spawn_named("server", async move {
        let mut set = JoinSet::new();
        while stops.try_recv().is_err() {
            (0..100).for_each(|_| drop(set.spawn(async {})));
            sleep(Duration::from_millis(1)).await;
        }
    });
    comes_to_stand_out(&format!(
        "piles up: .. tasks of the JoinSet made at {made} .. \
         have ended, and nobody has joined them .. \"server\""
    ));
    stop.send(()).unwrap();
    runtime.block_on(server).unwrap();
}

#[test]
fn channel_without_a_bound_whose_receiver_is_slow() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let made = here(line!() + 1);
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let slow = spawn_named("slow", async move {
        while receiver.recv().await.is_some() {
            sleep(Duration::from_millis(1)).await;
        }
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    let fast = spawn_named("fast", async move {
        while !over.load(Ordering::Relaxed) {
            (0..100).for_each(|_| sender.send(()).unwrap());
            sleep(Duration::from_millis(1)).await;
        }
    });
    comes_to_stand_out(&format!(
        "piles up: .. values were in the unbounded channel made at {made} .. \"fast\" .. \
         sends faster than task .. \"slow\""
    ));
    is_over.store(true, Ordering::Relaxed);
    runtime.block_on(fast).unwrap();
    slow.abort();
}

#[test]
fn program_in_which_nobody_is_left() {
    let (_recorder, runtime) = record(2);
    let (begun, has_begun) = std::sync::mpsc::channel();
    let program = std::thread::spawn(move || {
        runtime.block_on(async {
            let (work, mut works) = mpsc::channel::<()>(1);
            let (result, of_worker) = oneshot::channel::<()>();
            let worker = spawn_named("worker", async move {
                works.recv().await;
                let _ = result.send(());
            });
            begun.send(worker.abort_handle()).unwrap();
            // It ends when it has no sender any more, and one is here.
            assert!(of_worker.await.is_err());
            drop(work);
        });
    });
    let worker = has_begun.recv().unwrap();
    comes_to_stand_out(
        "nobody is left who could wake it .. block_on .. for the value of the oneshot channel \
         .. \"worker\" .. for a value from the",
    );
    worker.abort();
    program.join().unwrap();
}

/// It has nobody who sends, but a timer, and so may go on.
#[test]
fn program_that_sleeps_has_somebody_left() {
    let (_recorder, runtime) = record(2);
    let _guard = runtime.enter();
    let (_work, mut works) = mpsc::channel::<()>(1);
    let worker = spawn_named("worker", async move { works.recv().await });
    runtime.block_on(async {
        sleep(LATE).await;
        yield_now().await;
    });
    let findings = crate::timeline().findings();
    let found = findings.iter().find(|it| it.text.contains("nobody is left"));
    assert!(found.is_none(), "{found:?}");
    worker.abort();
}
