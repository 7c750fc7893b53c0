//! Latencies in a table of fixed size, each to within 1 %.
//!
//! As in HdrHistogram, a bucket is as wide as its values are large: those below
//! 256 have buckets of their own, and every doubling after that has 128.

/// Buckets per doubling, as a power of two.
const PRECISION_BITS: u32 = 7;

const PER_DOUBLING: usize = 1 << PRECISION_BITS;

/// The first doubling has twice as many: the values that are their own buckets.
const BUCKETS: usize = (64 - PRECISION_BITS as usize + 1) * PER_DOUBLING;

/// How often each value was recorded.
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    greatest: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], count: 0, sum: 0, greatest: 0 }
    }
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        self.buckets[bucket(value)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.greatest = self.greatest.max(value);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean, exactly; 0 without any.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }

    /// The greatest value, exactly; 0 without any.
    pub fn greatest(&self) -> u64 {
        self.greatest
    }

    /// The smallest value that at least `percent` of all values do not exceed, or
    /// up to 1 % more than that; 0 without any.
    pub fn percentile(&self, percent: f64) -> u64 {
        let rank = (self.count as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper_bound(index).min(self.greatest);
            }
        }
        self.greatest
    }
}

fn bucket(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let shift = bits.saturating_sub(PRECISION_BITS + 1);
    shift as usize * PER_DOUBLING + (value >> shift) as usize
}

/// The greatest value of a bucket.
fn upper_bound(index: usize) -> u64 {
    let shift = (index / PER_DOUBLING).saturating_sub(1);
    let mantissa = (index - shift * PER_DOUBLING) as u64;
    (mantissa << shift) + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_bucket_at_most_1_percent_wide() {
        for bits in 0..64 {
            for value in [1u64 << bits, (1 << bits) + (1 << bits) / 3, u64::MAX >> (63 - bits)] {
                let upper = upper_bound(bucket(value));
                assert!(upper >= value, "{value} in a bucket up to {upper}");
                assert!(upper - value <= value / 100, "{value}: {upper}");
            }
        }
        assert_eq!(bucket(0), 0);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn buckets_are_in_order() {
        for index in 1..BUCKETS {
            assert_eq!(bucket(upper_bound(index - 1) + 1), index);
        }
    }

    #[test]
    fn percentiles_are_ranks() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50.0), 0);
        for value in 1..=100 {
            histogram.record(value);
        }
        assert_eq!(histogram.percentile(0.0), 1);
        assert_eq!(histogram.percentile(50.0), 50);
        assert_eq!(histogram.percentile(99.0), 99);
        assert_eq!(histogram.percentile(99.9), 100);
        assert_eq!((histogram.count(), histogram.greatest()), (100, 100));
        assert_eq!(histogram.mean(), 50.5);
    }

    #[test]
    fn a_percentile_does_not_exceed_the_greatest() {
        let mut histogram = Histogram::default();
        histogram.record(1_000_000);
        assert_eq!(histogram.percentile(99.9), 1_000_000);
    }
}
