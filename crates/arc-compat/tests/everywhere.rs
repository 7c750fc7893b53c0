//! tokio's context on every thread: crates that call tokio work wherever they are called.

use crate::common::{DEADLINE, soon};
use arc::runtime::Builder;
use arc::task::spawn_blocking;
use arc_compat::tokio::{BuilderExt, everywhere};
use std::collections::BTreeSet;
use std::future::{Future, pending};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::runtime::Handle;

/// What a crate that tries again does, and knows tokio alone.
async fn retry<T, E, F>(mut operation: impl FnMut() -> F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    for _ in 0..2 {
        if let Ok(value) = operation().await {
            return Ok(value);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    operation().await
}

/// Succeeds at the third try.
async fn work() -> Result<u32, u32> {
    let mut tries = 0;
    let operation = || {
        tries += 1;
        async move { if tries < 3 { Err(tries) } else { Ok(tries) } }
    };
    retry(operation).await
}

#[arc::test(with = everywhere)]
async fn a_crate_that_sleeps_on_tokio_retries_on_one_thread() {
    assert_eq!(work().await, Ok(3));
    assert_eq!(soon(arc::spawn(work())).await.unwrap(), Ok(3));
}

#[arc::test(flavor = "multi_thread", workers = 2, with = everywhere)]
async fn a_crate_that_sleeps_on_tokio_retries_on_several_threads() {
    assert_eq!(work().await, Ok(3));
    let tasks: Vec<_> = (0..8).map(|_| arc::spawn(work())).collect();
    for task in tasks {
        assert_eq!(soon(task).await.unwrap(), Ok(3));
    }
}

#[test]
fn the_builder_puts_it_on_the_threads_of_the_runtime() {
    let runtime = Builder::new_multi_thread().workers(2).enter_tokio().build().unwrap();
    assert_eq!(runtime.block_on(runtime.spawn(work())).unwrap(), Ok(3));
    let job = runtime.block_on(async { spawn_blocking(|| Handle::current().block_on(work())) });
    assert_eq!(runtime.block_on(job).unwrap(), Ok(3));
    assert!(Handle::try_current().is_err(), "this thread is none of the runtime's");
}

/// The hooks of a program are called as well, in tokio's context.
#[test]
fn hooks_of_the_program_are_called_in_the_context() {
    let (sender, receiver) = channel();
    let (before, stop) = (sender.clone(), sender.clone());
    let mut builder = Builder::new_multi_thread();
    builder.workers(1).on_thread_start(move || before.send("before").unwrap());
    let context = everywhere(&mut builder);
    builder.on_thread_start(move || {
        drop(tokio::spawn(async {}));
        sender.send("after").unwrap();
    });
    builder.on_thread_stop(move || {
        drop(tokio::spawn(async {}));
        stop.send("stop").unwrap();
    });
    drop(builder.build().unwrap());
    drop((context, builder));
    let mut calls: Vec<_> = receiver.iter().collect();
    calls.sort_unstable();
    // Those of the worker. The thread that watches it calls no hook: it runs no task.
    assert_eq!(calls, ["after", "before", "stop"]);
}

/// A connection that is given back to its pool by a task of tokio's, as those of sqlx are.
struct Connection {
    place: &'static str,
    pool: Sender<&'static str>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        let (place, pool) = (self.place, self.pool.clone());
        drop(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            pool.send(place)
        }));
    }
}

/// Drops connections at all places where a program does.
async fn drop_connections(pool: Sender<&'static str>) {
    let connect = |place| Connection { place, pool: pool.clone() };
    let in_a_task = connect("a task");
    soon(arc::spawn(async { drop(in_a_task) })).await.unwrap();
    let in_a_job = connect("a job");
    soon(spawn_blocking(|| drop(in_a_job))).await.unwrap();
    drop(connect("the body"));

    let canceled = connect("an abort");
    let at_the_end = connect("the end of the runtime");
    let (polled, other_polled) = (connect("a poll"), connect("another poll"));
    let (sender, receiver) = async_channel::bounded(2);
    let other_sender = sender.clone();
    let canceled = arc::spawn(async move {
        let _canceled = canceled;
        drop(polled);
        sender.send(()).await.unwrap();
        pending::<()>().await;
    });
    drop(arc::spawn(async move {
        let _at_the_end = at_the_end;
        drop(other_polled);
        other_sender.send(()).await.unwrap();
        pending::<()>().await;
    }));
    // Both tasks have begun.
    soon(receiver.recv()).await.unwrap();
    soon(receiver.recv()).await.unwrap();
    canceled.abort();
    assert!(soon(canceled).await.unwrap_err().is_cancelled());
}

#[arc::main(workers = 2, with = everywhere)]
async fn on_several_threads(pool: Sender<&'static str>) {
    drop_connections(pool).await;
}

#[arc::main(flavor = "current_thread", with = everywhere)]
async fn on_one_thread(pool: Sender<&'static str>) {
    drop_connections(pool).await;
}

fn expect_all_places(places: &Receiver<&'static str>) {
    let mut expected = BTreeSet::from([
        "a task",
        "a job",
        "the body",
        "a poll",
        "another poll",
        "an abort",
        "the end of the runtime",
    ]);
    while !expected.is_empty() {
        let place = places.recv_timeout(DEADLINE);
        let place = place.unwrap_or_else(|_| panic!("nothing came from {expected:?}"));
        assert!(expected.remove(place), "{place} twice");
    }
}

#[test]
fn what_is_dropped_anywhere_can_spawn_on_tokio() {
    let (pool, places) = channel();
    on_several_threads(pool.clone());
    expect_all_places(&places);
    on_one_thread(pool);
    expect_all_places(&places);
    assert!(Handle::try_current().is_err(), "the calling thread has left the context");
}
