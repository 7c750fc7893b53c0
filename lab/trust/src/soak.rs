//! Everything at random for a while, from a seed, and an account of it.

use std::time::Duration;

use crate::tool::Tool;
use crate::{Outcome, Trial};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial {
            name: "soak",
            what: "everything at random for a minute, every task and byte accounted for",
            on_demand: false,
            missing,
            run: || run(60),
        },
        Trial {
            name: "soak-hour",
            what: "the same for an hour",
            on_demand: true,
            missing,
            run: || run(3600),
        },
    ]
}

fn missing() -> Option<String> {
    (!cfg!(target_os = "linux")).then(|| "Linux".to_owned())
}

fn run(seconds: u64) -> Result<Outcome, String> {
    Tool::new("cargo build --release -p arc-trials").run()?;
    let line = format!("target/release/soak --seconds {seconds}");
    let printed = Tool::new(&line).limit(Duration::from_secs(seconds + 120)).run()?;
    let count = |what: &str| {
        let mut lines = printed.lines().filter_map(|line| line.trim().split_once(' '));
        let found = lines.find(|(_, counted)| *counted == what);
        let number = found.and_then(|(number, _)| number.parse::<u64>().ok());
        number.ok_or(format!("the soak does not tell: {what}"))
    };
    Ok(Outcome {
        tried: format!(
            "{} runtimes, {} tasks ({} cancelled, {} panicked, {} lost), {} connections, \
             {} MB compared",
            count("runtimes built and ended")?,
            count("futures made")?,
            count("handles: cancelled")?,
            count("handles: panicked")?,
            count("tasks lost")?,
            count("connections made")?,
            count("bytes received and compared")? / 1_000_000,
        ),
        found: String::new(),
    })
}
