//! The list of workloads, and how big each is.

use crate::Runtime;
use crate::sockets::{accept_close, echo_messages};
use crate::workloads as work;
use std::time::Duration;

/// One workload on one runtime.
pub struct Workload<R> {
    /// How tables call it.
    pub name: &'static str,
    /// How many operations one run has.
    pub count: usize,
    /// What the time of a run is divided by: the operations, or 1.
    pub per: usize,
    /// Does so many operations.
    pub run: fn(&R, usize) -> Duration,
}

/// All of them.
pub fn all<R: Runtime>() -> Vec<Workload<R>> {
    let each = |name, count, run| Workload { name, count, per: count, run };
    let whole = |name, count, run| Workload { name, count, per: 1, run };
    vec![
        each("spawn and join", 100_000, work::spawn_join),
        each("spawn detached", 100_000, work::spawn_detached),
        each("spawn chained", 100_000, work::spawn_chained),
        each("spawn from outside", 50_000, work::spawn_outside),
        each("wake from outside and back", 5_000, work::wake_outside),
        each("yield, 200 tasks", 200_000, work::yield_now),
        each("ping-pong, 1 pair", 50_000, |r, n| work::ping_pong(r, n, 1)),
        each("ping-pong, 100 pairs", 100_000, |r, n| work::ping_pong(r, n, 100)),
        each("request and reply", 80_000, work::request_reply),
        each("timer", 100_000, |r, n| work::timer(r, n, 0)),
        each("timer, 10,000 armed", 100_000, |r, n| work::timer(r, n, 10_000)),
        each("timer, 1,000,000 armed", 100_000, |r, n| work::timer(r, n, 1_000_000)),
        each("timeout", 100_000, work::timeout),
        whole("100,000 sleeps", 100_000, work::sleeps),
        whole("lateness of 1,000 sleeps", 1_000, work::lateness),
        whole("200 tasks of 1 ms", 200, work::compute_flat),
        whole("fork-join, 4,096 leaves of 10 us", 4_096, work::fork_join),
        each("TCP ping-pong", 5_000, |r, n| echo_messages(r, n, 1)),
        each("TCP echo, 64 connections", 32_000, |r, n| echo_messages(r, n, 64)),
        each("TCP accept and close", 1_000, accept_close),
    ]
}
