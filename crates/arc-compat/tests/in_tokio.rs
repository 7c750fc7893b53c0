//! Crates that insist on a runtime of tokio's, awaited by arc's tasks.

use crate::common::{Result, listen, soon};
use arc_compat::axum::serve;
use arc_compat::tokio::{enter, handle};
use axum::{Json, Router, routing::get, routing::post};
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What the task panics with.
async fn panic_of<F>(future: F) -> String
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let result = soon(arc::spawn(future)).await;
    let panic = result.err().expect("it cannot work").into_panic();
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a text")).to_owned(),
    }
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn without_enter_tokio_panics_and_says_why() {
    const REASON: &str = "there is no reactor running";
    let sleeping = async { tokio::time::sleep(Duration::ZERO).await };
    assert!(panic_of(sleeping).await.contains(REASON));
    let spawning = async { tokio::spawn(async {}).await };
    assert!(panic_of(spawning).await.contains(REASON));
    let connecting = tokio::net::TcpStream::connect("127.0.0.1:1");
    assert!(panic_of(connecting).await.contains(REASON));

    // An argument of `enter` is evaluated outside.
    let outside = async { enter(tokio::time::sleep(Duration::ZERO)).await };
    assert!(panic_of(outside).await.contains(REASON));
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn within_enter_tokio_sleeps_and_spawns() -> Result {
    let task = arc::spawn(enter(async {
        let here = std::thread::current().id();
        let spawned = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            (std::thread::current().name() == Some("arc-compat-tokio"), here)
        });
        let (by_tokio, other) = spawned.await?;
        assert_eq!(other, here);
        tokio::time::sleep(Duration::from_millis(1)).await;
        // The future itself stays on arc, whose tasks it can spawn.
        let by_arc = arc::spawn(async { std::thread::current().name().map(str::to_owned) });
        let by_arc = by_arc.await?;
        assert_ne!(by_arc.as_deref(), Some("arc-compat-tokio"));
        Result::Ok(by_tokio)
    }));
    assert!(soon(task).await??);
    let direct = handle().spawn(async { tokio::task::spawn_blocking(|| 42).await });
    assert_eq!(soon(direct).await??, 42);
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn the_context_is_left_between_polls() -> Result {
    let mut inside = pin!(enter(poll_fn(|_| {
        assert!(tokio::runtime::Handle::try_current().is_ok());
        Poll::<()>::Pending
    })));
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..3 {
        assert!(inside.as_mut().poll(&mut context).is_pending());
        assert!(tokio::runtime::Handle::try_current().is_err());
    }
    Ok(())
}

/// Notes whether it was dropped in tokio's context.
struct Note(Arc<AtomicBool>);

impl Drop for Note {
    fn drop(&mut self) {
        self.0.store(tokio::runtime::Handle::try_current().is_ok(), Ordering::SeqCst);
    }
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_future_is_dropped_in_the_context_as_well() {
    let was_inside = Arc::new(AtomicBool::new(false));
    let note = Note(was_inside.clone());
    let mut future = Box::pin(enter(async move {
        let _note = note;
        pending::<()>().await;
    }));
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut future).poll(&mut context).is_pending());
    drop(future);
    assert!(was_inside.load(Ordering::SeqCst));
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn reqwest_asks_a_server_on_arc() -> Result {
    let (listener, address) = listen().await?;
    let echo = |Json(numbers): Json<Vec<u32>>| async move { numbers.len().to_string() };
    let router = Router::new().route("/", get(|| async { "hello" })).route("/length", post(echo));
    drop(arc::spawn(async move { serve(listener, router).await }));
    let requests = (0..4).map(|_| {
        arc::spawn(enter(async move {
            // Whatever proxy the environment names is for others.
            let client = reqwest::Client::builder().no_proxy().build()?;
            let hello = client.get(format!("http://{address}/")).send().await?;
            assert_eq!(hello.status(), 200);
            assert_eq!(hello.text().await?, "hello");
            let post = client.post(format!("http://{address}/length")).body("[1, 2, 3]");
            let length = post.header("content-type", "application/json").send().await?;
            assert_eq!(length.text().await?, "3");
            let timeout = Duration::from_secs(60);
            let missing = client.get(format!("http://{address}/no")).timeout(timeout).send();
            assert_eq!(missing.await?.status(), 404);
            Result::Ok(())
        }))
    });
    for request in requests.collect::<Vec<_>>() {
        soon(request).await??;
    }
    Ok(())
}
