//! The command line of `cargo xtask versus`, and the servers.

use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::Args;

use crate::Failure;
use crate::load::Tool;
use crate::workload::Workload;

const PEERS: [&str; 5] = ["tokio", "tokio-current-thread", "smol", "go", "may"];

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
#[derive(Args, Clone, Debug, PartialEq)]
#[group(multiple = false)]
pub struct Before {
    /// Measure arc of another commit beside it, as `before`
    #[arg(long, value_name = "REV")]
    pub commit: Option<String>,
    /// The same with what another folder has: a checkout of arc
    #[arg(long = "before", value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}

impl Before {
    pub fn is_given(&self) -> bool {
        self.commit.is_some() || self.folder.is_some()
    }
}

/// What the command line asks for.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct Options {
    /// What the servers do, with commas between them
    #[arg(long = "workload", value_delimiter = ',', default_value = "hyper")]
    pub workloads: Vec<Workload>,
    /// may has no hyper and is in echo only; go is net/http, where hyper
    /// is, if go is installed; with tokio-current-thread comes arc-1, arc with one worker
    #[arg(long, value_delimiter = ',', value_parser = PEERS, default_values = ["tokio", "smol"])]
    pub peers: Vec<String>,
    #[command(flatten)]
    pub before: Before,
    /// How many connections, with commas between the numbers
    #[arg(long, value_delimiter = ',', value_parser = positive, default_value = "64")]
    pub connections: Vec<usize>,
    /// How long each measurement takes
    #[arg(long, value_parser = seconds, default_value = "5")]
    pub seconds: f64,
    /// How often each server is measured, in turns
    #[arg(long, value_parser = positive, default_value = "5")]
    pub rounds: usize,
    /// How many workers the servers have
    #[arg(long, value_parser = workers, default_value = "2")]
    pub workers: usize,
    /// What loads hyper, by default the first that there is; the others are always
    /// loaded by builtin
    #[arg(long)]
    pub load: Option<Tool>,
    /// With how many threads wrk loads: with one it takes one core at the most
    #[arg(long, value_name = "N", value_parser = positive, default_value = "1")]
    pub wrk_threads: usize,
    /// Servers on the first cores, one per worker, load on the others
    #[arg(long)]
    pub pin: bool,
    /// A handler holds its worker up for that long by computing (of its thread's CPU time):
    /// 300us; with 2ms/100 in one request of 100
    #[arg(long, value_name = "TIME")]
    pub work: Option<String>,
    /// It sleeps in the kernel instead, which holds the worker up and not the core: one core
    /// plays as many as there are workers
    #[arg(long, requires = "work")]
    pub work_sleeps: bool,
    /// So many requests a second at random times (Poisson), by builtin, latencies from when
    /// each was due; the last core is the load's, which never sleeps, the others the servers'
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub open: Option<f64>,
    /// With --open: all run on all cores, and the load sleeps in between
    #[arg(long, requires = "open")]
    pub share_cores: bool,
    /// The seed of the random times, to which the round is added; by default of the clock
    #[arg(long, requires = "open")]
    pub seed: Option<u64>,
    /// Another process keeps each core busy all the while
    #[arg(long)]
    pub busy: bool,
    /// Write every round to a file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Options {
    /// # Errors
    ///
    /// The options do not go together.
    pub fn check(&self) -> Result<(), Failure> {
        let cores = available_parallelism().map_or(1, usize::from);
        let is_plain = |workload: &Workload| *workload == Workload::Hyper;
        let mistake = match () {
            // Workers that sleep need no cores of their own.
            () if self.pin && self.workers >= cores && !self.work_sleeps => {
                "--pin leaves no core to the load: take fewer workers"
            }
            () if (self.work.is_some() || self.open.is_some())
                && !self.workloads.iter().all(is_plain) =>
            {
                "--work and --open are for the workload hyper alone"
            }
            () if self.wrk_threads > 1 && self.load != Some(Tool::Wrk) => {
                "--wrk-threads goes with `--load wrk`"
            }
            () if self.connections.iter().any(|it| *it < self.wrk_threads) => {
                "wrk needs at least as many connections as threads"
            }
            () if self.open.is_some() && self.pins() && cores < 2 => {
                "--open on one core goes with --share-cores"
            }
            () => return Ok(()),
        };
        Err(Failure(mistake.to_owned()))
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
        if self.before.is_given() {
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

fn positive(text: &str) -> Result<usize, String> {
    within(text, 1, usize::MAX)
}

/// All peers take this many.
fn workers(text: &str) -> Result<usize, String> {
    within(text, 1, 64)
}

fn seconds(text: &str) -> Result<f64, String> {
    within(text, 0.1, 3600.0)
}

fn rate(text: &str) -> Result<f64, String> {
    within(text, f64::MIN_POSITIVE, f64::MAX)
}

/// A number that is neither too small nor too large.
fn within<T: std::str::FromStr + PartialOrd>(text: &str, least: T, most: T) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| "this number makes no sense here".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::Measurement;

    fn parse(line: &str) -> Result<Options, String> {
        let words = ["x", "versus"].into_iter().chain(line.split_whitespace());
        match Measurement::try_parse_from(words) {
            Ok(Measurement::Versus(options)) => match options.check() {
                Ok(()) => Ok(options),
                Err(Failure(text)) => Err(text),
            },
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn options_are_understood() {
        let options = parse("").unwrap();
        assert_eq!((options.workloads, options.connections), (vec![Workload::Hyper], vec![64]));
        assert_eq!((options.peers, options.rounds), (vec!["tokio".into(), "smol".into()], 5));
        let line = "--workload hyper,echo --peers may --connections=8,64 --seconds 0.5 \
            --rounds 3 --workers 1 --load builtin --json a.json";
        let options = parse(line).unwrap();
        assert_eq!(options.workloads, [Workload::Hyper, Workload::Echo]);
        assert_eq!((options.peers, options.connections), (vec!["may".to_owned()], vec![8, 64]));
        assert_eq!((options.seconds, options.load), (0.5, Some(Tool::Builtin)));
    }

    #[test]
    fn an_open_loop_has_its_cores() {
        let line = "--work 2ms/100 --work-sleeps --workers 16 --open 20000 --seed 7 --busy \
            --commit main";
        let options = parse(line).unwrap();
        assert!(options.pins());
        assert!(!parse("--open 9 --share-cores").unwrap().pins());
        let contenders = options.contenders(Workload::Hyper);
        assert_eq!(contenders[1].name, "before");
        assert!(contenders[1].before && !contenders[0].before);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("--fast", "--fast"),
            ("--rounds 0", "--rounds"),
            ("--seconds nan", "--seconds"),
            ("--peers tokio,c", "--peers"),
            ("--work-sleeps", "--work"),
            ("--seed 1", "--open"),
            ("--open 0", "--open"),
            ("--open 9 --workload echo", "--work and --open are for the workload hyper"),
            ("--workers 65", "--workers"),
            ("--load ab", "--load"),
            ("--wrk-threads 2", "`--load wrk`"),
            ("--load wrk --wrk-threads 9 --connections 64,8", "as many connections as threads"),
            ("--commit a --before b", "--before"),
            ("--pin --workers 64", "--pin leaves no core"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn contenders_are_the_programs_that_there_are() {
        let options = parse("--peers tokio,tokio-current-thread,may").unwrap();
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
        assert!(names(Workload::Echo).ends_with("may=echo-may:2"));
    }
}
