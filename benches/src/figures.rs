//! What one program tells another, and what is made of the rounds: medians, spreads.

use serde::{Deserialize, Serialize};

/// What a load generator found.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Outcome {
    /// Answers that were measured.
    pub answers: u64,
    /// Connections that broke, bad answers, and requests never answered.
    pub errors: u64,
    /// For how long requests were sent.
    pub seconds: f64,
    /// The mean latency, in microseconds.
    pub mean: f64,
    /// What half of the requests stay below.
    pub p50: f64,
    /// What 99 % stay below.
    pub p99: f64,
    /// What 99.9 % stay below.
    pub p999: f64,
}

impl Outcome {
    /// Answers per second.
    pub fn per_second(&self) -> f64 {
        self.answers as f64 / self.seconds
    }
}

/// What several rounds gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The one in the middle, or the mean of the two there.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// None: there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let least = *values.first()?;
        let most = *values.last()?;
        let middle = values.len() / 2;
        let median = if values.len().is_multiple_of(2) {
            f64::midpoint(values[middle - 1], values[middle])
        } else {
            values[middle]
        };
        Some(Self { median, least, most })
    }

    /// The ratios of two series, round by round: what a machine does slowly differently from round
    /// to round then falls out.
    pub fn of_ratios(values: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let ratios = values.into_iter().map(|(ours, theirs)| ours / theirs);
        Self::of(ratios.filter(|ratio| ratio.is_finite()))
    }
}

/// The geometric mean: that of ratios is the same whichever side is on top.
pub fn geometric_mean(values: &[f64]) -> f64 {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (logarithms / values.len() as f64).exp()
}

/// A ratio or figure for tables: two digits behind the point, and never nothing but zeros where a
/// thousandth is meant.
pub fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio < 0.1 => format!("{ratio:.4}"),
        _ if ratio < 100.0 => format!("{ratio:.2}"),
        _ => format!("{ratio:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(Spread::of([]), None);
        let spread = |median, least, most| Some(Spread { median, least, most });
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), spread(2.0, 1.0, 3.0));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]), spread(2.5, 1.0, 4.0));
        // Nothing is divided by zero.
        assert_eq!(Spread::of_ratios([(1.0, 2.0), (3.0, 0.0)]), spread(0.5, 0.5, 0.5));
    }

    #[test]
    fn ratios_keep_their_digits() {
        assert_eq!([0.0012, 0.104, 939.8].map(times), ["0.0012", "0.10", "940"]);
        assert_eq!(times(geometric_mean(&[0.5, 2.0])), "1.00");
    }
}
