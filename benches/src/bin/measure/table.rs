//! What the terminal shows: medians and ratios of servers, as tables that a page can have.

use crate::record::{Measured, Record, Round, Series};
use arc_benches::figures::{Spread, geometric_mean, times};

/// What the others are compared with.
const BASELINE: &str = "tokio";

type Value = fn(&Round) -> f64;

/// The figures of a round: the first ones make the tables of docs/BENCHMARKS.md.
const FIGURES: [(&str, Value); 7] = [
    ("requests/s", |it| it.outcome.per_second()),
    ("CPU, µs", |it| it.cpu),
    ("mean, µs", |it| it.outcome.mean),
    ("p50, µs", |it| it.outcome.p50),
    ("p99, µs", |it| it.outcome.p99),
    ("p99.9, µs", |it| it.outcome.p999),
    ("errors", |it| it.outcome.errors as f64),
];

const COMPARED: usize = 6;

/// Medians, and in parentheses the ratios to tokio: the median, from least to most.
pub fn of_series(series: &Series) -> String {
    let rounds = series.servers.first().map_or(0, |server| server.rounds.len());
    let mut rows = vec![vec![format!("{rounds} rounds of {} s", series.seconds)]];
    rows[0].extend(series.servers.iter().map(|server| server.name.clone()));
    for (name, value) in FIGURES {
        let mut row = vec![name.to_owned()];
        row.extend(series.servers.iter().map(|server| cell(value, server, series)));
        rows.push(row);
    }
    let mut row = vec!["sound rounds".to_owned()];
    row.extend(series.servers.iter().map(sound_rounds));
    rows.push(row);
    table(&rows)
}

fn cell(value: Value, server: &Measured, series: &Series) -> String {
    let mut text = spread(value, server).map_or("-".to_owned(), |it| times(it.median));
    let baseline = series.server(BASELINE).filter(|it| it.name != server.name);
    if let Some(it) = baseline.and_then(|baseline| ratio(value, server, baseline)) {
        let [median, least, most] = [it.median, it.least, it.most].map(times);
        text += &format!(" ({median}, {least} to {most})");
    }
    text
}

/// The ratios of arc to tokio over all series, with their geometric means.
pub fn of_record(record: &Record) -> String {
    let mut rows = vec![vec!["arc to tokio".to_owned(), "connections".to_owned()]];
    rows[0].extend(FIGURES[..COMPARED].iter().map(|(name, _)| name.replace(", µs", "")));
    let mut columns = vec![Vec::new(); COMPARED];
    for series in &record.series {
        let servers = (series.server("arc"), series.server(BASELINE));
        let (Some(arc), Some(baseline)) = servers else { continue };
        let mut row = vec![series.load.clone(), series.connections.to_string()];
        for (column, (_, value)) in columns.iter_mut().zip(FIGURES) {
            let ratio = ratio(value, arc, baseline).map(|it| it.median);
            column.extend(ratio);
            row.push(ratio.map_or("-".to_owned(), times));
        }
        rows.push(row);
    }
    let mut last = vec!["geometric mean".to_owned(), String::new()];
    last.extend(columns.iter().map(|ratios| times(geometric_mean(ratios))));
    rows.push(last);
    table(&rows)
}

/// Over the sound rounds; over all if none is.
fn spread(value: Value, server: &Measured) -> Option<Spread> {
    let any = server.rounds.iter().any(Round::is_sound);
    let rounds = server.rounds.iter().filter(|round| !any || round.is_sound());
    Spread::of(rounds.map(value))
}

/// The ratio to another server, over the rounds that were sound on both; over all if none was.
fn ratio(value: Value, server: &Measured, baseline: &Measured) -> Option<Spread> {
    let pairs = || server.rounds.iter().zip(&baseline.rounds);
    let is_sound = |(a, b): &(&Round, &Round)| a.is_sound() && b.is_sound();
    let any = pairs().any(|pair| is_sound(&pair));
    let pairs = pairs().filter(|pair| !any || is_sound(pair));
    Spread::of_ratios(pairs.map(|(a, b)| (value(a), value(b))))
}

/// Those that count.
fn sound_rounds(server: &Measured) -> String {
    let sound = server.rounds.iter().filter(|round| round.is_sound()).count();
    if sound == 0 { "NONE: worthless".to_owned() } else { sound.to_string() }
}

/// A table in Markdown, whose columns are as wide as what they have: names to the left, and figures
/// to the right.
fn table(rows: &[Vec<String>]) -> String {
    let cells = |column: usize| rows.iter().map(move |row| row[column].chars().count());
    let widths: Vec<_> = (0..rows[0].len()).map(|it| cells(it).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        text += &format!("| {:width$} |", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            text += &format!(" {cell:>width$} |");
        }
        text += "\n";
        if number == 0 {
            text += &format!("|---|{}\n", "---:|".repeat(row.len() - 1));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{round, series};

    const P99: Value = |it| it.outcome.p99;

    #[test]
    fn rounds_that_are_not_sound_are_left_out() {
        let mut series = series();
        series.servers[1].rounds[1].others = 0.06;
        let (arc, tokio) = (&series.servers[0], &series.servers[1]);
        assert_eq!(spread(P99, tokio), Spread::of([100.0]));
        assert_eq!(ratio(P99, arc, tokio), Spread::of([0.8]));
        series.servers[1].rounds[0].others = 0.06;
        assert_eq!(spread(P99, &series.servers[1]), Spread::of([100.0, 120.0]));
        let text = of_series(&series);
        assert!(text.contains("NONE: worthless") && text.contains(" 115 (1.15, 1.10 to 1.20) |"));
    }

    #[test]
    fn a_summary_has_the_geometric_mean() {
        let mut other = series();
        other.servers[0].rounds = vec![round(400, 100.0), round(400, 120.0)];
        let record = Record { series: vec![series(), other], ..Record::default() };
        let text = of_record(&record);
        // The root of 1.15 * 4.
        assert!(text.contains("| geometric mean |             |       2.14 |"), "{text}");
    }
}
