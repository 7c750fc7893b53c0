//! Timers: never early, none lost, wherever they are armed from and whatever
//! happens to them meanwhile.

use crate::common::rounds;
use crate::common::{Elapsed, timeout, timeout_at};
use crate::net_common::*;
use arc::task::spawn_blocking;
use arc::time::{Duration, Instant, Sleep, sleep, sleep_until};
use proptest::prelude::*;
use std::future::{pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

async fn sleep_exactly(duration: Duration) {
    let start = Instant::now();
    sleep(duration).await;
    let elapsed = start.elapsed();
    assert!(elapsed >= duration, "{elapsed:?} instead of {duration:?}");
}

/// Polls it once, by this waker.
fn poll_by<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// A timer that is armed on this runtime, with this waker.
fn armed(runtime: &arc::runtime::Runtime, time: Duration, waker: &Waker) -> Pin<Box<Sleep>> {
    let _guard = runtime.enter();
    let mut timer = Box::pin(sleep(time));
    assert!(poll_by(timer.as_mut(), waker).is_pending());
    timer
}

/// Blocks this task until it was woken, on a thread that may be blocked.
async fn woken(wakes: &Arc<Wakes>) {
    let wakes = wakes.clone();
    spawn_blocking(move || wakes.wait_for(1)).await.unwrap();
}

#[test]
fn sleeps_of_all_lengths_are_never_early() {
    run_each(|| async {
        let nanos = || fastrand::u64(0..1 << fastrand::u32(0..25));
        let lengths = (0..2_000).map(|_| Duration::from_nanos(nanos()));
        join_each(lengths, sleep_exactly).await;
        for nanos in [0, 1, 999, 1_000, 65_535, 65_536, 65_537, 999_999, 1_000_001, 4_194_304] {
            sleep_exactly(Duration::from_nanos(nanos)).await;
        }
    });
}

#[test]
fn crowds_of_sleeps_all_end() {
    let sleeps = rounds(100_000) as u64;
    let scattered: fn(u64) -> u64 = |number| number * 7_919 % 300_000;
    let at_once: fn(u64) -> u64 = |_| 300_000;
    for deadline in [scattered, at_once] {
        run(2, move || async move {
            let start = Instant::now();
            join_each(0..sleeps, |number| async move {
                let deadline = start + micros(deadline(number));
                sleep_until(deadline).await;
                assert!(Instant::now() >= deadline);
            })
            .await;
        });
    }
}

#[test]
fn crowds_of_timers_are_armed_and_dropped() {
    fn armed(time: u64) -> Sleep {
        let mut timer = sleep(HOUR + micros(time));
        assert!(poll_once(&mut timer, Waker::noop()).is_pending());
        timer
    }
    run_each(|| async {
        let crowd = rounds(100_000) as u64;
        (0..crowd / 2).for_each(|round| drop(armed(round)));
        // At once, and in another order than they were armed in.
        let mut timers: Vec<_> = (0..crowd).map(|number| armed(number * 7_919)).collect();
        fastrand::shuffle(&mut timers);
        drop(timers);
        sleep_exactly(millis(2)).await;
    });
}

#[test]
fn shorter_timer_ends_the_sleep_of_the_thread_in_the_seat() {
    // A thread outside arms timers shorter and shorter; the worker has nothing to
    // do but to fall asleep until the last one. Missed once, it sleeps an hour.
    on_each([1, 2], |runtime| {
        let _guard = runtime.enter();
        let _long = armed(&runtime, HOUR, Waker::noop());
        for round in 0..1_000_u64 {
            foreign_block_on(sleep_exactly(micros(round % 97)));
            spin(fastrand::u32(0..2_000));
        }
    });
}

#[test]
fn shorter_timer_is_armed_by_a_task_while_another_worker_falls_asleep() {
    run(2, || async {
        let long = arc::spawn(sleep(HOUR));
        join_each(0..2, |task| async move {
            for round in 0..1_000_u64 {
                sleep_exactly(micros(20 * (task + round % 7))).await;
            }
        })
        .await;
        long.abort();
        assert!(long.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn timers_of_threads_that_are_no_workers_fire() {
    // Nobody is in block_on, and no worker has ever run.
    on_each([1, 2, 4], |runtime| {
        let waits = || {
            let _guard = runtime.enter();
            for round in 0..200 {
                foreign_block_on(sleep_exactly(micros(round)));
                let never = timeout(micros(round), pending::<()>());
                assert!(foreign_block_on(never).is_err());
            }
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(waits);
            }
        });
    });
}

#[test]
fn runtime_whose_threads_all_sleep_awakes_for_a_timer_from_outside() {
    on_each([1, 2], |runtime| {
        let _guard = runtime.enter();
        for _ in 0..20 {
            // The workers have run, and gone to sleep again.
            runtime.block_on(async { arc::spawn(async {}).await.unwrap() });
            thread::sleep(millis(1));
            foreign_block_on(sleep_exactly(millis(1)));
        }
    });
}

#[test]
fn timer_goes_on_when_the_thread_that_watched_it_leaves() {
    // The thread in block_on sits in the seat, and leaves it with its future.
    on_each([1, 2], |runtime| {
        for round in 0..100 {
            let task = runtime.spawn(sleep_exactly(millis(2)));
            runtime.block_on(sleep_exactly(micros(10 * round)));
            foreign_block_on(task).unwrap();
        }
    });
}

#[test]
fn last_waker_is_the_one_that_is_woken() {
    run_each(|| async {
        let mut timer = sleep(millis(20));
        let ((_, first), (last_wakes, last)) = (Wakes::new(), Wakes::new());
        for waker in [&first, &last, &first, &last, &last] {
            assert!(poll_once(&mut timer, waker).is_pending());
        }
        woken(&last_wakes).await;
        assert!(poll_once(&mut timer, &last).is_ready());
    });
}

#[test]
fn timer_moves_to_another_task() {
    run_each(|| async {
        for _ in 0..10 {
            let start = Instant::now();
            let mut timer = Box::pin(sleep(millis(5)));
            // Polled by several tasks, and awaited by the last.
            for _ in 0..3 {
                let polls_it = async move {
                    poll_fn(|context| Poll::Ready(_ = timer.as_mut().poll(context))).await;
                    timer
                };
                timer = arc::spawn(polls_it).await.unwrap();
            }
            arc::spawn(timer).await.unwrap();
            assert!(start.elapsed() >= millis(5));
        }
    });
}

#[test]
fn timer_moves_to_a_thread_of_another_executor() {
    on_each([1], |runtime| {
        let mut timer = armed(&runtime, HOUR, &Wakes::new().1);
        let deadline = Instant::now() + millis(10);
        timer.as_mut().reset(deadline);
        // Armed already, it needs no runtime around it any more.
        thread::spawn(move || foreign_block_on(timer)).join().unwrap();
        assert!(Instant::now() >= deadline);
    });
}

#[test]
fn timers_are_dropped_while_they_fire() {
    run_each(|| async {
        join_each(0..4, |_| async {
            for _ in 0..500 {
                // Two that are due together: one is dropped by the other.
                let duration = micros(fastrand::u64(0..150));
                let (one, two) = (sleep(duration), sleep(duration));
                futures_util::future::select(one, two).await;
            }
        })
        .await;
    });
}

#[test]
fn timers_are_dropped_by_another_thread_while_they_fire() {
    on_each([2], |runtime| {
        let (sender, receiver) = std::sync::mpsc::channel::<Sleep>();
        let dropper = thread::spawn(move || {
            for timer in receiver {
                while !timer.is_elapsed() {
                    std::hint::spin_loop();
                }
                drop(timer);
            }
        });
        let _guard = runtime.enter();
        for _ in 0..5_000 {
            let mut timer = sleep(micros(fastrand::u64(20..60)));
            if poll_once(&mut timer, &Wakes::new().1).is_pending() {
                sender.send(timer).unwrap();
            }
        }
        drop(sender);
        dropper.join().unwrap();
    });
}

/// Timeouts that are over in time would else pile up until their deadlines.
#[test]
fn timer_that_is_dropped_keeps_no_waker() {
    run_each(|| async {
        let (wakes, waker) = Wakes::new();
        let mut timer = pin!(sleep(HOUR));
        let mut limit = Box::pin(timeout(HOUR, pending::<()>()));
        {
            let mut timer = Box::pin(sleep(HOUR));
            assert!(poll_by(timer.as_mut(), &waker).is_pending());
            assert!(poll_by(limit.as_mut(), &waker).is_pending());
        }
        assert_eq!(Arc::strong_count(&wakes), 3, "the test, its waker, and the timeout");
        drop(limit);
        assert!(poll_by(timer.as_mut(), &waker).is_pending());
        timer.set(sleep(HOUR));
        assert_eq!(Arc::strong_count(&wakes), 2);
    });
}

#[test]
fn reset_timer_ends_at_its_new_deadline() {
    run_each(|| async {
        let start = Instant::now();
        let mut timer = pin!(sleep(HOUR));
        assert_eq!(poll_by(timer.as_mut(), Waker::noop()), Poll::Pending);
        // Earlier, later, much earlier.
        for deadline in [start + 2 * HOUR, start + HOUR / 2, start + millis(10)] {
            timer.as_mut().reset(deadline);
            assert_eq!(timer.deadline(), deadline);
            assert!(!timer.is_elapsed() || Instant::now() >= deadline);
            let _ = poll_by(timer.as_mut(), Waker::noop());
        }
        timer.as_mut().await;
        assert!(start.elapsed() >= millis(10));
        assert!(timer.is_elapsed());
        // Again, after it was over; and later, when it was about to be.
        for _ in 0..20 {
            let deadline = Instant::now() + micros(200);
            timer.as_mut().reset(deadline);
            let _ = poll_by(timer.as_mut(), Waker::noop());
            let later = deadline + micros(300);
            timer.as_mut().reset(later);
            timer.as_mut().await;
            assert!(Instant::now() >= later);
        }
        // It was over long ago.
        timer.as_mut().reset(start);
        assert_eq!(poll_by(timer.as_mut(), Waker::noop()), Poll::Ready(()));
    });
}

#[test]
fn timer_that_is_reset_wakes_the_task_that_polled_it_last() {
    run_each(|| async {
        for first in [HOUR, millis(1)] {
            let (wakes, waker) = Wakes::new();
            let mut timer = pin!(sleep(first));
            assert!(poll_by(timer.as_mut(), &waker).is_pending());

            // To earlier than an hour, to later than a millisecond, and nobody polls it again.
            let deadline = Instant::now() + millis(5);
            timer.as_mut().reset(deadline);
            woken(&wakes).await;
            // It may have been about to be woken for the first deadline.
            timer.as_mut().await;
            assert!(Instant::now() >= deadline);
        }
    });
}

#[test]
fn future_that_resets_its_timer_and_returns_pending_is_woken() {
    run_each(|| async {
        let mut timer = Box::pin(sleep(HOUR));
        let mut was_reset = false;
        let task = arc::spawn(poll_fn(move |context| {
            // It is polled before it is reset: the waker is the timer's already.
            let poll = timer.as_mut().poll(context);
            if !std::mem::replace(&mut was_reset, true) {
                assert!(poll.is_pending());
                timer.as_mut().reset(Instant::now() + HOUR / 2);
                timer.as_mut().reset(Instant::now() + millis(1));
            }
            poll
        }));
        task.await.unwrap();
    });
}

#[test]
fn timer_that_another_thread_resets_wakes_the_task_that_waits_for_it() {
    run_each(|| async {
        for from_outside in [false, true] {
            let timer = Arc::new(Mutex::new(Box::pin(sleep(HOUR))));
            let polled = timer.clone();
            let waits = poll_fn(move |context| polled.lock().unwrap().as_mut().poll(context));
            let waiter = begun(waits).await;

            // Nobody polls it until it wakes its task.
            let deadline = Instant::now() + millis(2);
            let reset = move || timer.lock().unwrap().as_mut().reset(deadline);
            if from_outside {
                thread::spawn(reset).join().unwrap();
            } else {
                arc::spawn(async move { reset() }).await.unwrap();
            }
            waiter.await.unwrap();
            assert!(Instant::now() >= deadline);
        }
    });
}

#[test]
fn timer_that_is_reset_to_the_past_wakes_its_task_at_once_and_is_ready() {
    run_each(|| async {
        let start = Instant::now();
        sleep(millis(2)).await;
        let (wakes, waker) = Wakes::new();
        let mut timer = pin!(sleep(HOUR));
        assert!(poll_by(timer.as_mut(), &waker).is_pending());
        timer.as_mut().reset(start);
        assert_eq!(wakes.count(), 1);
        assert!(poll_by(timer.as_mut(), &waker).is_ready());

        // It has woken its task, and holds its waker no more.
        timer.as_mut().reset(start);
        assert_eq!((wakes.count(), Arc::strong_count(&wakes)), (1, 2));
        timer.as_mut().reset(start + HOUR);
        assert!(poll_by(timer.as_mut(), &waker).is_pending());
    });
}

#[test]
fn timer_that_was_never_polled_is_reset_without_a_runtime() {
    let mut timer = pin!(sleep(millis(1)));
    let deadline = Instant::now() + HOUR;
    timer.as_mut().reset(deadline);
    assert_eq!(timer.deadline(), deadline);
    on_each([1], |runtime| {
        let mut timer = pin!(sleep(HOUR));
        timer.as_mut().reset(Instant::now() + millis(1));
        runtime.block_on(timer);
    });
}

#[test]
fn timer_of_a_runtime_that_has_ended_is_reset_without_harm() {
    on_each([1], |first| {
        let (wakes, waker) = Wakes::new();
        let mut timer = armed(&first, HOUR, &waker);
        drop(first);
        wakes.wait_for(1);

        // Its task was woken when the runtime ended, and is not woken again.
        let deadline = Instant::now() + millis(1);
        timer.as_mut().reset(deadline);
        assert_eq!((timer.deadline(), wakes.count()), (deadline, 1));

        // Another runtime goes on with it.
        runtime(1).block_on(timer);
        assert!(Instant::now() >= deadline);
    });
}

#[test]
fn timers_are_reset_by_other_threads_while_they_fire_and_while_the_runtime_ends() {
    within_limit(|| {
        for round in 0..100 {
            let runtime = runtime(1 + round % 2);
            let (wakes, waker) = Wakes::new();
            let mut timer = armed(&runtime, HOUR, &waker);
            drop(waker);
            let ends = round % 3 == 0;
            let resetter = thread::spawn(move || {
                for number in 0..200 {
                    let deadline =
                        Instant::now() + micros(number % 7 * 20) + HOUR * (number as u32 % 2);
                    timer.as_mut().reset(deadline);
                }
                // It fires, or the end of the runtime takes it.
                let last = if ends { HOUR } else { micros(20) };
                timer.as_mut().reset(Instant::now() + last);
                timer
            });
            if !ends {
                wakes.wait_for(1);
            }
            drop(runtime);
            let _timer = resetter.join().unwrap();

            // Whoever took it first, the timer or the end: once, and nothing holds its waker.
            assert_eq!((wakes.count(), Arc::strong_count(&wakes)), (1, 1));
        }
    });
}

/// What is done with a timer.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Another deadline, so many microseconds from now.
    Reset(i64),
    Poll,
    /// Waits until the waker that was left last is woken, and polls.
    Wait,
}

/// Knows how early it may be woken.
struct Note {
    deadline: Mutex<Instant>,
    woken: AtomicBool,
    too_early: AtomicBool,
    thread: thread::Thread,
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        let is_early = Instant::now() < *self.deadline.lock().unwrap();
        self.too_early.fetch_or(is_early, Ordering::SeqCst);
        self.woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

/// A timer beside a reference: an instant, and nothing else. A timer that is ready has
/// reached it; one that is not wakes the last waker, also after a reset, and then is ready.
fn check_timer(first: i64, steps: &[Step]) {
    let from_now = |micros: i64| {
        let offset = Duration::from_micros(micros.unsigned_abs());
        if micros < 0 { Instant::now() - offset } else { Instant::now() + offset }
    };
    let mut deadline = from_now(first);
    // Whether it has to wait, by the rule for deadlines that have passed.
    let mut is_ahead = Instant::now() < deadline + millis(1);
    let mut timer = pin!(sleep_until(deadline));
    let mut left: Option<Arc<Note>> = None;
    // The waker that was left last may be woken for a deadline that was replaced since. So each
    // wait is done twice: what the first one leaves can only be woken for the deadline of now.
    let mut may_be_late = false;
    let twice = |&step| std::iter::repeat_n(step, if matches!(step, Step::Wait) { 2 } else { 1 });
    for step in steps.iter().flat_map(twice) {
        match step {
            Step::Reset(offset) => {
                let replaced = deadline;
                deadline = from_now(offset);
                is_ahead = Instant::now() < deadline + millis(1);
                if let Some(note) = &left {
                    // It may be about to be woken for an earlier deadline.
                    let mut earliest = note.deadline.lock().unwrap();
                    *earliest = earliest.min(deadline);
                }
                timer.as_mut().reset(deadline);
                may_be_late |= Instant::now() >= replaced;
                assert_eq!(timer.deadline(), deadline);
                continue;
            }
            Step::Wait if deadline - Instant::now() < LIMIT => {
                while left.as_ref().is_some_and(|note| !note.woken.load(Ordering::SeqCst)) {
                    thread::park();
                }
            }
            Step::Wait | Step::Poll => {}
        }
        let thread = thread::current();
        let (woken, too_early) = Default::default();
        let note = Arc::new(Note { deadline: deadline.into(), woken, too_early, thread });
        let was_over = timer.is_elapsed();
        let poll = timer.as_mut().poll(&mut Context::from_waker(&Waker::from(note.clone())));
        if poll.is_ready() {
            assert!(Instant::now() >= deadline, "{step:?}: ready too early");
        } else if was_over {
            // It was armed before its deadline, or is now: its time was ahead when it was set.
            let has_waited = left.is_some() && matches!(step, Step::Wait) && !may_be_late;
            assert!(is_ahead && !has_waited, "{step:?}: not ready");
        }
        if let Some(last) = left.take() {
            assert!(!last.too_early.load(Ordering::SeqCst), "{step:?}: woken too early");
        }
        left = poll.is_pending().then_some(note);
        may_be_late = false;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn timers_that_are_reset_do_what_an_instant_does(
        first in -1_500_i64..1_000,
        steps in prop::collection::vec(prop_oneof![
            2 => (-1_500_i64..1_000).prop_map(Step::Reset),
            1 => Just(Step::Reset(3_600_000_000)),
            2 => Just(Step::Poll),
            1 => Just(Step::Wait),
        ], 1..16),
    ) {
        within_limit(move || {
            let runtime = runtime(1);
            let _guard = runtime.enter();
            check_timer(first, &steps);
        });
    }
}

#[test]
fn reset_to_earlier_is_told_to_the_thread_in_the_seat() {
    on_each([1], |runtime| {
        for round in 0..500 {
            let mut timer = armed(&runtime, HOUR, Waker::noop());
            spin(round * 10);
            let deadline = Instant::now() + micros(50);
            timer.as_mut().reset(deadline);
            let _guard = runtime.enter();
            foreign_block_on(timer);
            assert!(Instant::now() >= deadline);
        }
    });
}

/// By the rule of `arc::time`: as on a runtime whose clock ticks once in a millisecond.
#[test]
fn deadline_that_was_over_for_more_than_a_millisecond_is_ready_at_the_first_poll() {
    run_each(|| async {
        let past = Instant::now();
        sleep(millis(1)).await;
        let mut late = pin!(sleep_until(past));
        assert!(late.is_elapsed());
        assert!(poll_by(late.as_mut(), Waker::noop()).is_ready());
        let mut late = pin!(sleep(HOUR));
        late.as_mut().reset(past);
        assert!(poll_by(late.as_mut(), Waker::noop()).is_ready());
        let mut late = pin!(timeout_at(past, pending::<()>()));
        assert!(poll_by(late.as_mut(), Waker::noop()).is_ready());
        // What is ready wins, however late.
        assert_eq!(timeout_at(past, ready(7)).await, Ok(7));
        assert_eq!(timeout(Duration::ZERO, ready(7)).await, Ok(7));
    });
}

/// Programs pace themselves by it, and others must have their turn.
#[test]
fn deadline_that_is_due_when_it_is_set_is_a_pause_of_a_millisecond() {
    async fn pauses<F: Future>(mut wait: impl FnMut(Instant) -> F) {
        for _ in 0..10 {
            // Not that its first poll is pending: if the machine stops this thread before the
            // deadline is set, the pause may be over.
            let now = Instant::now();
            wait(now).await;
            assert!(now.elapsed() >= millis(1));
        }
    }
    run_each(|| async {
        pauses(|_| sleep(Duration::ZERO)).await;
        pauses(|_| timeout(Duration::ZERO, pending::<()>())).await;
        pauses(sleep_until).await;
        // Not to be told from now, however short the time since.
        pauses(|now| sleep_until(now - Duration::from_nanos(1))).await;
        pauses(|now| timeout_at(now, pending::<()>())).await;
        pauses(|now| async move {
            let mut sleep = pin!(sleep(HOUR));
            sleep.as_mut().reset(now);
            sleep.await;
        })
        .await;

        // One that waits already is woken after the pause.
        let (wakes, waker) = Wakes::new();
        let mut sleep = pin!(sleep(HOUR));
        assert!(poll_by(sleep.as_mut(), &waker).is_pending());
        let now = Instant::now();
        sleep.as_mut().reset(now);
        assert_eq!(sleep.deadline(), now);
        woken(&wakes).await;
        assert!(now.elapsed() >= millis(1));
        assert!(poll_by(sleep.as_mut(), &waker).is_ready());
    });
}

#[test]
fn timer_that_is_first_polled_after_its_time_expires() {
    // The first poll does not read the clock, and arms the timer for a time that has passed.
    run_each(|| async {
        for _ in 0..20 {
            let late = sleep(micros(20));
            let mut late = pin!(late);
            while !late.is_elapsed() {
                std::hint::spin_loop();
            }
            assert!(poll_by(late.as_mut(), Waker::noop()).is_pending());
            late.await;
            // As the first of its wheel, and behind one that is due in an hour.
            let mut hour = pin!(sleep(HOUR));
            assert_eq!(poll_by(hour.as_mut(), Waker::noop()), Poll::Pending);
        }
        // So is a timeout whose future blocks: the future has one poll more.
        let mut polls = 0;
        let blocks = poll_fn(|_| {
            polls += 1;
            thread::sleep(millis(2));
            Poll::<()>::Pending
        });
        assert!(timeout(millis(1), blocks).await.is_err());
        assert_eq!(polls, 2);
    });
    // Polled by a thread that is no worker, while the workers sleep.
    within_limit(|| {
        let runtime = runtime(2);
        let _guard = runtime.enter();
        let late = sleep(micros(20));
        thread::sleep(millis(1));
        foreign_block_on(late);
    });
}

#[test]
fn timeout_drops_what_took_too_long_and_says_so() {
    run_each(|| async {
        let (drops, start) = (Counter::new(), Instant::now());
        let outcome: Result<(), Elapsed> = timeout(millis(5), drops.never()).await;
        assert!(start.elapsed() >= millis(5));
        let error = outcome.unwrap_err();
        assert_eq!(drops.get(), 1);
        assert!(error.to_string().contains("deadline"));
        let error = std::io::Error::from(error);
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        // Nested, the shorter one ends it.
        let inner = timeout(HOUR, timeout(millis(1), pending::<()>()));
        assert!(inner.await.unwrap().is_err());
        let outer = timeout(millis(1), timeout(HOUR, pending::<()>()));
        assert!(outer.await.is_err());
    });
}

#[test]
fn timer_that_is_not_polled_costs_nothing_and_needs_no_runtime() {
    let timer = sleep(HOUR);
    assert!(!timer.is_elapsed());
    assert!(timer.deadline() > Instant::now());
    drop(timer);
    // One that is over needs none either.
    let past = Instant::now();
    thread::sleep(millis(1));
    assert!(poll_once(&mut sleep_until(past), Waker::noop()).is_ready());
}

/// What a program does that has an `Instant` of std: tokio's is another type.
#[test]
#[allow(clippy::useless_conversion, reason = "in a simulation, arc's `Instant` is no longer std's")]
fn a_deadline_of_std_is_converted_by_into() {
    let past = std::time::Instant::now();
    runtime(1).block_on(async {
        let mut sleep = std::pin::pin!(arc::time::sleep_until(past.into()));
        sleep.as_mut().reset(past.into());
        sleep.await;
        assert!(crate::common::timeout_at(past.into(), pending::<()>()).await.is_err());
    });
}
