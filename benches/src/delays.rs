//! How long something waits while polls are long: what comes from outside, jobs, tasks that could
//! run side by side, and requests behind a poll that nobody expected to be long.
//!
//! A task that computes keeps its worker and a core. A task that blocks its thread keeps the worker
//! alone, so that many workers can be played on few cores.

use crate::Runtime;
use crate::runtimes::{Arc, Tokio};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{self, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Something whose delay is measured.
pub struct Row {
    /// How tables call it.
    pub name: &'static str,
    /// Each returns what was measured in one round: the delays on a runtime of its own.
    pub sides: [fn() -> Vec<Duration>; 2],
}

/// A row that runs the same function on arc and on tokio.
macro_rules! row {
    ($name:literal, $function:ident $(, $argument:expr)*) => {
        Row {
            name: $name,
            sides: [|| $function::<Arc>($($argument),*), || $function::<Tokio>($($argument),*)],
        }
    };
}

/// All rows, in the order of the table.
pub fn all() -> Vec<Row> {
    let rows = [
        row!("spawn, the only worker in polls of 2 ms", beside, 1, compute, 2, false),
        row!("spawn, 1 of 4 workers in polls of 5 ms", beside, 4, block, 5, false),
        row!("spawn_blocking, 1 of 4 workers in polls of 5 ms", beside, 4, block, 5, true),
        row!("a job whose caller polls on for 10 ms", job_of_a_long_poll),
        row!("2 tasks of 5 ms on 2 workers, from a task", together_from_task, 2, 2, compute, 5),
        row!("2 tasks of 5 ms on 2 workers, from block_on", together_from_main, 2, 2, compute, 5),
        row!("2 tasks of 5 ms on 2 workers, from a thread", together, 2, 2, compute, 5),
        row!("64 tasks of 100 ms on 64 workers", together_from_task, 64, 64, block, 100),
        row!("slowest request beside a first poll of 20 ms", first_long_poll),
    ];
    rows.into()
}

/// Keeps the worker and a core.
fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Keeps the worker alone.
fn block(time: Duration) {
    thread::sleep(time);
}

/// How many delays one round measures.
const SAMPLES: usize = 40;

/// From a spawn by another thread to the first poll (or, if `is_job`, to the begin of the job),
/// while one task holds a worker up for `milliseconds` at a time.
fn beside<R: Runtime>(
    workers: usize,
    hold: fn(Duration),
    milliseconds: u64,
    is_job: bool,
) -> Vec<Duration> {
    let runtime = R::start(workers);
    let stop = sync::Arc::new(AtomicBool::new(false));
    let (told, ended) = mpsc::channel();
    let is_over = stop.clone();
    runtime.spawn_outside(async move {
        while !is_over.load(Ordering::Relaxed) {
            hold(Duration::from_millis(milliseconds));
            R::yield_now().await;
        }
        told.send(()).expect("it is waited for");
    });

    // Not in step with the polls.
    let pause = |sample: usize| Duration::from_micros(6_000 + (sample as u64 * 617) % 5_000);
    let delays = (0..SAMPLES).map(|sample| {
        thread::sleep(pause(sample));
        let (told, begun) = mpsc::channel();
        let start = Instant::now();
        let tell = move || told.send(start.elapsed()).expect("it is waited for");
        match is_job {
            true => runtime.block_on(async { R::spawn_blocking(tell) }),
            false => runtime.spawn_outside(async move { tell() }),
        }
        begun.recv().expect("it begins")
    });
    let delays = delays.collect();
    stop.store(true, Ordering::Relaxed);
    ended.recv().expect("the task ends");
    delays
}

/// From `spawn_blocking` to the begin of the job, by a task whose poll goes on for 10 ms.
fn job_of_a_long_poll<R: Runtime>() -> Vec<Duration> {
    let runtime = R::start(2);
    let delays = (0..SAMPLES).map(|_| {
        let (told, begun) = mpsc::channel();
        runtime.spawn_outside(async move {
            let start = Instant::now();
            R::spawn_blocking(move || told.send(start.elapsed()).expect("it is waited for"));
            block(Duration::from_millis(10));
        });
        begun.recv().expect("it begins")
    });
    delays.collect()
}

/// From the first spawn, by another thread, to the end of the last task.
fn together<R: Runtime>(
    workers: usize,
    tasks: usize,
    hold: fn(Duration),
    milliseconds: u64,
) -> Vec<Duration> {
    together_in(workers, |runtime: &R| {
        let (told, ended) = mpsc::channel();
        let start = Instant::now();
        for _ in 0..tasks {
            let told = told.clone();
            runtime.spawn_outside(async move {
                hold(Duration::from_millis(milliseconds));
                told.send(()).expect("it is waited for");
            });
        }
        (0..tasks).for_each(|_| ended.recv().expect("the tasks end"));
        start.elapsed()
    })
}

/// The same, by a task, which waits for the others.
fn together_from_task<R: Runtime>(
    workers: usize,
    tasks: usize,
    hold: fn(Duration),
    milliseconds: u64,
) -> Vec<Duration> {
    together_in(workers, |runtime: &R| {
        let (told, ended) = mpsc::channel();
        runtime.spawn_outside(async move {
            let time = spawn_and_join::<R>(tasks, hold, milliseconds).await;
            told.send(time).expect("it is waited for");
        });
        ended.recv().expect("the task ends")
    })
}

/// The same, by the future in `block_on`.
fn together_from_main<R: Runtime>(
    workers: usize,
    tasks: usize,
    hold: fn(Duration),
    milliseconds: u64,
) -> Vec<Duration> {
    together_in(workers, |runtime: &R| {
        runtime.block_on(spawn_and_join::<R>(tasks, hold, milliseconds))
    })
}

fn together_in<R: Runtime>(workers: usize, run: impl Fn(&R) -> Duration) -> Vec<Duration> {
    let runtime = R::start(workers);
    let times = (0..SAMPLES / 4).map(|_| {
        thread::sleep(Duration::from_millis(20));
        run(&runtime)
    });
    times.collect()
}

async fn spawn_and_join<R: Runtime>(
    tasks: usize,
    hold: fn(Duration),
    milliseconds: u64,
) -> Duration {
    let start = Instant::now();
    let hold = move || async move { hold(Duration::from_millis(milliseconds)) };
    let joins: Vec<_> = (0..tasks).map(|_| R::spawn(hold())).collect();
    for join in joins {
        join.await;
    }
    start.elapsed()
}

/// The slowest answer of an echo server with two workers, while one of them is held up for 20 ms
/// after many short polls.
fn first_long_poll<R: Runtime>() -> Vec<Duration> {
    let runtime = R::start(2);
    let (told, address) = mpsc::channel();
    runtime.spawn_outside(async move {
        let (listener, address) = R::listen().await.expect("a port is free");
        told.send(address).expect("it is waited for");
        while let Ok(mut stream) = R::accept(&listener).await {
            R::spawn_detached(async move {
                let mut buffer = [0; 64];
                while let Ok(length @ 1..) = R::read(&mut stream, &mut buffer).await {
                    R::write_all(&mut stream, &buffer[..length]).await.expect("the peer reads");
                }
            });
        }
    });
    let mut client = TcpStream::connect(address.recv().expect("it listens")).expect("it listens");
    client.set_nodelay(true).expect("it is connected");
    let mut request = || {
        let start = Instant::now();
        client.write_all(&[7; 64]).expect("the server reads");
        client.read_exact(&mut [0; 64]).expect("the server answers");
        start.elapsed()
    };

    let slowest = (0..SAMPLES / 4).map(|_| {
        // So many short polls make the mean short again.
        (0..2_000).for_each(|_| _ = request());
        let (told, ended) = mpsc::channel();
        runtime.spawn_outside(async move {
            block(Duration::from_millis(20));
            told.send(()).expect("it is waited for");
        });
        let mut slowest = Duration::ZERO;
        while ended.try_recv().is_err() {
            slowest = slowest.max(request());
        }
        slowest
    });
    slowest.collect()
}
