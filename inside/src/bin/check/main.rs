//! Checks the stages: what they print, every bug and every gap in them, their lengths, and a
//! thousand orders of each.
//!
//! | file | purpose |
//! |---|---|
//! | `main.rs` | the command line, and the checks one after the other |
//! | `build.rs` | have cargo build the stages and the bugs, and run what it built |
//! | `exercise.rs` | the exercises and their solutions, and what they refuse |
//! | `variants.rs` | variants of the solutions, by rule: the exercises must refuse the wrong ones |
//! | `marks.rs` | what stands between the marks of an exercise |
//! | `grade.rs` | what somebody else has written into the exercises |
//!
//! How a stage is read, and what is new in it, is in the library: `stage.rs`, `compare.rs`.

mod build;
mod exercise;
mod grade;
mod marks;
mod variants;

use build::{Builder, Built, Platform};
use inside::compare;
use inside::stage::{self, Bug, Stage};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

const HELP: &str = "\
Check the stages of inside/.

usage: cargo run -p arc-inside --bin check [-- OPTION]

  --quick      only what they print, their lengths, the bugs, and the exercises
  --exercises  only the exercises, or those whose numbers follow
  --variants   make variants of what solves the exercises, or those whose numbers follow, and say
               which are accepted: this takes long
  --grade DIR  say of each exercise in the folder DIR whether it is solved; only what stands between
               its marks counts, and it is run in a clean copy
  --diff 03    print the lines of a stage that the one before it does not have
  --target T   only what they print on another platform, with and without gaps; what follows T
               is told to cargo, and a variable CARGO_TARGET_.._RUNNER names what runs them
  --bless      write down what the stages print, as what they should print
  --help       print this text
";

/// How much code a stage may have, and how much of it may be new.
const NEW_MAX: usize = 60;
const CODE_MAX: usize = 150;
const CODE_MAX_FROM_08: usize = 190;

/// How many bugs there must be at least.
const BUGS_MIN: usize = 25;

/// How many programs run at once. Most of them sleep.
const AT_ONCE: usize = 8;

/// How often a bug may try to show itself. A slow machine may miss a race even with its gap.
const TRIES: usize = 3;

/// Of the variants of the solutions, every so many are made. `--variants` makes all of them.
const VARIANTS_STRIDE: usize = 12;

/// Arguments with which a stage is run as well, and the name of what it prints then.
const MORE_RUNS: [(&str, &str, &[&str]); 3] = [
    ("09_steps", "09_steps_all", &["--all"]),
    ("09_steps", "09_steps_without_fence", &["--all", "--without", "fence"]),
    ("09_steps", "09_steps_without_look", &["--all", "--without", "look"]),
];

/// What was found wrong, a sentence each.
type Complaints = Vec<String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let complaints = match words[..] {
        [] => check(&[
            &["lengths", "transcripts", "gaps", "bugs", "races", "shuttle"],
            &["exercises", "variants"],
        ]),
        ["--quick"] => check(&[&["lengths", "transcripts", "bugs"], &["exercises"]]),
        ["--exercises", ref names @ ..] => exercise::check(&Builder::new(), names),
        ["--variants", ref names @ ..] => variants::check(&Builder::new(), names, 1),
        ["--grade", folder] => grade::grade(&Builder::new(), Path::new(folder)),
        ["--bless"] => check(&[&["bless"]]),
        ["--diff", number] => print_diff(number),
        ["--target", name, ref options @ ..] => check_for(&Platform { name, options }),
        ["--help"] => {
            print!("{HELP}");
            Ok(Vec::new())
        }
        _ => Ok(vec![format!("these arguments mean nothing\n\n{HELP}")]),
    };

    let complaints = complaints.unwrap_or_else(|error| vec![error]);
    for complaint in &complaints {
        eprintln!("inside: {complaint}");
    }
    if !complaints.is_empty() {
        eprintln!("inside: once it is mended: cargo xtask inside {}", words.join(" "));
    }
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Goes through rows of checks, all rows at once: while the programs of one sleep, those of another
/// are built.
fn check(rows: &[&[&str]]) -> Result<Complaints, String> {
    let stages = stage::read_all()?;
    thread::scope(|scope| {
        let check_row = |row| check_row(row, &stages);
        let rows: Vec<_> = rows.iter().map(|row| scope.spawn(move || check_row(row))).collect();
        let mut complaints = Vec::new();
        for row in rows {
            let found = row.join().expect("a check panicked");
            complaints.extend(found.unwrap_or_else(|error| vec![error]));
        }
        Ok(complaints)
    })
}

fn check_row(parts: &[&str], stages: &[Stage]) -> Result<Complaints, String> {
    let builder = Builder::new();
    let mut complaints = Vec::new();
    for part in parts {
        complaints.extend(match *part {
            "lengths" => lengths(stages),
            "transcripts" => transcripts(stages, &builder.build_stages(false)?, false)?,
            "bless" => transcripts(stages, &builder.build_stages(false)?, true)?,
            "gaps" => gaps(stages, &builder.build_stages(false)?),
            "bugs" => bugs(stages, &builder)?,
            "exercises" => exercise::check(&builder, &[])?,
            "variants" => variants::check(&builder, &[], VARIANTS_STRIDE)?,
            "races" => races(stages, &builder)?,
            _ => shuttle(stages, &builder.build_stages(true)?),
        });
    }
    Ok(complaints)
}

/// Runs the stages that were built for another platform.
fn check_for(platform: &Platform<'_>) -> Result<Complaints, String> {
    let stages = stage::read_all()?;
    let built = Builder::new().build_stages_for(platform)?;
    let mut complaints = transcripts(&stages, &built, false)?;
    complaints.extend(gaps(&stages, &built));
    Ok(complaints)
}

/// The code of each stage, and what of it is new.
fn lengths(stages: &[Stage]) -> Complaints {
    let mut complaints = Vec::new();
    println!("{:14} {:>5} {:>5}", "stage", "code", "new");
    for (index, stage) in stages.iter().enumerate() {
        let code_max = if stage.name.as_str() < "08" { CODE_MAX } else { CODE_MAX_FROM_08 };
        let new = match compare::before(stages, index) {
            Some(before) => compare::new_lines(&before.code, &stage.code).len(),
            None => 0,
        };
        println!("{:14} {:5} {new:5}", stage.name, stage.code.len());
        if stage.code.len() > code_max {
            complaints.push(format!("{} has more than {code_max} lines of code", stage.name));
        }
        if new > NEW_MAX {
            complaints.push(format!("{} has more than {NEW_MAX} new lines of code", stage.name));
        }
    }
    complaints
}

/// Runs each stage, and compares what it prints with what was written down.
fn transcripts(stages: &[Stage], built: &Built, bless: bool) -> Result<Complaints, String> {
    let alone = stages.iter().map(|stage| (stage.name.as_str(), stage.name.as_str(), &[][..]));
    let mut complaints = Vec::new();
    for (name, transcript, arguments) in alone.chain(MORE_RUNS) {
        let ran = built.run(name, arguments, "");
        let file = stage::folder().join("transcripts").join(format!("{transcript}.txt"));
        if bless {
            fs::write(&file, &ran.stdout)
                .map_err(|error| format!("{}: {error}", file.display()))?;
            continue;
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if !ran.success || !compare::is_same(&expected, &ran.stdout) {
            complaints.push(format!(
                "{name} does not print what transcripts/{transcript}.txt says (if it should now: \
                 cargo run -p arc-inside --bin check -- --bless). It printed:\n{}",
                ran.all()
            ));
        }
    }
    println!("transcripts: {} programs", stages.len());
    Ok(complaints)
}

/// Stretches each gap of the right stages, one at a time and all at once: they must not care.
fn gaps(stages: &[Stage], built: &Built) -> Complaints {
    let mut runs = Vec::new();
    for stage in stages {
        let mut gaps = stage.gaps();
        if !gaps.is_empty() {
            gaps.push("all".to_owned());
        }
        runs.extend(gaps.into_iter().map(|gap| (stage, gap)));
    }

    let complaints = at_once(&runs, |(stage, gap)| {
        let ran = built.run(&stage.name, &[], gap);
        let file = stage::folder().join("transcripts").join(format!("{}.txt", stage.name));
        let expected = fs::read_to_string(file).unwrap_or_default();
        let is_right = ran.success && compare::is_same(&expected, &ran.stdout);
        let name = &stage.name;
        (!is_right).then(|| format!("{name} fails with ARC_GAP={gap}. It printed:\n{}", ran.all()))
    });
    println!("gaps: {} stretched", runs.len());
    complaints
}

/// Makes each bug, and sees its symptom.
fn bugs(stages: &[Stage], builder: &Builder) -> Result<Complaints, String> {
    let all = all_bugs(stages);
    let built = builder.build_bugs(stages, &all, false)?;
    let mut complaints = at_once(&all, |(stage, bug)| {
        let name = bug.program(stage);
        let mut printed = String::new();
        for _ in 0..TRIES {
            let ran = built.run(&name, &[], bug.gap.as_deref().unwrap_or_default());
            printed = ran.all();
            if printed.contains(&bug.symptom) {
                println!("bug {name}: {}", bug.symptom);
                return None;
            }
        }
        Some(format!("{name} does not show `{}`. It printed:\n{printed}", bug.symptom))
    });
    println!("bugs: {}", all.len());
    if all.len() < BUGS_MIN {
        complaints.push(format!("there are {} bugs, and there should be {BUGS_MIN}", all.len()));
    }
    Ok(complaints)
}

/// Makes the bugs that are races. shuttle must find them without any gap.
fn races(stages: &[Stage], builder: &Builder) -> Result<Complaints, String> {
    let mut all = all_bugs(stages);
    all.retain(|(_, bug)| bug.is_for_shuttle);
    let built = builder.build_bugs(stages, &all, true)?;
    Ok(at_once(&all, |(stage, bug)| {
        let name = bug.program(stage);
        let ran = built.run(&name, &[], "");
        println!("bug {name}, without a gap: found by shuttle: {}", !ran.success);
        ran.success.then(|| format!("shuttle does not find {name} in a thousand orders"))
    }))
}

fn all_bugs(stages: &[Stage]) -> Vec<(&Stage, &Bug)> {
    stages.iter().flat_map(|stage| stage.bugs.iter().map(move |bug| (stage, bug))).collect()
}

/// Runs the stages in a thousand orders each. (09_steps has no threads, and arc has its models.)
fn shuttle(stages: &[Stage], built: &Built) -> Complaints {
    let stages: Vec<_> = stages.iter().filter(|stage| stage.runs_under_shuttle()).collect();
    at_once(&stages, |stage| {
        let ran = built.run(&stage.name, &[], "");
        let told = ran.stderr.lines().last().unwrap_or_default();
        println!("shuttle: {}: {told}", stage.name);
        let name = &stage.name;
        (!ran.success).then(|| format!("shuttle finds a bug in {name}:\n{}", ran.stderr))
    })
}

/// Does something with each item, some at a time, and gathers what was found wrong.
fn at_once<T: Sync>(items: &[T], check: impl Fn(&T) -> Option<String> + Sync) -> Complaints {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut complaints = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            complaints.extend(check(item));
        }
        complaints
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("a check panicked"));
        joined.flatten().collect()
    })
}

fn print_diff(number: &str) -> Result<Complaints, String> {
    let stages = stage::read_all()?;
    let Some(index) = stages.iter().position(|stage| stage.name.starts_with(number)) else {
        return Err(format!("there is no stage {number}"));
    };
    let before = compare::before(&stages, index);
    let code = before.map_or(&[][..], |before| &before.code);
    let mut out = io::stdout().lock();
    for line in compare::new_lines(code, &stages[index].code) {
        // Whoever reads this may have seen enough, such as `head`.
        if writeln!(out, "+ {line}").is_err() {
            break;
        }
    }
    Ok(Vec::new())
}
