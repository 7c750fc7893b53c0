//! What the workload is told.

use std::time::Duration;

/// What the program can be told.
pub const HELP: &str = "\
Does a fixed amount of work on arc, compares every byte, and prints an account.

usage: workload [OPTION...]

  --listen ADDRESS    only serve, until it is killed; prints the address
  --connect ADDRESS   the server is there; without, it is in this process
  --connections N     so many connections in all; 40
  --at-once N         so many of them at once; 8
  --bytes N           so many there and back on each; 50000
  --timers N          so many tasks that sleep three times; 30
  --jobs N            so many jobs of spawn_blocking; 20
  --wakes N           so often a thread outside of the runtime wakes a task; 200
  --datagrams N       so many there and back; 30
  --children N        so many processes that are started meanwhile; 0
  --workers N         of the runtime; 2
  --patience-ms N     how long a connection may take; 20000
  --tries N           how often a connection is tried that ended early; 1
  --leaks N           how many descriptors may stay open at most: arc leaks one that the
                      kernel refuses to forget; 0
  --at-half COMMAND   to be run by sh when the first connection has sent half
";

/// What the workload is told.
pub struct Options {
    pub(super) listen: Option<String>,
    pub(super) connect: Option<String>,
    pub(super) connections: u64,
    pub(super) at_once: u64,
    pub(super) bytes: u64,
    pub(super) timers: u64,
    pub(super) jobs: u64,
    pub(super) wakes: u64,
    pub(super) datagrams: u64,
    pub(super) children: u64,
    pub(super) workers: usize,
    pub(super) patience: Duration,
    pub(super) tries: u64,
    pub(super) leaks: usize,
    pub(super) at_half: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            listen: None,
            connect: None,
            connections: 40,
            at_once: 8,
            bytes: 50_000,
            timers: 30,
            jobs: 20,
            wakes: 200,
            datagrams: 30,
            children: 0,
            workers: 2,
            patience: Duration::from_secs(20),
            tries: 1,
            leaks: 0,
            at_half: None,
        }
    }
}

impl Options {
    /// None: they make no sense.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Options::default();
        while let Some(argument) = arguments.next() {
            let value = arguments.next()?;
            let number = || value.parse::<u64>().ok();
            match argument.as_str() {
                "--listen" => options.listen = Some(value),
                "--connect" => options.connect = Some(value),
                "--at-half" => options.at_half = Some(value),
                "--connections" => options.connections = number()?,
                "--at-once" => options.at_once = number()?,
                "--bytes" => options.bytes = number()?,
                "--timers" => options.timers = number()?,
                "--jobs" => options.jobs = number()?,
                "--wakes" => options.wakes = number()?,
                "--datagrams" => options.datagrams = number()?,
                "--children" => options.children = number()?,
                "--workers" => options.workers = value.parse().ok()?,
                "--patience-ms" => options.patience = Duration::from_millis(number()?),
                "--tries" => options.tries = number()?,
                "--leaks" => options.leaks = value.parse().ok()?,
                _ => return None,
            }
        }
        Some(options)
    }
}
