//! Chapter 22: a seed finds what a thousand runs may not show.

use growing::faults::append;
use growing::frame::{Reply, Request};
use growing::journal::Journal;
use growing::store::{Store, apply};
use std::sync::Arc;

/// Some tasks each call `add` a few times, over a journal that has room for one. Gives how often
/// they did, and the value in the end.
async fn added<F>(add: impl Fn(Arc<Store>, Journal) -> F) -> (usize, Vec<u8>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let store = Arc::new(Store::default());
    let (journal, mut receiver) = Journal::with_room(1);
    let tasks: Vec<_> = (0..6).map(|_| arc::spawn(add(store.clone(), journal.clone()))).collect();
    drop(journal);
    while receiver.recv().await.is_some() {}
    for task in tasks {
        task.await.unwrap();
    }
    (6, store.with(|map| map.get(&b"key"[..]).cloned().unwrap_or_default()))
}

async fn appends(store: Arc<Store>, journal: Journal) {
    append(&store, &journal, b"key", b"x", &mut Reply::default()).await.unwrap();
}

/// What `append` should do: the value is read and written under one lock, behind the last wait.
async fn appends_in_one_step(store: Arc<Store>, journal: Journal) {
    let room = journal.reserve().await.unwrap();
    store.with(|map| {
        let value = map.entry(b"key".to_vec()).or_default();
        value.push(b'x');
        room.record(vec![b"SET".to_vec(), b"key".to_vec(), value.clone()]);
    });
}

#[test]
fn seed_loses_what_was_appended() {
    let appends_to_one = || async {
        let (count, value) = added(appends).await;
        assert_eq!(value.len(), count);
    };
    let (seed, _) = arc_sim::find(0..200, appends_to_one).expect("one of the seeds loses one");
    // The same again, with a report: `--nocapture` shows it.
    let again = std::panic::catch_unwind(|| arc_sim::run(seed, appends_to_one()));
    assert!(again.is_err(), "a seed repeats its run");
}

#[arc_sim::test(seeds = 200)]
async fn nothing_is_lost_when_it_is_one_step() {
    let (count, value) = added(appends_in_one_step).await;
    assert_eq!(value.len(), count);
}

#[arc_sim::test(seeds = 200)]
async fn no_increment_is_lost() {
    let request: Request = vec![b"INCR".to_vec(), b"key".to_vec()];
    let (count, value) = added(move |store, journal| {
        let request = request.clone();
        async move {
            let room = journal.reserve().await.unwrap();
            store.with(|map| {
                apply(map, &request, &mut Reply::default());
                room.record(request);
            });
        }
    })
    .await;
    assert_eq!(value, count.to_string().into_bytes());
}
