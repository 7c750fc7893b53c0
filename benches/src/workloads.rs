//! The workloads that need no sockets. Each does `count` operations and gives the
//! time they took.

use crate::Runtime;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Longer than any workload takes.
const LONG: Duration = Duration::from_secs(600);

/// Runs a workload as a task, as a server's code would run, and times it.
fn time<R: Runtime>(runtime: &R, work: impl Future<Output = ()> + Send + 'static) -> Duration {
    runtime.block_on(async {
        let start = Instant::now();
        R::spawn(work).await;
        start.elapsed()
    })
}

/// Waits for tasks that are all spawned before.
async fn join<R: Runtime>(tasks: impl IntoIterator<Item = R::Join<()>>) {
    let tasks: Vec<_> = tasks.into_iter().collect();
    for task in tasks {
        task.await;
    }
}

/// Keeps a core busy.
fn compute(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

/// A task spawns others, a thousand at a time, and joins them.
pub fn spawn_join<R: Runtime>(runtime: &R, count: usize) -> Duration {
    time(runtime, async move {
        let mut sum = 0;
        for start in (0..count).step_by(1000) {
            let numbers = start..count.min(start + 1000);
            let tasks: Vec<_> = numbers.map(|number| R::spawn(async move { number })).collect();
            for task in tasks {
                sum += task.await;
            }
        }
        assert_eq!(sum, (0..count).sum::<usize>());
    })
}

/// A task spawns others and lets them go; the last one says so.
pub fn spawn_detached<R: Runtime>(runtime: &R, count: usize) -> Duration {
    let (sender, receiver) = async_channel::bounded(1);
    time(runtime, async move {
        let left = Arc::new(AtomicUsize::new(count));
        for _ in 0..count {
            let (left, sender) = (left.clone(), sender.clone());
            R::spawn_detached(async move {
                if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                    sender.try_send(()).expect("there is room");
                }
            });
        }
        receiver.recv().await.expect("the last task says so");
    })
}

/// Each task spawns the next.
pub fn spawn_chained<R: Runtime>(runtime: &R, count: usize) -> Duration {
    fn link<R: Runtime>(
        left: usize,
        end: async_channel::Sender<()>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            match left {
                0 => end.try_send(()).expect("there is room"),
                _ => R::spawn_detached(link::<R>(left - 1, end)),
            }
        })
    }
    let (end, ended) = async_channel::bounded(1);
    time(runtime, async move {
        R::spawn_detached(link::<R>(count, end));
        ended.recv().await.expect("the last task says so");
    })
}

/// A thread that is not in the runtime spawns; every task sends it a message.
pub fn spawn_outside<R: Runtime>(runtime: &R, count: usize) -> Duration {
    let (sender, receiver) = mpsc::channel();
    let start = Instant::now();
    for _ in 0..count {
        let sender = sender.clone();
        runtime.spawn_outside(async move { sender.send(()).expect("the thread listens") });
    }
    drop(sender);
    assert_eq!(receiver.iter().count(), count);
    start.elapsed()
}

/// A thread that is not in the runtime wakes a task of it, which answers.
pub fn wake_outside<R: Runtime>(runtime: &R, count: usize) -> Duration {
    let (question, questions) = async_channel::bounded::<usize>(1);
    let (answer, answers) = mpsc::channel();
    runtime.spawn_outside(async move {
        while let Ok(number) = questions.recv().await {
            answer.send(number).expect("the thread listens");
        }
    });
    let start = Instant::now();
    for number in 0..count {
        question.send_blocking(number).expect("the task listens");
        assert_eq!(answers.recv(), Ok(number));
    }
    start.elapsed()
}

/// 200 tasks that yield.
pub fn yield_now<R: Runtime>(runtime: &R, count: usize) -> Duration {
    time(runtime, async move {
        let yields = |_| {
            R::spawn(async move {
                for _ in 0..count / 200 {
                    R::yield_now().await;
                }
            })
        };
        join::<R>((0..200).map(yields)).await;
    })
}

/// Pairs of tasks that send a message to and fro over channels of capacity one.
pub fn ping_pong<R: Runtime>(runtime: &R, count: usize, pairs: usize) -> Duration {
    time(runtime, async move {
        let mut tasks = Vec::new();
        for _ in 0..pairs {
            let (ping, pings) = async_channel::bounded(1);
            let (pong, pongs) = async_channel::bounded(1);
            tasks.push(R::spawn(async move {
                for number in 0..count / pairs {
                    ping.send(number).await.expect("the other listens");
                    assert_eq!(pongs.recv().await, Ok(number));
                }
            }));
            tasks.push(R::spawn(async move {
                while let Ok(number) = pings.recv().await {
                    pong.send(number).await.expect("the other listens");
                }
            }));
        }
        join::<R>(tasks).await;
    })
}

/// Eight tasks ask one server, over tokio's mpsc and oneshot channels.
pub fn request_reply<R: Runtime>(runtime: &R, count: usize) -> Duration {
    use tokio::sync::{mpsc, oneshot};
    const CLIENTS: usize = 8;
    time(runtime, async move {
        let (requests, mut server) = mpsc::channel::<(usize, oneshot::Sender<usize>)>(64);
        let mut tasks: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let requests = requests.clone();
                R::spawn(async move {
                    for number in 0..count / CLIENTS {
                        let (sender, reply) = oneshot::channel();
                        requests.send((number, sender)).await.expect("the server listens");
                        assert_eq!(reply.await, Ok(number + 1));
                    }
                })
            })
            .collect();
        drop(requests);
        tasks.push(R::spawn(async move {
            while let Some((number, sender)) = server.recv().await {
                sender.send(number + 1).expect("the client listens");
            }
        }));
        join::<R>(tasks).await;
    })
}

/// A timer is made, polled once and dropped, with `armed` others waiting.
pub fn timer<R: Runtime>(runtime: &R, count: usize, armed: usize) -> Duration {
    runtime.block_on(async {
        R::spawn(async move {
            let seconds = (0..armed).map(|timer| Duration::from_secs(600 + timer as u64 % 600));
            let mut others: Vec<_> = seconds.map(|until| Box::pin(R::sleep(until))).collect();
            for other in &mut others {
                poll_once(other.as_mut()).await;
            }
            let start = Instant::now();
            for _ in 0..count {
                poll_once(pin!(R::sleep(LONG))).await;
            }
            start.elapsed()
        })
        .await
    })
}

/// Polls a timer that is not due.
async fn poll_once(mut timer: Pin<&mut impl Future<Output = ()>>) {
    poll_fn(|context| {
        assert!(timer.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// A timeout around a future that is pending once.
pub fn timeout<R: Runtime>(runtime: &R, count: usize) -> Duration {
    time(runtime, async move {
        for _ in 0..count {
            assert!(R::timeout(LONG, R::yield_now()).await);
        }
    })
}

/// Different lengths, from 1 to 50 ms.
fn length_of_sleep(task: usize) -> Duration {
    Duration::from_micros(1_000 + task as u64 * 7_919 % 49_000)
}

/// So many tasks that each sleep.
pub fn sleeps<R: Runtime>(runtime: &R, count: usize) -> Duration {
    time(runtime, async move {
        join::<R>((0..count).map(|task| R::spawn(R::sleep(length_of_sleep(task))))).await;
    })
}

/// How late so many sleeps end, at the median.
pub fn lateness<R: Runtime>(runtime: &R, count: usize) -> Duration {
    runtime.block_on(async {
        let sleep = |task| {
            R::spawn(async move {
                let duration = length_of_sleep(task);
                let start = Instant::now();
                R::sleep(duration).await;
                start.elapsed().checked_sub(duration).expect("no sleep ends early")
            })
        };
        let tasks: Vec<_> = (0..count).map(sleep).collect();
        let mut late = Vec::new();
        for task in tasks {
            late.push(task.await);
        }
        late.sort_unstable();
        late[count / 2]
    })
}

/// Tasks that compute for 1 ms each.
pub fn compute_flat<R: Runtime>(runtime: &R, count: usize) -> Duration {
    time(runtime, async move {
        let task = |_| R::spawn(async { compute(Duration::from_millis(1)) });
        join::<R>((0..count).map(task)).await;
    })
}

/// A binary tree of tasks whose `count` leaves (a power of two) compute for 10 µs.
pub fn fork_join<R: Runtime>(runtime: &R, count: usize) -> Duration {
    fn node<R: Runtime>(leaves: usize) -> Pin<Box<dyn Future<Output = usize> + Send>> {
        Box::pin(async move {
            if leaves == 1 {
                compute(Duration::from_micros(10));
                return 1;
            }
            let left = R::spawn(node::<R>(leaves / 2));
            let right = R::spawn(node::<R>(leaves / 2));
            left.await + right.await
        })
    }
    time(runtime, async move {
        assert_eq!(node::<R>(count).await, count);
    })
}
