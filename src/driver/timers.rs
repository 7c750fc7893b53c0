//! The armed timers of a runtime: one wheel per worker, so that timers that are armed and
//! dropped on different workers do not contend.
//!
//! The worker in the seat sleeps until the *alarm*: the earliest deadline of all wheels, rounded up
//! by `SLACK`. A new timer with an earlier deadline must wake that worker, which then sleeps anew
//! for less. And no timer may slip through while a worker is about to sleep:
//!
//! ```text
//!   a worker that has taken the seat     a task that arms a timer
//!   --------------------------------     ------------------------
//!   T1  alarm_at = for ever              A1  insert; store `earliest`
//!   T2  fence                            A2  fence
//!   T3  read every `earliest`            A3  alarm_at later than my deadline, rounded up?
//!   T4  alarm_at = the least                 set it to that; if somebody has the seat, notify
//! ```
//!
//! Take any one wait. The two fences are totally ordered. Either A2 comes before T2: then T3 reads
//! what A1 wrote, or something newer, which is no later while the timer is in the wheel. Or T2
//! comes before A2: then A3 reads what T1 or T4 of this wait stored, or something newer, and so
//! sees the worker in the seat, or something newer. If the alarm is too late and the seat is taken,
//! A3 notifies. If the worker has left the seat, this wait is over, and the next one has a T2 of
//! its own. If another A3 has set an earlier time, all of this holds for that one, and this timer
//! counts on it: it is late if that thread is stopped before it notifies. T4 may overwrite what A3
//! has set. Then later timers notify once more, which costs an empty turn.
//!
//! All of this is for a timer that is due before `earliest` of its wheel. Any other one is only
//! inserted. If `arm` stored that `earliest`, its thread takes A2 and A3. If `expire` did, its
//! thread had the seat, so T3 of the next wait sees it. When that time has come, `expire` stores
//! the next deadline of the wheel. If the earlier timer is disarmed meanwhile, `earliest` stays as
//! it is until then, which costs one empty turn.

use crate::driver::wheel::{Key, Wheel};
use crate::sync::{AtomicBool, AtomicU64, Duration, Instant, Mutex, Ordering, fence, lock};
use std::mem::swap;
use std::task::Waker;

/// Times are nanoseconds since the runtime was built. The greatest one is 584 years away.
pub(crate) const NEVER: u64 = u64::MAX;

/// Deadlines that differ only in these bits share a wake-up, at the end of the 131 us that the bits
/// span. A wake-up costs as much as a dozen timers.
pub(crate) const SLACK: u64 = (1 << 17) - 1;

pub(crate) struct Timers {
    pub(crate) epoch: Instant,
    pub(crate) shards: Box<[Shard]>,
    /// The alarm, or an earlier time for which the waiting worker is being notified. While nobody
    /// waits it means nothing.
    pub(crate) alarm_at: AtomicU64,
    /// The runtime has ended. Set before the wheels are locked to be emptied, and read under their
    /// locks.
    is_closed: AtomicBool,
}

/// A worker's timers, on cache lines of their own.
#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) wheel: Mutex<Wheel<Waker>>,
    /// Not later than the first deadline in the wheel. Written under the wheel's lock.
    pub(crate) earliest: AtomicU64,
}

/// An armed timer: the shard it is in, and its key there.
#[derive(Debug)]
pub(crate) struct Armed {
    pub(crate) shard: usize,
    pub(crate) key: Key,
}

impl Timers {
    pub(crate) fn new(shards: usize) -> Self {
        let new = |_| Shard { wheel: Mutex::new(Wheel::new()), earliest: AtomicU64::new(NEVER) };
        let shards = (0..shards).map(new).collect();
        Self {
            epoch: Instant::now(),
            shards,
            alarm_at: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn nanos(&self, instant: Instant) -> u64 {
        let nanos = instant.saturating_duration_since(self.epoch).as_nanos();
        u64::try_from(nanos).unwrap_or(NEVER)
    }

    /// Takes A1 to A3 but for the last step: arms a timer in the wheel of `worker`, or in any
    /// wheel. The flag says whether the alarm is too late for it. Then the caller has to notify the
    /// worker in the seat, if there is one. `None` if the runtime has ended: nobody would wake the
    /// waker.
    pub(crate) fn arm(
        &self,
        worker: Option<usize>,
        due: Instant,
        waker: Waker,
    ) -> Option<(Armed, bool)> {
        let deadline = self.nanos(due);

        // A thread that runs no worker arms timers seldom, and takes any wheel.
        let shard = worker.unwrap_or_else(|| fastrand::usize(..self.shards.len()));
        let Shard { wheel, earliest } = &self.shards[shard];

        // The lock goes before the waker, whose drop may run user code.
        let mut wheel = lock(wheel);
        if self.is_closed.load(Ordering::Relaxed) {
            return None;
        }

        // A1
        let armed = Armed { shard, key: wheel.insert(deadline, waker) };
        if deadline >= earliest.load(Ordering::Relaxed) {
            return Some((armed, false));
        }
        earliest.store(deadline, Ordering::Relaxed);
        drop(wheel);

        // A2: pairs with T2 in `next_alarm`.
        fence(Ordering::SeqCst);

        // A3: Acquire pairs with the Release of T1 and T4. The thread that sets the alarm of a
        // waiting worker sees that worker in the seat.
        let until = deadline | SLACK;
        let is_late = self.alarm_at.fetch_min(until, Ordering::Acquire) > until;
        Some((armed, is_late))
    }

    /// Disarms a timer. Returns its waker, which must be dropped outside of any lock, or `None` if
    /// the timer has expired.
    pub(crate) fn disarm(&self, armed: &Armed) -> Option<Waker> {
        lock(&self.shards[armed.shard].wheel).remove(armed.key)
    }

    /// Exchanges `waker` for the timer's, which must be dropped outside of any lock. Returns false
    /// if the timer has expired.
    pub(crate) fn replace_waker(&self, armed: &Armed, waker: &mut Waker) -> bool {
        let mut wheel = lock(&self.shards[armed.shard].wheel);
        let Some(current) = wheel.get_mut(armed.key) else { return false };
        swap(current, waker);
        true
    }

    /// Takes T1 to T4: returns until when the worker in the seat may sleep, or `None` for ever.
    /// From now on `arm` says if that is too late.
    pub(crate) fn next_alarm(&self) -> Option<Instant> {
        // T1: Release pairs with A3 in `arm`, as in T4.
        self.alarm_at.store(NEVER, Ordering::Release);

        // T2: pairs with A2 in `arm`.
        fence(Ordering::SeqCst);

        // T3
        let until = self.earliest()? | SLACK;

        // T4
        self.alarm_at.store(until, Ordering::Release);
        self.epoch.checked_add(Duration::from_nanos(until))
    }

    /// Returns when the first timer of all wheels expires, or `None` if no timer is armed. A timer
    /// that was disarmed may count until its time.
    pub(crate) fn earliest(&self) -> Option<u64> {
        let read = |shard: &Shard| shard.earliest.load(Ordering::Relaxed);
        self.shards.iter().map(read).min().filter(|&earliest| earliest < NEVER)
    }

    /// Returns the same as a time of the clock.
    #[cfg(feature = "sim")]
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.epoch.checked_add(Duration::from_nanos(self.earliest()?))
    }

    /// The runtime has ended: takes the wakers of all timers, and no timer can be armed any more.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.expire(NEVER, wakers);
    }

    /// Takes the wakers of all timers whose deadline is not after `now`. With `NEVER` these are all
    /// timers.
    pub(crate) fn expire(&self, now: u64, wakers: &mut Vec<Waker>) {
        for Shard { wheel, earliest } in &self.shards {
            // Most wheels have nothing due, and need no lock. What is missed here, T3 finds.
            if earliest.load(Ordering::Relaxed) <= now {
                let mut wheel = lock(wheel);
                let next = wheel.expire(now, wakers);

                // Under the lock, as in `arm`. Otherwise a timer that is armed meanwhile would be
                // forgotten.
                earliest.store(next.unwrap_or(NEVER), Ordering::Relaxed);
            }
        }
    }
}
