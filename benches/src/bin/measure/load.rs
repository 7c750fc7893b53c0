//! The load generators: how they are called, and what they say.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use arc_benches::figures::Outcome;
use clap::ValueEnum;
use serde::Deserialize;

use crate::commands::output;
use crate::options::{Options, Tool};

/// What load generators need to connect and to end, in seconds beyond the measured time.
const SLACK: f64 = 15.0;

impl Tool {
    /// As on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().expect("none is hidden").get_name().to_owned()
    }
}

/// What is the same for all servers and rounds of a series.
pub struct Setting<'a> {
    pub options: &'a Options,
    pub tool: Tool,
    pub connections: usize,
    /// Where the programs are, and those with the arc of before.
    pub programs: &'a Path,
    pub programs_before: &'a Path,
}

impl Setting<'_> {
    /// Loads the server at an address for so many seconds, on cores as taskset takes them. In an
    /// open loop, a round has the same requests for all servers.
    pub fn load(
        &self,
        address: &str,
        seconds: f64,
        round: usize,
        cores: Option<&str>,
    ) -> Result<Outcome> {
        let mut command = Command::new("timeout");
        let limit = (seconds + SLACK).to_string();
        command.args(["--foreground", limit.as_str()]);
        if let Some(cores) = cores {
            command.args(["taskset", "-c", cores]);
        }
        self.add_tool(&mut command, address, seconds);
        if let Some(rate) = self.options.open {
            command.args(["--open", &rate.to_string(), "--seed", &round.to_string()]);
            // With no core of its own the load sleeps in between.
            command.args(cores.map(|_| "--spin"));
        }
        let text = output(&mut command)?;
        let parse = if self.tool == Tool::Oha { parse_oha } else { parse_line };
        parse(&text).with_context(|| format!("{} printed:\n{text}", self.tool.name()))
    }

    fn add_tool(&self, command: &mut Command, address: &str, seconds: f64) {
        let connections = self.connections.to_string();
        let url = format!("http://{address}/");
        match self.tool {
            Tool::Oha => {
                let time = format!("{}ms", (seconds * 1e3).round());
                command.args(["oha", "--no-tui", "--output-format", "json"]);
                command.args(["-c", connections.as_str(), "-z", &time, &url]);
            }
            Tool::Wrk | Tool::Wrk2 => {
                let threads = if self.tool == Tool::Wrk { "-t1" } else { "-t2" };
                // It takes whole seconds only.
                let seconds = format!("-d{}s", seconds.ceil());
                let script = concat!(env!("CARGO_MANIFEST_DIR"), "/report.lua");
                command.args(["wrk", threads, "-c", &connections, &seconds, "-s", script, &url]);
            }
            Tool::Own => {
                command.arg(self.programs.join("load")).args(["--addr", address]);
                command.args(["--connections", connections.as_str()]);
                command.args(["--seconds", &seconds.to_string()]);
                if self.options.echo {
                    command.arg("--echo");
                }
            }
        }
    }
}

/// The line of JSON that `report.lua` and our own load print.
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
        errors: failed + (statuses - answers),
        seconds: oha.summary.total,
        mean: oha.summary.average.unwrap_or(0.0) * 1e6,
        p50: micros("p50")?,
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
                {"p50": 0.0001, "p99": 0.003, "p99.9": 0.004},
            "statusCodeDistribution": {"200": 100, "500": 2},
            "errorDistribution": {"aborted due to deadline": 8, "connection reset": 3}
        }"#;
        let expected = Outcome {
            answers: 100,
            errors: 5,
            seconds: 2.0,
            mean: 500.0,
            p50: 100.0,
            p99: 3000.0,
            p999: 4000.0,
        };
        assert_eq!(parse_oha(text), Some(expected));
        let line = serde_json::to_string(&expected).unwrap();
        assert_eq!(parse_line(&format!("Running 1s test\n{line}\nmore\n")), Some(expected));
        assert_eq!(parse_oha("error"), None);
    }
}
