//! The account: every future, what became of it, and every byte.

use std::panic;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows. Relaxed: it is read for the sum at the end, and by the
/// watchdog.
pub struct Counter(AtomicU64);

impl Counter {
    pub const fn new() -> Self {
        Counter(AtomicU64::new(0))
    }

    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Adds one, and gives what it was before.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! account {
    ($($name:ident: $what:literal,)*) => {
        /// What is counted over all rounds.
        pub struct Account {
            $(pub $name: Counter,)*
        }

        /// The one account of the process.
        pub static ACCOUNT: Account = Account { $($name: Counter::new(),)* };

        impl Account {
            /// One number in a line, with what it counts.
            pub fn print(&self) {
                $(println!("{:>14} {}", self.$name.get(), $what);)*
            }
        }
    };
}

account! {
    rounds: "rounds",
    runtimes: "runtimes built and ended",
    endings_early: "of these ended with tasks everywhere",
    tasks: "futures made",
    dropped: "futures dropped",
    finished: "handles: finished",
    aborted: "handles: cancelled",
    panicked: "handles: panicked",
    unread: "handles dropped before they told",
    panics: "panics on purpose, and of timers whose runtime had ended",
    jobs: "jobs of spawn_blocking",
    timers: "sleeps, timeouts and ticks",
    messages: "messages through channels",
    datagrams: "datagrams",
    connections: "connections made",
    refused: "connections refused",
    resets: "connections reset or left on purpose",
    bytes: "bytes received and compared",
    long_polls: "polls of more than 100 ms (not an error)",
    faults: "faults",
}

/// What a panic on purpose carries.
pub struct OnPurpose;

/// Something is not as it should be: it is told, and the program will fail.
pub fn fault(text: impl std::fmt::Display) {
    if ACCOUNT.faults.next() < 20 {
        eprintln!("FAULT: {text}");
    }
}

/// Panics on purpose, and of timers whose runtime has ended, are not printed: they are
/// thousands. Whether they were due is seen where the task is joined.
pub fn hush() {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_told = info.payload().downcast_ref::<&str>().copied();
        let is_late = is_told.is_some_and(|text| text.contains("runtime has ended"));
        if is_late || info.payload().is::<OnPurpose>() {
            ACCOUNT.panics.add(1);
        } else {
            fault("a panic that nobody planned");
            previous(info);
        }
    }));
}
