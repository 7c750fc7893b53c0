//! Whether the worker has its core to itself: what it loses, and for how long that counts.

use super::*;

/// What is lost in a span, and whether that is a loss.
const LOSSES: [(Duration, bool); 4] = [
    (Duration::ZERO, false),
    (Duration::from_nanos(WHOLE_SPAN.as_nanos() as u64 / 8), false),
    (Duration::from_nanos(WHOLE_SPAN.as_nanos() as u64 / 8 + 1), true),
    (WHOLE_SPAN, true),
];

#[test]
fn worker_that_loses_more_than_an_eighth_twice_while_it_is_alone_is_pressed() {
    for (lost, is_pressed) in LOSSES {
        let (mean, mut worker) = (mean_of(Duration::ZERO), Worker::new());
        worker.span(&mean, Duration::ZERO);
        worker.span(&mean, lost);
        let short = mean_of(Duration::ZERO);
        assert!(!worker.watches(&short), "once is not enough");
        worker.span(&mean, lost);
        assert_eq!(worker.watches(&short), is_pressed, "{lost:?}");
        assert!(worker.shares(&short), "the cores are not crowded");
    }
}

#[test]
fn worker_that_loses_more_than_an_eighth_beside_others_finds_the_cores_crowded() {
    for (lost, is_crowded) in LOSSES {
        let (mean, mut worker) = (mean_of(Duration::ZERO), Worker::new());
        worker.is_alone = false;
        worker.span(&mean, Duration::ZERO);
        worker.span(&mean, lost);
        let short = mean_of(Duration::ZERO);
        assert_eq!(worker.shares(&short), !is_crowded, "{lost:?}");
        assert!(!worker.watches(&short));
    }
}

/// Pressed by other programs, it shares although the cores are crowded. When it is pressed no
/// longer, it tries once more to do without help.
#[test]
fn pressed_worker_shares_on_crowded_cores() {
    let (mean, short) = (mean_of(Duration::ZERO), mean_of(Duration::ZERO));
    let mut worker = Worker::new();
    worker.press();
    for _ in 0..50 {
        assert!(worker.shares(&short));
        worker.is_alone = false;
        worker.span(&mean, WHOLE_SPAN);
    }
    assert!(
        !worker.shares(&short),
        "the cores are crowded since the first of these spans, for longer and longer"
    );
}

/// On crowded cores a worker is most often alone, and may find that it is pressed.
#[test]
fn worker_on_crowded_cores_may_be_pressed() {
    let (mean, short) = (mean_of(Duration::ZERO), mean_of(Duration::ZERO));
    let mut worker = Worker::new();
    worker.crowd();
    worker.is_alone = true;
    worker.span(&mean, WHOLE_SPAN);
    assert!(!worker.shares(&short), "the cores are crowded, and it is not pressed yet");
    worker.span(&mean, WHOLE_SPAN);
    assert!(worker.watches(&short));
}

/// Only what is lost while all others sleep counts towards being pressed. A span without a loss
/// takes one back, whoever is awake.
#[test]
fn span_without_a_loss_takes_back_one_with_a_loss() {
    let (mean, mut worker) = (mean_of(Duration::ZERO), Worker::new());
    let mut span = |lost, is_alone| {
        worker.is_alone = is_alone;
        worker.span(&mean, lost);
        worker.watches(&mean_of(Duration::ZERO))
    };
    assert!(!span(Duration::ZERO, true)); // the first one is not judged
    for is_alone in [true, false, true, false] {
        assert!(!span(WHOLE_SPAN, true));
        assert!(!span(Duration::ZERO, is_alone));
    }
    assert!(!span(WHOLE_SPAN, true));
    assert!(!span(WHOLE_SPAN, false), "neither adds nor takes back");
    assert!(span(WHOLE_SPAN, true));
}

/// Crowded cores are free again some time: a later loss begins with a short time.
#[test]
fn what_was_lost_is_forgotten_while_nothing_is_lost() {
    let (mean, short) = (mean_of(Duration::ZERO), mean_of(Duration::ZERO));
    for is_alone in [true, false] {
        let mut worker = Worker::new();
        worker.crowd();
        worker.is_alone = false;
        (0..4 + 13).for_each(|_| worker.span(&mean, WHOLE_SPAN)); // two trials, both lost
        worker.is_alone = is_alone;
        (0..50).for_each(|_| worker.span(&mean, Duration::ZERO));
        assert!(worker.shares(&short), "now is a trial");
        (0..3).for_each(|_| worker.span(&mean, Duration::ZERO));
        worker.is_alone = false;
        worker.span(&mean, WHOLE_SPAN);
        for span in 0..4 {
            assert_eq!(worker.shares(&short), span == 3, "{span}");
            worker.span(&mean, Duration::ZERO);
        }
    }
}

/// What goes on counts for longer each time that it is found out, and what is over is over at
/// once, but forgotten step by step. Whatever is lost meanwhile says nothing: a worker that is
/// pressed has help, and one on crowded cores does without.
#[test]
fn worker_is_judged_again_in_a_trial_after_more_and_more_spans() {
    const LOST: Duration = WHOLE_SPAN;
    const GOOD: Duration = Duration::ZERO;
    let (mean, short) = (mean_of(Duration::ZERO), mean_of(Duration::ZERO));
    for (is_alone, lost_meanwhile) in [(true, LOST), (true, GOOD), (false, LOST), (false, GOOD)] {
        let mut worker = Worker::new();
        worker.span(&mean, GOOD); // the first one is not judged
        for (trial, crowded_for, pressed_for) in [
            (GOOD, 0, 0),
            (LOST, 3, 0),
            (LOST, 12, 50),
            (LOST, 50, 50),
            (LOST, 50, 50),
            (GOOD, 0, 0),
            (LOST, 50, 50),
            (GOOD, 0, 0),
            (GOOD, 0, 0),
            (LOST, 12, 50),
            (GOOD, 0, 0),
            (GOOD, 0, 0),
            (GOOD, 0, 0),
            (LOST, 3, 0),
            (LOST, 12, 50),
        ] {
            let counts_for = if is_alone { pressed_for } else { crowded_for };
            worker.is_alone = is_alone;
            worker.span(&mean, trial);
            for span in 0..counts_for + 1 {
                let found = if is_alone { worker.watches(&short) } else { !worker.shares(&short) };
                assert_eq!(found, span < counts_for, "{is_alone}: span {span} of {counts_for}");
                if found {
                    worker.span(&mean, lost_meanwhile);
                }
            }
        }
    }
}

/// What the thread did before is not known, and neither how long it took.
#[test]
fn first_span_is_not_judged() {
    let (mean, mut worker) = (mean_of(Duration::ZERO), Worker::new());
    (0..2).for_each(|_| worker.span(&mean, WHOLE_SPAN));
    assert!(!worker.watches(&mean_of(Duration::ZERO)));
}

/// A lock or a file holds the thread up, and no other thread. Nor does a thread lose what it waits
/// for when it is woken, as long as it uses all that it polls.
#[test]
fn time_that_a_poll_blocks_is_not_lost() {
    let (mean, short) = (mean_of(Duration::ZERO), mean_of(Duration::ZERO));
    for is_alone in [true, false] {
        let mut worker = Worker::new();
        worker.is_alone = is_alone;
        worker.span(&mean, Duration::ZERO);
        for _ in 0..10 {
            worker.sharing.before_poll(&mean, || 0, || true);
            worker.clocks.block(WHOLE_SPAN);
            worker.end_stretch(&mean);
            worker.clocks.waited.set(worker.clocks.waited.get() + WHOLE_SPAN);
            worker.span(&mean, Duration::ZERO);
        }
        assert!(worker.shares(&short), "the cores are free");
        assert!(!worker.watches(&short), "nobody presses it");
    }
}

/// Each span is judged by its own times: what was used too much or lost before is over.
#[test]
fn spans_are_judged_one_by_one() {
    let (mean, short) = (mean_of(Duration::ZERO), mean_of(Duration::ZERO));
    let mut worker = Worker::new();
    worker.span(&mean, Duration::ZERO);
    // A thread uses CPU time outside of its polls, too.
    worker.clocks.pass(Duration::ZERO, Duration::from_secs(1));
    worker.span(&mean, Duration::ZERO);
    assert!(!worker.watches(&short));
    (0..2).for_each(|_| worker.span(&mean, WHOLE_SPAN));
    (0..50).for_each(|_| worker.span(&mean, Duration::ZERO));
    assert!(!worker.watches(&short));
}

#[test]
fn system_that_does_not_tell_core_times_makes_no_worker_eager() {
    let (mean, short) = (mean_of(Duration::ZERO), mean_of(Duration::ZERO));
    let mut worker = Worker::new();
    for told in [Some(3), None, Some(3), None, None, Some(3)] {
        // Between two answers that say 3 s no time at all seems to have been used.
        worker.clocks.used.set(told.map(Duration::from_secs));
        worker.span(&mean, WHOLE_SPAN);
        assert!(!worker.watches(&short), "{told:?}");
    }
}

#[test]
fn core_times_are_asked_for_once_a_span() {
    let mean = mean_of(Duration::ZERO);
    let mut worker = Worker::new();
    worker.stretch(&mean, SPAN, SPAN);
    assert_eq!(worker.clocks.core_readings.take(), 0, "the span lasts for a moment more");
    worker.stretch(&mean, NANO, NANO);
    assert_eq!(worker.clocks.core_readings.take(), 1);
    (0..4).for_each(|_| worker.stretch(&mean, SPAN / 4, SPAN / 4));
    assert_eq!(worker.clocks.core_readings.take(), 0);
    worker.stretch(&mean, NANO, NANO);
    assert_eq!(worker.clocks.core_readings.take(), 1);
}

/// A loss that is spread over several stretches is as much as one at once.
#[test]
fn stretches_add_up_to_a_span() {
    let (mean, short) = (mean_of(Duration::ZERO), mean_of(Duration::ZERO));
    let mut worker = Worker::new();
    worker.span(&mean, Duration::ZERO);
    (0..16).for_each(|_| worker.stretch(&mean, WHOLE_SPAN / 8, WHOLE_SPAN / 16));
    assert_eq!(worker.clocks.core_readings.take(), 2);
    assert!(worker.watches(&short));
}
