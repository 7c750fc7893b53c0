//! One measurement: a fresh server, a short warm-up, then load between two looks at /proc.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use arc_lab::figures::Outcome;

use crate::commands::display;
use crate::load::Load;
use crate::options::{BEFORE, Options, Tool, program};
use crate::record::Round;
use crate::usage::{self, Time};

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
        let name = display(&command);
        let mut process = command.spawn().with_context(|| name.clone())?;
        let output = process.stdout.take().context("it was asked for")?;
        let mut server = Self { process, address: String::new(), _output: BufReader::new(output) };

        let mut line = String::new();
        server._output.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on ");
        server.address = address.with_context(|| format!("{name} began with {line:?}"))?.to_owned();
        Ok(server)
    }
}

/// What is the same for all servers and rounds of a series.
pub struct Setting<'a> {
    pub options: &'a Options,
    /// Where the programs are, and those with the arc of before.
    pub programs: &'a Path,
    pub programs_before: &'a Path,
    pub tool: Tool,
    pub connections: usize,
    /// How many the machine has.
    pub cores: usize,
}

impl Setting<'_> {
    /// Measures a server once; with a seed of the random times of an open loop.
    ///
    /// # Errors
    ///
    /// The server or the load generator fails.
    pub fn measure(&self, name: &str, seed: u64) -> Result<Round> {
        let is_before = name == BEFORE;
        let folder = if is_before { self.programs_before } else { self.programs };
        let (server_cores, load_cores) = self.split_cores().unzip();
        let arguments = self.arguments();
        let program = folder.join(program(name));
        let server = Server::start(&program, &arguments, server_cores.as_deref())?;

        let load = |seconds| Load {
            tool: self.tool,
            options: self.options,
            address: &server.address,
            connections: self.connections,
            seconds,
            seed,
            programs: self.programs,
            cores: load_cores.clone(),
        };
        load(WARM_UP_SECONDS).run()?;
        let pid = server.process.id();
        let before = Snapshot::take(pid)?;
        let outcome = load(self.options.seconds).run()?;
        let after = Snapshot::take(pid)?;
        Ok(round(outcome, &before, &after))
    }

    /// The command line of a server.
    fn arguments(&self) -> Vec<String> {
        let mut words = vec!["--addr".to_owned(), "127.0.0.1:0".to_owned()];
        words.extend(["--workers".to_owned(), self.options.workers.to_string()]);
        if self.options.echo {
            words.push("--echo".to_owned());
        }
        if let Some(work) = &self.options.work {
            words.extend(["--work".to_owned(), work.clone()]);
        }
        if self.options.work_sleeps {
            words.push("--work-sleeps".to_owned());
        }
        words
    }

    /// The cores of a server and those of the load, if they are kept apart: cores 0 to workers - 1
    /// are the server's, but one is always left to the load.
    fn split_cores(&self) -> Option<(String, String)> {
        if !self.options.pins() {
            return None;
        }
        let last = self.cores - 1;
        let is_open = self.options.open.is_some();
        let first_of_load = if is_open { last } else { self.options.workers.min(last) };
        Some((format!("0-{}", first_of_load - 1), format!("{first_of_load}-{last}")))
    }
}

struct Snapshot {
    server: f64,
    /// CPU of this program, of its threads that keep cores busy on purpose, and of the load
    /// generators that have ended.
    own: f64,
    machine: Time,
}

impl Snapshot {
    fn take(server: u32) -> Result<Self> {
        let own = usage::own_cpu()?;
        Ok(Self { server: usage::cpu(server)?, own, machine: usage::time()? })
    }
}

fn round(outcome: Outcome, before: &Snapshot, after: &Snapshot) -> Round {
    let cpu = after.server - before.server;
    let total = (after.machine.total - before.machine.total).max(f64::MIN_POSITIVE);
    let busy = after.machine.busy - before.machine.busy;
    let ours = cpu + after.own - before.own;
    Round {
        outcome,
        cpu: cpu * 1e6 / outcome.answers.max(1) as f64,
        // Ticks are coarse: it may come out just below nothing.
        other_work: ((busy - ours) / total).max(0.0),
        stolen: (after.machine.stolen - before.machine.stolen) / total,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_here_used_is_other_work() {
        let snapshot = |server, own, busy, total| Snapshot {
            server,
            own,
            machine: Time { busy, stolen: 0.0, total },
        };
        let before = snapshot(2.0, 5.0, 100.0, 1000.0);
        let after = snapshot(4.0, 6.0, 104.0, 1010.0);
        let outcome = Outcome { answers: 100, seconds: 5.0, ..Outcome::default() };
        let round = round(outcome, &before, &after);
        assert_eq!(round.cpu, 2e4);
        // Of 4 seconds 2 were the server's and 1 was the load's.
        assert!((round.other_work - 0.1).abs() < 1e-9);
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
