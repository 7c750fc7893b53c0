//! What the stages share and do not teach.
//!
//! The stages are the programs in `examples/`, and `README.md` is the way in. Three things here
//! are for the reader who breaks a stage on purpose:
//!
//! * [`gap`] makes a race certain. It sleeps where the environment variable `ARC_GAP` names it.
//! * [`watchdog`] turns a hang into a sentence.
//! * [`run`] runs the stage: once, or under the checking command in a thousand orders.
//!
//! All stages run the same program, two clients ([`client`]) and a ticker ([`ticker`]), so that
//! what they print can be compared. The others play the world outside ([`after`], [`ask_server`])
//! or code that somebody else wrote ([`other_library`], [`by_hand`]).
//!
//! [`stage`] and [`compare`] are no part of any stage. The command that checks the stages uses
//! them, and the one that fills them into the book.

#[cfg(feature = "shuttle")]
pub use shuttle::thread_local;
#[cfg(not(feature = "shuttle"))]
pub use std::thread_local;

pub mod by_hand;
pub mod compare;
pub mod exercises;
#[cfg(feature = "kernel")]
pub mod kernel;
pub mod stage;
pub mod sync;

#[cfg(feature = "shuttle")]
mod shuttled;

use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// How long a gap lasts that was asked for. All that the stages wait for comes earlier.
pub const GAP: Duration = Duration::from_millis(150);

/// Ten thousand, or few under shuttle, which has all of it done a thousand times.
pub const MANY: usize = if cfg!(feature = "shuttle") { 5 } else { 10_000 };

/// For how many ticks the watchdog sees nothing move before it speaks. It counts no seconds: see
/// [`tick`].
const TICKS_MAX: usize = 150;
const TICK: Duration = Duration::from_millis(20);

/// How much another thread works in each tick: a millisecond of a processor, about.
const WORK: usize = 100_000;

/// How many gaps have slept so far. While this moves, the watchdog is patient.
static GAPS: AtomicUsize = AtomicUsize::new(0);

/// Sleeps if the environment variable `ARC_GAP` names this place.
///
/// It stands where another thread may come in between. Without the variable, that happens once in
/// a million runs; with it, in nearly every run. `ARC_GAP=all` stretches all gaps.
pub fn gap(name: &str) {
    let wanted = std::env::var("ARC_GAP").unwrap_or_default();
    if wanted == "all" || wanted.split(',').any(|each| each == name) {
        GAPS.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(GAP);
    }

    #[cfg(feature = "shuttle")]
    sync::thread::yield_now();
}

/// Calls a function, and gives the other threads time to fall asleep after it.
pub fn then_rest<R>(call: impl FnOnce() -> R) -> R {
    let result = call();
    sync::thread::sleep(TICK);
    result
}

/// Runs a stage. If `ARC_GAP` named a gap that it did not come by, this says so at the end.
pub fn run(program: fn()) {
    #[cfg(not(feature = "shuttle"))]
    program();

    #[cfg(feature = "shuttle")]
    shuttled::run(program);

    let wanted = std::env::var("ARC_GAP").unwrap_or_default();
    if !wanted.is_empty() && GAPS.load(Ordering::Relaxed) == 0 {
        eprintln!("ARC_GAP={wanted}: this run passed no gap of that name");
    }
}

/// One tick of a watchdog. It is not over before another thread has worked for a moment. So on a
/// machine that stands still or has too much to do, the ticks are as slow as the threads that are
/// watched, and these are not taken for hung.
fn tick() {
    std::thread::sleep(TICK);
    let worker = std::thread::spawn(|| {
        for step in 0..WORK {
            std::hint::black_box(step);
        }
    });
    let _ = worker.join();
}

/// Watches that something comes to its end. If nothing that is watched begins or ends for three
/// seconds, one line is printed for each that has not ended, `hung:` and what its `diagnosis` says,
/// and the process ends. Drop it when the end is reached.
///
/// There is one thread that watches, and it speaks for all. With one for each, the first to speak
/// would end the process before the others have said what they know.
pub fn watchdog(diagnosis: impl Fn() -> String + Send + 'static) -> Watchdog {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    static WATCHES: Once = Once::new();

    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // shuttle sees by itself when no thread can go on.
    if !cfg!(feature = "shuttle") {
        watched().push(Watched { number, diagnosis: Box::new(diagnosis) });
        CHANGES.fetch_add(1, Ordering::Relaxed);
        WATCHES.call_once(|| drop(std::thread::spawn(watch)));
    }
    Watchdog { number }
}

/// Something that has not come to its end.
struct Watched {
    number: usize,
    diagnosis: Box<dyn Fn() -> String + Send>,
}

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// How often something that is watched has begun or ended.
static CHANGES: AtomicUsize = AtomicUsize::new(0);

fn watched() -> MutexGuard<'static, Vec<Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that watches.
fn watch() {
    let mut ticks = 0;
    let mut moved = 0;
    while ticks < TICKS_MAX {
        tick();
        ticks += 1;

        let moved_now = GAPS.load(Ordering::Relaxed) + CHANGES.load(Ordering::Relaxed);
        if moved_now != moved || watched().is_empty() {
            moved = moved_now;
            ticks = 0;
        }
    }

    // The lock is kept until the process ends: nothing ends any more that is told here.
    let watched = watched();
    for each in watched.iter() {
        println!("hung: {}", (each.diagnosis)());
    }
    std::process::exit(1);
}

/// Watches as long as it lives: see [`watchdog`].
#[must_use = "it watches as long as it lives"]
pub struct Watchdog {
    number: usize,
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let mut watched = watched();
        let place = watched.iter().position(|each| each.number == self.number);
        let ended = place.map(|place| watched.remove(place));
        drop(watched);

        // After the lock is released: it may hold the last reference to something that is watched.
        drop(ended);
        CHANGES.fetch_add(1, Ordering::Relaxed);
    }
}

/// A client: it asks something, waits for the answer, and gives what it is worth.
pub async fn client<F: Future>(number: u64, ask: impl FnOnce() -> F) -> u64 {
    println!("client {number}: asks");
    ask().await;
    println!("client {number}: has its answer");
    100 * number
}

/// The ticker: it waits three times, and gives how often it ticked.
pub async fn ticker<F: Future>(wait: impl Fn() -> F) -> u64 {
    for tick in 1..=3 {
        wait().await;
        println!("ticker: tick {tick}");
    }
    3
}

/// Wakes the task that calls this, in the middle of its poll, as a busy socket may.
pub async fn wake_me(times: usize) {
    std::future::poll_fn(|context| {
        for _ in 0..times {
            context.waker().wake_by_ref();
        }
        gap("woken");
        Poll::Ready(())
    })
    .await;
}

/// Polls a future once, and gives it back as it is.
pub async fn polled_once<F: Future + Unpin>(mut future: F) -> F {
    let poll = |context: &mut Context<'_>| Poll::Ready(Pin::new(&mut future).poll(context));
    let _ = std::future::poll_fn(poll).await;
    future
}

/// The world outside: does something after some milliseconds, on a thread that is not ours.
///
/// An answer comes from the network when it wants to, and the clock goes on by itself. Until a
/// stage has a reactor and timers of its own, this plays both.
pub fn after(milliseconds: u64, action: impl FnOnce() + Send + 'static) {
    OUTSIDE.fetch_add(1, Ordering::Relaxed);
    sync::thread::spawn(move || {
        sync::thread::sleep(Duration::from_millis(milliseconds));
        action();
        OUTSIDE.fetch_sub(1, Ordering::Release);
    });
}

/// How many threads of [`after`] there are.
static OUTSIDE: AtomicUsize = AtomicUsize::new(0);

/// Waits until everything that was asked for by [`after`] was done, so that nothing is counted
/// that is about to go away.
pub fn settle() {
    // Acquire pairs with the Release in `after`: what was done there is seen.
    while OUTSIDE.load(Ordering::Acquire) > 0 {
        #[cfg(not(feature = "shuttle"))]
        std::thread::sleep(Duration::from_millis(1));
        #[cfg(feature = "shuttle")]
        sync::thread::yield_now();
    }
}

/// Plays a library that somebody else wrote: it has another thread do something, and waits for
/// that by parking. `std::thread::scope` does the same.
pub fn other_library() {
    let done = Arc::new(sync::AtomicBool::new(false));
    let caller = sync::thread::current();

    let answer = done.clone();
    sync::thread::spawn(move || {
        // Release and Acquire pair with each other: what was done is seen by the caller.
        answer.store(true, Ordering::Release);
        caller.unpark();
    });
    while !done.load(Ordering::Acquire) {
        sync::thread::park();
    }
}

/// A new socket, on whose other side somebody answers two bytes, some milliseconds apart. It does
/// not block.
pub fn ask_server(milliseconds: u64) -> std::io::Result<UdpSocket> {
    let (near, far) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    near.set_nonblocking(true)?;

    // If nobody wants to know any more, an answer is lost: so are datagrams.
    after(milliseconds, move || {
        let _ = far.send(&[1]);
        after(milliseconds, move || drop(far.send(&[2])));
    });
    Ok(near)
}
