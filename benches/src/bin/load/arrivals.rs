//! Requests that fall due at random times: those that wait, and who is free to send.
//!
//! The gaps between requests are exponential, as between requests of many users who
//! know nothing of each other (a Poisson process). A request that finds no connection
//! free waits for one here, and its latency counts from when it was due all the same.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The requests of an open loop.
pub struct Arrivals {
    random: fastrand::Rng,
    /// The mean gap, in seconds.
    gap: f64,
    /// When the next request falls due.
    pub next: Instant,
    /// When those fell due that are not sent.
    pub waiting: VecDeque<Instant>,
    free: VecDeque<usize>,
}

impl Arrivals {
    /// `rate` requests a second from `start` on; all connections are free.
    pub fn new(rate: f64, seed: u64, start: Instant, connections: usize) -> Self {
        let mut arrivals = Self {
            random: fastrand::Rng::with_seed(seed),
            gap: 1.0 / rate,
            next: start,
            waiting: VecDeque::new(),
            free: (0..connections).collect(),
        };
        arrivals.schedule_next();
        arrivals
    }

    /// Lets requests fall due until then.
    pub fn advance(&mut self, until: Instant) {
        while self.next <= until {
            self.waiting.push_back(self.next);
            self.schedule_next();
        }
    }

    /// The request that has waited longest and the connection that has rested longest.
    pub fn pair(&mut self) -> Option<(Instant, usize)> {
        if self.waiting.is_empty() {
            return None;
        }
        let connection = self.free.pop_front()?;
        Some((self.waiting.pop_front()?, connection))
    }

    /// A connection has its answer.
    pub fn freed(&mut self, connection: usize) {
        self.free.push_back(connection);
    }

    fn schedule_next(&mut self) {
        // 1 - f64() is never 0, whose logarithm there is not.
        let gap = -self.gap * (1.0 - self.random.f64()).ln();
        self.next += Duration::from_secs_f64(gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(seed: u64, count: usize) -> Vec<f64> {
        let start = Instant::now();
        let mut arrivals = Arrivals::new(1_000.0, seed, start, 1);
        let mut times = vec![start];
        for _ in 0..count {
            times.push(arrivals.next);
            arrivals.advance(arrivals.next);
        }
        times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect()
    }

    #[test]
    fn gaps_are_exponential() {
        assert_eq!(gaps(7, 100), gaps(7, 100));
        let gaps = gaps(1, 100_000);
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The deviation of an exponential distribution is its mean.
        assert!((mean - 1e-3).abs() < 1e-5, "{mean}");
        assert!((variance.sqrt() - 1e-3).abs() < 2e-5, "{variance}");
    }

    #[test]
    fn a_request_without_a_connection_waits_and_keeps_its_time() {
        let mut arrivals = Arrivals::new(1_000.0, 1, Instant::now(), 1);
        let first = arrivals.next;
        arrivals.advance(first);
        let second = arrivals.next;
        arrivals.advance(second);

        assert_eq!(arrivals.pair(), Some((first, 0)));
        assert_eq!(arrivals.pair(), None);
        assert_eq!(arrivals.waiting.len(), 1);
        arrivals.freed(0);
        assert_eq!(arrivals.pair(), Some((second, 0)));
    }
}
