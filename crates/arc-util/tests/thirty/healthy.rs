//! Programs without a mistake: the patterns of tokio's documentation, and what looks like a
//! mistake.

use crate::healthy;
use arc::task::{JoinHandle, spawn_blocking, yield_now};
use arc::time::{Duration, Instant, sleep};
use arc_util::io::{AsyncReadExt, AsyncWriteExt};
use arc_util::net::{TcpListener, TcpStream};
use arc_util::select;
use arc_util::sync::{
    Barrier, CancellationToken, Mutex, Notify, OwnedMutexGuard, OwnedSemaphorePermit, RwLock,
    Semaphore, broadcast, mpsc, oneshot, watch,
};
use arc_util::task::{JoinSet, TaskTracker};
use arc_util::time::{interval, timeout};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::HashMap;
use std::sync::Arc;

const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_millis(300);

macro_rules! programs {
    ($($name:ident $program:block)*) => {$(
        #[test]
        fn $name() {
            healthy(stringify!($name), || Box::pin(async $program));
        }
    )*};
}

programs! {
    // tokio's page of `Semaphore`: limit the number of requests.
    connection_limit {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limit = Arc::new(Semaphore::new(3));
        let server = arc::spawn(async move {
            loop {
                let permit = limit.clone().acquire_owned().await.unwrap();
                let (mut socket, _) = listener.accept().await.unwrap();
                arc::spawn(async move {
                    socket.read_exact(&mut [0; 1]).await.unwrap();
                    sleep(LONG).await;
                    socket.write_all(b"x").await.unwrap();
                    drop(permit);
                });
            }
        });
        let client = || async move {
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.write_all(b"x").await.unwrap();
            socket.read_exact(&mut [0; 1]).await.unwrap();
        };
        let clients: Vec<_> = (0..4).map(|_| arc::spawn(client())).collect();
        for client in clients {
            client.await.unwrap();
        }
        server.abort();
    }

    permits_of_a_static {
        static LIMIT: Semaphore = Semaphore::const_new(2);
        let mut tasks = Vec::new();
        for _ in 0..4 {
            let permit = LIMIT.acquire().await.unwrap();
            tasks.push(arc::spawn(async move {
                sleep(LONG / 2).await;
                drop(permit);
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    }

    permits_kept_in_a_list {
        let limit = Arc::new(Semaphore::new(2));
        let kept: Arc<std::sync::Mutex<Vec<OwnedSemaphorePermit>>> = Arc::default();
        let reaps = kept.clone();
        let reaper = arc::spawn(async move {
            for _ in 0..4 {
                sleep(LONG / 4).await;
                reaps.lock().unwrap().pop();
            }
        });
        for _ in 0..5 {
            let permit = limit.clone().acquire_owned().await.unwrap();
            kept.lock().unwrap().push(permit);
        }
        reaper.await.unwrap();
    }

    permits_sent_over_a_channel {
        let limit = Arc::new(Semaphore::new(1));
        let (sender, mut receiver) = mpsc::channel::<OwnedSemaphorePermit>(1);
        let worker = arc::spawn(async move {
            while let Some(permit) = receiver.recv().await {
                sleep(LONG / 3).await;
                drop(permit);
            }
        });
        for _ in 0..4 {
            let permit = limit.clone().acquire_owned().await.unwrap();
            sender.send(permit).await.unwrap();
        }
        drop(sender);
        worker.await.unwrap();
    }

    read_guard_moved {
        let lock = Arc::new(RwLock::new(0));
        let guard = lock.clone().read_owned().await;
        let reads = arc::spawn(async move {
            yield_now().await;
            assert_eq!(*guard, 0);
        });
        *lock.write().await += 1;
        reads.await.unwrap();
    }

    guards_kept_in_a_map {
        let sessions: Arc<std::sync::Mutex<HashMap<u32, OwnedMutexGuard<()>>>> = Arc::default();
        let lock = Arc::new(Mutex::new(()));
        let guard = lock.clone().lock_owned().await;
        sessions.lock().unwrap().insert(1, guard);
        let ends = sessions.clone();
        let logout = arc::spawn(async move {
            sleep(4 * SHORT).await;
            ends.lock().unwrap().remove(&1);
        });
        drop(lock.lock().await);
        logout.await.unwrap();
    }

    // A child has a permit and waits, and another child waits for one: in one task.
    permits_within_one_task {
        let limit = Semaphore::new(2);
        let fetch = |time: Duration| {
            let limit = &limit;
            async move {
                let _permit = limit.acquire().await.unwrap();
                sleep(time).await;
            }
        };
        let mut fetches: FuturesUnordered<_> =
            (1..=6).map(|part| fetch(LONG / 6 * part)).collect();
        while fetches.next().await.is_some() {}
    }

    sockets_within_one_task {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = arc::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                arc::spawn(async move {
                    socket.read_exact(&mut [0; 1]).await.unwrap();
                    sleep(LONG / 2).await;
                    socket.write_all(b"x").await.unwrap();
                });
            }
        });
        let limit = Semaphore::new(2);
        futures_util::stream::iter(0..6).for_each_concurrent(None, |_| async {
            let _permit = limit.acquire().await.unwrap();
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.write_all(b"x").await.unwrap();
            socket.read_exact(&mut [0; 1]).await.unwrap();
        }).await;
        server.abort();
    }

    // tokio's page of `Semaphore`: a token bucket.
    token_bucket {
        let bucket = Arc::new(Semaphore::new(1));
        let fills = bucket.clone();
        let filler = arc::spawn(async move {
            let mut ticks = interval(4 * SHORT);
            loop {
                ticks.tick().await;
                if fills.available_permits() < 3 {
                    fills.add_permits(1);
                }
            }
        });
        for _ in 0..10 {
            bucket.acquire().await.unwrap().forget();
        }
        filler.abort();
    }

    graceful_shutdown_by_watch {
        let (stop, stops) = watch::channel(false);
        let mut workers = JoinSet::new();
        for _ in 0..4 {
            let mut stops = stops.clone();
            workers.spawn(async move {
                loop {
                    select! {
                        _ = stops.changed() => return,
                        () = sleep(2 * SHORT) => {}
                    }
                }
            });
        }
        sleep(LONG).await;
        stop.send(true).unwrap();
        while workers.join_next().await.is_some() {}
    }

    graceful_shutdown_by_token {
        let (token, tracker) = (CancellationToken::new(), TaskTracker::new());
        for _ in 0..8 {
            let token = token.clone();
            tracker.spawn(async move { token.cancelled().await });
        }
        tracker.close();
        sleep(LONG).await;
        token.cancel();
        tracker.wait().await;
    }

    graceful_shutdown_by_channel {
        let (done, mut all_done) = mpsc::channel::<()>(1);
        for part in 1..4 {
            let done = done.clone();
            arc::spawn(async move {
                sleep(LONG / part).await;
                drop(done);
            });
        }
        drop(done);
        assert!(all_done.recv().await.is_none());
    }

    actor_with_answers {
        let (requests, mut requested) = mpsc::channel::<(u64, oneshot::Sender<u64>)>(8);
        let actor = arc::spawn(async move {
            let mut sum = 0;
            while let Some((number, answer)) = requested.recv().await {
                sum += number;
                let _ = answer.send(sum);
            }
        });
        for number in 0..200 {
            let (answer, answered) = oneshot::channel();
            requests.send((number, answer)).await.unwrap();
            answered.await.unwrap();
        }
        drop(requests);
        actor.await.unwrap();
    }

    fan_out_and_in {
        let (results, mut all) = mpsc::channel(16);
        for number in 0..50_u64 {
            let results = results.clone();
            arc::spawn(async move {
                sleep(SHORT).await;
                results.send(number).await.unwrap();
            });
        }
        drop(results);
        let mut sum = 0;
        while let Some(number) = all.recv().await {
            sum += number;
        }
        assert_eq!(sum, 1225);
    }

    receiver_moved_after_its_first_value {
        let (values, mut received) = mpsc::channel::<u32>(1);
        let lock = Arc::new(Mutex::new(()));
        let shared = lock.clone();
        let sender = arc::spawn(async move {
            let _guard = shared.lock().await;
            for value in 0..4 {
                values.send(value).await.unwrap();
            }
        });
        let first = arc::spawn(async move {
            received.recv().await.unwrap();
            let rest = arc::spawn(async move {
                sleep(4 * SHORT).await;
                while received.recv().await.is_some() {}
            });
            drop(lock.lock().await);
            rest.await.unwrap();
        });
        sender.await.unwrap();
        first.await.unwrap();
    }

    pipeline_of_three_steps {
        let (first, mut second) = mpsc::channel::<u64>(4);
        let (third, mut last) = mpsc::channel::<u64>(4);
        let middle = arc::spawn(async move {
            while let Some(number) = second.recv().await {
                third.send(2 * number).await.unwrap();
            }
        });
        let sums = arc::spawn(async move {
            let mut sum = 0;
            while let Some(number) = last.recv().await {
                sum += number;
            }
            sum
        });
        for number in 0..500 {
            first.send(number).await.unwrap();
        }
        drop(first);
        middle.await.unwrap();
        assert_eq!(sums.await.unwrap(), 249_500);
    }

    retries_with_backoff {
        let mut pause = SHORT;
        for attempt in 0..5 {
            let work = async { if attempt < 4 { sleep(LONG).await } };
            if timeout(pause, work).await.is_ok() {
                break;
            }
            sleep(pause).await;
            pause *= 2;
        }
    }

    heartbeats_beside_work {
        let mut beats = interval(4 * SHORT);
        let mut work = arc::spawn(sleep(LONG));
        loop {
            select! {
                _ = beats.tick() => {}
                ended = &mut work => break ended.unwrap(),
            }
        }
    }

    // `notify_waiters` is called again and again: who has missed one gets the next.
    periodic_notifications {
        let news = Arc::new(Notify::new());
        let tells = news.clone();
        let teller = arc::spawn(async move {
            loop {
                tells.notify_waiters();
                sleep(LONG / 3).await;
            }
        });
        sleep(SHORT).await;
        news.notified().await;
        teller.abort();
    }

    everybody_waits_for_a_job {
        let (answer, answered) = oneshot::channel();
        let job = spawn_blocking(move || {
            std::thread::sleep(LONG);
            answer.send(7).unwrap();
        });
        assert_eq!(answered.await, Ok(7));
        job.await.unwrap();
    }

    everybody_waits_for_another_runtime {
        let other = arc_util::runtime::Builder::new_multi_thread().workers(1).build().unwrap();
        let notify = Arc::new(Notify::new());
        let notifies = notify.clone();
        let task = other.spawn(async move {
            sleep(LONG).await;
            notifies.notify_one();
        });
        notify.notified().await;
        task.await.unwrap();
        other.shutdown_background();
    }

    barrier_of_latecomers {
        let barrier = Arc::new(Barrier::new(4));
        let come = |part: u32| {
            let barrier = barrier.clone();
            arc::spawn(async move {
                sleep(LONG / 4 * part).await;
                barrier.wait().await;
            })
        };
        let tasks: Vec<JoinHandle<()>> = (0..4).map(come).collect();
        for task in tasks {
            task.await.unwrap();
        }
    }

    readers_and_a_writer {
        let table = Arc::new(RwLock::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..8 {
            let table = table.clone();
            tasks.spawn(async move {
                for _ in 0..20 {
                    assert!(*table.read().await <= 20);
                    sleep(Duration::from_millis(1)).await;
                }
            });
        }
        for _ in 0..20 {
            *table.write().await += 1;
            sleep(Duration::from_millis(1)).await;
        }
        while tasks.join_next().await.is_some() {}
    }

    broadcast_that_keeps_up {
        let (news, _) = broadcast::channel(64);
        let mut listeners = JoinSet::new();
        for _ in 0..4 {
            let mut news = news.subscribe();
            listeners.spawn(async move { while news.recv().await.is_ok() {} });
        }
        for number in 0..50 {
            news.send(number).unwrap();
            sleep(Duration::from_millis(1)).await;
        }
        drop(news);
        while listeners.join_next().await.is_some() {}
    }

    burst_into_a_channel_without_bound {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let producer = arc::spawn(async move {
            for burst in 0..4 {
                (0..2_000).for_each(|number| sender.send(burst * number).unwrap());
                sleep(LONG / 4).await;
            }
        });
        while receiver.recv().await.is_some() {}
        producer.await.unwrap();
    }

    timeouts_that_give_up_a_lock {
        let lock = Arc::new(Mutex::new(()));
        let guard = lock.lock().await;
        for _ in 0..3 {
            assert!(timeout(SHORT, lock.lock()).await.is_err());
        }
        drop(guard);
        drop(lock.lock().await);
    }

    handles_that_are_never_awaited {
        let lock = Arc::new(Mutex::new(0));
        for _ in 0..20 {
            let lock = lock.clone();
            drop(arc::spawn(async move {
                *lock.lock().await += 1;
                sleep(LONG).await;
            }));
        }
        sleep(2 * SHORT).await;
        while *lock.lock().await < 20 {
            sleep(SHORT).await;
        }
    }

    guard_that_a_task_returns {
        let lock = Arc::new(Mutex::new(0));
        let locks = lock.clone();
        let mut guard = arc::spawn(async move { locks.lock_owned().await }).await.unwrap();
        *guard += 1;
        let waits = arc::spawn(async move { *lock.lock().await });
        sleep(2 * SHORT).await;
        drop(guard);
        assert_eq!(waits.await.unwrap(), 1);
    }

    two_who_hand_a_turn_over {
        let (ping, mut pings) = mpsc::channel(1);
        let (pong, mut pongs) = mpsc::channel(1);
        let other = arc::spawn(async move {
            while let Some(number) = pings.recv().await {
                pong.send(number + 1).await.unwrap();
            }
        });
        let (mut number, begun) = (0, Instant::now());
        while begun.elapsed() < LONG {
            ping.send(number).await.unwrap();
            number = pongs.recv().await.unwrap();
        }
        drop(ping);
        other.await.unwrap();
    }

    // It waits for a future of another library, which arc does not know.
    channel_of_another_library {
        let (sender, receiver) = arc_util::sync::mpmc::bounded::<u32>(1);
        let lock = Arc::new(Mutex::new(()));
        let shared = lock.clone();
        let receives = arc::spawn(async move {
            while receiver.recv().await.is_ok() {
                drop(shared.lock().await);
            }
        });
        for number in 0..20 {
            sleep(2 * SHORT).await;
            sender.send(number).await.unwrap();
        }
        drop(sender);
        receives.await.unwrap();
    }
}
