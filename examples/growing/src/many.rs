//! Many futures in one task, and when they block each other (chapter 24).

use arc::sync::Mutex;
use arc::task::JoinSet;
use arc::time::{Instant, sleep, timeout};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// For how long one waits until it is clear that nothing moves.
const STUCK: Duration = Duration::from_millis(200);

const MOMENT: Duration = Duration::from_millis(5);

/// Somebody who needs the lock for a moment.
async fn uses(lock: &Mutex<u32>) {
    let mut guard = lock.lock().await;
    sleep(MOMENT).await;
    *guard += 1;
}

/// A futurelock: `first` is in the lock's row, is not polled any more, and is not dropped either.
pub async fn locks_itself_up(lock: &Mutex<u32>) {
    let guard = lock.lock().await;
    let mut first = pin!(uses(lock));
    // `first` comes into the row, behind the guard. Then the pause is over.
    arc::select! {
        () = &mut first => {}
        () = sleep(MOMENT) => {}
    }
    drop(guard);
    // It is the turn of `first`, which nobody polls. So `second` waits for ever.
    let second = uses(lock);
    second.await;
    first.await;
}

/// The same, mended: whoever is kept is polled beside what is awaited.
pub async fn goes_on(lock: &Mutex<u32>) {
    let guard = lock.lock().await;
    let mut first = pin!(uses(lock));
    let is_done = arc::select! {
        () = &mut first => true,
        () = sleep(MOMENT) => false,
    };
    drop(guard);
    let second = uses(lock);
    if is_done {
        second.await;
    } else {
        arc::join!(first, second);
    }
}

/// Whether something comes to its end.
pub async fn ends(future: impl Future<Output = ()>) -> bool {
    timeout(STUCK, future).await.is_ok()
}

/// Work that is ready a moment later.
async fn job(number: u64) -> (u64, Instant) {
    sleep(MOMENT * number as u32).await;
    (number, Instant::now())
}

/// How late the last of three jobs was noticed, if whoever awaits them does something else for
/// `busy` after the first one.
pub async fn in_one_task(busy: Duration) -> Duration {
    let mut jobs: FuturesUnordered<_> = (1..=3).map(job).collect();
    let begin = Instant::now();
    let mut last = begin;
    while let Some((number, done)) = jobs.next().await {
        if number == 1 {
            // In this time nobody polls the others.
            sleep(busy).await;
        }
        last = last.max(done);
    }
    last - begin
}

/// The same with a task for each.
pub async fn in_tasks(busy: Duration) -> Duration {
    let mut jobs: JoinSet<(u64, Instant)> = (1..=3).map(job).collect();
    let begin = Instant::now();
    let mut last = begin;
    while let Some(joined) = jobs.join_next().await {
        let Ok((number, done)) = joined else { continue };
        if number == 1 {
            sleep(busy).await;
        }
        last = last.max(done);
    }
    last - begin
}

/// Requests to a service that answers three at a time, as a stream: results come as they are ready.
pub async fn three_at_a_time(numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let answers = futures_util::stream::iter(numbers).map(|number| async move {
        sleep(MOMENT).await;
        number * number
    });
    answers.buffered(3).collect().await
}

/// What the program of this chapter prints.
pub async fn report() -> Vec<String> {
    let lock = Arc::new(Mutex::new(0));
    let busy = Duration::from_millis(100);
    vec![
        format!("locks_itself_up comes to its end: {}", ends(locks_itself_up(&lock)).await),
        format!("goes_on comes to its end: {}", ends(goes_on(&lock)).await),
        format!("the last job of three, in one task: {:.0?}", in_one_task(busy).await),
        format!("the last job of three, in tasks: {:.0?}", in_tasks(busy).await),
        format!("three at a time: {:?}", three_at_a_time(1..=5).await),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[arc::test]
    async fn future_that_is_kept_and_not_polled_holds_the_lock_up() {
        let lock = Mutex::new(0);
        assert!(!ends(locks_itself_up(&lock)).await);
        // It was dropped, so its place in the row is free.
        assert_eq!(*lock.lock().await, 0);
        assert!(ends(goes_on(&lock)).await);
        assert_eq!(*lock.lock().await, 2);
    }

    #[arc_sim::test(seeds = 20)]
    async fn jobs_in_one_task_stand_still_while_it_does_something_else() {
        let busy = Duration::from_secs(300);
        assert!(in_one_task(busy).await >= busy);
        assert!(in_tasks(busy).await < Duration::from_secs(1));
        assert_eq!(three_at_a_time(1..=5).await, [1, 4, 9, 16, 25]);
    }
}
