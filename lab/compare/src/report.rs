//! What the terminal shows: a table of medians, and the ratios.

use crate::record::{OTHER_WORK_LIMIT, Record, Round, Series, Server};
use crate::statistics::{METRICS, Metric, Spread};

/// What the others are compared with.
pub const BASELINE: &str = "tokio";

const NAME_COLUMNS: usize = 24;

/// As wide as the longest name of a server.
const FIGURE_COLUMNS: usize = 20;

const RATIO_COLUMNS: usize = 26;

/// arc with one worker, and what it is compared with.
const SINGLE: &str = "arc-1";
const SINGLE_BASELINE: &str = "tokio-current-thread";

/// Prints all about a series.
pub fn print_series(series: &Series) {
    println!("\n{}\n", table(series));
}

/// Prints machine, versions, commit and command.
pub fn print_origin(record: &Record) {
    let machine = &record.machine;
    println!("date      {}", record.date);
    println!(
        "machine   {} cores, {}, {} MiB, Linux {}",
        machine.cores, machine.cpu, machine.memory_mib, machine.kernel
    );
    let versions = record.versions.iter();
    let versions: Vec<_> = versions.map(|(name, it)| format!("{name} {it}")).collect();
    println!("versions  {}", versions.join(", "));
    let dirty = if record.dirty { ", and changes that are not committed" } else { "" };
    println!("commit    {}{dirty}", record.commit);
    println!("command   {}", record.command);
}

fn table(series: &Series) -> String {
    let servers = &series.servers;
    let row = |name: &str, cell: &dyn Fn(&Server) -> String| {
        row(name, FIGURE_COLUMNS, servers.iter().map(cell).collect())
    };
    let rounds = servers.first().map_or(0, |server| server.rounds.len());
    let mut lines = vec![
        format!("== {}", series.title()),
        format!("medians; rounds: {rounds}, of {} s each", series.seconds),
        String::new(),
        row("", &|server| server.name.clone()),
    ];
    for metric in &METRICS {
        lines.push(row(&label(metric), &|server| cell(metric.spread(server))));
    }
    lines.push(row("errors", &|server| {
        let errors = server.rounds.iter().map(|round| round.errors);
        errors.sum::<u64>().to_string()
    }));
    let most = |server: &Server, value: fn(&Round) -> f64| {
        let most = server.rounds.iter().map(value).fold(0.0, f64::max);
        format!("{:.1}", most * 100.0)
    };
    lines.push(row("other work, % (most)", &|it| most(it, |round| round.other_work)));
    lines.push(row("stolen, % (most)", &|it| most(it, |round| round.stolen)));
    lines.extend(warning(servers));
    lines.extend(ratios(series));
    lines.join("\n")
}

/// Which rounds do not count.
fn warning(servers: &[Server]) -> Vec<String> {
    let rounds = || servers.iter().flat_map(|server| &server.rounds);
    let worthless = rounds().filter(|round| !round.is_sound()).count();
    if worthless == 0 {
        return Vec::new();
    }
    let mut lines = vec![
        String::new(),
        format!(
            "WARNING: in {worthless} of {} measurements other work or the host took more than \
             {:.0} % of the machine:",
            rounds().count(),
            OTHER_WORK_LIMIT * 100.0
        ),
    ];
    for server in servers {
        let sound = server.rounds.iter().filter(|round| round.is_sound()).count();
        let all = server.rounds.len();
        lines.push(match sound {
            0 => format!("  {}: no sound round, its figures are worthless", server.name),
            _ => format!("  {}: figures are of {sound} of {all} rounds", server.name),
        });
    }
    lines
}

/// Of the others to the baseline; and of what has one thread to what has one.
fn ratios(series: &Series) -> Vec<String> {
    let names = series.servers.iter().map(|server| server.name.as_str());
    let others: Vec<_> = names.filter(|name| *name != BASELINE).collect();
    let mut lines = ratios_to(series, BASELINE, &others);
    if others.contains(&SINGLE) {
        lines.extend(ratios_to(series, SINGLE_BASELINE, &[SINGLE]));
    }
    lines
}

fn ratios_to(series: &Series, baseline: &str, names: &[&str]) -> Vec<String> {
    let Some(baseline) = series.server(baseline) else {
        return Vec::new();
    };
    let others: Vec<_> = names.iter().filter_map(|name| series.server(name)).collect();
    let row = |name: &str, cells: Vec<String>| row(name, RATIO_COLUMNS, cells);
    let mut lines = vec![
        String::new(),
        format!("ratio to {}, round by round: median (least to most)", baseline.name),
        row("", others.iter().map(|it| it.name.clone()).collect()),
    ];
    for metric in METRICS.iter().filter(|metric| metric.compared) {
        let cells = others.iter().map(|server| match metric.ratio(server, baseline) {
            Some(it) => {
                let [median, least, most] = [it.median, it.least, it.most].map(times);
                format!("{median} ({least} to {most})")
            }
            None => "-".to_owned(),
        });
        lines.push(row(metric.name, cells.collect()));
    }
    lines
}

/// With the unit.
pub fn label(metric: &Metric) -> String {
    match metric.unit {
        "" => metric.name.to_owned(),
        unit => format!("{}, {unit}", metric.name),
    }
}

/// A ratio: two digits behind the point at least, and never nothing but zeros
/// where a thousandth is meant.
fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio < 0.1 => format!("{ratio:.4}"),
        _ if ratio < 100.0 => format!("{ratio:.2}"),
        _ => format!("{ratio:.0}"),
    }
}

fn row(name: &str, columns: usize, cells: Vec<String>) -> String {
    cells
        .iter()
        .fold(format!("{name:NAME_COLUMNS$}"), |row, cell| row + &format!(" {cell:>columns$}"))
}

fn cell(spread: Option<Spread>) -> String {
    spread.map_or("-".to_owned(), |spread| number(spread.median))
}

/// Three digits at least, and commas between thousands.
pub fn number(value: f64) -> String {
    if value < 10.0 {
        return format!("{value:.2}");
    }
    if value < 100.0 {
        return format!("{value:.1}");
    }
    let digits = (value.round() as usize).to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn numbers_are_short() {
        let texts = [0.126, 12.34, 99.9, 123.4, 1234.0, 1_234_567.0].map(number);
        assert_eq!(texts, ["0.13", "12.3", "99.9", "123", "1,234", "1,234,567"]);
    }

    #[test]
    fn ratios_keep_their_digits() {
        let texts = [0.0012, 0.104, 1.0, 939.8].map(times);
        assert_eq!(texts, ["0.0012", "0.10", "1.00", "940"]);
    }

    #[test]
    fn a_table_has_medians_and_ratios() {
        let text = table(&record().series[0]);
        let has = |line: &[&str]| {
            let lines = text.lines().map(|it| it.split_whitespace().collect::<Vec<_>>());
            assert!(lines.into_iter().any(|it| it == line), "{line:?} in\n{text}");
        };
        has(&["requests/s", "115", "100"]);
        has(&["requests/s", "1.15", "(1.10", "to", "1.20)"]);
        has(&["errors", "0", "0"]);
        assert!(!text.contains("WARNING"));
    }

    #[test]
    fn a_warning_says_which_rounds_count() {
        let mut series = record().series.remove(0);
        series.servers[0].rounds[0].other_work = 0.5;
        series.servers[1].rounds[0].stolen = 0.5;
        series.servers[1].rounds[1].stolen = 0.5;
        let text = table(&series);
        assert!(text.contains("WARNING: in 3 of 4 measurements"), "{text}");
        assert!(text.contains("arc: figures are of 1 of 2 rounds"), "{text}");
        assert!(text.contains("tokio: no sound round"), "{text}");
    }
}
