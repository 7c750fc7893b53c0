//! `cargo xtask versus`: arc and its peers, side by side.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::commands::{output, script};
use crate::load::Setting;
use crate::options::{Options, program};
use crate::record::{Record, Round, Series};
use crate::table;

/// Runs `cargo xtask versus`.
pub fn run(options: &Options) -> Result<()> {
    options.check()?;
    let path = options.json.as_deref();
    let mut record = Record::open(path)?;
    let programs = build(options)?;
    let programs_before = build_before(options, &programs)?;
    record.runs.push(origin()?);

    // A measurement takes some time beyond its own.
    let (tools, connections) = (options.tools(), options.connections());
    let count = tools.len() * connections.len() * options.rounds;
    let seconds = (count * options.contenders().len()) as f64 * (options.seconds + 0.8);
    eprintln!("this takes about {seconds:.0} s");
    for &tool in &tools {
        for &connections in &connections {
            let setting = Setting {
                options,
                programs: &programs,
                programs_before: &programs_before,
                tool,
                connections,
            };
            let series = measure(&setting)?;
            println!("\n== {}\n\n{}", series.title(), table::of_series(&series));
            record.series.push(series);
            // What was measured before a failure or ctrl-c is kept.
            record.write(path)?;
        }
    }
    print!("{}", table::of_record(&record));
    println!("\n{}", record.runs[record.runs.len() - 1].join("\n"));
    Ok(())
}

/// Builds the servers and our load; gives where they are.
fn build(options: &Options) -> Result<PathBuf> {
    let contenders = options.contenders();
    let servers = contenders.iter().map(|it| program(it));
    let folder = output(script("build.sh").args(servers).arg("load"))?;
    Ok(PathBuf::from(folder.trim()))
}

/// Builds the server with the arc of before, if there is one.
fn build_before(options: &Options, programs: &Path) -> Result<PathBuf> {
    let mut before = script("before.sh");
    before.arg(programs.parent().context("it is in cargo's target folder")?);
    if let Some(commit) = &options.commit {
        before.args(["commit", commit]);
    } else if let Some(folder) = &options.before {
        before.args(["folder", folder]);
    } else {
        return Ok(PathBuf::new());
    }
    let folder = output(before.arg("serve-arc"))?;
    Ok(PathBuf::from(folder.trim()))
}

/// The command, machine, versions and commit.
fn origin() -> Result<Vec<String>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let mut lines = vec![format!("cargo xtask versus {}", arguments.join(" "))];
    lines.extend(output(&mut script("origin.sh"))?.lines().map(str::to_owned));
    Ok(lines)
}

/// Measures all servers with one load and number of connections.
fn measure(setting: &Setting<'_>) -> Result<Series> {
    let options = setting.options;
    let contenders = options.contenders();
    let mut series = Series::of(options, setting.tool, setting.connections);
    eprintln!("\n{}", series.title());
    for round in 0..options.rounds {
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        if round % 2 == 1 {
            // The other way round: none is always first.
            order.reverse();
        }
        for index in order {
            eprint!("round {} of {}: {:12}", round + 1, options.rounds, contenders[index]);
            let result = setting.measure(&contenders[index], round)?;
            eprintln!("{}", progress(&result));
            series.servers[index].rounds.push(result);
        }
    }
    Ok(series)
}

fn progress(round: &Round) -> String {
    let outcome = &round.outcome;
    let others = if round.is_sound() { "" } else { "; worthless: others took part of the machine" };
    format!(
        "{:>9.0} requests/s, mean {:.0}, p99 {:.0} µs, {} errors{others}",
        outcome.per_second(),
        outcome.mean,
        outcome.p99,
        outcome.errors
    )
}
