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
  --peers LIST        tokio, tokio-current-thread, smol, go, may, epoll (default:
                        tokio,smol); may and epoll have no hyper and are in tiny and
                        echo only; go is net/http, where hyper is, if go is installed;
                        with tokio-current-thread comes arc-1, arc with one worker
  --commit REV        measure arc of another commit beside it, as `before`
  --before FOLDER     the same with what another folder has: a checkout of arc
  --connections LIST  how many connections (default: 64)
  --seconds S         how long each measurement takes (default: 5)
  --rounds N          how often each server is measured, in turns (default: 5)
  --workers N         how many workers the servers have (default: 2)
  --load TOOL         oha, wrk or builtin, for hyper and tiny (default: the first of
                        them that there is); the others are always loaded by builtin
  --pin               servers on the first cores, one per worker, load on the others
  --work TIME         a handler holds its worker up for that long by computing (of its
                        thread's CPU time): 300us; with 2ms/100 in one request of 100
  --work-sleeps       it sleeps in the kernel instead, which holds the worker up and not
                        the core: one core plays as many as there are workers
  --open RATE         so many requests a second at random times (Poisson), by builtin,
                        latencies from when each was due; the last core is the load's,
                        which never sleeps, and the others are the servers'
  --share-cores       with --open: all run on all cores, and the load sleeps in between
  --seed N            of the random times; the round is added (default: by the clock)
  --busy              another process keeps each core busy all the while
  --json FILE         write every round to a file, for cargo xtask chart
  --instructions      also count user instructions per request, by valgrind
  --sizes             also measure builds, binaries and memory per connection
  --no-load           only what the two options above ask for
  --help              print this text
";

/// The most workers that all peers take.
const WORKERS_MAX: usize = 64;

const PEERS: [&str; 6] = ["tokio", "tokio-current-thread", "smol", "go", "may", "epoll"];

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
        match peer {
            "go" => self.program() == "http",
            "may" | "epoll" => self.program() != "http",
            _ => true,
        }
    }
}

/// A server to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    pub name: String,
    pub program: String,
    pub workers: usize,
    /// Whether it is arc of another commit or folder.
    pub before: bool,
}

/// What the present arc is measured beside, besides its peers.
#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    Commit(String),
    Folder(PathBuf),
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
    pub before: Option<Before>,
    pub pin: bool,
    pub work: Option<String>,
    pub work_sleeps: bool,
    pub open: Option<f64>,
    pub share_cores: bool,
    pub seed: Option<u64>,
    pub busy: bool,
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
            before: None,
            pin: false,
            work: None,
            work_sleeps: false,
            open: None,
            share_cores: false,
            seed: None,
            busy: false,
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
                ("--work-sleeps", None) => options.work_sleeps = true,
                ("--share-cores", None) => options.share_cores = true,
                ("--busy", None) => options.busy = true,
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
            "--work" => self.work = Some(value.to_owned()),
            "--open" => self.open = Some(value.parse().ok().filter(|rate| *rate > 0.0)?),
            "--seed" => self.seed = Some(value.parse().ok()?),
            "--commit" => self.before = Some(Before::Commit(value.to_owned())),
            "--before" => self.before = Some(Before::Folder(value.into())),
            _ => self.json = Some(value.into()),
        }
        Some(())
    }

    fn check(&self) -> Result<(), Failure> {
        let cores = available_parallelism().map_or(1, usize::from);
        // Workers that sleep need no cores of their own.
        if self.pin && self.workers >= cores && !self.work_sleeps {
            return Err(mistake(format!(
                "--pin with {} workers leaves no core of {cores} to the load: take fewer",
                self.workers
            )));
        }
        for (given, name, condition, needed) in [
            (self.work_sleeps, "--work-sleeps", self.work.is_some(), "--work"),
            (self.share_cores, "--share-cores", self.open.is_some(), "--open"),
            (self.seed.is_some(), "--seed", self.open.is_some(), "--open"),
        ] {
            if given && !condition {
                return Err(mistake(format!("{name} goes with {needed}")));
            }
        }
        let is_plain = |workload: &Workload| *workload == Workload::Hyper;
        if (self.work.is_some() || self.open.is_some()) && !self.workloads.iter().all(is_plain) {
            let message = "--work and --open are for the workload hyper alone";
            return Err(mistake(message.to_owned()));
        }
        if self.open.is_some() && self.pins() && cores < 2 {
            let message = "--open on one core goes with --share-cores";
            return Err(mistake(message.to_owned()));
        }
        if self.no_load && !self.instructions && !self.sizes {
            let message = "--no-load goes with --instructions or --sizes";
            return Err(mistake(message.to_owned()));
        }
        Ok(())
    }

    /// Whether servers and load are on cores of their own.
    pub fn pins(&self) -> bool {
        self.pin || self.open.is_some() && !self.share_cores
    }

    /// The servers of a workload, arc first.
    pub fn contenders(&self, workload: Workload) -> Vec<Contender> {
        let contender = |name: &str, runtime: &str, workers| Contender {
            name: name.to_owned(),
            program: format!("{}-{runtime}", workload.program()),
            workers,
            before: false,
        };
        let mut contenders = vec![contender("arc", "arc", self.workers)];
        if self.before.is_some() {
            let before = contender("before", "arc", self.workers);
            contenders.push(Contender { before: true, ..before });
        }
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
const VALUED: [&str; 13] = [
    "--workload",
    "--peers",
    "--connections",
    "--seconds",
    "--rounds",
    "--workers",
    "--load",
    "--work",
    "--open",
    "--seed",
    "--commit",
    "--before",
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
    fn an_open_loop_has_its_cores() {
        let line = "--work 2ms/100 --work-sleeps --workers 16 --open 20000 --seed 7 --busy \
            --commit main";
        let options = parse(line).unwrap().unwrap();
        let expected = Options {
            workers: 16,
            work: Some("2ms/100".to_owned()),
            work_sleeps: true,
            open: Some(20_000.0),
            seed: Some(7),
            busy: true,
            before: Some(Before::Commit("main".to_owned())),
            ..Options::default()
        };
        assert_eq!(options, expected);
        assert!(options.pins());
        assert!(!parse("--open 9 --share-cores").unwrap().unwrap().pins());
        let contenders = options.contenders(Workload::Hyper);
        assert_eq!(contenders[1].name, "before");
        assert!(contenders[1].before && !contenders[0].before);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, start) in [
            ("--fast", "unknown option `--fast`"),
            ("--rounds", "--rounds needs a value"),
            ("--rounds 0", "--rounds does not take `0`"),
            ("--seconds nan", "--seconds does not take `nan`"),
            ("--peers tokio,c", "--peers does not take `tokio,c`"),
            ("--work-sleeps", "--work-sleeps goes with --work"),
            ("--seed 1", "--seed goes with --open"),
            ("--open 0", "--open does not take `0`"),
            ("--open 9 --workload tiny", "--work and --open are for the workload hyper"),
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
