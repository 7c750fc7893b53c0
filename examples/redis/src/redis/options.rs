//! The command line.

use std::process;
use std::thread::available_parallelism;
use std::time::Duration;

const HELP: &str = "\
A small redis server.

Options:
  --port PORT        where to listen (default: 6379); port 0 is any free one
  --addr HOST        on which of this machine's addresses (default: 127.0.0.1)
  --workers N        how many workers run tasks at once (default: one per core, at most 64)
  --maxclients N     how many clients there may be at once (default: 10000)
  --grace SECONDS    how long clients may take at the end to read what they have asked for
                     (default: 10)
  --help             print this";

/// For how long clients may be told what they have asked for when the server ends.
const GRACE: Duration = Duration::from_secs(10);

/// What both runtimes take.
const WORKERS_MAX: usize = 64;

/// What the command line says.
pub struct Options {
    pub port: u16,
    pub host: String,
    pub workers: usize,
    pub clients_max: usize,
    pub grace: Duration,
}

impl Options {
    /// Reads the command line. It can be called any number of times.
    ///
    /// Ends the process: with 0 after `--help`, with 2 after a mistake.
    pub fn parse() -> Self {
        match Self::read(std::env::args().skip(1)) {
            Ok(Some(options)) => options,
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
            port: 6379,
            host: "127.0.0.1".to_owned(),
            workers: available_parallelism().map_or(1, |cores| cores.get().min(WORKERS_MAX)),
            clients_max: 10_000,
            grace: GRACE,
        };
        while let Some(name) = arguments.next() {
            if matches!(&*name, "--help" | "-h") {
                return Ok(None);
            }
            if !matches!(&*name, "--port" | "--addr" | "--workers" | "--maxclients" | "--grace") {
                return Err(format!("unknown option {name:?}"));
            }
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = value.parse::<usize>().ok();
            let bounded = |max| {
                let number = number.filter(|number| (1..=max).contains(number));
                number
                    .ok_or_else(|| format!("{name} takes a number from 1 to {max}, not {value:?}"))
            };
            match &*name {
                "--port" => {
                    let port = value.parse().ok();
                    options.port = port.ok_or_else(|| format!("{value:?} is not a port"))?;
                }
                "--workers" => options.workers = bounded(WORKERS_MAX)?,
                "--grace" => options.grace = Duration::from_secs(bounded(1_000_000)? as u64),
                "--maxclients" => options.clients_max = bounded(1_000_000)?,
                _ => options.host = value,
            }
        }
        Ok(Some(options))
    }
}
