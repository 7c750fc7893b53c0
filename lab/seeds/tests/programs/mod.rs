//! Programs that count what they do, and so find out if something is lost or comes in a wrong
//! order. Times are random: the seed of the simulation decides them, and what is woken first.
//!
//! `super::util` is arc-util, or a copy of it that has a bug.

use super::util::sync::{CancellationToken, Notify, Semaphore, mpsc, oneshot, watch};
use super::util::task::JoinSet;
use super::util::time::{Duration, Instant, MissedTickBehavior, interval, sleep, timeout};
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Some time below `most` milliseconds, on a grid of 1 ms: so that tasks are woken together.
fn random(most: u64) -> Duration {
    Duration::from_millis(fastrand::u64(0..most))
}

/// Four tasks send, and give up what takes too long. What was sent is received, in the order of
/// each sender, and the receiver gets to know of the end.
pub async fn channel_keeps_what_was_sent() {
    let (sender, mut receiver) = mpsc::channel(2);
    let mut senders = JoinSet::new();
    for task in 0..4_usize {
        let sender = sender.clone();
        senders.spawn(async move {
            let mut sent = Vec::new();
            for number in 0..5 {
                sleep(random(4)).await;
                if let Ok(result) = timeout(random(4), sender.send((task, number))).await {
                    result.expect("the receiver is there");
                    sent.push(number);
                }
            }
            // The receiver has everything by now, and waits.
            sleep(random(9)).await;
            (task, sent)
        });
    }
    drop(sender);

    let mut received = vec![Vec::new(); 4];
    while let Some((task, number)) = receiver.recv().await {
        received[task].push(number);
        sleep(random(4)).await;
    }
    for (task, sent) in senders.join_all().await {
        assert_eq!(sent, received[task]);
    }
}

/// Tasks reserve places in a full channel, and some give them up again.
pub async fn channel_has_all_its_places_again() {
    let (sender, mut receiver) = mpsc::channel(2);
    let mut senders = JoinSet::new();
    for _ in 0..4 {
        let sender = sender.clone();
        senders.spawn(async move {
            let permit = sender.reserve().await.expect("the receiver is there");
            if timeout(random(3), sleep(random(3))).await.is_ok() {
                permit.send(1);
                return 1;
            }
            0
        });
    }
    let mut sent = 0;
    while let Some(result) = senders.join_next().await {
        sent += result.expect("no task panics");
        while let Ok(number) = receiver.try_recv() {
            sent -= number;
        }
    }
    assert_eq!(sent, 0);
    assert_eq!(sender.capacity(), 2);
}

/// More values than a task may receive in one poll.
pub async fn channel_gives_a_burst_to_a_receiver_that_gives_up() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let task = arc::spawn(async move {
        for number in 0..600 {
            // More than the budget of a poll allows the receiver to take at once.
            if number % 200 == 0 {
                sleep(random(5)).await;
            }
            sender.send(number).expect("the receiver is there");
        }
    });
    let mut next = 0;
    while next < 600 {
        if let Ok(value) = timeout(random(3), receiver.recv()).await {
            assert_eq!(value, Some(next));
            next += 1;
        }
    }
    task.await.expect("it does not panic");
}

/// Tasks that hold permits for some time, or give up waiting for them, or are aborted.
pub async fn semaphore_counts_its_permits() {
    let semaphore = Arc::new(Semaphore::new(3));
    let held = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for wanted in [1, 2, 3, 1, 2, 3] {
        let (semaphore, held) = (semaphore.clone(), held.clone());
        tasks.spawn(async move {
            for _ in 0..3 {
                sleep(random(4)).await;
                let permits = timeout(random(6), semaphore.acquire_many(wanted)).await;
                let Ok(permits) = permits else { continue };
                let before = held.fetch_add(wanted, Ordering::Relaxed);
                assert!(before + wanted <= 3, "{before} and {wanted} permits are held");
                sleep(random(3)).await;
                held.fetch_sub(wanted, Ordering::Relaxed);
                drop(permits);
            }
        });
    }
    for wanted in [1, 2, 3] {
        let (semaphore, abort_at) = (semaphore.clone(), random(12));
        let task = arc::spawn(async move {
            sleep(random(6)).await;
            let _permits = semaphore.acquire_many(wanted).await;
            sleep(random(6)).await;
        });
        tasks.spawn(async move {
            sleep(abort_at).await;
            task.abort();
            // Its future is dropped by then.
            drop(task.await);
        });
    }
    tasks.join_all().await;
    assert_eq!(semaphore.available_permits(), 3);
    // Whoever wants all of them gets them.
    drop(semaphore.acquire_many(3).await);
}

/// Nobody overtakes a task that began to wait earlier. (Two tasks that want one permit each may be
/// served at once. Which of them is polled first is then up to the seed.)
pub async fn semaphore_is_fair() {
    let semaphore = Arc::new(Semaphore::new(2));
    let asked = Arc::new(AtomicU32::new(0));
    // Who waits: what number a task has, and how many permits it wants.
    let waiting = Arc::new(Mutex::new(BTreeMap::new()));
    let mut tasks = JoinSet::new();
    for _ in 0..5 {
        let (semaphore, asked, waiting) = (semaphore.clone(), asked.clone(), waiting.clone());
        tasks.spawn(async move {
            for _ in 0..3 {
                sleep(random(3)).await;
                let wanted = fastrand::u32(1..=2);
                let mut number = None;
                let mut acquiring = pin!(semaphore.acquire_many(wanted));
                let permits = poll_fn(|context| {
                    if number.is_none() {
                        number = Some(asked.fetch_add(1, Ordering::Relaxed));
                        waiting.lock().expect("no panic").insert(number, wanted);
                    }
                    acquiring.as_mut().poll(context)
                });
                let _permits = permits.await.expect("it is open");

                // In a block, as the lock must not be held across the `.await`.
                {
                    let mut waiting = waiting.lock().expect("no panic");
                    waiting.remove(&number);
                    let overtaken = waiting.range(..number).find(|earlier| wanted + earlier.1 > 2);
                    assert_eq!(overtaken, None);
                }
                sleep(random(3)).await;
            }
        });
    }
    tasks.join_all().await;
}

/// A consumer that is aborted passes its notification on to the one that waits for ever.
pub async fn notification_is_passed_on() {
    /// Takes from a queue until it finds a 0.
    async fn consume(notify: Arc<Notify>, queue: Arc<Mutex<VecDeque<u32>>>) {
        loop {
            let next = queue.lock().expect("no panic").pop_front();
            match next {
                Some(0) => return,
                Some(_) => {}
                None => notify.notified().await,
            }
        }
    }

    let (notify, queue) = (Arc::new(Notify::new()), Arc::new(Mutex::new(VecDeque::new())));
    let impatient = arc::spawn(consume(notify.clone(), queue.clone()));
    let patient = arc::spawn(consume(notify.clone(), queue.clone()));
    let (abort, end) = (impatient.abort_handle(), random(6));
    arc::spawn(async move {
        sleep(end).await;
        abort.abort();
    });
    for number in [2, 1, 0] {
        sleep(random(4)).await;
        queue.lock().expect("no panic").push_back(number);
        notify.notify_one();
    }

    // If the one that was to be aborted has got the 0, the other one gets another.
    if impatient.await.is_ok() {
        queue.lock().expect("no panic").push_back(0);
        notify.notify_one();
    }
    patient.await.expect("it does not panic");
}

/// A receiver may miss values, but not the last one.
pub async fn watch_shows_the_last_value() {
    let (sender, receiver) = watch::channel(0);
    let mut receivers = JoinSet::new();
    for _ in 0..3 {
        let mut receiver = receiver.clone();
        receivers.spawn(async move {
            let mut last = 0;
            while receiver.changed().await.is_ok() {
                let now = *receiver.borrow_and_update();
                assert!(now > last, "{now} after {last}");
                last = now;
                sleep(random(4)).await;
            }
            last
        });
    }
    drop(receiver);
    for number in 1..=6 {
        sleep(random(3)).await;
        sender.send(number).expect("somebody watches");
    }
    drop(sender);
    assert_eq!(receivers.join_all().await, [6; 3]);
}

/// Counts in its drop.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Some tasks of a set end, others are aborted, and `shutdown` waits for all.
pub async fn join_set_waits_for_its_tasks() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut set = JoinSet::new();
    for _ in 0..6 {
        let guard = Alive::new(&alive);
        set.spawn(async move {
            sleep(random(5)).await;
            drop(guard);
        });
    }
    sleep(random(5)).await;
    while set.try_join_next().is_some() {}
    set.shutdown().await;
    assert!(set.is_empty());
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// Tokens are made while others are cancelled. Whoever waits for one gets to know.
pub async fn cancellation_reaches_everybody() {
    let token = CancellationToken::new();
    let mut tasks = JoinSet::new();
    for _ in 0..4 {
        let token = token.clone();
        tasks.spawn(async move {
            sleep(random(4)).await;
            let child = token.child_token();
            let late = child.run_until_cancelled(sleep(random(4))).await.is_none();
            assert!(!late || token.is_cancelled());
            child.child_token().cancelled().await;
            assert!(token.is_cancelled());
        });
    }
    sleep(random(6)).await;
    token.cancel();
    tasks.join_all().await;
}

/// A sender sends in time, or late, or never.
pub async fn one_shot_ends_in_one_way() {
    for _ in 0..5 {
        let (sender, receiver) = oneshot::channel();
        let task = arc::spawn(async move {
            sleep(random(3)).await;
            if fastrand::bool() { sender.send(7).is_ok() } else { false }
        });
        sleep(random(3)).await;
        let received = receiver.await.ok();
        let was_sent = task.await.expect("it does not panic");
        assert_eq!(received, was_sent.then_some(7));
    }
}

/// Ticks that are awaited late are made up for as the interval is told, and keep the beat.
pub async fn interval_keeps_its_beat() {
    const PERIOD: Duration = Duration::from_millis(10);
    let start = Instant::now();
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut last = None;
    for _ in 0..10 {
        let tick = ticks.tick().await;
        let beats = (tick - start).as_nanos() % PERIOD.as_nanos();
        assert!(beats < 1_000_000, "a tick is {beats} ns off the beat");
        assert!(last.is_none_or(|last| tick > last));
        last = Some(tick);
        sleep(random(30)).await;
    }

    // In a burst every tick is made up for.
    let (start, mut ticks) = (Instant::now(), interval(PERIOD));
    for number in 0..10 {
        assert!(ticks.tick().await >= start + PERIOD * number);
        sleep(random(30)).await;
    }
    assert!(start.elapsed() >= PERIOD * 9);
}

/// Waits for ever in a branch that is never taken: that must not keep anything awake.
pub async fn timeouts_and_results_race() {
    for _ in 0..5 {
        let (deadline, needed) = (random(4), random(4));
        let start = Instant::now();
        let result = timeout(deadline, sleep(needed)).await;
        match result {
            Ok(()) => assert!(start.elapsed() >= needed),
            Err(_) => assert!(start.elapsed() >= deadline),
        }
        assert!(timeout(random(3), pending::<()>()).await.is_err());
    }
}
