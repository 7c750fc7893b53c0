//! tokio's context on every thread: crates that call tokio work wherever they are called.

use crate::common::connections::{PLACES, drop_connections, expect_all};
use crate::common::soon;
use arc::runtime::Builder;
use arc::task::spawn_blocking;
use arc_compat::tokio::{BuilderExt, everywhere};
use std::future::Future;
use std::sync::mpsc::{Sender, channel};
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

#[arc::main(workers = 2, with = everywhere)]
async fn on_several_threads(pool: Sender<&'static str>) {
    drop_connections(pool).await;
}

#[arc::main(flavor = "current_thread", with = everywhere)]
async fn on_one_thread(pool: Sender<&'static str>) {
    drop_connections(pool).await;
}

#[test]
fn what_is_dropped_anywhere_can_spawn_on_tokio() {
    let (pool, places) = channel();
    on_several_threads(pool.clone());
    expect_all(&places, &PLACES);
    on_one_thread(pool);
    expect_all(&places, &PLACES);
    assert!(Handle::try_current().is_err(), "the calling thread has left the context");
}
