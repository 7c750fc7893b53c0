//! One measurement: a fresh server, a short warm-up, then load between two looks
//! at /proc.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::Failure;
use crate::load::{Load, Open, Outcome, Tool, pinned};
use crate::options::Contender;
use crate::proc::{self, Time, Usage};
use crate::process::Process;
use crate::record::Round;
use crate::workload::Workload;

/// Connections are made once and caches filled before it counts.
const WARM_UP_SECONDS: f64 = 0.5;

/// How long a server may take to start.
const START_LIMIT: Duration = Duration::from_secs(10);

/// What is the same for all servers of a series.
pub struct Setting {
    pub workload: Workload,
    pub tool: Tool,
    pub connections: usize,
    pub wrk_threads: usize,
    pub seconds: f64,
    /// How many cores there are, if servers and load are to be kept apart.
    pub pin: Option<usize>,
    /// What the servers are told about the work of their handlers.
    pub work: Vec<String>,
    /// Requests a second of an open loop.
    pub open: Option<f64>,
    /// Processes that keep the cores busy.
    pub busy: Vec<Process>,
    /// Where the programs of `lab/versus/` are.
    pub programs: PathBuf,
    /// Where those with the arc of before are.
    pub programs_before: PathBuf,
}

impl Setting {
    /// Measures a server once; with a seed of the random times of an open loop.
    ///
    /// # Errors
    ///
    /// The server or the load generator fails, or ctrl-c.
    pub fn measure(&self, contender: &Contender, seed: u64) -> Result<Round, Failure> {
        let workers = contender.workers;
        let (server_cores, load_cores) = self.cores(workers).unzip();
        let open = self.open.map(|rate| Open { rate, seed });

        let folder = if contender.before { &self.programs_before } else { &self.programs };
        let mut command = Command::new(folder.join(&contender.program));
        command.args(["--with-parent", "--addr", "127.0.0.1:0"]);
        command.args(["--workers", &workers.to_string()]);
        command.args(&self.work);
        let (server, address) = start(pinned(command, server_cores.as_deref()))?;

        let load = |workload, seconds| Load {
            tool: self.tool,
            workload,
            address: &address,
            connections: self.connections,
            wrk_threads: self.wrk_threads,
            seconds,
            programs: &self.programs,
            cores: load_cores.clone(),
            open,
        };
        let plain = match self.workload {
            Workload::Echo => self.workload,
            // A request that blocks would outlast the warm-up.
            Workload::Hyper | Workload::Mixed | Workload::Blocked => Workload::Hyper,
        };
        load(plain, WARM_UP_SECONDS).run()?;
        let before = Snapshot::take(server.pid(), &self.busy)?;
        let outcome = load(self.workload, self.seconds).run()?;
        let after = Snapshot::take(server.pid(), &self.busy)?;
        Ok(round(&outcome, &before, &after, proc::peak_kib(server.pid())?))
    }

    /// The cores of a server and those of the load: cores 0 to workers - 1 are the
    /// server's, but one is always left to the load.
    fn cores(&self, workers: usize) -> Option<(String, String)> {
        let cores = self.pin?;
        let first_of_load = if self.open.is_some() { cores - 1 } else { workers.min(cores - 1) };
        Some((format!("0-{}", first_of_load - 1), format!("{first_of_load}-{}", cores - 1)))
    }
}

/// Keeps each core busy until the processes are dropped.
///
/// # Errors
///
/// They cannot be started.
pub fn keep_busy(programs: &std::path::Path, cores: usize) -> Result<Vec<Process>, Failure> {
    let start = |core: usize| {
        let core = core.to_string();
        Process::start(pinned(Command::new(programs.join("busy")), Some(&core)))
    };
    (0..cores).map(start).collect()
}

/// Starts a server; gives it, and where it listens.
///
/// # Errors
///
/// It does not say where it listens.
pub fn start(command: Command) -> Result<(Process, String), Failure> {
    let mut server = Process::start(command)?;
    let line = server.line(START_LIMIT)?;
    match line.strip_prefix("listening on ") {
        Some(address) => Ok((server, address.to_owned())),
        None => Err(Failure(format!("a server began with {line:?}"))),
    }
}

struct Snapshot {
    server: Usage,
    /// CPU of this program, of the load generators that have ended, and of what keeps
    /// cores busy on purpose.
    own: f64,
    machine: Time,
}

impl Snapshot {
    fn take(server: u32, busy: &[Process]) -> Result<Self, Failure> {
        let mut own = proc::own_cpu()?;
        for process in busy {
            let usage = proc::usage(process.pid())?;
            own += usage.user + usage.system;
        }
        Ok(Self { server: proc::usage(server)?, own, machine: proc::time()? })
    }
}

fn round(outcome: &Outcome, before: &Snapshot, after: &Snapshot, peak_kib: u64) -> Round {
    let answers = (outcome.answers + outcome.other_answers).max(1) as f64;
    let user = after.server.user - before.server.user;
    let system = after.server.system - before.server.system;
    let switches = after.server.switches.saturating_sub(before.server.switches);
    let involuntary = after.server.involuntary.saturating_sub(before.server.involuntary);

    let total = (after.machine.total - before.machine.total).max(f64::MIN_POSITIVE);
    let busy = after.machine.busy - before.machine.busy;
    let ours = user + system + after.own - before.own;
    Round {
        answers: outcome.answers,
        errors: outcome.errors,
        seconds: outcome.seconds,
        mean: outcome.mean,
        p50: outcome.p50,
        p90: outcome.p90,
        p99: outcome.p99,
        p999: outcome.p999,
        user: user * 1e6 / answers,
        system: system * 1e6 / answers,
        switches: switches as f64 / answers,
        involuntary: involuntary as f64 / answers,
        peak_kib,
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
        let snapshot = |cpu, switches, own, busy, total| Snapshot {
            server: Usage { user: cpu, system: cpu, switches, involuntary: switches / 2 },
            own,
            machine: Time { busy, stolen: 0.0, total },
        };
        let before = snapshot(1.0, 10, 5.0, 100.0, 1000.0);
        let after = snapshot(2.0, 60, 6.0, 104.0, 1010.0);
        let outcome =
            Outcome { answers: 90, other_answers: 10, seconds: 5.0, ..Outcome::default() };
        let round = round(&outcome, &before, &after, 7);
        assert_eq!((round.user, round.system), (1e4, 1e4));
        assert_eq!((round.switches, round.involuntary, round.peak_kib), (0.5, 0.25, 7));
        // Of 4 seconds 2 were the server's and 1 was the load's.
        assert!((round.other_work - 0.1).abs() < 1e-9);
    }
}
