//! `cargo xtask versus`: arc and its peers, side by side.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime};

use crate::load::Tool;
use crate::measure::{self, Setting};
use crate::options::{Contender, Options};
use crate::record::{Record, Round, Series, Server};
use crate::workload::Workload;
use crate::{Failure, before, machine, process, report, workspace_root};

/// What a measurement takes beyond its own time, for the announcement.
const OVERHEAD_SECONDS: f64 = 0.8;

/// Runs `cargo xtask versus`.
///
/// # Errors
/// The options do not go together, something cannot be built or measured, or ctrl-c.
pub fn run(options: Options) -> Result<(), Failure> {
    let tools = tools(&options)?;
    let versus = Versus::prepare(options)?;
    let arguments: Vec<String> = env::args().skip(2).collect();
    let mut record = machine::empty_record(&versus.root, &arguments, &tools);
    let result = versus.fill(&mut record);
    if !record.series.is_empty() {
        report::print_origin(&record);
        // What was measured before a failure or ctrl-c is kept.
        versus.write(&record)?;
    }
    result
}

/// The load generators that will be used. Known before anything is built.
fn tools(options: &Options) -> Result<Vec<Tool>, Failure> {
    if (options.pins() || options.busy) && !process::is_on_path("taskset") {
        let message = "--pin, --open and --busy need taskset, of util-linux, on PATH";
        return Err(Failure(message.to_owned()));
    }
    let workloads = options.workloads.iter();
    let is_open = options.open.is_some();
    workloads.map(|workload| Tool::choose(options.load, *workload, is_open)).collect()
}

/// Builds the server on Go beside the others. False: there is no Go.
fn build_go(root: &Path, programs: &Path) -> Result<bool, Failure> {
    if !process::is_on_path("go") {
        return Ok(false);
    }
    eprintln!("$ go build, in lab/versus/go");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(programs.join("http-go")).env("GOTOOLCHAIN", "local");
    go.current_dir(root.join("lab/versus/go"));
    process::run(go).map(|()| true)
}

/// Where cargo puts release builds: beside the folder of this program, wherever
/// the target folder was configured to be.
pub fn programs(one: &str) -> Result<PathBuf, Failure> {
    let program = env::current_exe().ok();
    let folder = program.and_then(|it| Some(it.parent()?.parent()?.join("release")));
    folder
        .filter(|folder| folder.join(one).exists())
        .ok_or_else(|| Failure(format!("{one} is not where cargo builds programs")))
}

/// What is measured, and with which programs.
pub struct Versus {
    pub options: Options,
    root: PathBuf,
    programs: PathBuf,
    /// The same with the arc of before.
    programs_before: PathBuf,
}

impl Versus {
    /// Builds what the options ask for.
    ///
    /// # Errors
    /// The options do not go together, something cannot be built, or ctrl-c.
    pub fn prepare(mut options: Options) -> Result<Self, Failure> {
        options.check()?;
        if !cfg!(target_os = "linux") {
            let message = "versus measures by Linux's /proc and loads by its epoll: it runs on \
                 Linux only";
            return Err(Failure(message.to_owned()));
        }
        let root = workspace_root();
        process::build(&root, "arc-versus", None)?;
        let programs = programs("http-arc")?;
        if options.peers.iter().any(|peer| peer == "go") && !build_go(&root, &programs)? {
            eprintln!("go is not on PATH: the servers on it are left out");
            options.peers.retain(|peer| peer != "go");
        }
        let programs_before = if options.before.is_given() {
            let target = programs.parent().expect("it is in cargo's target folder");
            before::build(&root, target, &options.before, "arc-versus")?
        } else {
            PathBuf::new()
        };
        process::catch_interrupts()?;
        Ok(Self { options, root, programs, programs_before })
    }

    fn fill(&self, record: &mut Record) -> Result<(), Failure> {
        self.announce();
        for &workload in &self.options.workloads {
            for &connections in &self.options.connections {
                let series = self.series(workload, connections)?;
                report::print_series(&series);
                record.series.push(series);
                self.write(record)?;
            }
        }
        Ok(())
    }

    /// How many measurements there will be.
    fn count(&self) -> usize {
        let options = &self.options;
        let workloads = options.workloads.iter();
        let servers: usize = workloads.map(|it| options.contenders(*it).len()).sum();
        servers * options.connections.len() * options.rounds
    }

    /// Says what will be done, and how long it takes.
    fn announce(&self) {
        let count = self.count();
        let seconds = count as f64 * (self.options.seconds + OVERHEAD_SECONDS);
        eprintln!("{count} measurements, about {:.0} s", seconds.ceil());
    }

    /// What the servers are told about the work of their handlers.
    fn work(&self) -> Vec<String> {
        let work = self.options.work.iter();
        let mut words: Vec<String> =
            work.flat_map(|it| ["--work".to_owned(), it.clone()]).collect();
        words.extend(self.options.work_sleeps.then(|| "--work-sleeps".to_owned()));
        words
    }

    /// Measures all servers with one number of connections.
    ///
    /// # Errors
    /// A server or the load fails, or ctrl-c.
    pub fn series(&self, workload: Workload, connections: usize) -> Result<Series, Failure> {
        let options = &self.options;
        let tool = Tool::choose(options.load, workload, options.open.is_some())?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let busy = match options.busy {
            true => measure::keep_busy(&self.programs, cores)?,
            false => Vec::new(),
        };
        let setting = Setting {
            workload,
            tool,
            connections,
            wrk_threads: options.wrk_threads,
            seconds: options.seconds,
            pin: options.pins().then_some(cores),
            work: self.work(),
            open: options.open,
            busy,
            programs: self.programs.clone(),
            programs_before: self.programs_before.clone(),
        };
        let seed = options.seed.unwrap_or_else(seed_of_now);
        let contenders = options.contenders(workload);
        let mut series = Series {
            workload: workload.name(),
            connections,
            workers: options.workers,
            load: match options.wrk_threads {
                threads @ 2.. if tool == Tool::Wrk => format!("wrk with {threads} threads"),
                _ => tool.name(),
            },
            pinned: options.pins(),
            seconds: options.seconds,
            work: options.work.clone(),
            work_sleeps: options.work_sleeps,
            open: options.open,
            seed: options.open.map(|_| seed),
            busy: options.busy,
            servers: contenders.iter().map(server).collect(),
        };
        eprintln!("\n{}", series.title());
        let start = Instant::now();
        let count = contenders.len() * options.rounds;
        let mut done = 0;
        for round in 0..options.rounds {
            // Each round the other way round: none is always first.
            let mut order: Vec<usize> = (0..contenders.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for index in order {
                eprint!("round {} of {}: {:24}", round + 1, options.rounds, contenders[index].name);
                // The same requests for all of a round.
                let result = setting.measure(&contenders[index], seed + round as u64);
                let result = result.inspect_err(|_| eprintln!())?;
                done += 1;
                let left = start.elapsed().mul_f64((count - done) as f64 / done as f64);
                eprintln!("{}; {:.0} s left", progress(&result), left.as_secs_f64());
                series.servers[index].rounds.push(result);
            }
        }
        Ok(series)
    }

    fn write(&self, record: &Record) -> Result<(), Failure> {
        let Some(path) = &self.options.json else {
            return Ok(());
        };
        let text = serde_json::to_string_pretty(record).expect("numbers and strings");
        fs::write(path, text + "\n")
            .map_err(|error| Failure(format!("{}: {error}", path.display())))
    }
}

/// A seed that differs from run to run, and is short enough to be typed.
fn seed_of_now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(1, |time| time.as_secs() % 1_000_000)
}

fn server(contender: &Contender) -> Server {
    Server { name: contender.name.clone(), workers: contender.workers, rounds: Vec::new() }
}

fn progress(round: &Round) -> String {
    let mut text = format!(
        "{:>9.0} requests/s, mean {:.0}, p99 {:.0} µs",
        round.per_second(),
        round.mean,
        round.p99
    );
    if round.errors > 0 {
        text += &format!(", {} errors", round.errors);
    }
    if !round.is_sound() {
        text += &format!(
            "; worthless: other work took {:.0} % of the machine, its host {:.0} %",
            round.other_work * 100.0,
            round.stolen * 100.0
        );
    }
    text
}
