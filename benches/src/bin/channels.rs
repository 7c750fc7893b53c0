//! What a message costs in arc_util's mpsc channels and in tokio's: instructions, counted by
//! callgrind, or time, in interleaved rounds.

use arc_benches::channels::{Row, Side, all};
use arc_benches::stats::median;
use std::process::{Command, exit};

const HELP: &str = "\
What a message costs in arc_util's mpsc channels and in tokio's.

  --only TEXT   only rows whose name has this in it
  --time        time of a message, instead of instructions (which need valgrind)
  --rounds N    rounds of --time (15)";

/// The word by which this program starts itself: row, side and number of messages follow.
const CHILD: &str = "--child";

/// The difference of two runs has no start-up in it.
const FEW: usize = 8_000;
const MANY: usize = 40_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == CHILD) {
        let number = |index: usize| arguments[index].parse::<usize>().expect("a number");
        let row = &all()[number(1)];
        (row.sides[number(2)].start)(row.workers)(number(3));
        return;
    }

    let (mut only, mut is_timed, mut rounds) = (String::new(), false, 15);
    let mut arguments = arguments.into_iter();
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--only" => only = arguments.next().unwrap_or_else(|| help()),
            "--time" => is_timed = true,
            "--rounds" => {
                let rest = arguments.next().and_then(|text| text.parse().ok());
                rounds = rest.filter(|rounds| *rounds > 0).unwrap_or_else(|| help());
            }
            _ => help(),
        }
    }

    let unit = if is_timed { "nanoseconds" } else { "user instructions" };
    println!("{unit} per message; in brackets, arc's part of tokio's");
    for (index, row) in all().iter().enumerate() {
        if row.name.contains(&only) {
            let figures = if is_timed { time(row, rounds) } else { instructions(row, index) };
            print(row, &figures);
        }
    }
}

fn help() -> ! {
    eprintln!("{HELP}");
    exit(2)
}

fn print(row: &Row, figures: &[(f64, f64)]) {
    let workers = if row.workers == 1 { "1 worker" } else { "2 workers" };
    print!("{:36} {workers:9}", row.name);
    for (side, (figure, ratio)) in row.sides.iter().zip(figures) {
        print!("  {} {figure:.0} ({ratio:.2})", side.name);
    }
    println!();
}

/// Times every side in turn. Returns the median time of each, and that of arc's ratios to it.
fn time(row: &Row, rounds: usize) -> Vec<(f64, f64)> {
    let runs = row.sides.map(|side| (side.start)(row.workers));
    let mut times = vec![Vec::new(); runs.len()];
    for round in 0..rounds {
        for turn in 0..runs.len() {
            let side = (turn + round) % runs.len();
            let time = runs[side](row.count);
            times[side].push(time.as_secs_f64() * 1e9 / row.count as f64);
        }
    }

    let arc = times[0].clone();
    let figures = times.iter_mut().map(|times| {
        let mut ratios: Vec<f64> = arc.iter().zip(&*times).map(|(arc, it)| arc / it).collect();
        (median(times), median(&mut ratios))
    });
    figures.collect()
}

/// Counts the instructions of every side, and arc's ratio to it.
fn instructions(row: &Row, index: usize) -> Vec<(f64, f64)> {
    let count = |side: usize, messages: usize| counted(index, side, messages);
    let each = |(side, _): (usize, &Side)| {
        let difference = count(side, MANY) - count(side, FEW);
        difference / (MANY - FEW) as f64
    };
    let figures: Vec<f64> = row.sides.iter().enumerate().map(each).collect();
    figures.iter().map(|figure| (*figure, figures[0] / figure)).collect()
}

/// The user instructions of a process that sends this many messages.
fn counted(row: usize, side: usize, messages: usize) -> f64 {
    let program = std::env::current_exe().expect("this program has a name");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    command.args([CHILD, &row.to_string(), &side.to_string(), &messages.to_string()]);
    let output = command.output().expect("valgrind is on the path");

    let text = String::from_utf8_lossy(&output.stderr);
    let mut lines = text.lines();
    let number = lines.find_map(|line| line.split_once("Collected : "));
    let number = number.and_then(|(_, number)| number.trim().parse().ok());
    assert!(output.status.success(), "valgrind or the program failed:\n{text}");
    number.unwrap_or_else(|| panic!("valgrind did not say what it counted:\n{text}"))
}
