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
  -p PORT            the port alone
  --grace SECONDS    how long connections may finish after ctrl-c (default: 10)
  --verbose          print why connections ended early
  --help             print this";

/// For how long connections may finish what they have begun. Those who end servers often kill
/// them after 30 s.
const GRACE: Duration = Duration::from_secs(10);

/// What `Builder::workers` takes.
const WORKERS_MAX: usize = 64;

/// What the command line says.
#[derive(Clone)]
pub struct Options {
    /// How many workers the runtime has.
    pub workers: usize,
    /// Where a server listens.
    pub address: String,
    /// For how long a server finishes what has begun, after ctrl-c.
    pub grace: Duration,
    /// Whether each connection is told.
    pub verbose: bool,
}

impl Options {
    /// Reads the command line. It can be called any number of times.
    ///
    /// Ends the process: with 0 after `--help`, with 2 after a mistake.
    pub fn parse() -> Self {
        let arguments = std::env::args_os().skip(1);
        let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
        match Self::read(arguments) {
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
            workers: available_parallelism().map_or(1, |cores| cores.get().min(WORKERS_MAX)),
            address: "127.0.0.1:8080".to_owned(),
            grace: GRACE,
            verbose: false,
        };
        while let Some(argument) = arguments.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (&*argument, None),
            };
            // may's and coio's examples have the short names.
            let long = match name {
                "-t" | "--threads" => "--workers",
                "-b" | "--bind" => "--addr",
                name => name,
            };
            let takes_value = matches!(long, "--workers" | "--addr" | "-p" | "--grace");
            match (long, takes_value, value) {
                ("--help" | "-h", _, None) => return Ok(None),
                ("--verbose", _, None) => options.verbose = true,
                (_, true, value) => {
                    let value = value.or_else(|| arguments.next());
                    let value = value.ok_or_else(|| format!("{name} needs a value"))?;
                    options.set(long, name, value)?;
                }
                _ => return Err(format!("unknown option {argument:?}")),
            }
        }
        Ok(Some(options))
    }

    /// `long` says which option it is, `name` how it was written.
    fn set(&mut self, long: &str, name: &str, value: String) -> Result<(), String> {
        match long {
            "--workers" => {
                let workers = value.parse().ok();
                let workers = workers.filter(|workers| (1..=WORKERS_MAX).contains(workers));
                self.workers = workers.ok_or_else(|| {
                    format!("{name} takes a number from 1 to {WORKERS_MAX}, not {value:?}")
                })?;
            }
            "--grace" => {
                let seconds = value.parse::<u32>();
                let seconds = seconds.map_err(|_| {
                    format!(
                        "{name} takes a number of seconds from 0 to {}, not {value:?}",
                        u32::MAX
                    )
                })?;
                self.grace = Duration::from_secs(seconds.into());
            }
            "-p" => {
                let port = value.parse::<u16>();
                let port = port.map_err(|_| format!("-p takes a port, not {value:?}"))?;
                // It was a host and a port before, the default as much as what was given.
                let host = self.address.rsplit_once(':').map_or("", |(host, _)| host);
                self.address = format!("{host}:{port}");
            }
            _ => {
                let parts = value.rsplit_once(':');
                if parts.is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err())
                {
                    return Err(format!("{name} takes HOST:PORT, not {value:?}"));
                }
                self.address = value;
            }
        }
        Ok(())
    }
}
