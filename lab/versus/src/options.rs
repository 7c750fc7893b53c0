//! The servers' command line, and what each server does before it serves.

use crate::work::Work;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::{self, ExitCode};

const HELP: &str = "\
Options:
  --workers N        how many workers run tasks at once (default: one per core)
  --addr HOST:PORT   where to listen (default: 127.0.0.1:8080); port 0 is any free one
  --work TIME        hold a worker up for that long in every handler, by computing until
                     its thread has used as much CPU time: 300us, 2ms
  --work TIME/N      the same in one request of N, and nothing in the others: 2ms/100
  --work-sleeps      sleep in the kernel for that long instead: the worker is held up and
                     the core is not, so that one core plays many
  --with-parent      end when the process ends that started this one (Linux)
  --help             print this";

/// The most workers that every peer takes.
const WORKERS_MAX: usize = 64;

/// What the command line says.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How many workers run tasks at once.
    pub workers: usize,
    /// Where to listen, `HOST:PORT`.
    pub address: String,
    /// What every handler does.
    pub work: Option<Work>,
    /// Whether to end together with the process that started this one.
    pub with_parent: bool,
}

impl Options {
    /// Reads the command line and prepares the process.
    ///
    /// Ends the process: with 0 after `--help`, with 2 after a mistake.
    pub fn parse() -> Self {
        match Self::read(std::env::args().skip(1)) {
            Ok(Some(options)) => {
                prepare(options.with_parent);
                if let Some(work) = options.work {
                    work.begin();
                }
                options
            }
            Ok(None) => {
                println!("{HELP}");
                process::exit(0);
            }
            Err(mistake) => {
                eprintln!("Error: {mistake}; --help lists the options");
                process::exit(2);
            }
        }
    }

    /// None: help is wanted.
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            address: "127.0.0.1:8080".to_owned(),
            work: None,
            with_parent: false,
        };
        let mut sleeps = false;
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
            match name.as_str() {
                "--help" | "-h" => return Ok(None),
                "--with-parent" => options.with_parent = true,
                "--addr" => options.address = value()?,
                "--work" => {
                    let work = Work::parse(&value()?);
                    options.work = Some(work.ok_or("--work takes a time: 300us, 2ms/100")?);
                }
                "--work-sleeps" => sleeps = true,
                "--workers" => {
                    let workers = value()?.parse().ok();
                    let workers = workers.filter(|workers| (1..=WORKERS_MAX).contains(workers));
                    options.workers =
                        workers.ok_or_else(|| format!("--workers takes 1 to {WORKERS_MAX}"))?;
                }
                _ => return Err(format!("unknown option {name:?}")),
            }
        }
        match &mut options.work {
            Some(work) => work.sleeps = sleeps,
            None if sleeps => return Err("--work-sleeps goes with --work".to_owned()),
            None => {}
        }
        Ok(Some(options))
    }
}

/// Prints where a server listens, on a line that whoever started it waits for.
pub fn announce(address: SocketAddr) {
    println!("listening on {address}");
    // A pipe is not flushed by the line's end alone.
    let _ = io::stdout().flush();
}

/// What `main` returns.
pub fn exit_code(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Allows as many descriptors as the system does, for many connections. If asked
/// to, ends the process with its parent: however that ends, no server is left.
#[cfg(target_os = "linux")]
pub fn prepare(with_parent: bool) {
    use rustix::process::{self, Resource, Rlimit, Signal};
    let limit = process::getrlimit(Resource::Nofile);
    let (current, maximum) = (limit.maximum, limit.maximum);
    // Where it fails, the number of connections is limited, as they will tell.
    let _ = process::setrlimit(Resource::Nofile, Rlimit { current, maximum });
    if with_parent {
        let _ = process::set_parent_process_death_signal(Some(Signal::KILL));
    }
}

/// Elsewhere there is nothing to prepare.
#[cfg(not(target_os = "linux"))]
pub fn prepare(_: bool) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn read(line: &str) -> Result<Option<Options>, String> {
        Options::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_understood() {
        let options = read("--workers 3 --addr [::1]:0 --work-sleeps --work 2ms/100 --with-parent");
        let work = Work { time: Duration::from_millis(2), every: 100, sleeps: true };
        let expected = Options {
            workers: 3,
            address: "[::1]:0".to_owned(),
            work: Some(work),
            with_parent: true,
        };
        assert_eq!(options, Ok(Some(expected)));
        assert_eq!(read("--help"), Ok(None));
    }

    #[test]
    fn mistakes_are_named() {
        for line in ["--workers 0", "--workers 65", "--workers", "--work-sleeps", "--fast"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
