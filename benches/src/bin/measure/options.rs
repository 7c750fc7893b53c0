//! The command line of `cargo xtask versus`, and the servers.

use std::path::PathBuf;
use std::thread::available_parallelism;

use anyhow::{Result, ensure};
use arc_benches::work::Work;
use clap::{Parser, ValueEnum};

const PEERS: [&str; 3] = ["tokio", "core", "smol"];

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Tool {
    /// by as many threads as there are cores: `cargo install --locked oha`
    Oha,
    /// with one thread, which takes one core at the most
    Wrk,
    /// wrk with two threads
    Wrk2,
    /// arc-benches's own, for open loops and echoes
    Own,
}

/// What arc of another commit or folder is called.
pub const BEFORE: &str = "before";

/// Load the same servers on arc and on its peers, and print them side by side
#[derive(Clone, Debug, Parser, PartialEq)]
#[command(bin_name = "cargo xtask versus")]
pub struct Options {
    /// 64 bytes come back, instead of HTTP/1 by hyper; always with our own load
    #[arg(long)]
    pub echo: bool,
    /// Beside which runtimes; core is arc-runtime alone, without what watches
    #[arg(long, value_delimiter = ',', value_parser = PEERS, default_value = "tokio")]
    pub peers: Vec<String>,
    /// Measure arc of another commit beside it, as `before`
    #[arg(long, value_name = "REV")]
    pub commit: Option<String>,
    /// The same with what another folder has: a checkout of arc
    #[arg(long, value_name = "FOLDER", conflicts_with = "commit")]
    pub before: Option<String>,
    /// How many connections, with commas between the numbers (8,64,256; with --open or --echo 64)
    #[arg(long, value_delimiter = ',', value_parser = positive)]
    pub connections: Vec<usize>,
    /// How long each measurement takes
    #[arg(long, value_parser = some, default_value = "5")]
    pub seconds: f64,
    /// How often each server is measured, in turns
    #[arg(long, value_parser = positive, default_value = "5")]
    pub rounds: usize,
    /// How many workers the servers have
    #[arg(long, value_parser = positive, default_value = "2")]
    pub workers: usize,
    /// What loads the servers, one after the other (oha; with --open or --echo own)
    #[arg(long, value_delimiter = ',')]
    pub load: Vec<Tool>,
    /// Servers on the first cores, one per worker, load on the others
    #[arg(long)]
    pub pin: bool,
    /// A handler blocks its worker for that long by computing (of its thread's CPU time):
    /// 300us; with 2ms/100 in one request of 100
    #[arg(long, value_name = "TIME", value_parser = work)]
    pub work: Option<String>,
    /// It sleeps in the kernel instead, which blocks the worker and not the core: one core
    /// plays as many as there are workers
    #[arg(long, requires = "work")]
    pub work_sleeps: bool,
    /// So many requests a second at random times (Poisson), by our own load, latencies from when
    /// each was due; the last core is the load's, which never sleeps, the others the servers'
    #[arg(long, value_name = "RATE", value_parser = some)]
    pub open: Option<f64>,
    /// With --open: all run on all cores, and the load sleeps in between
    #[arg(long, requires = "open")]
    pub share_cores: bool,
    /// Add every round to a file; the ratios at the end are then of all that it has
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Options {
    pub fn check(&self) -> Result<()> {
        let cores = available_parallelism().map_or(1, usize::from);
        // Workers that sleep need no cores of their own.
        let leaves_a_core = !self.pin || self.workers < cores || self.work_sleeps;
        ensure!(leaves_a_core, "--pin leaves no core to the load: take fewer workers");
        let is_own = self.load.iter().all(|tool| *tool == Tool::Own);
        ensure!(!self.is_special() || is_own, "--open and --echo go with `--load own`");
        ensure!(self.work.is_none() || !self.echo, "--work is without --echo");
        let shares = self.open.is_none() || cores > 1 || self.share_cores;
        ensure!(shares, "--open on one core goes with --share-cores");
        Ok(())
    }

    /// The load generators.
    pub fn tools(&self) -> Vec<Tool> {
        match self.load.as_slice() {
            [] if self.is_special() => vec![Tool::Own],
            [] => vec![Tool::Oha],
            tools => tools.to_vec(),
        }
    }

    /// Over how many connections each of them sends.
    pub fn connections(&self) -> Vec<usize> {
        match self.connections.as_slice() {
            [] if self.is_special() => vec![64],
            [] => vec![8, 64, 256],
            numbers => numbers.to_vec(),
        }
    }

    /// Whether it is a load that oha and wrk do not have.
    fn is_special(&self) -> bool {
        self.open.is_some() || self.echo
    }

    /// Whether servers and load are on cores of their own.
    pub fn pins(&self) -> bool {
        self.pin || self.open.is_some() && !self.share_cores
    }

    /// The servers, arc first.
    pub fn contenders(&self) -> Vec<String> {
        let mut names = vec!["arc".to_owned()];
        if self.commit.is_some() || self.before.is_some() {
            names.push(BEFORE.to_owned());
        }
        names.extend(self.peers.iter().cloned());
        names
    }
}

/// The program of a server.
pub fn program(server: &str) -> String {
    let runtime = if server == BEFORE { "arc" } else { server };
    format!("serve-{runtime}")
}

fn positive(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "it takes a whole number from 1 on".to_owned())
}

/// A time or a rate.
fn some(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number > 0.0);
    number.ok_or_else(|| "it takes a number above 0".to_owned())
}

/// The servers read it again.
fn work(text: &str) -> Result<String, String> {
    text.parse::<Work>().map(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        let words = ["versus"].into_iter().chain(line.split_whitespace());
        let options = Options::try_parse_from(words)?;
        options.check()?;
        Ok(options)
    }

    #[test]
    fn options_are_understood() {
        let options = parse("--connections=8,64 --seconds 0.5 --load oha,wrk,wrk2").unwrap();
        assert_eq!((options.connections, options.seconds), (vec![8, 64], 0.5));
        assert_eq!(options.load, [Tool::Oha, Tool::Wrk, Tool::Wrk2]);
        let plain = parse("").unwrap();
        assert_eq!((plain.tools(), plain.connections()), (vec![Tool::Oha], vec![8, 64, 256]));
        let echo = parse("--echo").unwrap();
        assert_eq!((echo.tools(), echo.connections()), (vec![Tool::Own], vec![64]));
        let shared = "--work 2ms/100 --work-sleeps --open 20000 --share-cores";
        assert!(!parse(shared).unwrap().pins());
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("--rounds 0", "--rounds"),
            ("--seconds nan", "--seconds"),
            ("--peers tokio,c", "--peers"),
            ("--work-sleeps", "--work"),
            ("--work 300", "300us"),
            ("--open 9 --load wrk --share-cores", "`--load own`"),
            ("--echo --work 1ms", "without --echo"),
            ("--commit a --before b", "--before"),
            ("--pin --workers 64000", "--pin leaves no core"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn arc_is_the_first_and_arc_of_before_follows() {
        let options = parse("--commit main --peers tokio").unwrap();
        assert_eq!(options.contenders(), ["arc", "before", "tokio"]);
        assert_eq!(["before", "core"].map(program), ["serve-arc", "serve-core"]);
    }
}
