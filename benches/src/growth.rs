//! What a runtime costs as the work grows: the series, and one measurement of one.
//!
//! A pass makes `size` items, has all of them alive at once, and ends them. The
//! items are in lists of the harness, the same for every runtime: per task the
//! waker and the join handle, per timer its box and the pointer to it.

use crate::Runtime;
use crate::sockets::{echo, exchange, run};
use crate::stats::{cpu_time, median};
use crate::workloads::{poll_once, spawn_in_batches};
use std::fs;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// What a measurement first does with fewer items, so that what any work at all
/// needs is there before memory is looked at.
const WARM_UP: usize = 10;

/// A measurement repeats its pass so often at most, and for so long.
const PASSES: usize = 100;
const PASSES_TIME: Duration = Duration::from_millis(300);

/// The tasks of a pass of `workers`, however many workers there are.
const SPAWNED: usize = 100_000;

/// The descriptors that are neither end of a connection.
const OTHER_DESCRIPTORS: usize = 100;

/// A thing of which there are more and more.
pub struct Series {
    /// How options and files call it.
    pub name: &'static str,
    /// What grows.
    pub item: &'static str,
    /// What the cost is of.
    pub operation: &'static str,
    /// The first size and the last.
    pub sizes: (usize, usize),
}

/// All of them.
pub const SERIES: [Series; 5] = [
    Series {
        name: "tasks",
        item: "tasks alive",
        operation: "spawn, wake and join a task",
        sizes: (100, 1_000_000),
    },
    Series {
        name: "connections",
        item: "connections",
        operation: "one echo on each connection",
        sizes: (10, 10_000),
    },
    Series {
        name: "timers",
        item: "timers armed",
        operation: "arm and drop a timer",
        sizes: (100, 1_000_000),
    },
    Series {
        name: "expiries",
        item: "timers that expire",
        operation: "arm and expire a timer, CPU",
        sizes: (100, 1_000_000),
    },
    Series { name: "workers", item: "workers", operation: "spawn and join a task", sizes: (1, 8) },
];

/// What one measurement gives.
pub struct Figures {
    /// Time of one operation: the median of the passes.
    pub nanoseconds: f64,
    /// Resident memory of one item, from the first pass; none if the series is not
    /// about memory, or the system does not say.
    pub bytes: Option<f64>,
}

impl Series {
    /// The sizes up to the largest that is possible: powers of ten, and that one;
    /// every number of workers.
    pub fn sizes(&self, largest: usize) -> Vec<usize> {
        let (from, to) = (self.sizes.0, self.sizes.1.min(largest));
        if self.name == "workers" {
            return (from..=to).collect();
        }
        let powers = std::iter::successors(Some(from), |size| size.checked_mul(10));
        let mut sizes: Vec<_> = powers.take_while(|size| *size < to).collect();
        sizes.push(to);
        sizes
    }
}

/// Starts a runtime and measures. Memory is the difference to what this process had
/// before, so that each measurement needs a fresh process.
///
/// # Panics
///
/// If there is no such series, or loopback does not work.
pub fn measure<R: Runtime>(series: &str, size: usize, workers: usize) -> Figures {
    let pass: fn(&R, usize, bool) -> Pass = match series {
        "tasks" => tasks,
        "connections" => connections,
        "timers" => timers,
        "expiries" => expiries,
        "workers" => spawners,
        _ => panic!("there is no series {series}"),
    };
    let workers = if series == "workers" { size } else { workers };
    let runtime = R::start(workers);
    pass(&runtime, size.min(WARM_UP), false);
    let bytes = pass(&runtime, size, true).bytes;
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || times.len() < PASSES && start.elapsed() < PASSES_TIME {
        let pass = pass(&runtime, size, false);
        times.push(pass.time.as_secs_f64() * 1e9 / pass.operations as f64);
    }
    Figures { nanoseconds: median(&mut times), bytes: bytes.map(|bytes| bytes / size as f64) }
}

struct Pass {
    time: Duration,
    operations: usize,
    /// What all items together take.
    bytes: Option<f64>,
}

fn as_task<R: Runtime, T: Send + 'static>(
    runtime: &R,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    runtime.block_on(async { R::spawn(work).await })
}

/// Tasks are spawned and park; when all do, all are woken, and joined.
fn tasks<R: Runtime>(runtime: &R, size: usize, is_watched: bool) -> Pass {
    as_task(runtime, async move {
        let memory = Memory::now(is_watched);
        let gate = Gate::new(size);
        let start = Instant::now();
        let task = |_| {
            let gate = gate.clone();
            R::spawn(async move { gate.wait().await })
        };
        let tasks: Vec<_> = (0..size).map(task).collect();
        gate.full().await;
        let parked = start.elapsed();
        let bytes = memory.growth();
        let start = Instant::now();
        gate.open();
        for task in tasks {
            task.await;
        }
        Pass { time: parked + start.elapsed(), operations: size, bytes }
    })
}

/// Connections, both ends here, with a task at each end. Each has had one message
/// and is idle when memory is looked at; then each has one more, all at once.
fn connections<R: Runtime>(runtime: &R, size: usize, is_watched: bool) -> Pass {
    run(runtime, async move {
        let memory = Memory::now(is_watched);
        let gate = Gate::new(size);
        let (listener, address) = R::listen().await?;
        let (mut clients, mut servers) = (Vec::new(), Vec::new());
        for _ in 0..size {
            let client = R::connect(address).await?;
            servers.push(R::spawn(echo::<R>(R::accept(&listener).await?)));
            clients.push(R::spawn(client_of::<R>(client, gate.clone())));
        }
        gate.full().await;
        let bytes = memory.growth();
        let start = Instant::now();
        gate.open();
        let mut streams = Vec::new();
        for client in clients {
            streams.push(client.await?);
        }
        let time = start.elapsed();
        drop(streams);
        for server in servers {
            server.await?;
        }
        Ok(Pass { time, operations: size, bytes })
    })
}

/// Gives the stream back, so that closing it is not measured.
async fn client_of<R: Runtime>(mut stream: R::Stream, gate: Arc<Gate>) -> io::Result<R::Stream> {
    let first = exchange::<R>(&mut stream).await;
    // Even after an error: the others wait for all to be here.
    gate.wait().await;
    first?;
    exchange::<R>(&mut stream).await?;
    Ok(stream)
}

/// Timers are made and polled once; when all are armed, all are dropped.
fn timers<R: Runtime>(runtime: &R, size: usize, is_watched: bool) -> Pass {
    as_task(runtime, async move {
        let memory = Memory::now(is_watched);
        let start = Instant::now();
        let mut timers = Vec::new();
        for timer in 0..size as u64 {
            let seconds = 600 + timer % 600;
            let mut timer = Box::pin(R::sleep(Duration::from_secs(seconds)));
            poll_once(timer.as_mut()).await;
            timers.push(timer);
        }
        let armed = start.elapsed();
        let bytes = memory.growth();
        let start = Instant::now();
        drop(timers);
        Pass { time: armed + start.elapsed(), operations: size, bytes }
    })
}

/// One task waits for timers of 1 to 100 ms. Most of the time nothing happens, so
/// that the cost is CPU time of the process.
fn expiries<R: Runtime>(runtime: &R, size: usize, _: bool) -> Pass {
    as_task(runtime, async move {
        let before = cpu_time();
        let mut timers = Vec::new();
        for timer in 0..size as u64 {
            let micros = 1_000 + timer * 7_919 % 99_000;
            let mut timer = Box::pin(R::sleep(Duration::from_micros(micros)));
            if !is_done(timer.as_mut()).await {
                timers.push(timer);
            }
        }
        for timer in timers {
            timer.await;
        }
        Pass { time: cpu_time() - before, operations: size, bytes: None }
    })
}

/// Polls once: arming a million takes longer than the shortest sleeps.
async fn is_done(mut timer: Pin<&mut impl Future<Output = ()>>) -> bool {
    poll_fn(|context| Poll::Ready(timer.as_mut().poll(context).is_ready())).await
}

/// As many tasks as there are workers spawn others and join them.
fn spawners<R: Runtime>(runtime: &R, workers: usize, _: bool) -> Pass {
    let each = SPAWNED / workers;
    as_task(runtime, async move {
        let start = Instant::now();
        let spawner = |_| R::spawn(spawn_in_batches::<R>(each));
        let spawners: Vec<_> = (0..workers).map(spawner).collect();
        for spawner in spawners {
            spawner.await;
        }
        Pass { time: start.elapsed(), operations: each * workers, bytes: None }
    })
}

/// Where tasks park until all of them do.
struct Gate {
    size: usize,
    parked: Mutex<Vec<Waker>>,
    is_open: AtomicBool,
    last: async_channel::Sender<()>,
    full: async_channel::Receiver<()>,
}

impl Gate {
    fn new(size: usize) -> Arc<Self> {
        let (last, full) = async_channel::bounded(1);
        Arc::new(Self {
            size,
            parked: Mutex::new(Vec::with_capacity(size)),
            is_open: AtomicBool::new(false),
            last,
            full,
        })
    }

    async fn wait(&self) {
        let mut is_parked = false;
        poll_fn(|context| {
            // Whoever is woken sees what was done before.
            if self.is_open.load(Ordering::Relaxed) {
                return Poll::Ready(());
            }
            if !is_parked {
                is_parked = true;
                let mut parked = self.parked.lock().expect("no task panics here");
                parked.push(context.waker().clone());
                if parked.len() == self.size {
                    self.last.try_send(()).expect("there is room");
                }
            }
            Poll::Pending
        })
        .await;
    }

    async fn full(&self) {
        self.full.recv().await.expect("the last task says so");
    }

    fn open(&self) {
        self.is_open.store(true, Ordering::Relaxed);
        let parked = std::mem::take(&mut *self.parked.lock().expect("no task panics here"));
        parked.into_iter().for_each(Waker::wake);
    }
}

/// The resident memory of this process at some time, unless nobody wants to know.
struct Memory(Option<f64>);

impl Memory {
    fn now(is_watched: bool) -> Self {
        Self(if is_watched { resident() } else { None })
    }

    /// What came since.
    fn growth(&self) -> Option<f64> {
        let before = self.0?;
        Some(resident()? - before)
    }
}

/// The bytes of this process that are in memory; none if the system does not say.
fn resident() -> Option<f64> {
    // The number in statm lags behind by some pages per core; this one is counted.
    let exact = || {
        let text = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Rss:"))?;
        let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib * 1024.0)
    };
    let estimate = || {
        let text = fs::read_to_string("/proc/self/statm").ok()?;
        let pages: f64 = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * 4096.0)
    };
    exact().or_else(estimate)
}

/// Raises the limit of open files as far as this process may, which those that it
/// starts inherit, and says how many connections it leaves room for.
pub fn room_for_connections() -> usize {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let maximum = getrlimit(Resource::Nofile).maximum;
        let current = maximum;
        // If that is refused, the limit is what it was.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let files = usize::try_from(files).unwrap_or(usize::MAX);
        (files.saturating_sub(OTHER_DESCRIPTORS) / 2).max(1)
    }
    #[cfg(not(target_os = "linux"))]
    {
        // What systems allow without being asked.
        (256 - OTHER_DESCRIPTORS) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::{Arc, Tokio};

    #[test]
    fn sizes_grow_tenfold_up_to_the_largest() {
        let [tasks, .., workers] = &SERIES;
        assert_eq!(tasks.sizes(5_000), [100, 1_000, 5_000]);
        assert_eq!(tasks.sizes(1_000), [100, 1_000]);
        assert_eq!(tasks.sizes(7), [7]);
        assert_eq!(tasks.sizes(usize::MAX).len(), 5);
        assert_eq!(workers.sizes(3), [1, 2, 3]);
    }

    #[test]
    fn every_series_measures_every_runtime() {
        for series in &SERIES {
            for figures in [measure::<Arc>, measure::<Tokio>].map(|it| it(series.name, 3, 2)) {
                assert!(figures.nanoseconds > 0.0, "{}", series.name);
            }
        }
    }
}
