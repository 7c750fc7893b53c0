//! Tasks of a map are joined with their keys, in whatever way they end.

use crate::common::{CountDrop, soon};
use arc_util::task::{JoinMap, LocalSet};
use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn keys_come_with_the_outputs_of_their_tasks() {
    let mut map = JoinMap::new();
    for number in 0..100_u64 {
        map.spawn(number.to_string(), async move { number * 2 });
    }
    map.spawn_blocking("blocking".to_owned(), || 7);
    assert_eq!((map.len(), map.keys().count(), map.contains_key("99")), (101, 101, true));

    let mut sum = 0;
    while let Some((key, result)) = soon(map.join_next()).await {
        let output = result.unwrap();
        assert!(key == "blocking" || key.parse::<u64>().unwrap() * 2 == output);
        assert!(!map.contains_key(&*key));
        sum += output;
    }
    assert_eq!((sum, map.is_empty()), (99 * 100 + 7, true));
}

#[arc::test]
async fn tasks_are_aborted_by_their_keys_and_panics_have_theirs() {
    let mut map = JoinMap::new();
    map.spawn(1, pending::<()>());
    map.spawn(2, pending());
    map.spawn(3, async { panic!("on purpose") });
    map.spawn(4, pending());
    assert!(map.abort(&1) && !map.abort(&5));
    map.abort_matching(|key| *key == 2);

    for _ in 0..3 {
        let (key, result) = soon(map.join_next()).await.expect("three have ended");
        let error = result.unwrap_err();
        assert_eq!((error.is_panic(), error.is_cancelled()), (key == 3, key != 3), "{key}");
    }
    assert!(map.try_join_next().is_none() && map.contains_key(&4));
    soon(map.shutdown()).await;
    assert!(map.is_empty());
}

#[arc::test]
async fn a_task_that_is_replaced_is_aborted_and_never_joined() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counts = CountDrop(dropped.clone());
    let mut map = JoinMap::new();
    map.spawn("key", async move {
        let _counts = counts;
        pending().await
    });
    arc::task::yield_now().await;
    map.spawn("key", async { 1 });
    assert_eq!(map.len(), 1);
    assert!(matches!(soon(map.join_next()).await, Some(("key", Ok(1)))));
    assert!(soon(map.join_next()).await.is_none());
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[arc::test]
async fn local_tasks_take_part_and_a_dropped_map_aborts_all() {
    let (mut map, local) = (JoinMap::new(), LocalSet::new());
    let one = Rc::new(1);
    map.spawn_local_on("local", async move { *one }, &local);
    let joined = local.run_until(async {
        map.spawn_local("other", pending());
        soon(map.join_next()).await
    });
    assert!(matches!(joined.await, Some(("local", Ok(1)))));
    drop(map);
    soon(local).await;
}
