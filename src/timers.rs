//! The armed timers of a runtime: one wheel per worker, so that timers made and
//! dropped on different workers do not contend.
//!
//! The thread in the seat sleeps until the earliest deadline of all wheels. A
//! timer with an earlier one must cut that sleep short, and none may slip
//! through while the sleeper computes how long to sleep:
//!
//! ```text
//!   the thread in the seat               a task that arms a timer
//!   ----------------------               ------------------------
//!   T1  sleeping_until = for ever        A1  insert, earliest = deadline
//!   T2  fence                            A2  fence
//!   T3  read every earliest              A3  read sleeping_until:
//!   T4  sleeping_until = the least           later than my deadline? notify
//! ```
//!
//! Either A2 comes before T2, and T3 reads what A1 wrote; or T2 comes before
//! A2, and A3 reads `for ever` or the least of T4, which is notified if it is
//! too late. (A needless notification costs one empty turn.)

use crate::sync::{AtomicU64, Ordering, fence, lock};
use crate::wheel::{self, Wheel};
use std::sync::Mutex;
use std::task::Waker;
use std::time::{Duration, Instant};

/// Nanoseconds since the runtime was built; `u64::MAX` is 584 years.
type Nanos = u64;

const NEVER: Nanos = u64::MAX;

pub(crate) struct Timers {
    epoch: Instant,
    shards: Box<[Shard]>,
    /// Until when the thread in the seat sleeps; 0: it does not.
    sleeping_until: AtomicU64,
}

#[repr(align(128))]
struct Shard {
    wheel: Mutex<Wheel<Waker>>,
    /// The wheel's next expiry, or earlier. Written under the wheel's lock.
    earliest: AtomicU64,
}

/// Names an armed timer.
#[derive(Debug)]
pub(crate) struct Key {
    shard: usize,
    key: wheel::Key,
}

impl Timers {
    pub(crate) fn new(shards: usize) -> Self {
        let shard = || Shard {
            wheel: Mutex::new(Wheel::new()),
            earliest: AtomicU64::new(NEVER),
        };
        Self {
            epoch: Instant::now(),
            shards: std::iter::repeat_with(shard).take(shards).collect(),
            sleeping_until: AtomicU64::new(0),
        }
    }

    fn nanos(&self, instant: Instant) -> Nanos {
        let since = instant.saturating_duration_since(self.epoch);
        Nanos::try_from(since.as_nanos()).unwrap_or(NEVER)
    }

    /// Arms a timer in one of the wheels. True: the thread in the seat sleeps
    /// beyond the deadline and must be notified.
    pub(crate) fn arm(&self, shard: usize, deadline: Instant, waker: Waker) -> (Key, bool) {
        let deadline = self.nanos(deadline);
        let index = shard % self.shards.len();
        let shard = &self.shards[index];
        let key = {
            let mut wheel = lock(&shard.wheel);
            let key = wheel.insert(deadline, waker);
            if deadline < shard.earliest.load(Ordering::Relaxed) {
                shard.earliest.store(deadline, Ordering::Relaxed);
            }
            key
        };
        // A2, pairs with T2 in `sleep_until`.
        fence(Ordering::SeqCst);
        let too_late = deadline < self.sleeping_until.load(Ordering::Relaxed);
        (Key { shard: index, key }, too_late)
    }

    /// Disarms a timer. Its waker is handed out, to be dropped outside the
    /// lock. None: it has expired.
    pub(crate) fn disarm(&self, key: &Key) -> Option<Waker> {
        lock(&self.shards[key.shard].wheel).remove(key.key)
    }

    /// Whether the timer is still armed; then `waker` is woken by it from now on.
    pub(crate) fn rewake(&self, key: &Key, waker: &Waker) -> bool {
        // Cloned before the lock, dropped after it: both may run foreign code.
        let mut replacement = None;
        loop {
            let mut wheel = lock(&self.shards[key.shard].wheel);
            let Some(armed) = wheel.get_mut(key.key) else {
                return false;
            };
            if armed.will_wake(waker) {
                return true;
            }
            if let Some(mut replacement) = replacement.take() {
                std::mem::swap(armed, &mut replacement);
                drop(wheel);
                return true;
            }
            drop(wheel);
            replacement = Some(waker.clone());
        }
    }

    /// T1 to T4: for how long the thread in the seat may sleep, None is for
    /// ever. From now on `arm` says who must notify it.
    pub(crate) fn sleep_until_next(&self, limit: Option<Duration>) -> Option<Duration> {
        if limit == Some(Duration::ZERO) {
            return limit;
        }
        self.sleeping_until.store(NEVER, Ordering::Relaxed);
        // T2, pairs with A2 in `arm`.
        fence(Ordering::SeqCst);
        let earliest = self.earliest();
        self.sleeping_until.store(earliest, Ordering::Relaxed);
        if earliest == NEVER {
            return limit;
        }
        let now = self.nanos(Instant::now());
        let wait = Duration::from_nanos(earliest.saturating_sub(now));
        Some(limit.map_or(wait, |limit| limit.min(wait)))
    }

    /// The thread in the seat is awake again.
    pub(crate) fn awake(&self) {
        self.sleeping_until.store(0, Ordering::Relaxed);
    }

    fn earliest(&self) -> Nanos {
        let earliest = self
            .shards
            .iter()
            .map(|shard| shard.earliest.load(Ordering::Relaxed));
        earliest.min().unwrap_or(NEVER)
    }

    /// Takes the wakers of all timers whose deadline is over. The clock is read
    /// only if some timer is armed.
    pub(crate) fn expire(&self, wakers: &mut Vec<Waker>) {
        if self.earliest() == NEVER {
            return;
        }
        let now = self.nanos(Instant::now());
        for shard in &self.shards {
            if shard.earliest.load(Ordering::Relaxed) <= now {
                let mut wheel = lock(&shard.wheel);
                wheel.expire(now, wakers);
                let next = wheel.next_expiry().unwrap_or(NEVER);
                shard.earliest.store(next, Ordering::Relaxed);
            }
        }
    }

    /// Whether nothing is to be waited for; a timer that was disarmed may still
    /// count until its time.
    pub(crate) fn is_empty(&self) -> bool {
        self.earliest() == NEVER
    }

    /// The runtime ends: takes the wakers of all timers.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        for shard in &self.shards {
            lock(&shard.wheel).expire(NEVER, wakers);
        }
    }
}
