//! A runtime of arc-util's is in tokio's context by itself, with the feature `tokio-rt`: no line of
//! the program says so.

use crate::common::connections::{Connection, PLACES, drop_connections, expect_all};
use crate::common::{DEADLINE, soon};
use arc_util::runtime::{Builder, Handle, LocalRuntime, Runtime};
use arc_util::task::spawn_local;
use std::future::pending;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::time::Duration;

const MOMENT: Duration = Duration::from_millis(1);

/// What a crate does that knows tokio alone.
async fn work() -> u32 {
    tokio::time::sleep(MOMENT).await;
    tokio::spawn(async { 6 * 7 }).await.expect("no panic")
}

async fn works_in_all_places() {
    assert_eq!(work().await, 42);
    assert_eq!(soon(arc::spawn(work())).await.unwrap(), 42);
    let job = arc::task::spawn_blocking(|| tokio::runtime::Handle::current().block_on(work()));
    assert_eq!(soon(job).await.unwrap(), 42);
}

#[arc::test(crate = "arc_util")]
async fn tokio_works_on_one_thread() {
    works_in_all_places().await;
}

#[arc::test(crate = "arc_util", flavor = "multi_thread", workers = 2)]
async fn tokio_works_on_several_threads() {
    works_in_all_places().await;
}

/// A client of HTTP that has tokio's sockets, its timers, and a pool in a task of tokio's.
#[arc::test(crate = "arc_util", flavor = "multi_thread", workers = 2)]
async fn reqwest_works_in_a_task_and_in_a_job() {
    let router = axum::Router::new();
    let router = router.route("/", axum::routing::get(|| async { "Hello, World!" }));
    let address = crate::common::start(router, |server| server).await.unwrap();
    let ask = move || async move {
        let client = reqwest::Client::builder().timeout(DEADLINE).build()?;
        client.get(format!("http://{address}/")).send().await?.text().await
    };
    assert_eq!(soon(ask()).await.unwrap(), "Hello, World!");
    assert_eq!(soon(arc::spawn(ask())).await.unwrap().unwrap(), "Hello, World!");
    let job = arc::task::spawn_blocking(move || Handle::current().block_on(ask()));
    assert_eq!(soon(job).await.unwrap().unwrap(), "Hello, World!");
}

/// A thread of the program's own is in the context while it is in the runtime, and no longer.
#[test]
fn a_thread_is_in_the_context_as_long_as_it_is_in_the_runtime() {
    let is_in_tokio = || tokio::runtime::Handle::try_current().is_ok();
    let runtime = Builder::new_multi_thread().workers(1).build().unwrap();
    assert!(!is_in_tokio());
    {
        let _entered = runtime.enter();
        assert!(is_in_tokio());
    }
    assert!(!is_in_tokio());
    assert!(runtime.block_on(async move { is_in_tokio() }));
    assert!(runtime.handle().block_on(async move { is_in_tokio() }));
    assert!(!is_in_tokio());
    drop(runtime);
    assert!(!is_in_tokio());
}

/// What a program's own hook calls may use tokio as well.
#[test]
fn hooks_are_called_in_the_context() {
    let (sender, receiver) = channel();
    let stop = sender.clone();
    let mut builder = Builder::new_multi_thread();
    builder.workers(1).on_thread_start(move || {
        drop(tokio::spawn(async {}));
        sender.send("start").unwrap();
    });
    builder.on_thread_stop(move || {
        drop(tokio::spawn(async {}));
        stop.send("stop").unwrap();
    });
    drop(builder.build().unwrap());
    drop(builder);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), ["start", "stop"]);
}

/// Each way to end a runtime drops what is left in the context, also on the thread that ends it.
#[test]
fn what_any_end_drops_can_spawn_on_tokio() {
    let (pool, places) = channel();
    let ends: [fn(Runtime); 4] = [
        drop,
        |runtime| drop(runtime.shutdown(DEADLINE)),
        |runtime| runtime.shutdown_timeout(DEADLINE),
        Runtime::shutdown_background,
    ];
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        for end in ends {
            let runtime = builder.build().unwrap();
            runtime.block_on(drop_connections(pool.clone()));
            end(runtime);
            expect_all(&places, &PLACES);
        }
    }
    assert!(tokio::runtime::Handle::try_current().is_err(), "this thread has left the context");
}

/// A runtime for tasks that are not `Send`: they are dropped where the runtime is.
#[test]
fn local_tasks_are_in_the_context_until_their_drop() {
    let (pool, places) = channel();
    let runtime = LocalRuntime::new().unwrap();
    runtime.block_on(async {
        let shared = Rc::new(());
        let connection = Connection { place: "a local task", pool };
        let (sender, receiver) = async_channel::bounded(1);
        drop(spawn_local(async move {
            let _held = (shared, connection);
            assert_eq!(work().await, 42);
            sender.send(()).await.unwrap();
            pending::<()>().await;
        }));
        soon(receiver.recv()).await.unwrap();
    });
    drop(runtime);
    expect_all(&places, &["a local task"]);
}

/// What is given to `tokio::spawn` may call arc: tokio's thread is in a runtime of arc's in return,
/// and what that runs may call tokio.
#[arc::test(crate = "arc_util", flavor = "multi_thread", workers = 2)]
async fn arc_works_in_a_task_of_tokio() {
    let own = Handle::current().id();
    let in_tokio = tokio::spawn(async move {
        arc::time::sleep(MOMENT).await;
        let (listener, address) = crate::common::listen().await.unwrap();
        let accepted = arc::spawn(async move { listener.accept().await.is_ok() });
        drop(arc_util::net::TcpStream::connect(address).await.unwrap());
        assert!(soon(accepted).await.unwrap());
        works_in_all_places().await;
        assert_ne!(Handle::current().id(), own, "tokio's thread belongs to no runtime that ends");
    });
    soon(in_tokio).await.unwrap();

    let job = tokio::task::spawn_blocking(|| arc::runtime::Handle::current().id());
    let task = tokio::spawn(async { arc::runtime::Handle::current().id() });
    assert_eq!(soon(job).await.unwrap(), soon(task).await.unwrap(), "one for all");
}

/// The tasks of a scope run on threads of its own.
#[test]
fn tasks_that_borrow_are_in_the_context() {
    let runtime = Builder::new_multi_thread().workers(2).build().unwrap();
    let _entered = runtime.enter();
    let mut answers = [0; 4];
    arc_util::task::scope(|scope| {
        for answer in &mut answers {
            scope.spawn(async move { *answer = work().await });
        }
    });
    assert_eq!(answers, [42; 4]);
}
