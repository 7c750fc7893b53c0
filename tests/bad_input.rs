//! Senseless input to every constructor and option of arc: each is refused by an error or a
//! panic that says what is wrong, or does what its documentation says. None hangs.

#[cfg(unix)]
use crate::bad_input_common::{fails, refuses};
use crate::bad_input_common::{goes, panicked, panics};
use crate::common::{self, poll_with, runtime, wait_until};
use crate::common::{timeout, timeout_at};
#[cfg(unix)]
use crate::net_common::resets_when_dropped;
use crate::net_common::{HOUR, foreign_block_on, millis, run, within_limit};
use arc::io::{Async, AsyncReadExt, AsyncWriteExt};
#[cfg(unix)]
use arc::net::SocketAddr;
use arc::net::{TcpListener, TcpStream};
use arc::runtime::Builder;
use arc::time::{Duration, Instant, sleep, sleep_until};
use socket2::{Domain, Socket, Type};
use std::future::{pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A thousand years, of which the clock knows nothing.
const AGES: Duration = Duration::from_secs(1000 * 365 * 86_400);

#[test]
fn options_of_the_builder_say_their_range() {
    for (workers, input) in [(0, "0"), (65, "65"), (usize::MAX, "usize::MAX")] {
        let text = "workers must be in 1..=64";
        panics("Builder::workers", input, text, || crate::common::builder(workers));
    }
    let builder = || crate::common::builder(1);
    let text = "thread_stack_size must be in 1..";
    panics("Builder::thread_stack_size", "0", text, || builder().thread_stack_size(0).clone());
    let text = "event_interval must be in 1..";
    panics("Builder::event_interval", "0", text, || builder().event_interval(0).clone());
    let built = builder().event_interval(u32::MAX).build();
    assert_eq!(built.expect("it is built").block_on(async { 1 }), 1);
    goes("Builder::event_interval", "u32::MAX", "works");
}

#[test]
fn a_build_that_panics_leaves_no_runtime_behind() {
    for mut builder in [common::builder(2), Builder::new_current_thread()] {
        let held = Arc::new(());
        let holds = held.clone();
        builder.on_thread_start(move || drop(holds.clone())).thread_name_fn(common::named("a\0b"));
        panics("Builder::build", "a name with a null byte", "null byte", || builder.build());
        drop(builder);
        wait_until("the runtime is gone", || Arc::strong_count(&held) == 1);
    }
}

#[test]
fn what_would_block_a_worker_panics_and_says_what_to_do() {
    #[arc::main(workers = 1)]
    async fn program() {}
    let text = "block_on was called inside a task";
    run(1, move || async move {
        let error = arc::spawn(async { program() }).await.unwrap_err();
        panicked("#[arc::main]", "called in a task", text, &*error.into_panic());
        let nested = || runtime(1).block_on(ready(()));
        let error = arc::spawn(async move { nested() }).await.unwrap_err();
        panicked("Runtime::block_on", "called in a task", text, &*error.into_panic());
        let error = arc::spawn(async { runtime(1).shutdown(HOUR) }).await.unwrap_err();
        let text = "a Runtime was dropped inside a task or block_on";
        panicked("Runtime::shutdown", "called in a task", text, &*error.into_panic());
        // The worker has survived all of it.
        assert_eq!(arc::spawn(async { 1 }).await.unwrap(), 1);
    });
}

#[test]
fn guards_that_are_dropped_out_of_order_leave_a_runtime_and_no_more() {
    within_limit(|| {
        let (one, two) = (runtime(1), runtime(2));
        let (first, second) = (one.enter(), two.enter());
        drop(first);
        assert!(arc::runtime::Handle::try_current().is_none());
        drop(second);
        // What was current when the guard that was dropped last was made.
        assert_eq!(arc::runtime::Handle::current().workers(), 1);
        assert_eq!(two.block_on(async { arc::spawn(async { 2 }).await.unwrap() }), 2);
        let guard = two.enter();
        assert_eq!(arc::runtime::Handle::current().workers(), 2);
        drop(guard);
        assert_eq!(one.block_on(async { 1 }), 1);
        let outcome = "the runtime of the guard made first stays current; nothing else changes";
        goes("Handle::enter", "guards dropped in the order they were made", outcome);
    });
}

#[test]
fn a_handle_that_is_awaited_again_panics() {
    let input = "awaited again after its output";
    panics("JoinHandle", input, "JoinHandle polled after completion", || {
        runtime(1).block_on(async {
            let mut task = arc::spawn(async { 5 });
            assert_eq!((&mut task).await.unwrap(), 5);
            let _ = (&mut task).await;
        });
    });
}

#[test]
fn deadlines_beyond_the_clock_never_come() {
    run(1, || async {
        let now = Instant::now();
        let mut latest = now;
        for step in (0..64).rev().map(|power| Duration::from_secs(1 << power)) {
            latest = latest.checked_add(step).unwrap_or(latest);
        }
        let ages = now.checked_add(AGES).unwrap_or(latest);
        for (deadline, input) in [(ages, "in 1000 years"), (latest, "the last instant")] {
            let mut sleeps = pin!(sleep_until(deadline));
            assert!(poll_with(sleeps.as_mut(), Waker::noop()).is_pending());
            sleeps.as_mut().reset(Instant::now());
            sleeps.await;
            let mut limited = pin!(timeout_at(deadline, pending::<()>()));
            assert!(poll_with(limited.as_mut(), Waker::noop()).is_pending());
            // A timer that is due is not kept back by those.
            sleep(millis(1)).await;
            assert!(poll_with(limited.as_mut(), Waker::noop()).is_pending());
            goes("time::sleep_until, timeout_at", input, "waits");
        }
        let nanos_max = Duration::from_secs(u64::MAX / 1_000_000_000);
        let signed_max = Duration::from_secs(i64::MAX as u64);
        for (duration, input) in [
            (Duration::MAX, "MAX"),
            (signed_max, "i64::MAX s"),
            (nanos_max, "u64::MAX ns"),
            (AGES, "1000 years"),
        ] {
            assert!(poll_with(pin!(sleep(duration)), Waker::noop()).is_pending());
            assert!(
                poll_with(pin!(timeout(duration, pending::<()>())), Waker::noop()).is_pending()
            );
            assert_eq!(timeout(duration, ready(7)).await, Ok(7));
            goes("time::sleep, timeout", input, "waits");
        }
        sleep(Duration::ZERO).await;
        goes("time::sleep", "ZERO", "is over at once");
    });
}

#[test]
fn a_sleep_can_be_reset_to_anything() {
    run(1, || async {
        let mut sleeps = pin!(sleep(millis(1)));
        sleeps.as_mut().await;
        let past = Instant::now().checked_sub(HOUR).unwrap_or_else(Instant::now);
        sleeps.as_mut().reset(past);
        sleeps.as_mut().await;
        goes("Sleep::reset", "an hour ago, after it was over", "is over at once");
        sleeps.as_mut().reset(Instant::now() + AGES / 5);
        assert!(poll_with(sleeps.as_mut(), Waker::noop()).is_pending());
        goes("Sleep::reset", "in 200 years", "waits");
        sleeps.as_mut().reset(Instant::now());
        sleeps.await;
        // In a task that awaits it once more.
        let mut over = pin!(sleep(Duration::ZERO));
        over.as_mut().await;
        over.await;
        goes("Sleep", "awaited again after it was over", "is over at once");
    });
}

/// Its timer is gone with the runtime; whoever polls it elsewhere arms another.
#[test]
fn a_sleep_of_a_runtime_that_has_ended_goes_on_where_it_is_polled() {
    within_limit(|| {
        let first = runtime(1);
        let mut sleeps = Box::pin(sleep(millis(50)));
        first.block_on(async { assert!(poll_with(sleeps.as_mut(), Waker::noop()).is_pending()) });
        drop(first);
        runtime(1).block_on(sleeps);
        goes("Sleep", "of a runtime that has ended, polled in another", "goes on there");
    });
}

#[test]
fn empty_buffers_move_nothing() {
    run(1, || async {
        let listener = TcpListener::bind(([127, 0, 0, 1], 0)).await.unwrap();
        let mut client =
            TcpStream::connect(listener.get_ref().local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        assert_eq!(client.write(&[]).await.unwrap(), 0);
        goes("TcpStream, write", "an empty buffer", "0");
        let nothing = poll_with(pin!(server.read(&mut [])), Waker::noop());
        assert!(!matches!(nothing, Poll::Ready(Err(_) | Ok(1..))), "{nothing:?}");
        client.write_all(b"x").await.unwrap();
        // Also when it had to wait, it ends as soon as there is something, and takes none.
        assert_eq!(server.read(&mut []).await.unwrap(), 0);
        let mut byte = [0];
        server.read_exact(&mut byte).await.unwrap();
        assert_eq!(&byte, b"x");
        goes("TcpStream, read", "an empty buffer", "0, maybe only when there is something");
    });
}

#[test]
fn sockets_need_a_runtime_and_say_so() {
    let text = "outside an arc runtime";
    let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let item = "TcpStream::from_std";
    panics(item, "outside a runtime", text, || TcpStream::from_std(socket().into()));
    let new = || TcpListener::new_nonblocking(socket().into());
    panics("Async::new_nonblocking", "outside a runtime", text, new);
    panics("Async::new", "outside a runtime", text, || {
        Async::new(std::net::UdpSocket::bind("127.0.0.1:0").unwrap())
    });
    within_limit(move || {
        let runtime = runtime(1);
        let bind = TcpListener::bind(([127, 0, 0, 1], 0));
        let listener = runtime.block_on(bind).unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let mut client = runtime.block_on(TcpStream::connect(address)).unwrap();
        let accept = || foreign_block_on(listener.accept());
        panics("TcpListener::accept", "outside a runtime", text, accept);
        // The connection was dropped, and the listener goes on.
        let read = runtime.block_on(client.read(&mut [0]));
        assert!(!matches!(read, Ok(1..)), "{read:?}");
        runtime.block_on(async {
            let _client = TcpStream::connect(address).await.unwrap();
            listener.accept().await.unwrap();
        });
    });
}

#[test]
fn spawning_needs_a_runtime_and_says_so() {
    let text = "outside an arc runtime";
    let spawn = || arc::spawn(ready(()));
    panics("arc::spawn", "outside a runtime", "arc::spawn was called outside", spawn);
    panics("arc::spawn", "outside a runtime", "block_on", spawn);
    let blocking = || arc::task::spawn_blocking(|| ());
    let called = "spawn_blocking was called outside";
    panics("task::spawn_blocking", "outside a runtime", called, blocking);
    let named = || arc::task::spawn_named("a", ready(()));
    panics("task::spawn_named", "outside a runtime", text, named);
    let current = || arc::runtime::Handle::current();
    panics("Handle::current", "outside a runtime", text, current);
    let wait = || foreign_block_on(sleep(HOUR));
    panics("time::sleep", "outside a runtime", text, wait);
}

/// Windows has other errors, and takes an empty name for its own.
#[cfg(unix)]
mod unix {
    use super::*;
    use std::io::ErrorKind::AddrNotAvailable;

    #[test]
    fn addresses_that_nobody_can_have_are_errors() {
        run(1, || async {
            for address in ["127.0.0.1:0", "255.255.255.255:80"] {
                let to: SocketAddr = address.parse().unwrap();
                fails("TcpStream::connect", address, TcpStream::connect(to).await);
            }
            for address in ["203.0.113.1:0", "[2001:db8::1]:0"] {
                let bound = TcpListener::bind(address.parse::<SocketAddr>().unwrap()).await;
                assert!(bound.as_ref().is_err_and(|error| error.raw_os_error().is_some()));
                // Without IPv6 it is another error.
                match address.starts_with('2') {
                    true => refuses("TcpListener::bind", address, bound, AddrNotAvailable, ""),
                    false => fails("TcpListener::bind", address, bound),
                }
            }
        });
    }

    /// `from_std` takes whatever std's type wraps: what only a connection can do fails.
    #[test]
    fn a_stream_that_is_not_connected_fails_and_does_not_hang() {
        run(1, || async {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            let mut stream = TcpStream::from_std(socket.into()).unwrap();
            let item = "TcpStream::from_std, not connected";
            let limit = Duration::from_secs(20);
            let read = crate::common::timeout(limit, stream.read(&mut [0])).await.expect("it ends");
            fails(item, "read", read);
            let written = crate::common::timeout(limit, stream.write(&[0])).await.expect("it ends");
            fails(item, "write", written);
            fails(item, "peer_addr", stream.get_ref().peer_addr());
            stream.get_ref().set_nodelay(true).unwrap();
            goes(item, "set_nodelay", "works");
        });
    }

    #[test]
    fn a_listener_that_does_not_listen_fails_and_does_not_hang() {
        run(1, || async {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            let listener = TcpListener::new(socket.into()).unwrap();
            let accepted = crate::common::timeout(Duration::from_secs(20), listener.accept()).await;
            let accepted = accepted.expect("it ends");
            fails("Async::new, a listener that does not listen", "accept", accepted);
        });
    }

    #[test]
    fn options_of_a_connection_that_was_reset_do_no_harm() {
        run(1, || async {
            let listener = TcpListener::bind(([127, 0, 0, 1], 0)).await.unwrap();
            let mut client =
                TcpStream::connect(listener.get_ref().local_addr().unwrap()).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            resets_when_dropped(&server);
            drop(server);
            assert!(client.read(&mut [0]).await.is_err(), "it was reset");
            // Systems differ; none panics.
            let set = client.get_ref().set_nodelay(true);
            assert!(client.get_ref().peer_addr().is_err());
            goes("TcpStream::set_nodelay", "the peer has reset it", format!("{set:?}"));
            fails("TcpStream::peer_addr", "the peer has reset it", client.get_ref().peer_addr());
        });
    }

    /// A file is always ready: epoll does not watch it. (poll says that it is ready.)
    #[cfg(all(target_os = "linux", not(arc_portable)))]
    #[test]
    fn a_descriptor_that_was_refused_is_as_it_was() {
        run(1, || async {
            for is_nonblocking in [false, true] {
                let file = std::fs::File::open("/proc/self/exe").unwrap();
                let same = file.try_clone().unwrap();
                let same = socket2::SockRef::from(&same);
                same.set_nonblocking(is_nonblocking).unwrap();
                fails("Async::new", "a regular file", Async::new(file.try_clone().unwrap()));
                assert_eq!(same.nonblocking().unwrap(), is_nonblocking);
                fails("Async::new_nonblocking", "a regular file", Async::new_nonblocking(file));
                assert_eq!(same.nonblocking().unwrap(), is_nonblocking);
            }
            goes("Async::new", "a regular file, what becomes of it", "it is as it was");
        });
    }

    /// A stack that no memory can hold: whoever starts the threads says so.
    #[test]
    fn stacks_beyond_memory_are_an_error_of_build() {
        for (bytes, input) in [(1 << 60, "1 << 60"), (usize::MAX, "usize::MAX")] {
            let built =
                within_limit(move || crate::common::builder(1).thread_stack_size(bytes).build());
            // std refuses the larger one itself, and the system the other.
            assert!(built.is_err(), "{input}");
            fails("Builder::thread_stack_size, build", input, built);
        }
    }
}
