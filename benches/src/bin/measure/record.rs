//! What was measured, as it is kept in a JSON file: every round, so that medians and ratios can be
//! computed anew.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use arc_benches::figures::Outcome;
use serde::{Deserialize, Serialize};

use crate::options::{Options, Tool};

/// More than this share of the machine taken by others makes a round worthless.
const OTHERS_MOST: f64 = 0.05;

/// One or more runs of `cargo xtask versus`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Record {
    /// Of each run its command, and what `origin.sh` says of machine, versions and commit.
    pub runs: Vec<Vec<String>>,
    pub series: Vec<Series>,
}

/// One load at one number of connections, on all servers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Series {
    /// What the servers do, and by what they are loaded.
    pub load: String,
    pub connections: usize,
    pub workers: usize,
    pub seconds: f64,
    pub servers: Vec<Measured>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Measured {
    pub name: String,
    pub rounds: Vec<Round>,
}

/// One measurement of one server.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Round {
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The server's CPU per answer, in microseconds.
    pub cpu: f64,
    /// The share of the machine that other processes took, or its host.
    pub others: f64,
}

impl Round {
    /// Whether other load left the figures their worth.
    pub fn is_sound(&self) -> bool {
        self.others <= OTHERS_MOST
    }
}

impl Series {
    pub fn of(options: &Options, tool: Tool, connections: usize) -> Self {
        let contenders = options.contenders().into_iter();
        let servers = contenders.map(|name| Measured { name, rounds: Vec::new() });
        Self {
            load: load_text(options, tool),
            connections,
            workers: options.workers,
            seconds: options.seconds,
            servers: servers.collect(),
        }
    }

    pub fn server(&self, name: &str) -> Option<&Measured> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// As a heading.
    pub fn title(&self) -> String {
        format!("{}, {} connections, workers: {}", self.load, self.connections, self.workers)
    }
}

/// What the servers do, and by what they are loaded.
fn load_text(options: &Options, tool: Tool) -> String {
    let mut text = match (options.echo, options.open) {
        (true, _) => "echo".to_owned(),
        (_, Some(rate)) => format!("hyper, {rate} requests/s at random times"),
        (_, None) => format!("hyper by {}", tool.name()),
    };
    if let Some(work) = &options.work {
        let how = if options.work_sleeps { "sleeps" } else { "computes" };
        text += &format!(", {how} {work}");
    }
    if options.pins() {
        text += ", on cores of its own";
    }
    text
}

impl Record {
    /// The one that a file has; a new one without a file.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| path.exists()) else {
            return Ok(Self::default());
        };
        let text = fs::read_to_string(path)?;
        let no_record = || format!("{} has no figures to add to", path.display());
        serde_json::from_str(&text).with_context(no_record)
    }

    pub fn write(&self, path: Option<&Path>) -> Result<()> {
        let Some(path) = path else {
            return Ok(());
        };
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path, text).with_context(|| path.display().to_string())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn round(per_second: u64, p99: f64) -> Round {
        let outcome = Outcome { answers: per_second, seconds: 1.0, p99, ..Outcome::default() };
        Round { outcome, cpu: 10.0, ..Round::default() }
    }

    /// Two servers and two rounds.
    pub fn series() -> Series {
        let server = |name: &str, rounds: [Round; 2]| Measured {
            name: name.to_owned(),
            rounds: rounds.to_vec(),
        };
        Series {
            load: "hyper by oha".to_owned(),
            connections: 64,
            seconds: 1.0,
            servers: vec![
                server("arc", [round(110, 80.0), round(120, 90.0)]),
                server("tokio", [round(100, 100.0), round(100, 120.0)]),
            ],
            ..Series::default()
        }
    }

    #[test]
    fn a_file_is_added_to() {
        let path = std::env::temp_dir().join(format!("arc-record-{}.json", std::process::id()));
        let mut record = Record::open(Some(&path)).unwrap();
        record.series.push(series());
        record.write(Some(&path)).unwrap();
        let again = Record::open(Some(&path)).unwrap();
        fs::write(&path, "[]").unwrap();
        let foreign = Record::open(Some(&path));
        fs::remove_file(&path).unwrap();

        assert_eq!(again, record);
        assert!(foreign.is_err());
    }
}
