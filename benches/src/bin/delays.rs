//! How long things wait on arc and on tokio while polls are long, in interleaved rounds.

use arc_benches::delays::all;
use arc_benches::stats::median;
use std::process::exit;

const HELP: &str = "\
How long things wait on arc and on tokio while polls are long.

  --only TEXT   only rows whose name has this in it
  --rounds N    rounds (5)";

fn main() {
    let (mut only, mut rounds) = (String::new(), 5_usize);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--only" => only = arguments.next().unwrap_or_else(|| help()),
            "--rounds" => {
                let rest = arguments.next().and_then(|text| text.parse().ok());
                rounds = rest.filter(|rounds| *rounds > 0).unwrap_or_else(|| help());
            }
            _ => help(),
        }
    }

    println!("milliseconds: median (99 of 100 are below); {rounds} rounds");
    println!("{:48} {:>18} {:>18}  arc to tokio", "", "arc", "tokio");
    for row in all().iter().filter(|row| row.name.contains(&only)) {
        let mut delays = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            for turn in 0..2 {
                let side = (turn + round) % 2;
                let measured = (row.sides[side])();
                delays[side].extend(measured.iter().map(|delay| delay.as_secs_f64() * 1e3));
            }
        }
        let [(arc, arc_most), (tokio, tokio_most)] = delays.map(figures);
        let (arc_text, tokio_text) =
            (format!("{arc:.3} ({arc_most:.2})"), format!("{tokio:.3} ({tokio_most:.2})"));
        println!("{:48} {arc_text:>18} {tokio_text:>18}  {:.2}", row.name, arc / tokio);
    }
}

/// The median, and what 99 of 100 are below.
fn figures(mut delays: Vec<f64>) -> (f64, f64) {
    let middle = median(&mut delays);
    (middle, delays[(delays.len() - 1) * 99 / 100])
}

fn help() -> ! {
    eprintln!("{HELP}");
    exit(2)
}
