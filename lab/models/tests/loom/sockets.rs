//! Sockets: readiness against events, and the wakers of those who wait.

use crate::driver::reactor::{Direction, POLLS_MAX};
use crate::world::{Gate, Socket, shared, wait};
use crate::{model, race, race_within};
use loom::sync::atomic::{AtomicUsize, Ordering};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

fn would_block<T>() -> Result<T> {
    Err(ErrorKind::WouldBlock.into())
}

/// Two events come while a task reads. With the first there is nothing yet, with the second there
/// is: the task gets it at once, or is woken for it.
#[test]
fn event_is_never_wiped_out_by_a_task_that_found_nothing() {
    race_within(
        3,
        || (Socket::new(&shared(1)), AtomicUsize::new(0)),
        |(socket, bytes)| {
            let read = |_: &UnixStream| match bytes.load(Ordering::Relaxed) {
                0 => would_block(),
                bytes => Ok(bytes),
            };
            assert_eq!(wait(socket.io.read_with(read)).unwrap(), 1);
        },
        |(socket, bytes)| {
            socket.event_and_look(false);
            bytes.store(1, Ordering::Relaxed);
            socket.event_and_look(false);
        },
        |_, (), ()| (),
    );
}

/// A read that got less than it could have clears the word as it was before the read. What came
/// since stands: more bytes, or the end of the stream, which a read of bytes does not tell, and
/// which may have come before.
#[test]
fn what_comes_after_a_short_read_is_not_wiped_out() {
    for ends in [false, true] {
        race_within(
            3,
            || (Socket::register(&shared(1), true), AtomicUsize::new(0)),
            |(socket, bytes)| {
                let context = Context::from_waker(Waker::noop());
                let read = |_: &UnixStream| Ok(bytes.load(Ordering::Relaxed));
                match socket.io.poll_transfer(Direction::Read, &context, 10, read) {
                    std::task::Poll::Ready(read) => read.unwrap(),
                    std::task::Poll::Pending => unreachable!("a new socket is taken for ready"),
                }
            },
            move |(socket, bytes)| {
                bytes.store(1, Ordering::Relaxed);
                socket.event_and_look(false);
                bytes.store(2, Ordering::Relaxed);
                socket.event_and_look(ends);
            },
            move |(socket, _), read, ()| {
                let is_ready = socket.io.try_with(Direction::Read, |_| Ok(())).is_ok();
                assert!(is_ready || (read == 2 && !ends));
            },
        );
    }
}

type Reading = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// A future that waits for a socket which is never readable.
fn reading(socket: &Socket) -> Reading {
    let io = socket.io.clone();
    Box::pin(async move { io.read_with(|_| would_block()).await })
}

fn poll_once(future: &mut Reading, waker: &Waker) {
    assert!(future.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
}

/// A future that waits is dropped while an event comes, and another future waits after it. The
/// first one takes its own waker out, if that is still there, and not that of the other.
#[test]
fn future_that_is_dropped_takes_its_own_waker_out() {
    race(
        || {
            let socket = Socket::new(&shared(1));
            let mut first = reading(&socket);
            poll_once(&mut first, Waker::noop());
            (socket, Mutex::new(Some(first)), Mutex::new(None), Gate::default())
        },
        |(_, first, _, _)| drop(first.lock().unwrap().take()),
        |(socket, _, second, woken)| {
            socket.event_and_look(false);
            let mut reads = reading(socket);
            poll_once(&mut reads, &woken.waker());
            *second.lock().unwrap() = Some(reads);
        },
        |(socket, _, second, woken), (), ()| {
            assert_eq!(socket.waiting(), 1);
            poll_once(&mut reading(socket), Waker::noop());
            assert_eq!(socket.waiting(), 1);
            socket.event_and_look(false);
            assert_eq!((woken.count(), socket.waiting()), (1, 0));
            drop(second.lock().unwrap().take());
        },
    );
}

/// A future waits for a socket while the runtime ends: it fails, at once or when it is woken.
#[test]
fn future_that_waits_for_a_socket_fails_at_the_end() {
    race(
        || {
            let shared = shared(1);
            (Socket::new(&shared), shared)
        },
        |(socket, _)| drop(wait(reading(socket)).unwrap_err()),
        |(_, shared)| {
            let mut wakers = Vec::new();
            shared.driver.close(&mut wakers);
            wakers.into_iter().for_each(Waker::wake);
        },
        |_, (), ()| (),
    );
}

/// A future that is polled with another waker than before keeps the last one.
#[test]
fn future_that_moves_to_another_task_wakes_that_one() {
    model(|| {
        let socket = Socket::new(&shared(1));
        let (former, last) = (Gate::default(), Gate::default());
        let mut future = reading(&socket);
        poll_once(&mut future, &former.waker());
        poll_once(&mut future, &last.waker());
        assert_eq!(socket.waiting(), 1);
        socket.event_and_look(false);
        assert_eq!((former.count(), last.count()), (0, 1));
    });
}

/// There is no room for the wakers of all that wait by a `poll_` function. Those that have to go
/// are woken, and come back if they still wait.
#[test]
fn waiter_that_is_pushed_out_is_woken() {
    model(|| {
        let socket = Socket::new(&shared(1));
        let waiters: Vec<_> = (0..=POLLS_MAX).map(|_| Arc::new(Flag::default())).collect();
        for waiter in &waiters {
            socket.leave_waker(waiter.clone().into());
        }
        socket.event_and_look(false);
        assert!(waiters.iter().all(|waiter| waiter.0.load(std::sync::atomic::Ordering::Relaxed)));
    });
}

/// A waiter that loom need not know of.
#[derive(Default)]
struct Flag(std::sync::atomic::AtomicBool);

impl std::task::Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
