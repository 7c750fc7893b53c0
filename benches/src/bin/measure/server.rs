//! One measurement: a fresh server, a short warm-up, then load between two looks at /proc.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use arc_benches::figures::Outcome;

use crate::load::Setting;
use crate::options::{BEFORE, program};
use crate::record::Round;
use crate::usage::Usage;

/// Connections are made once and caches filled before it counts.
const WARM_UP_SECONDS: f64 = 0.5;

/// A server that was started here, and is killed with this guard.
struct Server {
    process: Child,
    address: String,
    /// It is open until the end: who prints to a pipe that is closed fails.
    _output: BufReader<ChildStdout>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts a server. It ends with this program, however that ends.
    fn start(program: &Path, arguments: &[String], cores: Option<&str>) -> Result<Self> {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some(cores) = cores {
            command.args(["taskset", "-c", cores]);
        }
        command.arg(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().with_context(|| format!("{command:?}"))?;
        let output = process.stdout.take().context("it was asked for")?;
        let mut server = Self { process, address: String::new(), _output: BufReader::new(output) };

        let mut line = String::new();
        server._output.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on ");
        server.address =
            address.with_context(|| format!("{command:?} began with {line:?}"))?.to_owned();
        Ok(server)
    }
}

impl Setting<'_> {
    /// Measures a server once.
    pub fn measure(&self, name: &str, round: usize) -> Result<Round> {
        let is_before = name == BEFORE;
        let folder = if is_before { self.programs_before } else { self.programs };
        let (server_cores, load_cores) = self.split_cores().unzip();
        let arguments = self.arguments();
        let program = folder.join(program(name));
        let server = Server::start(&program, &arguments, server_cores.as_deref())?;

        let load = |seconds| self.load(&server.address, seconds, round, load_cores.as_deref());
        load(WARM_UP_SECONDS)?;
        let pid = server.process.id();
        let before = Usage::now(pid)?;
        let outcome = load(self.options.seconds)?;
        Ok(round_of(outcome, before, Usage::now(pid)?))
    }

    /// The command line of a server.
    fn arguments(&self) -> Vec<String> {
        let workers = format!("--workers={}", self.options.workers);
        let mut words = vec!["--addr=127.0.0.1:0".to_owned(), workers];
        words.extend(self.options.echo.then(|| "--echo".to_owned()));
        words.extend(self.options.work.as_ref().map(|work| format!("--work={work}")));
        words.extend(self.options.work_sleeps.then(|| "--work-sleeps".to_owned()));
        words
    }

    /// The cores of a server and those of the load, if they are kept apart: cores 0 to workers - 1
    /// are the server's, but one is always left to the load.
    fn split_cores(&self) -> Option<(String, String)> {
        if !self.options.pins() {
            return None;
        }
        let last = available_parallelism().map_or(1, usize::from) - 1;
        let is_open = self.options.open.is_some();
        let first_of_load = if is_open { last } else { self.options.workers.min(last) };
        Some((format!("0-{}", first_of_load - 1), format!("{first_of_load}-{last}")))
    }
}

fn round_of(outcome: Outcome, before: Usage, after: Usage) -> Round {
    let cpu = after.server - before.server;
    let ours = cpu + after.own - before.own;
    let others = (after.busy - before.busy).saturating_sub(ours);
    let seconds = cpu as f64 / procfs::ticks_per_second() as f64;
    Round {
        outcome,
        cpu: seconds * 1e6 / outcome.answers.max(1) as f64,
        others: others as f64 / (after.total - before.total).max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_here_used_is_that_of_others() {
        let before = Usage { server: 200, own: 500, busy: 10_000, total: 100_000 };
        let after = Usage { server: 400, own: 600, busy: 10_400, total: 101_000 };
        let outcome = Outcome { answers: 100, ..Outcome::default() };
        // Of 400 ticks 200 were the server's and 100 were the load's.
        assert_eq!(round_of(outcome, before, after), Round { outcome, cpu: 2e4, others: 0.1 });
    }

    #[test]
    fn a_server_ends_with_its_guard() {
        let arguments = ["-c", "echo listening on there; exec sleep 60"].map(str::to_owned);
        let server = Server::start(Path::new("sh"), &arguments, None).unwrap();
        assert_eq!(server.address, "there");
        let folder = format!("/proc/{}", server.process.id());
        drop(server);
        assert!(!Path::new(&folder).exists());

        let arguments = ["-c", "echo no"].map(str::to_owned);
        assert!(Server::start(Path::new("sh"), &arguments, None).is_err());
    }
}
