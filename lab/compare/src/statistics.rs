//! Medians, spreads and ratios of the rounds, and the figures they are taken of.

use crate::record::{Round, Server};

/// A figure of a round, and how it is shown.
pub struct Metric {
    pub name: &'static str,
    pub unit: &'static str,
    pub value: fn(&Round) -> f64,
    /// Whether the ratio to the baseline is worth a row.
    pub compared: bool,
}

const fn metric(
    name: &'static str,
    unit: &'static str,
    compared: bool,
    value: fn(&Round) -> f64,
) -> Metric {
    Metric { name, unit, value, compared }
}

const PER_SECOND: Metric = metric("requests/s", "", true, Round::per_second);
const P99: Metric = metric("latency p99", "µs", true, |it| it.p99);

/// All of them, in the order of the table.
pub const METRICS: [Metric; 12] = [
    PER_SECOND,
    metric("latency mean", "µs", true, |it| it.mean),
    metric("latency p50", "µs", true, |it| it.p50),
    metric("latency p90", "µs", false, |it| it.p90),
    P99,
    metric("latency p99.9", "µs", true, |it| it.p999),
    metric("server CPU/request", "µs", true, Round::cpu),
    metric("  of it user", "µs", false, |it| it.user),
    metric("  of it system", "µs", false, |it| it.system),
    metric("voluntary switches/r.", "", true, |it| it.switches - it.involuntary),
    metric("involuntary switches/r.", "", true, |it| it.involuntary),
    metric("peak memory", "MiB", false, |it| it.peak_kib as f64 / 1024.0),
];

/// What several rounds gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// None: there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        };
        Some(Self { median, least, most })
    }
}

impl Metric {
    /// Over the sound rounds; over all if none is.
    pub fn spread(&self, server: &Server) -> Option<Spread> {
        let any = server.rounds.iter().any(Round::is_sound);
        let rounds = server.rounds.iter();
        let rounds = rounds.filter(|round| !any || round.is_sound());
        Spread::of(rounds.map(self.value))
    }

    /// The ratio to another server, round by round: what a machine does slowly
    /// differently from round to round then falls out. Over the rounds that were
    /// sound on both; over all if none was.
    pub fn ratio(&self, server: &Server, baseline: &Server) -> Option<Spread> {
        let pairs = || server.rounds.iter().zip(&baseline.rounds);
        let sound = |(a, b): &(&Round, &Round)| a.is_sound() && b.is_sound();
        let any = pairs().any(|pair| sound(&pair));
        let ratios = pairs()
            .filter(|pair| !any || sound(pair))
            .map(|(a, b)| (self.value)(a) / (self.value)(b))
            .filter(|ratio| ratio.is_finite());
        Spread::of(ratios)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{record, round};

    fn spread(median: f64, least: f64, most: f64) -> Option<Spread> {
        Some(Spread { median, least, most })
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([2.0]), spread(2.0, 2.0, 2.0));
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), spread(2.0, 1.0, 3.0));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]), spread(2.5, 1.0, 4.0));
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let series = &record().series[0];
        let (arc, tokio) = (&series.servers[0], &series.servers[1]);
        assert_eq!(PER_SECOND.ratio(arc, tokio), Spread::of([1.1, 1.2]));
        assert_eq!(P99.ratio(arc, tokio), Spread::of([0.8, 0.75]));
    }

    #[test]
    fn rounds_that_are_not_sound_are_left_out() {
        let mut series = record().series.remove(0);
        series.servers[1].rounds[1].other_work = 0.5;
        let (arc, tokio) = (&series.servers[0], &series.servers[1]);
        assert_eq!(P99.spread(tokio), spread(100.0, 100.0, 100.0));
        assert_eq!(P99.ratio(arc, tokio), spread(0.8, 0.8, 0.8));
        series.servers[1].rounds[0].other_work = 0.5;
        assert_eq!(P99.spread(&series.servers[1]), spread(110.0, 100.0, 120.0));
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        let server = Server { rounds: vec![round(0, 0.0)], ..Server::default() };
        assert_eq!(P99.ratio(&server, &server), None);
    }
}
