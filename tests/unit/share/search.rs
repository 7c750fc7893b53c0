//! What a worker does before it sleeps: it looks for work some more times, and yields.

use super::*;

/// Finds nothing, and is idle for this long. Returns how many times it looks again before it
/// sleeps.
fn idles(worker: &mut Worker, mean: &MeanPoll, lasts: Duration) -> u32 {
    worker.end_stretch(mean);
    let looks = worker.sharing.looks(mean);
    worker.clocks.pass(lasts, Duration::ZERO);
    worker.sharing.goes_on(worker.clocks.time());
    looks
}

#[test]
fn worker_searches_if_it_was_idle_for_a_moment_the_last_time() {
    let (mean, mut worker) = (mean_of(LONG_POLL), Worker::new());
    idles(&mut worker, &mean, SHORT_IDLE - NANO);
    for short in [true, true, false, false, true, false] {
        let looks = idles(&mut worker, &mean, if short { SHORT_IDLE - NANO } else { SHORT_IDLE });
        worker.poll(&mean, SHORT_IDLE);
        let next = worker.sharing.looks(&mean);
        assert_eq!(next, if short { LOOKS } else { 0 }, "before: {looks}");
    }
}

/// Others need the core, or a wake-up is cheap beside a poll.
#[test]
fn worker_searches_only_on_a_core_of_its_own_and_while_polls_are_short() {
    let short = mean_of(LONG_POLL);
    let mut worker = Worker::new();
    idles(&mut worker, &short, Duration::ZERO);
    assert_eq!(worker.sharing.looks(&short), LOOKS);
    assert_eq!(worker.sharing.looks(&mean_of(LONG_POLL + NANO)), 0);

    let make: [fn(&mut Worker); 2] = [Worker::press, Worker::crowd];
    for make in make {
        let mut worker = Worker::new();
        make(&mut worker);
        idles(&mut worker, &short, Duration::ZERO);
        assert_eq!(worker.sharing.looks(&short), 0);
    }
}

/// What it looks for is no work of its own: its polls count as no longer for it.
#[test]
fn time_of_a_search_is_part_of_no_stretch() {
    let (mean, mut worker) = (mean_of(MICRO), Worker::new());
    for _ in 0..10 * MEAN_POLLS {
        worker.stretch(&mean, MICRO, MICRO);
        idles(&mut worker, &mean, 100 * MICRO);
    }
    assert!(mean.get() <= MICRO, "{:?}", mean.get());
}

/// Nor is a yield, after which it may find work at once.
#[test]
fn time_of_a_yield_is_part_of_no_stretch() {
    let (mean, mut worker) = (mean_of(MICRO), Worker::new());
    for _ in 0..10 * MEAN_POLLS {
        worker.stretch(&mean, MICRO, MICRO);
        yields(&mut worker, YIELD_MAX);
        worker.sharing.goes_on(worker.clocks.time());
    }
    assert!(mean.get() <= MICRO, "{:?}", mean.get());
}

/// Before the future in `block_on` is polled, no stretch ends: the polls before it still count.
#[test]
fn worker_that_goes_on_to_poll_a_main_future_goes_on_with_its_stretch() {
    let (mean, mut worker) = (mean_of(MICRO), Worker::new());
    worker.end_stretch(&mean);
    worker.poll(&mean, STRETCH_MAX);
    worker.sharing.goes_on(worker.clocks.time());
    worker.poll(&mean, MICRO);
    assert!(worker.is_time_to_look(u32::MAX), "the stretch began before the long poll");
}

#[test]
fn time_of_a_yield_is_no_time_that_was_lost() {
    let mut worker = Worker::new();
    worker.span(&mean_of(Duration::ZERO), Duration::ZERO);
    worker.clocks.core_readings.take();
    for _ in 0..100 {
        yields(&mut worker, YIELD_MAX);
        worker.wake_up();
    }
    assert_eq!(worker.clocks.core_readings.take(), 0, "no time of polling has gone by");
}
