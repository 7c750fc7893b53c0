//! What was measured, as it is kept in a JSON file: every round, so that medians
//! and ratios can be computed anew.

use std::collections::BTreeMap;

use serde::Serialize;

/// What is raised when an older program could not read a newer record.
pub const FORMAT: u32 = 1;

/// More than this share of the machine's time taken by others makes a round
/// worthless; stolen time counts as well.
pub const OTHER_WORK_LIMIT: f64 = 0.05;

/// One run of `cargo xtask versus`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Record {
    pub format: u32,
    pub date: String,
    pub command: String,
    pub commit: String,
    /// Whether the working tree differed from the commit.
    pub dirty: bool,
    pub machine: Machine,
    /// By the name of the tool or crate.
    pub versions: BTreeMap<String, String>,
    pub series: Vec<Series>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Machine {
    pub cores: usize,
    pub cpu: String,
    pub kernel: String,
    pub memory_mib: u64,
}

/// One workload at one number of connections, on all servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    pub workload: String,
    pub connections: usize,
    pub workers: usize,
    pub load: String,
    /// Whether servers and load had cores of their own.
    pub pinned: bool,
    pub seconds: f64,
    /// What every handler does: `300us`, `2ms/100`.
    pub work: Option<String>,
    /// Whether it sleeps in the kernel instead of computing.
    pub work_sleeps: bool,
    /// Requests a second of an open loop, and the seed of the first round.
    pub open: Option<f64>,
    pub seed: Option<u64>,
    /// Whether other processes kept all cores busy.
    pub busy: bool,
    pub servers: Vec<Server>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Server {
    pub name: String,
    pub workers: usize,
    pub rounds: Vec<Round>,
}

/// One measurement of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Round {
    pub answers: u64,
    pub errors: u64,
    pub seconds: f64,
    /// Latencies, in microseconds.
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    /// The server's CPU per answer, in microseconds.
    pub user: f64,
    pub system: f64,
    /// Context switches of the server's threads per answer.
    pub switches: f64,
    /// Of those, the involuntary ones: preempted by something else.
    pub involuntary: f64,
    pub peak_kib: u64,
    /// The share of the machine that neither server nor load tool used.
    pub other_work: f64,
    /// The share of the machine that its host gave to others.
    pub stolen: f64,
}

impl Round {
    pub fn per_second(&self) -> f64 {
        self.answers as f64 / self.seconds
    }

    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }

    /// Whether other load left the figures their worth.
    pub fn is_sound(&self) -> bool {
        self.other_work <= OTHER_WORK_LIMIT && self.stolen <= OTHER_WORK_LIMIT
    }
}

impl Series {
    pub fn server(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// As a heading.
    pub fn title(&self) -> String {
        let workers = match self.workers {
            1 => "1 worker".to_owned(),
            workers => format!("{workers} workers"),
        };
        let pinned = if self.pinned { ", on cores of its own" } else { "" };
        let mut title = format!(
            "{}, {} connections, {workers}{pinned}, load by {}",
            self.workload, self.connections, self.load
        );
        if let Some(work) = &self.work {
            let how = if self.work_sleeps { "sleeps" } else { "computes" };
            title += &format!(", a handler {how} for {work}");
        }
        if let Some(rate) = self.open {
            title += &format!(", open loop of {rate} requests/s");
        }
        if let Some(seed) = self.seed {
            title += &format!(", seed {seed}");
        }
        if self.busy {
            title += ", beside a busy loop on each core";
        }
        title
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn round(per_second: u64, p99: f64) -> Round {
        Round { answers: per_second, seconds: 1.0, p99, user: 3.0, system: 7.0, ..Round::default() }
    }

    /// A record with two servers and two rounds.
    pub fn record() -> Record {
        let server = |name: &str, rounds: &[Round]| Server {
            name: name.to_owned(),
            workers: 2,
            rounds: rounds.to_vec(),
        };
        Record {
            format: FORMAT,
            date: "2026-01-02 03:04".to_owned(),
            commit: "0123456789ab".to_owned(),
            series: vec![Series {
                workload: "hyper".to_owned(),
                connections: 64,
                workers: 2,
                load: "oha".to_owned(),
                seconds: 1.0,
                servers: vec![
                    server("arc", &[round(110, 80.0), round(120, 90.0)]),
                    server("tokio", &[round(100, 100.0), round(100, 120.0)]),
                ],
                ..Series::default()
            }],
            ..Record::default()
        }
    }

    #[test]
    fn other_work_and_stolen_time_make_a_round_worthless() {
        let mut round = round(1, 1.0);
        assert!(round.is_sound());
        round.other_work = 0.06;
        assert!(!round.is_sound());
        (round.other_work, round.stolen) = (0.0, 0.06);
        assert!(!round.is_sound());
    }
}
