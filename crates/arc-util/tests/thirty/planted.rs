//! Programs with one mistake each, and the line that names it.

use crate::{Line, planted};
use arc::task::{JoinHandle, spawn_blocking};
use arc::time::{Duration, sleep};
use arc_util::io::AsyncReadExt;
use arc_util::net::{TcpListener, TcpStream};
use arc_util::sync::{
    Barrier, CancellationToken, Mutex, Notify, OwnedSemaphorePermit, RwLock, Semaphore, broadcast,
    mpsc, oneshot, watch,
};
use arc_util::task::JoinSet;
use arc_util::time::timeout;
use arc_util::{join, select};
use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;

const SHORT: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_millis(200);
const NEVER: Duration = Duration::from_secs(3600);

const EACH_OTHER: &str = "deadlock: tasks wait for each other";
const ITSELF: &str = "deadlock: a task waits for itself";
const NOBODY: &str = "nobody is left who could wake it";

macro_rules! programs {
    ($($name:ident $in_dump:expr, $in_timeline:expr, $program:block)*) => {$(
        #[test]
        fn $name() {
            let line = Line($in_dump, $in_timeline);
            planted(stringify!($name), line, || async $program);
        }
    )*};
}

/// Something that goes on beside the mistake, so that somebody is left.
fn heartbeat() {
    drop(arc::spawn(async {
        loop {
            sleep(LONG).await;
        }
    }));
}

type Lock = Arc<Mutex<()>>;

async fn takes_both(first: Lock, second: Lock) {
    let _first = first.lock().await;
    sleep(SHORT).await;
    let _second = second.lock().await;
}

async fn all(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

programs! {
    two_locks EACH_OTHER, EACH_OTHER, {
        heartbeat();
        let (left, right) = (Lock::default(), Lock::default());
        let one = arc::spawn(takes_both(left.clone(), right.clone()));
        all(vec![one, arc::spawn(takes_both(right, left))]).await;
    }

    three_locks EACH_OTHER, EACH_OTHER, {
        heartbeat();
        let locks = [Lock::default(), Lock::default(), Lock::default()];
        let take = |n: usize| takes_both(locks[n].clone(), locks[(n + 1) % 3].clone());
        all((0..3).map(|n| arc::spawn(take(n))).collect()).await;
    }

    locked_twice ITSELF, ITSELF, {
        heartbeat();
        let lock = Lock::default();
        let _first = lock.lock().await;
        let _second = lock.lock().await;
    }

    reader_that_writes ITSELF, ITSELF, {
        heartbeat();
        let lock = RwLock::new(0);
        let value = lock.read().await;
        *lock.write().await = *value;
    }

    tasks_that_join_each_other EACH_OTHER, EACH_OTHER, {
        heartbeat();
        let (first, of_first) = oneshot::channel::<JoinHandle<()>>();
        let (second, of_second) = oneshot::channel::<JoinHandle<()>>();
        let one = arc::spawn(async { of_second.await.unwrap().await.unwrap() });
        let other = arc::spawn(async { of_first.await.unwrap().await.unwrap() });
        first.send(one).unwrap();
        second.send(other).unwrap();
        pending::<()>().await;
    }

    handle_that_had_ended_before EACH_OTHER, EACH_OTHER, {
        heartbeat();
        let (left, right) = (Lock::default(), Lock::default());
        let take = |first: Lock, second: Lock| async move {
            let _first = first.lock().await;
            let ended = arc::spawn(async {});
            sleep(SHORT).await;
            ended.await.unwrap();
            let _second = second.lock().await;
        };
        let one = arc::spawn(take(left.clone(), right.clone()));
        all(vec![one, arc::spawn(take(right, left))]).await;
    }

    timer_that_was_given_up EACH_OTHER, EACH_OTHER, {
        heartbeat();
        let (left, right) = (Lock::default(), Lock::default());
        let take = |first: Lock, second: Lock| async move {
            let _first = first.lock().await;
            sleep(SHORT).await;
            let ready = Notify::new();
            ready.notify_one();
            select! {
                biased;
                () = sleep(NEVER) => {}
                () = ready.notified() => {}
            }
            let _second = second.lock().await;
        };
        let one = arc::spawn(take(left.clone(), right.clone()));
        all(vec![one, arc::spawn(take(right, left))]).await;
    }

    // The future is borrowed, and still there.
    timer_that_is_borrowed "perhaps a deadlock: tasks", "perhaps a deadlock: tasks", {
        heartbeat();
        let (left, right) = (Lock::default(), Lock::default());
        let take = |first: Lock, second: Lock| async move {
            let _first = first.lock().await;
            sleep(SHORT).await;
            let ready = Notify::new();
            ready.notify_one();
            let mut patience = std::pin::pin!(sleep(NEVER));
            select! {
                biased;
                () = &mut patience => {}
                () = ready.notified() => {}
            }
            let _second = second.lock().await;
            patience.await;
        };
        let one = arc::spawn(take(left.clone(), right.clone()));
        all(vec![one, arc::spawn(take(right, left))]).await;
    }

    read_that_timed_out "a deadlock: tasks", "a deadlock: tasks", {
        heartbeat();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (left, right) = (Lock::default(), Lock::default());
        let take = |first: Lock, second: Lock| async move {
            let mut socket = TcpStream::connect(address).await.unwrap();
            let _first = first.lock().await;
            let _ = timeout(SHORT, socket.read(&mut [0; 1])).await;
            let _second = second.lock().await;
        };
        let one = arc::spawn(take(left.clone(), right.clone()));
        all(vec![one, arc::spawn(take(right, left))]).await;
    }

    channel_and_lock "a deadlock: tasks .. for room in", "a deadlock: tasks .. for room in", {
        heartbeat();
        let lock = Lock::default();
        let (sender, mut receiver) = mpsc::channel(1);
        let shared = lock.clone();
        let consumer = arc::spawn(async move {
            while receiver.recv().await.is_some() {
                sleep(SHORT).await;
                drop(shared.lock().await);
            }
        });
        let producer = arc::spawn(async move {
            let _lock = lock.lock().await;
            loop {
                sender.send(()).await.unwrap();
            }
        });
        all(vec![consumer, producer]).await;
    }

    two_full_channels
        "nobody is left who could wake it .. room in the channel .. (1 value is in it",
        "nobody is left who could wake it .. room in the channel .. (1 value is in it",
    {
        let (ann, mut to_bob) = mpsc::channel(1);
        let (bob, mut to_ann) = mpsc::channel(1);
        let one = arc::spawn(async move {
            ann.send(1).await.unwrap();
            ann.send(2).await.unwrap();
            to_ann.recv().await.unwrap();
        });
        let other = arc::spawn(async move {
            bob.send(1).await.unwrap();
            bob.send(2).await.unwrap();
            to_bob.recv().await.unwrap();
        });
        all(vec![one, other]).await;
    }

    permits_that_were_forgotten
        "nobody is left .. (1 of 0 permits; 2 were forgotten)",
        "nobody is left .. (1 of 0 permits; 2 were forgotten)",
    {
        let limit = Semaphore::new(2);
        for _ in 0..3 {
            limit.acquire().await.unwrap().forget();
        }
    }

    more_permits_than_there_are "nobody is left .. 5 of 4 permits", "5 of 4 permits", {
        let limit = Semaphore::new(4);
        drop(limit.acquire_many(5).await.unwrap());
    }

    barrier_for_one_too_many "nobody is left .. 3 of 4 have come", "3 of 4 have come", {
        let barrier = Arc::new(Barrier::new(4));
        let come = |barrier: Arc<Barrier>| async move {
            assert!(!barrier.wait().await.is_leader());
        };
        all((0..3).map(|_| arc::spawn(come(barrier.clone()))).collect()).await;
    }

    sender_kept_by_who_joins
        "nobody is left .. one sender is left, in task",
        "nobody is left .. one sender is left, in task",
    {
        let (sender, mut receiver) = mpsc::channel(4);
        for number in 0..3 {
            let sender = sender.clone();
            arc::spawn(async move { sender.send(number).await.unwrap() });
        }
        let collects = arc::spawn(async move { while receiver.recv().await.is_some() {} });
        collects.await.unwrap();
        drop(sender);
    }

    future_that_has_the_turn "handed over: ", "handed over: ", {
        heartbeat();
        let lock = Lock::default();
        let guard = lock.clone().lock_owned().await;
        let gives_back = arc::spawn(async move {
            sleep(2 * SHORT).await;
            drop(guard);
        });
        let mut first = Box::pin(lock.lock());
        select! {
            _ = &mut first => {}
            () = sleep(SHORT) => {
                gives_back.await.unwrap();
                drop(lock.lock().await);
            }
        }
    }

    two_permits_each EACH_OTHER, EACH_OTHER, {
        heartbeat();
        let limit = Arc::new(Semaphore::new(2));
        let take = |limit: Arc<Semaphore>| async move {
            let _first = limit.acquire().await.unwrap();
            sleep(SHORT).await;
            let _second = limit.acquire().await.unwrap();
        };
        all((0..2).map(|_| arc::spawn(take(limit.clone()))).collect()).await;
    }

    owned_permit_twice ITSELF, ITSELF, {
        let limit = Arc::new(Semaphore::new(1));
        let _first = limit.clone().acquire_owned().await.unwrap();
        let _second = limit.acquire_owned().await.unwrap();
    }

    permit_kept_by_a_session NOBODY, "lock: .. it has ended meanwhile", {
        let sessions: Arc<Mutex<HashMap<u32, OwnedSemaphorePermit>>> = Arc::default();
        let limit = Arc::new(Semaphore::new(1));
        let (kept, of_login) = (sessions.clone(), limit.clone());
        let login = arc::spawn(async move {
            kept.lock().await.insert(1, of_login.acquire_owned().await.unwrap());
        });
        login.await.unwrap();
        drop(limit.acquire().await);
    }

    join_set_that_waits_for_its_owner EACH_OTHER, EACH_OTHER, {
        heartbeat();
        let lock = Lock::default();
        let mut tasks = JoinSet::new();
        let _guard = lock.lock().await;
        for _ in 0..3 {
            let lock = lock.clone();
            tasks.spawn(async move { drop(lock.lock().await) });
        }
        while tasks.join_next().await.is_some() {}
    }

    lock_in_both_branches ITSELF, ITSELF, {
        heartbeat();
        let lock = Lock::default();
        let (_one, _other) = join!(lock.lock(), lock.lock());
    }

    notification_before_anybody_waited NOBODY, "perhaps missed: ", {
        let ready = Arc::new(Notify::new());
        let tells = ready.clone();
        arc::spawn(async move { tells.notify_waiters() }).await.unwrap();
        ready.notified().await;
    }

    token_that_nobody_cancels NOBODY, NOBODY, {
        let token = CancellationToken::new();
        let waits = arc::spawn(async move { token.cancelled().await });
        waits.await.unwrap();
    }

    watch_that_never_changes NOBODY, NOBODY, {
        let (_config, mut changes) = watch::channel(0);
        changes.changed().await.unwrap();
    }

    answer_that_is_kept "", "perhaps unanswered: ", {
        heartbeat();
        let mut kept = Vec::new();
        let mut asks = Vec::new();
        for number in 0..6 {
            let (answer, answered) = oneshot::channel();
            asks.push(arc::spawn(async move { answered.await.unwrap() }));
            sleep(SHORT).await;
            if number == 3 { kept.push(answer) } else { answer.send(()).unwrap() }
        }
        all(asks).await;
    }

    channel_that_is_full "", "full: ", {
        let (sender, mut receiver) = mpsc::channel(4);
        for _ in 0..4 {
            let sender = sender.clone();
            arc::spawn(async move { while sender.send(()).await.is_ok() {} });
        }
        drop(sender);
        while receiver.recv().await.is_some() {
            sleep(SHORT).await;
        }
    }

    listener_that_lags "", "lost: ", {
        let (news, mut listener) = broadcast::channel(8);
        arc::spawn(async move {
            while news.send(()).is_ok() {
                sleep(Duration::from_millis(1)).await;
            }
        });
        loop {
            let _ = listener.recv().await;
            sleep(5 * SHORT).await;
        }
    }

    queue_that_only_grows "", "grows: ", {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        arc::spawn(async move {
            loop {
                (0..10).for_each(|number| sender.send(number).unwrap());
                sleep(Duration::from_millis(1)).await;
            }
        });
        while receiver.recv().await.is_some() {
            sleep(SHORT).await;
        }
    }

    drop_that_blocks "", "long poll: .. the drop of its future took", {
        struct Slow;
        impl Drop for Slow {
            fn drop(&mut self) {
                std::thread::sleep(LONG / 4);
            }
        }
        let slow = Slow;
        let waits = arc::spawn(async move {
            let _slow = slow;
            pending::<()>().await;
        });
        sleep(SHORT).await;
        waits.abort();
        pending::<()>().await;
    }

    pool_that_is_used_up "", "for a thread of the blocking pool", {
        let (_kept, receiver) = std::sync::mpsc::channel::<()>();
        let receiver = Arc::new(std::sync::Mutex::new(receiver));
        for _ in 0..513 {
            let receiver = receiver.clone();
            drop(spawn_blocking(move || {
                let _ = receiver.lock().map(|receiver| receiver.recv_timeout(10 * LONG));
            }));
        }
        pending::<()>().await;
    }
}
