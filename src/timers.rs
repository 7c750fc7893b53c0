//! The armed timers of a runtime: one wheel per worker, so that timers made and
//! dropped on different workers do not contend.
//!
//! The thread in the seat sleeps until the earliest deadline of all wheels, rounded
//! up (`SLACK`). A timer with an earlier one, rounded likewise, must cut that sleep
//! short, and none may slip through while the sleeper computes how long to sleep:
//!
//! ```text
//!   the thread in the seat               a task that arms a timer
//!   ----------------------               ------------------------
//!   T1  sleeping_until = for ever        A1  insert, earliest <= deadline
//!   T2  fence                            A2  fence
//!   T3  read every earliest              A3  read sleeping_until:
//!   T4  sleeping_until = the least           later than my deadline? notify
//! ```
//!
//! Either A2 comes before T2, and T3 reads what A1 wrote; or T2 comes before
//! A2, and A3 reads `for ever` or the least of T4, which is notified if it is
//! too late. (A needless notification costs one empty turn.)

use crate::sync::{AtomicU64, Duration, Instant, Mutex, Ordering, fence, lock};
use crate::wheel::{self, Wheel};
use std::task::Waker;

/// Times are nanoseconds since the runtime was built: this is 584 years.
const NEVER: u64 = u64::MAX;
/// Deadlines that differ in these bits only share a wake-up, after the last: they are
/// up to 131 us late. Each wake-up costs as much as a dozen timers.
const SLACK: u64 = (1 << 17) - 1;

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

/// Names an armed timer: the shard it is in, and its key there.
#[derive(Debug)]
pub(crate) struct Key(usize, wheel::Key);

impl Timers {
    pub(crate) fn new(shards: usize) -> Self {
        let shard = |_| Shard { wheel: Mutex::new(Wheel::new()), earliest: AtomicU64::new(NEVER) };
        Self {
            epoch: Instant::now(),
            shards: (0..shards).map(shard).collect(),
            sleeping_until: AtomicU64::new(0),
        }
    }

    fn nanos(&self, instant: Instant) -> u64 {
        let since = instant.saturating_duration_since(self.epoch);
        u64::try_from(since.as_nanos()).unwrap_or(NEVER)
    }

    /// Arms a timer in the wheel of a worker, or else in any. True: the thread in
    /// the seat sleeps beyond the deadline and must be notified.
    pub(crate) fn arm(&self, worker: Option<usize>, due: Instant, waker: Waker) -> (Key, bool) {
        let deadline = self.nanos(due);
        let shard = worker.unwrap_or_else(|| fastrand::usize(..self.shards.len()));
        let Shard { wheel, earliest } = &self.shards[shard];
        let mut wheel = lock(wheel);
        let key = wheel.insert(deadline, waker);
        earliest.store(wheel.next_expiry().unwrap_or(NEVER), Ordering::Relaxed);
        // A2, pairs with T2 in `sleep_until_next`.
        fence(Ordering::SeqCst);
        let too_late = deadline | SLACK < self.sleeping_until.load(Ordering::Relaxed);
        (Key(shard, key), too_late)
    }

    /// Disarms a timer. Its waker is handed out, to be dropped outside the
    /// lock. None: it has expired.
    pub(crate) fn disarm(&self, &Key(shard, key): &Key) -> Option<Waker> {
        lock(&self.shards[shard].wheel).remove(key)
    }

    /// Makes the timer wake this waker. What is in its place then is to be dropped
    /// outside the lock. False: it has expired.
    pub(crate) fn rewake(&self, &Key(shard, key): &Key, waker: &mut Waker) -> bool {
        let mut wheel = lock(&self.shards[shard].wheel);
        let armed = wheel.get_mut(key);
        armed.map(|armed| std::mem::swap(armed, waker)).is_some()
    }

    /// T1 to T4: until when the thread in the seat may sleep, None is for ever. From
    /// now on `arm` says who must notify it.
    pub(crate) fn sleep_until_next(&self) -> Option<Instant> {
        self.sleeping_until.store(NEVER, Ordering::Relaxed);
        // T2, pairs with A2 in `arm`.
        fence(Ordering::SeqCst);
        let until = self.earliest()? | SLACK;
        self.sleeping_until.store(until, Ordering::Relaxed);
        self.epoch.checked_add(Duration::from_nanos(until))
    }

    /// The next expiry of all wheels, or earlier: a timer that was disarmed may
    /// still count until its time. None: nothing is to be waited for.
    pub(crate) fn earliest(&self) -> Option<u64> {
        let read = |shard: &Shard| shard.earliest.load(Ordering::Relaxed);
        self.shards.iter().map(read).min().filter(|&at| at != NEVER)
    }

    /// The thread in the seat is awake: takes the wakers of all timers whose
    /// deadline is over. The clock is read only if some timer is armed; else it
    /// is as good as 0, when no timer is due that was not over when it was armed.
    pub(crate) fn expire(&self, wakers: &mut Vec<Waker>) {
        self.sleeping_until.store(0, Ordering::Relaxed);
        let now = self.earliest().map_or(0, |_| self.nanos(Instant::now()));
        for Shard { wheel, earliest } in &self.shards {
            if earliest.load(Ordering::Relaxed) <= now {
                let mut wheel = lock(wheel);
                wheel.expire(now, wakers);
                earliest.store(wheel.next_expiry().unwrap_or(NEVER), Ordering::Relaxed);
            }
        }
    }

    /// The runtime ends: takes the wakers of all timers.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        for shard in &self.shards {
            lock(&shard.wheel).expire(NEVER, wakers);
        }
    }
}

#[cfg(all(test, not(arc_model)))]
#[path = "../tests/unit/timers.rs"]
mod tests;
