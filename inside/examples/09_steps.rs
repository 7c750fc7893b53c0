//! Stage 09, by hand: you are the scheduler.
//!
//! Two threads meet. A worker has run out of tasks and goes to sleep, in three steps; another
//! thread brings a task, in three steps. Any order of the six may happen. You choose one, and see
//! whether the wake-up is lost: a task is queued, the worker sleeps, and nobody wakes it.
//!
//! ```text
//!     S1  the worker sets its bit             P1  the other thread queues a task
//!     S2  the bit is seen by the others       P2  the task is seen by the others
//!     S3  the worker looks for a task         P3  the other thread looks for the bit
//! ```
//!
//! A write is not seen by others when it is made: a processor keeps it in a buffer of its own for a
//! while. So S1 and S2 are two steps. A fence between S1 and S3 waits until the buffer is empty: S2
//! comes before S3. Without one, S2 may come after it.
//!
//! ```text
//!     cargo run -p arc-first --example 09_steps             one order, and what it means
//!     ... 09_steps -- S1 P1 S2 P2 P3 S3                      the order that you choose
//!     ... 09_steps -- --all                                  every order
//!     ... 09_steps -- --all --without fence                  and if there were no fence?
//!     ... 09_steps -- --all --without look                   and if S3 did not look again?
//! ```
//!
//! Before you run the last three: how many orders are there, and in which of them is it lost?

use std::process::ExitCode;

const STEPS: [&str; 6] = ["S1", "S2", "S3", "P1", "P2", "P3"];

/// What is left out of the protocol.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    Fence,
    Look,
}

/// Whether this order can happen: each side takes its steps one after the other, but without a
/// fence its write may be seen as late as it likes.
fn can_happen(order: &[&str], without: Without) -> bool {
    let is_before = |earlier, later| {
        let place = |step: &str| order.iter().position(|it| *it == step);
        place(earlier) < place(later)
    };
    let sides = [("S1", "S2", "S3"), ("P1", "P2", "P3")];
    sides.iter().all(|(write, seen, look)| {
        let fenced = without == Without::Fence || is_before(seen, look);
        is_before(write, seen) && is_before(write, look) && fenced
    })
}

/// Takes the steps in this order, and tells each. Returns how it ends.
fn play(order: &[&str], without: Without, mut tell: impl FnMut(&str, &str)) -> &'static str {
    let (mut bit_is_seen, mut task_is_seen) = (false, false);
    let (mut stays_awake, mut is_woken) = (false, false);
    for &step in order {
        let told = match step {
            "S1" => "the worker sets its bit, and nobody else sees it yet",
            "P1" => "the other thread queues a task, and nobody else sees it yet",
            "S2" => {
                bit_is_seen = true;
                "the others see the bit from now on"
            }
            "P2" => {
                task_is_seen = true;
                "the others see the task from now on"
            }
            "S3" if without == Without::Look => "the worker does not look again, and sleeps",
            "S3" if task_is_seen => {
                stays_awake = true;
                "the worker looks, sees the task, and stays awake"
            }
            "S3" => "the worker looks, sees no task, and sleeps",
            "P3" if bit_is_seen => {
                is_woken = true;
                "the other thread looks, sees the bit, and wakes the worker"
            }
            _ => "the other thread looks, sees no bit, and takes the worker for awake",
        };
        tell(step, told);
    }
    match (stays_awake, is_woken) {
        (true, true) => "Both saw each other: the worker stays awake, and is woken for nothing.",
        (true, false) => "The worker saw the task.",
        (false, true) => "The other thread saw the bit, and woke the worker.",
        (false, false) => "LOST: a task is queued, the worker sleeps, and nobody wakes it.",
    }
}

/// Every order of the steps that can happen, each built up step by step.
fn all_orders(order: &mut Vec<&'static str>, without: Without, found: &mut Vec<Vec<&'static str>>) {
    if order.len() == STEPS.len() {
        if can_happen(order, without) {
            found.push(order.clone());
        }
        return;
    }
    for step in STEPS {
        if !order.contains(&step) {
            order.push(step);
            all_orders(order, without, found);
            order.pop();
        }
    }
}

fn show_all(without: Without) {
    let mut orders = Vec::new();
    all_orders(&mut Vec::new(), without, &mut orders);
    let mut lost = 0;
    for order in &orders {
        if play(order, without, |_, _| ()).starts_with("LOST") {
            println!("LOST: {}", order.join(" "));
            lost += 1;
        }
    }
    println!("Of {} orders that can happen, {lost} lose the wake-up.", orders.len());
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut without = Without::Nothing;
    if let Some(at) = words.iter().position(|it| *it == "--without") {
        without = match words.get(at + 1) {
            Some(&"fence") => Without::Fence,
            Some(&"look") => Without::Look,
            _ => return usage("--without what: fence, or look?"),
        };
        words.drain(at..at + 2);
    }

    if words == ["--all"] {
        show_all(without);
        return ExitCode::SUCCESS;
    }
    let order = if words.is_empty() { vec!["S1", "P1", "S2", "P2", "P3", "S3"] } else { words };
    if STEPS.iter().any(|step| !order.contains(step)) || order.len() != STEPS.len() {
        return usage("Name each step once: S1 S2 S3 P1 P2 P3, in any order.");
    }
    if !can_happen(&order, without) {
        return usage(
            "That cannot happen: S1 comes before S2, and the fence lets S3 come after S2.",
        );
    }
    let end = play(&order, without, |step, told| println!("{step}  {told}"));
    println!("{end}");
    ExitCode::SUCCESS
}

fn usage(what: &str) -> ExitCode {
    println!("{what}");
    println!("How to choose an order stands at the top of inside/examples/09_steps.rs.");
    ExitCode::FAILURE
}
