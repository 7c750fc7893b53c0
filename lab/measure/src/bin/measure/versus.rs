//! `cargo xtask versus`: arc and its peers, side by side.

use std::env;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::commands::{output, script};
use crate::options::{Options, program};
use crate::record::{Record, Round, Series};
use crate::server::Setting;
use crate::table;

/// What a measurement takes beyond its own time, for the announcement.
const OVERHEAD_SECONDS: f64 = 0.8;

/// Runs `cargo xtask versus`.
///
/// # Errors
///
/// The options do not go together, or something cannot be built or measured.
pub fn run(options: &Options) -> Result<()> {
    options.check()?;
    let path = options.json.as_deref();
    let mut record = Record::open(path)?;
    let programs = build(options)?;
    let programs_before = build_before(options, &programs)?;
    record.runs.push(origin()?);

    let cores = thread::available_parallelism().map_or(1, usize::from);
    if options.busy {
        keep_busy(cores);
    }
    let count = options.load.len() * options.connections.len() * options.rounds;
    let seconds =
        (count * options.contenders().len()) as f64 * (options.seconds + OVERHEAD_SECONDS);
    eprintln!("this takes about {seconds:.0} s");
    for &tool in &options.load {
        for &connections in &options.connections {
            let setting = Setting {
                options,
                programs: &programs,
                programs_before: &programs_before,
                tool,
                connections,
                cores,
            };
            let series = measure(&setting)?;
            println!("\n== {}\n\n{}", series.title(), table::of_series(&series));
            record.series.push(series);
            // What was measured before a failure or ctrl-c is kept.
            record.write(path)?;
        }
    }
    print!("{}", table::of_record(&record));
    println!("\n{}", record.runs.concat().join("\n"));
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

/// Keeps each core busy with a thread until this program ends.
fn keep_busy(cores: usize) {
    use rustix::thread::{CpuSet, sched_setaffinity};
    for core in 0..cores {
        thread::spawn(move || {
            let mut set = CpuSet::new();
            set.set(core);
            sched_setaffinity(None, &set).expect("there is such a core");
            loop {
                std::hint::spin_loop();
            }
        });
    }
}

/// Measures all servers with one load and number of connections.
fn measure(setting: &Setting<'_>) -> Result<Series> {
    let options = setting.options;
    let seed = options.seed.unwrap_or_else(seed_of_now);
    let contenders = options.contenders();
    let mut series = Series::of(options, setting.tool, setting.connections, seed);
    eprintln!("\n{}", series.title());
    for round in 0..options.rounds {
        // The same requests for all of a round.
        let seed = seed + round as u64;
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        if round % 2 == 1 {
            // The other way round: none is always first.
            order.reverse();
        }
        for index in order {
            eprint!("round {} of {}: {:12}", round + 1, options.rounds, contenders[index]);
            let result = setting.measure(&contenders[index], seed)?;
            eprintln!("{}", progress(&result));
            series.servers[index].rounds.push(result);
        }
    }
    Ok(series)
}

/// A seed that differs from run to run, and is short enough to be typed.
fn seed_of_now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(1, |time| time.as_secs() % 1_000_000)
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
