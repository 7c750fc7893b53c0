//! The load generators: how they are called, and what they say.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;
use serde::Deserialize;

use crate::Failure;
use crate::process;
use crate::workload::Workload;

/// How many requests a second the workload `blocked` has: few enough that any
/// server keeps up, so that latencies tell of the block alone.
const BLOCKED_RATE: &str = "2000";

/// In the workload `mixed` one request in so many is slow.
const SLOW_EVERY: &str = "100";

/// What load generators need to connect and to end, beyond the measured time.
const SLACK: Duration = Duration::from_secs(15);

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Tool {
    Oha,
    Wrk,
    /// `http-load` and `echo-load`, of `lab/versus/`.
    Builtin,
}

/// What it found.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
pub struct Outcome {
    /// Answers that were measured.
    pub answers: u64,
    /// Answers to slow and blocking requests.
    #[serde(default)]
    pub other_answers: u64,
    pub errors: u64,
    pub seconds: f64,
    /// Latencies, in microseconds.
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
}

impl Tool {
    /// As on the command line, and as the program.
    pub fn name(self) -> String {
        self.to_possible_value().expect("none is hidden").get_name().to_owned()
    }

    /// The tool that a workload is loaded by; `wanted` as far as it can be.
    ///
    /// # Errors
    ///
    /// The wanted tool is not on PATH, or knows no open loop.
    pub fn choose(
        wanted: Option<Self>,
        workload: Workload,
        is_open: bool,
    ) -> Result<Self, Failure> {
        let is_there = |tool: &Self| *tool == Self::Builtin || process::is_on_path(&tool.name());
        match wanted {
            _ if !workload.is_plain_http() => Ok(Self::Builtin),
            None if is_open => Ok(Self::Builtin),
            Some(tool) if is_open && tool != Self::Builtin => {
                let message = "--open goes with `--load builtin`";
                Err(Failure(message.to_owned()))
            }
            None => Ok([Self::Oha, Self::Wrk].into_iter().find(is_there).unwrap_or(Self::Builtin)),
            Some(tool) if is_there(&tool) => Ok(tool),
            Some(tool) => Err(Failure(format!(
                "{} is not on PATH; `--load builtin` needs nothing",
                tool.name()
            ))),
        }
    }

    /// The version, for the record.
    pub fn version(self) -> Option<String> {
        let mut command = Command::new(self.name());
        let text = match self {
            Self::Builtin => return None,
            Self::Oha => command.arg("--version").output(),
            // It prints its version and its usage, and fails.
            Self::Wrk => command.arg("-v").output(),
        };
        let text = String::from_utf8_lossy(&text.ok()?.stdout).into_owned();
        let words: Vec<_> = text.lines().next()?.split_whitespace().collect();
        Some(words.get(1)?.to_string())
    }
}

/// One run of a load generator.
pub struct Load<'a> {
    pub tool: Tool,
    pub workload: Workload,
    pub address: &'a str,
    pub connections: usize,
    pub wrk_threads: usize,
    pub seconds: f64,
    /// Where the programs of `lab/versus/` are.
    pub programs: &'a Path,
    /// The cores it may use, as taskset takes them.
    pub cores: Option<String>,
    /// Requests at random times; with no core of its own the load may sleep.
    pub open: Option<Open>,
}

/// An open loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Open {
    pub rate: f64,
    pub seed: u64,
}

impl Load<'_> {
    /// Loads the server.
    ///
    /// # Errors
    ///
    /// The tool fails, is late or says what is not understood.
    pub fn run(&self) -> Result<Outcome, Failure> {
        let limit = Duration::from_secs_f64(self.seconds.ceil()) + SLACK;
        let command = pinned(self.command(), self.cores.as_deref());
        let text = process::output(command, limit)?;
        let parse = match self.tool {
            Tool::Oha => parse_oha,
            Tool::Wrk | Tool::Builtin => parse_line,
        };
        parse(&text).ok_or_else(|| {
            let name = self.tool.name();
            Failure(format!("what {name} printed is not understood:\n{text}"))
        })
    }

    fn command(&self) -> Command {
        let connections = self.connections.to_string();
        let url = format!("http://{}/", self.address);
        match self.tool {
            Tool::Oha => {
                let mut command = Command::new("oha");
                command.args(["--no-tui", "--output-format", "json", "-c", &connections]);
                command.args(["-z", &format!("{}ms", (self.seconds * 1e3).round()), &url]);
                command
            }
            Tool::Wrk => {
                let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report.lua");
                let mut command = Command::new("wrk");
                // It takes whole seconds only.
                let seconds = format!("-d{}s", self.seconds.ceil());
                let threads = format!("-t{}", self.wrk_threads);
                command.args([&threads, "-c", &connections, &seconds, "-s", script, &url]);
                command
            }
            Tool::Builtin => {
                let program = match self.workload {
                    Workload::Echo => "echo-load",
                    _ => "http-load",
                };
                let mut command = Command::new(self.programs.join(program));
                command.args(["--json", "--with-parent", "--addr", self.address]);
                command.args(["--connections", &connections]);
                command.args(["--seconds", &self.seconds.to_string()]);
                if let Some(open) = self.open {
                    command.args(["--open", &open.rate.to_string()]);
                    command.args(["--seed", &open.seed.to_string()]);
                    command.args(self.cores.as_ref().map(|_| "--spin"));
                }
                match self.workload {
                    Workload::Mixed => command.args(["--slow-every", SLOW_EVERY]),
                    Workload::Blocked => command.args(["--rate", BLOCKED_RATE, "--block"]),
                    Workload::Hyper | Workload::Echo => &mut command,
                };
                command
            }
        }
    }
}

/// The same command on some cores only; taskset becomes the program, so that the
/// process stays the same.
pub fn pinned(command: Command, cores: Option<&str>) -> Command {
    let Some(cores) = cores else {
        return command;
    };
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", cores]).arg(command.get_program());
    pinned.args(command.get_args());
    pinned
}

/// The line of JSON that `report.lua`, `http-load` and `echo-load` print.
fn parse_line(text: &str) -> Option<Outcome> {
    let line = text.lines().find(|line| line.starts_with('{'))?;
    serde_json::from_str(line).ok()
}

/// What oha prints, as far as it is used. Without an answer some figures are null.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Oha {
    summary: Summary,
    latency_percentiles: BTreeMap<String, Option<f64>>,
    status_code_distribution: BTreeMap<String, u64>,
    error_distribution: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Summary {
    total: f64,
    average: Option<f64>,
}

fn parse_oha(text: &str) -> Option<Outcome> {
    let oha: Oha = serde_json::from_str(text).ok()?;
    let answers = oha.status_code_distribution.get("200").copied().unwrap_or(0);
    let statuses: u64 = oha.status_code_distribution.values().sum();
    // It breaks off what is in flight when the time is up: no error of the server.
    let errors = oha.error_distribution.iter().filter(|it| it.0 != "aborted due to deadline");
    let failed: u64 = errors.map(|it| it.1).sum();
    let micros = |name: &str| Some(oha.latency_percentiles.get(name)?.unwrap_or(0.0) * 1e6);

    Some(Outcome {
        answers,
        other_answers: 0,
        errors: failed + (statuses - answers),
        seconds: oha.summary.total,
        mean: oha.summary.average.unwrap_or(0.0) * 1e6,
        p50: micros("p50")?,
        p90: micros("p90")?,
        p99: micros("p99")?,
        p999: micros("p99.9")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_oha_prints_is_understood() {
        let text = r#"{
            "summary": {"total": 2.0, "average": 0.0005, "requestsPerSec": 55.0},
            "latencyPercentiles":
                {"p50": 0.0001, "p90": 0.0002, "p99": 0.003, "p99.9": 0.004},
            "statusCodeDistribution": {"200": 100, "500": 2},
            "errorDistribution": {"aborted due to deadline": 8, "connection reset": 3}
        }"#;
        let expected = Outcome {
            answers: 100,
            errors: 5,
            seconds: 2.0,
            mean: 500.0,
            p50: 100.0,
            p90: 200.0,
            p99: 3000.0,
            p999: 4000.0,
            ..Outcome::default()
        };
        assert_eq!(parse_oha(text), Some(expected));
        assert_eq!(parse_oha("error"), None);
    }

    #[test]
    fn a_line_of_json_is_found() {
        let text = "Running 1s test\n{\"answers\":5,\"errors\":0,\"seconds\":1.5,\"mean\":1,\
            \"p50\":1,\"p90\":2,\"p99\":3,\"p999\":4}\nmore\n";
        let outcome = parse_line(text).unwrap();
        assert_eq!((outcome.answers, outcome.p999), (5, 4.0));
        assert_eq!(parse_line("nothing"), None);
    }

    #[test]
    fn only_plain_http_has_a_choice() {
        let wrk = Some(Tool::Wrk);
        assert_eq!(Tool::choose(wrk, Workload::Echo, false), Ok(Tool::Builtin));
        let builtin = Some(Tool::Builtin);
        assert_eq!(Tool::choose(builtin, Workload::Hyper, false), Ok(Tool::Builtin));
    }

    #[test]
    fn an_open_loop_is_for_the_own_tool() {
        assert_eq!(Tool::choose(None, Workload::Hyper, true), Ok(Tool::Builtin));
        assert!(Tool::choose(Some(Tool::Wrk), Workload::Hyper, true).is_err());
    }

    #[test]
    fn wrk_is_told_its_connections_and_threads() {
        let load = Load {
            tool: Tool::Wrk,
            workload: Workload::Hyper,
            address: "127.0.0.1:80",
            connections: 64,
            wrk_threads: 2,
            seconds: 2.5,
            programs: Path::new(""),
            cores: None,
            open: None,
        };
        assert!(process::display(&load.command()).starts_with("wrk -t2 -c 64 -d3s -s "));
    }

    #[test]
    fn a_pinned_command_keeps_its_words() {
        let mut command = Command::new("oha");
        command.args(["-c", "8"]);
        let pinned = pinned(command, Some("0,1"));
        assert_eq!(process::display(&pinned), "taskset -c 0,1 oha -c 8");
    }
}
