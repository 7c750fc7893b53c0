//! The command line of `cargo xtask versus`, the workloads and the servers.

use std::path::PathBuf;
use std::thread::available_parallelism;

use super::load::Tool;
use crate::Failure;

pub const HELP: &str = "\
Load the same servers on arc and on its peers, and print them side by side.

usage: cargo xtask versus [OPTION...]

  --workload LIST     hyper, tiny, echo, mixed, blocked (default: hyper)
                        hyper    an HTTP/1 server with hyper
                        tiny     the same with httparse
                        echo     64 bytes come back
                        mixed    hyper; one request in 100 computes for 2 ms,
                                 latencies are those of the others
                        blocked  hyper, 2,000 requests/s; now and then one blocks its
                                 thread for 1 s, latencies are those of the others
  --peers LIST        tokio, tokio-current-thread, smol, may, epoll (default: tokio,smol);
                        may and epoll have no hyper and are in tiny and echo only; with
                        tokio-current-thread comes arc-1, arc with one worker
  --connections LIST  how many connections (default: 64)
  --seconds S         how long each measurement takes (default: 5)
  --rounds N          how often each server is measured, in turns (default: 5)
  --workers N         how many workers the servers have (default: 2)
  --load TOOL         oha, wrk or builtin, for hyper and tiny (default: the first of
                        them that there is); the others are always loaded by builtin
  --pin               servers on the first cores, one per worker, load on the others
  --json FILE         write every round to a file, for cargo xtask chart
  --instructions      also count user instructions per request, by valgrind
  --sizes             also measure builds, binaries and memory per connection
  --no-load           only what the two options above ask for
  --help              print this text
";

/// The most workers that all peers take.
const WORKERS_MAX: usize = 64;

const PEERS: [&str; 5] = ["tokio", "tokio-current-thread", "smol", "may", "epoll"];

/// What the servers do, and what they are asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Workload {
    Hyper,
    Tiny,
    Echo,
    Mixed,
    Blocked,
}

const WORKLOADS: [Workload; 5] =
    [Workload::Hyper, Workload::Tiny, Workload::Echo, Workload::Mixed, Workload::Blocked];

impl Workload {
    pub fn name(self) -> &'static str {
        match self {
            Self::Hyper => "hyper",
            Self::Tiny => "tiny",
            Self::Echo => "echo",
            Self::Mixed => "mixed",
            Self::Blocked => "blocked",
        }
    }

    /// What the names of its servers' programs begin with.
    pub fn program(self) -> &'static str {
        match self {
            Self::Hyper | Self::Mixed | Self::Blocked => "http",
            Self::Tiny => "tiny",
            Self::Echo => "echo",
        }
    }

    /// Whether any HTTP load generator can load it.
    pub fn is_plain_http(self) -> bool {
        matches!(self, Self::Hyper | Self::Tiny)
    }

    /// Whether there is such a server.
    fn has(self, peer: &str) -> bool {
        self.program() != "http" || !matches!(peer, "may" | "epoll")
    }
}

/// A server to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    pub name: String,
    pub program: String,
    pub workers: usize,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub workloads: Vec<Workload>,
    pub peers: Vec<String>,
    pub connections: Vec<usize>,
    pub seconds: f64,
    pub rounds: usize,
    pub workers: usize,
    pub load: Option<Tool>,
    pub pin: bool,
    pub json: Option<PathBuf>,
    pub instructions: bool,
    pub sizes: bool,
    pub no_load: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workloads: vec![Workload::Hyper],
            peers: vec!["tokio".to_owned(), "smol".to_owned()],
            connections: vec![64],
            seconds: 5.0,
            rounds: 5,
            workers: 2,
            load: None,
            pin: false,
            json: None,
            instructions: false,
            sizes: false,
            no_load: false,
        }
    }
}

impl Options {
    /// None: help is wanted.
    ///
    /// # Errors
    ///
    /// The mistake in the command line.
    pub fn parse(arguments: &[String]) -> Result<Option<Self>, Failure> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let (name, given) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (argument.as_str(), None),
            };
            match (name, given) {
                ("--help" | "-h", None) => return Ok(None),
                ("--pin", None) => options.pin = true,
                ("--instructions", None) => options.instructions = true,
                ("--sizes", None) => options.sizes = true,
                ("--no-load", None) => options.no_load = true,
                _ if !VALUED.contains(&name) => {
                    return Err(mistake(format!("unknown option `{argument}`")));
                }
                _ => {
                    let value = given.or_else(|| arguments.next().map(String::as_str));
                    let value = value.ok_or_else(|| mistake(format!("{name} needs a value")))?;
                    let wrong = || mistake(format!("{name} does not take `{value}`"));
                    options.set(name, value).ok_or_else(wrong)?;
                }
            }
        }
        options.check()?;
        Ok(Some(options))
    }

    /// None: the option does not take this value.
    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "--workload" => {
                self.workloads = list(value, |name| {
                    WORKLOADS.into_iter().find(|workload| workload.name() == name)
                })?;
            }
            "--peers" => {
                self.peers = list(value, |name| PEERS.contains(&name).then(|| name.to_owned()))?;
            }
            "--connections" => self.connections = list(value, positive)?,
            "--seconds" => {
                let seconds = value.parse().ok();
                self.seconds = seconds.filter(|it| (0.1..=3600.0).contains(it))?;
            }
            "--rounds" => self.rounds = positive(value)?,
            "--workers" => self.workers = positive(value).filter(|it| *it <= WORKERS_MAX)?,
            "--load" => self.load = Some(Tool::named(value)?),
            _ => self.json = Some(value.into()),
        }
        Some(())
    }

    fn check(&self) -> Result<(), Failure> {
        let cores = available_parallelism().map_or(1, usize::from);
        if self.pin && self.workers >= cores {
            return Err(mistake(format!(
                "--pin with {} workers leaves no core of {cores} to the load: take fewer",
                self.workers
            )));
        }
        if self.no_load && !self.instructions && !self.sizes {
            let message = "--no-load goes with --instructions or --sizes";
            return Err(mistake(message.to_owned()));
        }
        Ok(())
    }

    /// The servers of a workload, arc first.
    pub fn contenders(&self, workload: Workload) -> Vec<Contender> {
        let contender = |name: &str, runtime: &str, workers| Contender {
            name: name.to_owned(),
            program: format!("{}-{runtime}", workload.program()),
            workers,
        };
        let mut contenders = vec![contender("arc", "arc", self.workers)];
        for peer in self.peers.iter().filter(|peer| workload.has(peer)) {
            let single = peer == "tokio-current-thread";
            if single && self.workers > 1 {
                // One thread is to be compared with one.
                contenders.push(contender("arc-1", "arc", 1));
            }
            let workers = if single { 1 } else { self.workers };
            contenders.push(contender(peer, peer, workers));
        }
        contenders
    }
}

/// The options that take a value.
const VALUED: [&str; 8] = [
    "--workload",
    "--peers",
    "--connections",
    "--seconds",
    "--rounds",
    "--workers",
    "--load",
    "--json",
];

fn mistake(message: String) -> Failure {
    Failure::Usage(format!("{message}\n\n{HELP}"))
}

/// Different things, with commas between them.
fn list<T: PartialEq>(text: &str, each: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let mut items = Vec::new();
    for name in text.split(',') {
        let item = each(name.trim())?;
        if !items.contains(&item) {
            items.push(item);
        }
    }
    Some(items)
}

fn positive(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Options>, Failure> {
        let arguments: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn options_are_understood() {
        assert_eq!(parse(""), Ok(Some(Options::default())));
        assert_eq!(parse("--rounds 3 --help"), Ok(None));
        let line = "--workload tiny,echo --peers may,may --connections=8,64 --seconds 0.5 \
            --rounds 3 --workers 1 --load builtin --json a.json --sizes --no-load";
        let expected = Options {
            workloads: vec![Workload::Tiny, Workload::Echo],
            peers: vec!["may".to_owned()],
            connections: vec![8, 64],
            seconds: 0.5,
            rounds: 3,
            workers: 1,
            load: Some(Tool::Builtin),
            json: Some("a.json".into()),
            sizes: true,
            no_load: true,
            ..Options::default()
        };
        assert_eq!(parse(line), Ok(Some(expected)));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, start) in [
            ("--fast", "unknown option `--fast`"),
            ("--rounds", "--rounds needs a value"),
            ("--rounds 0", "--rounds does not take `0`"),
            ("--seconds nan", "--seconds does not take `nan`"),
            ("--peers tokio,go", "--peers does not take `tokio,go`"),
            ("--workers 65", "--workers does not take `65`"),
            ("--load ab", "--load does not take `ab`"),
            ("--pin=1", "unknown option `--pin=1`"),
            ("--no-load", "--no-load goes with"),
            ("--pin --workers 64", "--pin with 64 workers"),
        ] {
            let Err(Failure::Usage(text)) = parse(line) else { panic!("{line}") };
            assert!(text.starts_with(start), "{text}");
        }
    }

    #[test]
    fn contenders_are_the_programs_that_there_are() {
        let options = parse("--peers tokio,tokio-current-thread,may").unwrap().unwrap();
        let names = |workload| {
            let contenders = options.contenders(workload).into_iter();
            contenders
                .map(|it| format!("{}={}:{}", it.name, it.program, it.workers))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            names(Workload::Mixed),
            "arc=http-arc:2 tokio=http-tokio:2 arc-1=http-arc:1 \
             tokio-current-thread=http-tokio-current-thread:1"
        );
        assert!(names(Workload::Tiny).ends_with("may=tiny-may:2"));
    }
}
