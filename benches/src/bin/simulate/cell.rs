//! One combination of workers, polls and load.

use crate::machine::Nanos;
use arc_benches::work::duration;

/// How long polls take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Polls {
    /// At random, with this mean.
    Exponential(Nanos),
    /// One in 100 the long time, and the others the short one; or both are the same.
    Mixed(Nanos, Nanos),
}

impl std::str::FromStr for Polls {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = |text: &str| {
            let time = duration(text).map(|it| it.as_nanos() as Nanos);
            time.ok_or_else(|| format!("{text} is not a time such as 300us or 2ms"))
        };
        if let Some(mean) = text.strip_prefix("exp:") {
            return time(mean).map(Self::Exponential);
        }
        match text.split_once('+') {
            Some((common, long)) => Ok(Self::Mixed(time(common)?, time(long)?)),
            None => time(text).map(|time| Self::Mixed(time, time)),
        }
    }
}

impl Polls {
    /// The mean.
    fn mean(self) -> f64 {
        match self {
            Self::Exponential(mean) => mean as f64,
            Self::Mixed(short, long) => short as f64 * 0.99 + long as f64 * 0.01,
        }
    }

    /// The next one.
    pub fn sample(self, random: &mut fastrand::Rng) -> Nanos {
        match self {
            Self::Exponential(mean) => (-(mean as f64) * (1.0 - random.f64()).ln()) as Nanos,
            Self::Mixed(short, long) if short != long && random.u8(..100) == 0 => long,
            Self::Mixed(short, _) => short,
        }
    }

    /// For tables.
    pub fn name(self) -> String {
        let short = |time: Nanos| match time {
            0..1_000_000 => format!("{} us", time as f64 / 1e3),
            _ => format!("{} ms", time as f64 / 1e6),
        };
        match self {
            Self::Exponential(mean) => format!("exp {}", short(mean)),
            Self::Mixed(time, long) if time == long => short(time),
            Self::Mixed(common, long) => format!("{}, 1% {}", short(common), short(long)),
        }
    }
}

/// When requests come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// At random times, so that the polls keep this part of the workers busy.
    Open(f64),
    /// On so many connections, each as soon as the client has dealt with the last answer.
    Closed(usize),
}

impl Load {
    /// For tables.
    pub fn name(self) -> String {
        match self {
            Self::Open(part) => format!("{:.0} %", part * 100.0),
            Self::Closed(connections) => format!("{connections} conn."),
        }
    }
}

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// How many workers there are.
    pub workers: usize,
    /// How long polls take.
    pub polls: Polls,
    /// When requests come.
    pub load: Load,
    /// How many requests are measured.
    pub requests: u64,
}

impl Cell {
    /// How many threads the client of a closed loop has: as many as there are workers.
    pub fn clients(&self) -> usize {
        match self.load {
            Load::Open(_) => 0,
            Load::Closed(connections) => self.workers.min(connections),
        }
    }

    /// The mean time between two requests of an open loop.
    pub fn gap(&self) -> Option<f64> {
        match self.load {
            Load::Open(part) => Some(self.polls.mean() / self.workers as f64 / part),
            Load::Closed(_) => None,
        }
    }
}
