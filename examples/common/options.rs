//! The command line of the server examples.

use std::process;
use std::thread::available_parallelism;
use std::time::Duration;

const HELP: &str = "\
Options:
  --workers N        how many workers run tasks at once (default: one per core, at most 64);
                     -t and --threads are the same
  --addr HOST:PORT   where to listen (default: 127.0.0.1:8080); port 0 is any free one;
                     -b and --bind are the same
  -p PORT            the port alone, on 127.0.0.1
  --grace SECONDS    how long connections may finish after ctrl-c (default: 10)
  --verbose          print why connections ended early
  --help             print this";

/// What the command line says.
#[derive(Clone)]
pub struct Options {
    /// How many workers the runtime has.
    pub workers: usize,
    /// Where a server listens.
    pub address: String,
    /// For how long a server finishes what has begun, after ctrl-c. Those who end servers often
    /// kill them after 30 s.
    pub grace: Duration,
    /// Whether each connection is told.
    pub verbose: bool,
}

impl Options {
    /// Reads the command line. It can be called any number of times.
    ///
    /// Ends the process: with 0 after `--help`, with 2 after a mistake.
    pub fn parse() -> Self {
        let mut options = Self {
            workers: available_parallelism().map_or(1, |cores| cores.get().min(64)),
            address: "127.0.0.1:8080".to_owned(),
            grace: Duration::from_secs(10),
            verbose: false,
        };
        let mut words = std::env::args().skip(1);
        while let Some(name) = words.next() {
            match &*name {
                "--help" | "-h" => {
                    println!("{HELP}");
                    process::exit(0);
                }
                "--verbose" => options.verbose = true,
                _ => {
                    let value = words.next().unwrap_or_default();
                    if options.set(&name, &value).is_none() {
                        eprintln!(
                            "Error: not understood: {name} {value} (--help lists the options)"
                        );
                        process::exit(2);
                    }
                }
            }
        }
        options
    }

    /// None: there is no such option, or it takes no such value.
    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            // may's and coio's examples have the short names.
            "--workers" | "--threads" | "-t" => {
                self.workers = value.parse().ok().filter(|count| (1..=64).contains(count))?;
            }
            "--addr" | "--bind" | "-b" => self.address = value.to_owned(),
            "-p" => self.address = format!("127.0.0.1:{}", value.parse::<u16>().ok()?),
            "--grace" => self.grace = Duration::from_secs(value.parse::<u32>().ok()?.into()),
            _ => return None,
        }
        Some(())
    }
}
