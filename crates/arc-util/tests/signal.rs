//! Signals. Each test uses another signal, as a signal goes to the whole process.

#![cfg(unix)]

mod common;
#[path = "../../../tests/this_program/mod.rs"]
mod this_program;

use arc_util::signal::ctrl_c;
use arc_util::signal::unix::{Signal, SignalKind, signal};
use common::{Woken, poll_once, soon};
use signal_hook::low_level::raise;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn send(kind: SignalKind) {
    raise(kind.as_raw_value()).unwrap();
}

fn poll(signal: &mut Signal) -> Poll<Option<()>> {
    signal.poll_recv(&mut Context::from_waker(Waker::noop()))
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn ctrl_c_is_heard() {
    let (woken, waker) = Woken::new();
    let mut waiting = pin!(ctrl_c());
    assert!(poll_once(waiting.as_mut(), &waker).is_pending());
    send(SignalKind::interrupt());
    common::until(|| woken.count() > 0).await;
    soon(waiting).await.unwrap();
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_signal_is_heard_again_and_again_by_all_who_listen() {
    let kind = SignalKind::user_defined1();
    let (mut one, mut two) = (signal(kind).unwrap(), signal(kind).unwrap());
    for _ in 0..20 {
        send(kind);
        assert_eq!(soon(one.recv()).await, Some(()));
        assert_eq!(soon(two.recv()).await, Some(()));
    }
    assert!(poll(&mut one).is_pending(), "each counts once");
    // A dropped listener does not disturb the others.
    drop(two);
    send(kind);
    assert_eq!(soon(one.recv()).await, Some(()));
    drop(one);
    send(kind);
    let mut late = signal(kind).unwrap();
    assert!(poll(&mut late).is_pending());
}

#[arc::test(flavor = "multi_thread")]
async fn signals_that_nobody_has_received_count_as_one() {
    let kind = SignalKind::user_defined2();
    let mut signals = signal(kind).unwrap();
    // More signals than the pipe has room for.
    for _ in 0..5000 {
        send(kind);
    }
    assert_eq!(soon(signals.recv()).await, Some(()));
    assert!(poll(&mut signals).is_pending());
    send(kind);
    let received = std::future::poll_fn(|context| signals.poll_recv(context));
    assert_eq!(soon(received).await, Some(()));
}

#[arc::test(flavor = "multi_thread")]
async fn a_wait_that_is_dropped_loses_no_signal() {
    let mut hangups = signal(SignalKind::hangup()).unwrap();
    let (woken, waker) = Woken::new();
    let mut receiving = Box::pin(hangups.recv());
    assert!(poll_once(receiving.as_mut(), &waker).is_pending());
    send(SignalKind::hangup());
    common::until(|| woken.count() > 0).await;
    drop(receiving);
    assert_eq!(soon(hangups.recv()).await, Some(()));
}

#[test]
fn when_the_runtime_has_ended_nothing_is_heard() {
    let runtime = arc::runtime::Runtime::new().unwrap();
    let mut signals = runtime.block_on(async { signal(SignalKind::quit()).unwrap() });
    drop(runtime);
    assert_eq!(poll(&mut signals), Poll::Ready(None));
}
