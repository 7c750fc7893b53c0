//! What the workload is told.

use std::time::Duration;

/// Does a fixed amount of work on arc, compares every byte, and prints an account
#[derive(clap::Parser)]
pub struct Options {
    /// Only serve, until it is killed; prints the address
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,
    /// The server is there; without, it is in this process
    #[arg(long, value_name = "ADDRESS")]
    pub(super) connect: Option<String>,
    /// So many connections in all
    #[arg(long, default_value_t = 40)]
    pub(super) connections: u64,
    /// So many of them at once
    #[arg(long, default_value_t = 8)]
    pub(super) at_once: u64,
    /// So many there and back on each
    #[arg(long, default_value_t = 50_000)]
    pub(super) bytes: u64,
    /// So many tasks that sleep three times
    #[arg(long, default_value_t = 30)]
    pub(super) timers: u64,
    /// So many jobs of `spawn_blocking`
    #[arg(long, default_value_t = 20)]
    pub(super) jobs: u64,
    /// So often a thread outside of the runtime wakes a task
    #[arg(long, default_value_t = 200)]
    pub(super) wakes: u64,
    /// So many there and back
    #[arg(long, default_value_t = 30)]
    pub(super) datagrams: u64,
    /// So many processes that are started meanwhile
    #[arg(long, default_value_t = 0)]
    pub(super) children: u64,
    /// Of the runtime
    #[arg(long, default_value_t = 2)]
    pub(super) workers: usize,
    /// How long a connection may take
    #[arg(long = "patience-ms", value_parser = millis, default_value = "20000")]
    pub(super) patience: Duration,
    /// How often a connection is tried that ended early
    #[arg(long, default_value_t = 1)]
    pub(super) tries: u64,
    /// How many descriptors may stay open at most: arc leaks one that the kernel refuses to forget
    #[arg(long, default_value_t = 0)]
    pub(super) leaks: usize,
    /// To be run by sh when the first connection has sent half
    #[arg(long, value_name = "COMMAND")]
    pub(super) at_half: Option<String>,
}

fn millis(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_millis)
}
