//! A mistake within one poll, which no seed shows and shuttle does: the example of
//! docs/SIMULATION.md.
//!
//! The type is in `gate.rs`, which takes its atomics and locks from `super::sync`. There is a copy
//! of it with std's, for the program, and one with shuttle's.

#![allow(clippy::duplicate_mod, reason = "one is for the program, and one for shuttle")]

use std::future::poll_fn;
use std::panic::catch_unwind;
use std::sync::Arc;

#[path = "."]
mod real {
    pub mod sync {
        pub use std::sync::Mutex;
        pub use std::sync::atomic::{AtomicBool, Ordering};
    }
    #[path = "gate.rs"]
    pub mod gate;
}

#[path = "."]
mod tried {
    pub mod sync {
        pub use shuttle::sync::Mutex;
        pub use shuttle::sync::atomic::{AtomicBool, Ordering};
    }
    #[path = "gate.rs"]
    pub mod gate;
}

/// A task of a simulation is polled as a whole. So nobody opens the gate in the middle of a poll.
#[arc_sim::test(seeds = 300)]
async fn no_seed_shows_the_mistake() {
    let gate = Arc::new(real::gate::Gate::default());
    let opens = gate.clone();
    let opener = arc::spawn(async move { opens.open() });
    poll_fn(|context| gate.poll_once(context)).await;
    opener.await.unwrap();
    poll_fn(|context| gate.poll_open(context)).await;
}

/// Tries a thousand orders of the instructions of two threads: one waits, and one opens.
fn try_orders(looks_again: bool) {
    let in_one_order = move || {
        let gate = Arc::new(tried::gate::Gate::default());
        let opens = gate.clone();
        let opener = shuttle::thread::spawn(move || opens.open());
        shuttle::future::block_on(poll_fn(|context| {
            if looks_again { gate.poll_open(context) } else { gate.poll_once(context) }
        }));
        opener.join().unwrap();
    };
    shuttle::check_random(in_one_order, 1_000);
}

#[test]
fn shuttle_finds_an_order_in_which_nobody_wakes_the_task() {
    let found = catch_unwind(|| try_orders(false)).expect_err("it waits for ever in some order");
    let text = found.downcast_ref::<String>().expect("a text");
    assert!(text.contains("deadlock"), "{text}");
}

#[test]
fn gate_that_looks_again_opens_in_each_order() {
    try_orders(true);
}
