//! The armed timers of a runtime: one wheel per worker, so that timers that are armed and
//! dropped on different workers do not contend.
//!
//! The kernel's alarm wakes one of the workers that sit. It is set for the earliest deadline of all
//! wheels, rounded up by `SLACK`: by each worker that sits down, and by each that gets up while
//! others sit on. A new timer with an earlier deadline, rounded likewise, must set it again. And no
//! timer may slip through while the alarm is being set:
//!
//! ```text
//!   a thread that sets the alarm         a task that arms a timer
//!   ----------------------------         ------------------------
//!   T1  alarm_at = for ever              A1  insert; store `earliest`
//!   T2  fence                            A2  fence
//!   T3  read every `earliest`            A3  read alarm_at:
//!   T4  alarm_at = the least                 later than my deadline? set the alarm
//! ```
//!
//! T1 to T4 and the setting itself are done under one lock (`Driver::set_alarm`), so they come one
//! after the other. The two fences are totally ordered. Either A2 comes before T2: then T3 reads
//! what A1 wrote, or something newer, which is no later while the timer is in the wheel. Or T2
//! comes before A2: then A3 reads what T1 or T4 stored, or something that was stored under the lock
//! after it. If that is too late, A3 sets the alarm, and reads its own timer in T3. The same pair
//! of fences serves the bits of those who sit: the alarm need not be set if nobody does, and a
//! worker that sits down sets its bit before T1. (An alarm that was not needed costs one empty
//! turn.)
//!
//! All of this is for a timer that is due before `earliest` of its wheel. Any other one is only
//! inserted: whoever stored that `earliest` goes through A2 and A3. (If that thread loses its core
//! in between, the other timers of the wheel wait for it, too.) When that time has come, `expire`
//! stores the next deadline of the wheel, and the alarm is set for that. It is so as well if the
//! earlier timer is disarmed meanwhile: `earliest` stays as it is until then, which costs one empty
//! turn.

use crate::driver::wheel::{self, Wheel};
use crate::sync::{AtomicU64, Duration, Instant, Mutex, Ordering, fence, lock};
use std::task::Waker;

/// Times are nanoseconds since the runtime was built. The greatest one is 584 years away.
pub(crate) const NEVER: u64 = u64::MAX;

/// Deadlines that differ in these bits only share a wake-up, at the end of the 131 us that the
/// bits span. A wake-up costs as much as a dozen timers.
pub(crate) const SLACK: u64 = (1 << 17) - 1;

pub(crate) struct Timers {
    pub(crate) epoch: Instant,
    pub(crate) shards: Box<[Shard]>,
    /// What the alarm was last set for: one of those who sit wakes up by then.
    pub(crate) alarm_at: AtomicU64,
}

#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) wheel: Mutex<Wheel<Waker>>,
    /// When the wheel expires next, or earlier. Written under the wheel's lock.
    pub(crate) earliest: AtomicU64,
}

/// Identifies an armed timer: the shard it is in, and its key there.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) shard: usize,
    pub(crate) key: wheel::Key,
}

impl Timers {
    pub(crate) fn new(shards: usize) -> Self {
        let shard = |_| Shard { wheel: Mutex::new(Wheel::new()), earliest: AtomicU64::new(NEVER) };
        let shards = (0..shards).map(shard).collect();
        Self { epoch: Instant::now(), shards, alarm_at: AtomicU64::new(0) }
    }

    pub(crate) fn nanos(&self, instant: Instant) -> u64 {
        let since_epoch = instant.saturating_duration_since(self.epoch);
        u64::try_from(since_epoch.as_nanos()).unwrap_or(NEVER)
    }

    /// A1 to A3: arms a timer in the wheel of `worker`, or in any wheel. The flag that is
    /// returned says that the alarm comes too late for it, if anybody waits for the alarm, and that
    /// no other thread sees to that.
    pub(crate) fn arm(&self, worker: Option<usize>, due: Instant, waker: Waker) -> (Key, bool) {
        let deadline = self.nanos(due);
        let shard = worker.unwrap_or_else(|| fastrand::usize(..self.shards.len()));
        let Shard { wheel, earliest } = &self.shards[shard];

        // A1
        let mut wheel = lock(wheel);
        let key = Key { shard, key: wheel.insert(deadline, waker) };
        if deadline >= earliest.load(Ordering::Relaxed) {
            return (key, false);
        }
        earliest.store(deadline, Ordering::Relaxed);
        drop(wheel);

        // A2: pairs with T2 in `next_alarm`.
        fence(Ordering::SeqCst);

        // A3
        (key, deadline | SLACK < self.alarm_at.load(Ordering::Relaxed))
    }

    /// Disarms a timer. Returns its waker, which must be dropped outside of any lock, or None if
    /// the timer has expired.
    pub(crate) fn disarm(&self, key: &Key) -> Option<Waker> {
        lock(&self.shards[key.shard].wheel).remove(key.key)
    }

    /// Makes the timer wake `waker`, which becomes the timer's former waker: drop that outside of
    /// any lock. False: the timer has expired.
    pub(crate) fn replace_waker(&self, key: &Key, waker: &mut Waker) -> bool {
        let mut wheel = lock(&self.shards[key.shard].wheel);
        wheel.get_mut(key.key).map(|armed| std::mem::swap(armed, waker)).is_some()
    }

    /// T1 to T4: what the alarm must be set for; None is for ever. From now on `arm`
    /// says when it must be set again.
    pub(crate) fn next_alarm(&self) -> Option<Instant> {
        // T1
        self.alarm_at.store(NEVER, Ordering::Relaxed);

        // T2: pairs with A2 in `arm`.
        fence(Ordering::SeqCst);

        // T3
        let until = self.earliest()? | SLACK;

        // T4
        self.alarm_at.store(until, Ordering::Relaxed);
        self.epoch.checked_add(Duration::from_nanos(until))
    }

    /// When the first timer of all wheels expires, or earlier: a timer that was disarmed may
    /// count until its time. None: no timer is armed.
    pub(crate) fn earliest(&self) -> Option<u64> {
        let read = |shard: &Shard| shard.earliest.load(Ordering::Relaxed);
        self.shards.iter().map(read).min().filter(|&at| at != NEVER)
    }

    /// Takes the wakers of all timers whose deadline has passed.
    pub(crate) fn expire(&self, wakers: &mut Vec<Waker>) {
        let now = self.nanos(Instant::now());
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
        self.shards.iter().for_each(|shard| lock(&shard.wheel).expire(NEVER, wakers));
    }
}
