//! How packets fare on a network: how long they take, which are lost, who cannot reach whom.

use crate::lock::lock;
use arc::time::Duration;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

/// When a lost packet is sent again.
pub(super) const RETRANSMISSION: Duration = Duration::from_millis(200);

/// Clones are the conditions of the same network.
#[derive(Clone, Debug)]
pub(super) struct Conditions(Arc<Mutex<State>>);

#[derive(Debug)]
pub(super) struct State {
    pub(super) delay: Range<Duration>,
    pub(super) loss: f64,
    /// The pairs of hosts of which the first one cannot reach the second one.
    pub(super) partitions: BTreeSet<(Arc<str>, Arc<str>)>,
}

impl Default for Conditions {
    fn default() -> Self {
        let state = State {
            delay: Duration::from_micros(100)..Duration::from_millis(10),
            loss: 0.0,
            partitions: BTreeSet::new(),
        };
        Self(Arc::new(Mutex::new(state)))
    }
}

impl Conditions {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// How long the next packet takes.
    pub(super) fn delay(&self) -> Duration {
        let delay = self.lock().delay.clone();
        let nanos = fastrand::u128(delay.start.as_nanos()..delay.end.as_nanos());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    pub(super) fn is_lost(&self) -> bool {
        let loss = self.lock().loss;
        fastrand::f64() < loss
    }

    pub(super) fn is_cut(&self, from: &str, to: &str) -> bool {
        self.lock().partitions.contains(&(from.into(), to.into()))
    }
}
