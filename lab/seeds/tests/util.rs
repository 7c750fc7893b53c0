//! arc-util's channels, locks, task groups and intervals: the same programs with many seeds.

mod programs;

use arc_util as util;
use arc_util::select;
use arc_util::sync::{CancellationToken, mpsc};
use arc_util::time::{Duration, interval, sleep};

/// Makes a test of each program.
macro_rules! simulated {
    ($($name:ident)*) => {$(
        #[arc_sim::test(seeds = 100)]
        async fn $name() {
            programs::$name().await;
        }
    )*};
}

simulated! {
    channel_keeps_what_was_sent
    channel_has_all_its_places_again
    semaphore_counts_its_permits
    semaphore_is_fair
    notification_is_passed_on
    watch_shows_the_last_value
    join_set_waits_for_its_tasks
    cancellation_reaches_everybody
    one_shot_ends_in_one_way
    interval_keeps_its_beat
    timeouts_and_results_race
}

#[arc_sim::test(seeds = 50)]
async fn channel_gives_a_burst_to_a_receiver_that_gives_up() {
    programs::channel_gives_a_burst_to_a_receiver_that_gives_up().await;
}

/// A loop over `select!`: no job is lost by the branches that are dropped, no tick is made up,
/// and the token ends it.
#[arc_sim::test(seeds = 100)]
async fn select_loses_nothing() {
    let (sender, mut receiver) = mpsc::channel(2);
    let token = CancellationToken::new();
    let stop = token.clone();
    let worker = arc::spawn(async move {
        let mut ticks = interval(Duration::from_millis(2));
        let (mut jobs, mut beats) = (Vec::new(), 0);
        loop {
            select! {
                Some(job) = receiver.recv() => jobs.push(job),
                _ = ticks.tick() => beats += 1,
                () = stop.cancelled() => break,
            }
            sleep(Duration::from_millis(fastrand::u64(0..3))).await;
        }
        // What was sent before the end is still there.
        while let Ok(job) = receiver.try_recv() {
            jobs.push(job);
        }
        (jobs, beats)
    });
    for number in 0..10 {
        sender.send(number).await.unwrap();
        sleep(Duration::from_millis(fastrand::u64(0..3))).await;
    }
    token.cancel();
    let (jobs, beats) = worker.await.unwrap();
    assert!(jobs.iter().copied().eq(0..10), "{jobs:?}");
    assert!(beats > 0);
}
