//! What the other helpers stand on: a limit of time, panics on purpose, and places where polls and
//! jobs stop.

use crate::net_common::{Counter, LIMIT as DEADLINE, kept, within_limit};
use arc::task::yield_now;
use std::any::Any;
use std::cell::Cell;
use std::panic;
use std::sync::{Arc, Condvar, Mutex, Once};

/// What a panic says that a test causes on purpose; it is not printed.
pub const ON_PURPOSE: &str = "on purpose";

/// The numbers of workers that the important tests run with.
pub const SIZES: [usize; 3] = [1, 2, 4];

/// Runs a test on a thread of its own; one that hangs fails.
#[track_caller]
pub fn within_deadline(test: impl FnOnce() + Send + 'static) {
    hush();
    within_limit(test);
}

/// Runs a test with each of [`SIZES`], one after the other.
#[track_caller]
pub fn with_sizes(test: impl Fn(usize) + Send + Sync + 'static) {
    let test = Arc::new(test);
    for workers in SIZES {
        let test = test.clone();
        within_deadline(move || test(workers));
    }
}

/// Yields so often.
pub async fn yields(count: usize) {
    for _ in 0..count {
        yield_now().await;
    }
}

thread_local!(static EXPECTED: Cell<bool> = const { Cell::new(false) });

/// Keeps panics that are meant to happen out of the output.
pub fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            let expected = EXPECTED.try_with(Cell::get).unwrap_or(false);
            // What carries something else than a text is a test's.
            if !expected && text.is_some_and(|text| !text.contains(ON_PURPOSE)) {
                previous(info);
            }
        }));
    });
}

/// What a panic said.
pub fn message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload
            .downcast::<&str>()
            .map_or_else(|_| "not a text".to_owned(), |text| (*text).to_owned()),
    }
}

/// Runs `function`, which has to panic, and gives what the panic says.
#[track_caller]
pub fn panic_of<R>(function: impl FnOnce() -> R) -> String {
    EXPECTED.set(true);
    let result = panic::catch_unwind(panic::AssertUnwindSafe(function));
    EXPECTED.set(false);
    match result {
        Ok(_) => panic!("it did not panic"),
        Err(payload) => message(payload),
    }
}

/// Blocks threads until it is opened, also inside of polls. Each copy is the same gate.
#[derive(Clone, Copy)]
pub struct Gate(&'static (Mutex<bool>, Condvar));

impl Gate {
    pub fn new() -> Self {
        Self(kept((Mutex::new(false), Condvar::new())))
    }

    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap()
    }

    /// Blocks the thread that polls it.
    pub async fn blocks(self) {
        self.wait();
    }

    /// Blocks this thread.
    #[track_caller]
    pub fn wait(&self) {
        let open = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(open, DEADLINE, |open| !*open);
        let (_open, timeout) = waited.unwrap();
        assert!(!timeout.timed_out(), "the gate was never opened");
    }
}

/// Where polls or jobs stop until they may go on. Each copy is the same place.
#[derive(Clone, Copy)]
pub struct Pause {
    reached: Counter,
    passed: Gate,
}

impl Pause {
    pub fn new() -> Self {
        Self { reached: Counter::new(), passed: Gate::new() }
    }

    /// Stops here.
    #[track_caller]
    pub fn here(&self) {
        self.reached.add();
        self.passed.wait();
    }

    /// A future that stops in its first poll.
    pub async fn stops(self) {
        self.here();
    }

    /// Waits until it is reached.
    #[track_caller]
    pub fn reached(&self) {
        self.reached_by(1);
    }

    /// Waits until so many are there.
    #[track_caller]
    pub fn reached_by(&self, count: usize) {
        self.reached.wait_for(count);
    }

    /// Lets all go on.
    pub fn pass(&self) {
        self.passed.open();
    }
}
