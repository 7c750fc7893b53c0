//! What a type may be used for without its saying so: each of arc's public types is `Send`, `Sync`,
//! `Unpin` and unwind safe where tokio's type of that name is. To compile this is the test.

use crate::common::auto_traits::{NotSend, everything, send_and_sync};
use crate::common::{Elapsed, Timeout};
use arc::io::{Async, Direction};
use arc::net::{SocketAddr, TcpListener, TcpStream};
use arc::runtime::{self, Builder, EnterGuard, Handle, Runtime, RuntimeFlavor};
use arc::task::{AbortHandle, Id, JoinError, JoinHandle};
use arc::time::Sleep;
use std::cell::Cell;
use std::panic::catch_unwind;

/// Unwind safe whatever its output is.
type Output = Cell<Box<dyn FnMut() + Send>>;

const _: fn() = || {
    everything::<Runtime>();
    everything::<Handle>();
    everything::<runtime::Id>();
    everything::<RuntimeFlavor>();
    send_and_sync::<Builder>();
    <EnterGuard<'static> as NotSend<_>>::check();

    everything::<JoinHandle<()>>();
    everything::<JoinHandle<Output>>();
    everything::<AbortHandle>();
    everything::<JoinError>();
    everything::<Id>();

    everything::<TcpListener>();
    everything::<TcpStream>();
    everything::<Async<std::net::UdpSocket>>();
    everything::<Direction>();

    everything::<Sleep>();
    everything::<Timeout<Sleep>>();
    everything::<Elapsed>();
};

/// The futures of arc's functions may be moved to other threads, and shared by reference.
#[test]
fn futures_are_send_and_sync() {
    fn check<T: Send + Sync>(_: T) {}
    let address = || SocketAddr::from(([127, 0, 0, 1], 0));
    check(TcpListener::bind(address()));
    check(TcpStream::connect(address()));
    check(arc::task::yield_now());
    check(arc::task::consume_budget());

    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind(address()).await.unwrap();
        check(listener.accept());
        check(listener.readable());
        check(listener.writable());
    });
}

#[test]
fn panic_passes_a_runtime_by_catch_unwind() {
    let runtime = Runtime::new().unwrap();
    let caught = catch_unwind(|| runtime.block_on(async { panic!("on purpose") }));
    assert!(caught.is_err());

    // What it has left is whole.
    let handle = runtime.handle().clone();
    let answer = catch_unwind(move || handle.block_on(async { arc::spawn(async { 7 }).await }));
    assert_eq!(answer.unwrap().unwrap(), 7);
}
