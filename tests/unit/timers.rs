//! The armed timers against a model. Deadlines are hours away or have passed, so
//! that no test depends on how fast it runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Wake;

use proptest::prelude::*;

use crate::driver::timers::*;
use crate::sync::{Duration, Instant, Mutex, Ordering, lock};
use std::task::Waker;

const HOUR: Duration = Duration::from_secs(3600);

/// Tells which waker it was.
struct Numbered {
    number: usize,
    woken: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Numbered {
    fn wake(self: Arc<Self>) {
        lock(&self.woken).push(self.number);
    }
}

/// What `Sleep` does when it is polled again.
fn rewake(timers: &Timers, key: &Armed, waker: &Waker) -> bool {
    timers.replace_waker(key, &mut waker.clone())
}

fn arm(timers: &Timers, shard: usize, deadline: Instant, waker: Waker) -> (Armed, bool) {
    timers.arm(Some(shard % timers.shards.len()), deadline, waker).expect("they are not closed")
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// In a shard, so many hours from the beginning; 0 has passed.
    Arm(usize, u32),
    Disarm(usize),
    Rewake(usize),
    Sleep,
    Expire,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<usize>(), 0_u32..100).prop_map(|(shard, hours)| Step::Arm(shard, hours)),
        1 => any::<usize>().prop_map(|shard| Step::Arm(shard, u32::MAX)),
        3 => any::<usize>().prop_map(Step::Disarm),
        2 => any::<usize>().prop_map(Step::Rewake),
        3 => Just(Step::Sleep),
        3 => Just(Step::Expire),
    ]
}

/// A timer that is armed: its deadline, and the number of its waker.
#[derive(Clone, Copy, Debug)]
struct Timer {
    deadline: u64,
    waker: usize,
}

struct Model {
    timers: Timers,
    woken: Arc<Mutex<Vec<usize>>>,
    keys: Vec<Armed>,
    /// By place in `keys`.
    armed: BTreeMap<usize, Timer>,
    wakers: usize,
    alarm_at: u64,
    /// Somebody was told that the alarm comes too late, and would set it.
    is_told: bool,
}

impl Model {
    fn new(shards: usize) -> Self {
        Self {
            timers: Timers::new(shards),
            woken: Arc::default(),
            keys: Vec::new(),
            armed: BTreeMap::new(),
            wakers: 0,
            alarm_at: 0,
            is_told: false,
        }
    }

    fn waker(&mut self) -> (usize, Waker) {
        self.wakers += 1;
        let (number, woken) = (self.wakers, self.woken.clone());
        (number, Waker::from(Arc::new(Numbered { number, woken })))
    }

    fn least(&self) -> Option<u64> {
        let finite = self.armed.values().map(|timer| timer.deadline);
        finite.filter(|&deadline| deadline != NEVER).min()
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Arm(shard, hours) => {
                let deadline = match hours {
                    // 600 years, which is beyond what a deadline can be.
                    u32::MAX => self.timers.epoch + 600 * 365 * 24 * HOUR,
                    hours => self.timers.epoch + hours * HOUR,
                };
                let (waker, handle) = self.waker();
                let wheel = &self.timers.shards[shard % self.timers.shards.len()];
                let earliest = wheel.earliest.load(Ordering::Relaxed);
                let (key, too_late) = arm(&self.timers, shard, deadline, handle);
                let deadline = match hours {
                    u32::MAX => NEVER,
                    hours => u64::from(hours) * HOUR.as_nanos() as u64,
                };
                // If an earlier timer is in the wheel, who armed that one was told.
                assert_eq!(too_late, deadline < earliest && deadline | SLACK < self.alarm_at);
                self.is_told |= too_late;
                if too_late {
                    self.alarm_at = deadline | SLACK;
                }
                self.armed.insert(self.keys.len(), Timer { deadline, waker });
                self.keys.push(key);
            }
            Step::Disarm(random) => {
                let Some(place) = random.checked_rem(self.keys.len()) else {
                    return;
                };
                let expected = self.armed.remove(&place);
                let waker = self.timers.disarm(&self.keys[place]);
                assert_eq!(waker.is_some(), expected.is_some());
                self.expect_wakes(waker, expected);
            }
            Step::Rewake(random) => {
                let Some(place) = random.checked_rem(self.keys.len()) else {
                    return;
                };
                let (number, waker) = self.waker();
                let armed = rewake(&self.timers, &self.keys[place], &waker);
                assert_eq!(armed, self.armed.contains_key(&place));
                // A second time nothing is to be done.
                assert_eq!(rewake(&self.timers, &self.keys[place], &waker), armed);
                if let Some(timer) = self.armed.get_mut(&place) {
                    timer.waker = number;
                }
            }
            Step::Sleep => {
                let until = self.timers.next_alarm();
                self.is_told = false;
                self.alarm_at = self.timers.alarm_at.load(Ordering::Relaxed);
                if let Some(least) = self.least() {
                    // Never beyond those that the earliest shares its wake-up with; before
                    // it if one was disarmed.
                    assert!(self.alarm_at <= least | SLACK);
                    let Some(until) = until else { panic!("{until:?}") };
                    assert_eq!(self.timers.nanos(until), self.alarm_at);
                }
                if until.is_none() {
                    assert_eq!(self.alarm_at, NEVER);
                }
            }
            Step::Expire => {
                let mut wakers = Vec::new();
                let now = self.timers.nanos(Instant::now());
                self.timers.expire(now, &mut wakers);
                // Otherwise the next sleep would be none.
                assert!(self.timers.earliest().is_none_or(|earliest| earliest > now));
                let due = |timer: &Timer| timer.deadline == 0;
                let expected: Vec<Timer> = self.armed.values().copied().filter(due).collect();
                self.armed.retain(|_, timer| !due(timer));
                self.expect_wakes(wakers, expected);
            }
        }
    }

    fn expect_wakes(
        &self,
        wakers: impl IntoIterator<Item = Waker>,
        expected: impl IntoIterator<Item = Timer>,
    ) {
        wakers.into_iter().for_each(Waker::wake);
        let mut woken = std::mem::take(&mut *lock(&self.woken));
        let mut expected: Vec<usize> = expected.into_iter().map(|timer| timer.waker).collect();
        woken.sort_unstable();
        expected.sort_unstable();
        assert_eq!(woken, expected);
    }

    fn check(&self) {
        let (earliest, least) = (self.timers.earliest(), self.least());
        assert!(least.is_none_or(|least| earliest.is_some_and(|earliest| earliest <= least)));
        let until = self.timers.alarm_at.load(Ordering::Relaxed);
        assert_eq!(until, self.alarm_at);
        assert!(self.is_told || least.is_none_or(|least| self.alarm_at <= least | SLACK));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn timers_do_what_their_model_does(
        shards in 1_usize..4,
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let mut model = Model::new(shards);
        for step in steps {
            model.take(step);
            model.check();
        }
        // The end of the runtime wakes every one that is left, for ever or not.
        let mut wakers = Vec::new();
        model.timers.expire(NEVER, &mut wakers);
        let left: Vec<Timer> = model.armed.values().copied().collect();
        model.expect_wakes(wakers, left);
    }
}

#[test]
fn deadline_is_kept_to_the_nanosecond() {
    let timers = Timers::new(1);
    for nanos in [0, 1, 65_535, 65_536, 1_000_000_007] {
        let deadline = timers.epoch + Duration::from_nanos(nanos);
        assert_eq!(timers.nanos(deadline), nanos);
        let (key, _) = arm(&timers, 0, deadline, Waker::noop().clone());
        assert_eq!(timers.earliest(), Some(nanos));
        // It is due when its time has come, and not before.
        let mut wakers = Vec::new();
        if let Some(before) = nanos.checked_sub(1) {
            timers.expire(before, &mut wakers);
        }
        assert!(wakers.is_empty());
        timers.expire(nanos, &mut wakers);
        assert_eq!((wakers.drain(..).count(), timers.earliest()), (1, None));
        assert!(timers.disarm(&key).is_none());

        // What was disarmed counts until its time.
        let (key, _) = arm(&timers, 0, deadline, Waker::noop().clone());
        drop(timers.disarm(&key));
        while timers.earliest().is_some() {
            timers.expire(timers.nanos(Instant::now()), &mut wakers);
        }
        assert!(wakers.is_empty());
    }
    if let Some(before) = timers.epoch.checked_sub(HOUR) {
        assert_eq!(timers.nanos(before), 0);
    }
}

#[test]
fn wakers_are_dropped_outside_the_locks() {
    struct Reenters(Arc<Timers>);
    impl Wake for Reenters {
        fn wake(self: Arc<Self>) {
            drop(self);
        }
    }
    impl Drop for Reenters {
        fn drop(&mut self) {
            // Locked already, this would never return.
            for shard in &self.0.shards {
                assert!(shard.wheel.try_lock().is_ok(), "dropped under the lock");
            }
        }
    }
    let timers = Arc::new(Timers::new(2));
    let reenters = || Waker::from(Arc::new(Reenters(timers.clone())));
    let arm = |deadline| arm(&timers, 0, deadline, reenters()).0;
    drop(timers.disarm(&arm(timers.epoch + HOUR)));
    assert!(rewake(&timers, &arm(timers.epoch + HOUR), &reenters()));
    let expired = arm(timers.epoch);
    let mut wakers = Vec::new();
    timers.expire(timers.nanos(Instant::now()), &mut wakers);
    assert_eq!(wakers.len(), 1);
    assert!(!rewake(&timers, &expired, &reenters()));
    timers.expire(NEVER, &mut wakers);
    drop(wakers);
}

/// The last moment of 131 us is when all of its deadlines are slept until: never before
/// one of them, or the sleeper would turn in circles until it has come.
#[test]
fn deadlines_within_the_slack_share_a_wake_up() {
    const BEGIN: u64 = HOUR.as_nanos() as u64 >> 17 << 17;
    let last = Duration::from_nanos(BEGIN + 131_071);
    for nanos in [0, 1, 77_777, 131_070, 131_071] {
        let timers = Timers::new(2);
        let deadline = timers.epoch + Duration::from_nanos(BEGIN + nanos);
        let (_, too_late) = arm(&timers, 0, deadline, Waker::noop().clone());
        assert!(!too_late, "nobody sleeps");
        assert_eq!(timers.next_alarm(), Some(timers.epoch + last));
        // Whoever comes within it need not notify; whoever comes before it must.
        for (shard, nanos) in [(0, 131_071), (1, 131_071), (1, 0)] {
            let within = timers.epoch + Duration::from_nanos(BEGIN + nanos);
            assert!(!arm(&timers, shard, within, Waker::noop().clone()).1);
        }
        let before = timers.epoch + Duration::from_nanos(BEGIN - 1);
        assert!(arm(&timers, 0, before, Waker::noop().clone()).1);
    }
}
