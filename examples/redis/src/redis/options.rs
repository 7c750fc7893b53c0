//! The command line.

use std::process;
use std::thread::available_parallelism;
use std::time::Duration;

const HELP: &str = "\
A small redis server.

Options:
  --port PORT        where to listen (default: 6379); port 0 is any free one
  --addr HOST        on which of this machine's addresses (default: 127.0.0.1)
  --workers N        how many workers run tasks at once (default: one per core)
  --grace SECONDS    how long clients may take at the end to read what they have asked for
                     (default: 10)
  --help             print this";

/// What the command line says.
pub struct Options {
    pub port: u16,
    pub host: String,
    pub workers: usize,
    pub grace: Duration,
}

impl Options {
    /// Reads the command line. It can be called any number of times.
    ///
    /// Ends the process: with 0 after `--help`, with 2 after a mistake.
    pub fn parse() -> Self {
        let mut options = Self {
            port: 6379,
            host: "127.0.0.1".to_owned(),
            workers: available_parallelism().map_or(1, |cores| cores.get().min(64)),
            grace: Duration::from_secs(10),
        };
        let mut words = std::env::args().skip(1);
        while let Some(name) = words.next() {
            let value = words.next().unwrap_or_default();
            match (&*name, value.parse::<u16>()) {
                ("--port", Ok(port)) => options.port = port,
                ("--addr", _) => options.host = value,
                ("--workers", Ok(count @ 1..=64)) => options.workers = count.into(),
                ("--grace", Ok(seconds)) => options.grace = Duration::from_secs(seconds.into()),
                ("--help", _) => {
                    println!("{HELP}");
                    process::exit(0);
                }
                _ => {
                    eprintln!("Error: not understood: {name} {value} (--help lists the options)");
                    process::exit(2);
                }
            }
        }
        options
    }
}
