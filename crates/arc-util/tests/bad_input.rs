//! Invalid and extreme input to every constructor and option of arc-util. Each is refused by an
//! error or a panic that says what is wrong, or does what its documentation says. None hangs.

use crate::bad_input_common::{fails, goes, panicked, panics, refuses};
use crate::common::{at_once, soon, tcp_pair, waiting, waits};
use crate::net_common::{HOUR, run, runtime, within_limit};
use arc::task::JoinHandle;
use arc::time::Instant;
use arc_util::io::{AsyncReadExt, AsyncWriteExt};
use arc_util::net::{SocketAddr, TcpListener, TcpSocket, UdpSocket};
use arc_util::runtime::{Builder, Runtime};
use arc_util::sync::{Semaphore, mpsc};
use std::io::ErrorKind::{InvalidInput, TimedOut, WouldBlock};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn semaphores_say_how_many_permits_there_can_be() {
    let text = "at most MAX_PERMITS permits";
    let most = Semaphore::MAX_PERMITS;
    for (permits, input) in [(most + 1, "MAX_PERMITS + 1"), (usize::MAX, "usize::MAX")] {
        panics("Semaphore::new", input, text, || Semaphore::new(permits));
        panics("Semaphore::add_permits", input, text, || Semaphore::new(0).add_permits(permits));
    }
    let full = Semaphore::new(most);
    panics("Semaphore::add_permits", "1, when it is full", text, || full.add_permits(1));
    assert_eq!(full.available_permits(), most);
}

#[test]
fn permits_of_any_number_can_be_waited_for() {
    let semaphore = Arc::new(Semaphore::new(1));
    let permit = at_once(semaphore.acquire_many(0)).unwrap();
    assert_eq!((permit.num_permits(), semaphore.available_permits()), (0, 1));
    goes("Semaphore::acquire_many", "0", "works: no permit");
    let mut all = waiting(semaphore.acquire_many(u32::MAX));
    assert!(at_once(semaphore.acquire_many(0)).is_ok());
    assert!(semaphore.try_acquire_many(0).is_ok() && semaphore.try_acquire_many(1).is_err());
    goes("Semaphore::acquire_many", "0, behind others", "works: no permit");
    let mut owned = waiting(semaphore.clone().acquire_many_owned(u32::MAX));
    semaphore.close();
    assert!(all.ready().is_err() && owned.ready().is_err());
    assert!(at_once(semaphore.acquire_many(0)).is_err());
    let outcome = "waits, and so do those behind; an error when it is closed";
    goes("Semaphore::acquire_many", "more than there are", outcome);
}

#[test]
fn channels_say_how_much_they_can_hold() {
    panics("mpsc::channel", "0", "requires buffer > 0", || mpsc::channel::<u8>(0));
    let (most, text) = (Semaphore::MAX_PERMITS, "a channel holds at most");
    for (buffer, input) in [(most + 1, "MAX_PERMITS + 1"), (usize::MAX, "usize::MAX")] {
        panics("mpsc::channel", input, text, || mpsc::channel::<[u64; 1000]>(buffer));
    }
    let (sender, receiver) = mpsc::channel::<[u64; 1000]>(most);
    assert_eq!((sender.max_capacity(), receiver.len()), (most, 0));
    goes("mpsc::channel", "MAX_PERMITS", "works");
}

#[test]
fn blocking_in_a_task_panics_and_says_what_to_do() {
    run(1, || async {
        let (sender, mut receiver) = mpsc::channel(1);
        let (open, mut opened) = mpsc::unbounded_channel();
        open.send(1).unwrap();
        let text = "was called inside a task or `block_on`, where it would block a worker";
        let (_open, mut local) = mpsc::unbounded_channel::<()>();
        let input = "called in `block_on`";
        panics("mpsc::Receiver::blocking_recv", input, text, move || local.blocking_recv());
        let sends = sender.clone();
        let tasks: [(_, JoinHandle<()>); 3] = [
            ("Sender::blocking_send", arc::spawn(async move { _ = sends.blocking_send(1) })),
            ("Receiver::blocking_recv", arc::spawn(async move { _ = receiver.blocking_recv() })),
            (
                "UnboundedReceiver::blocking_recv",
                arc::spawn(async move { _ = opened.blocking_recv() }),
            ),
        ];
        for (item, task) in tasks {
            let payload = task.await.unwrap_err().into_panic();
            panicked(&format!("mpsc::{item}"), "called in a task", text, &*payload);
        }
        // A job may block. This one does not have to: its channel is closed by now.
        let job = arc::task::spawn_blocking(move || sender.blocking_send(1).is_err());
        assert!(job.await.unwrap());
    });
}

#[test]
fn pipes_in_memory_have_room() {
    panics("io::duplex", "0", "no capacity", || arc_util::io::duplex(0));
    run(1, || async {
        let (mut near, mut far) = arc_util::io::duplex(usize::MAX);
        near.write_all(&[7; 100_000]).await.unwrap();
        near.shutdown().await.unwrap();
        let mut bytes = Vec::new();
        far.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes.len(), 100_000);
        goes("io::duplex", "usize::MAX", "works: memory is taken as it is used");
    });
}

#[test]
fn copying_needs_buffers() {
    let copy = |forth, back| {
        let (mut near, mut far) = (arc_util::io::duplex(1).0, arc_util::io::duplex(1).0);
        let copy = arc_util::io::copy_bidirectional_with_sizes(&mut near, &mut far, forth, back);
        !waits(copy)
    };
    let item = "io::copy_bidirectional_with_sizes";
    panics(item, "0, 1", "a buffer of no size", || copy(0, 1));
    panics(item, "1, 0", "a buffer of no size", || copy(1, 0));
    panics(item, "usize::MAX, 1", "capacity overflow", || copy(usize::MAX, 1));
}

#[test]
fn numbers_of_runtimes_are_those_of_arc() {
    for (workers, input) in [(0, "0"), (65, "65")] {
        let text = "workers must be in 1..=64";
        let build = || drop(Builder::new_multi_thread().worker_threads(workers).build());
        panics("Builder::worker_threads", input, text, build);
    }
    within_limit(|| {
        for (limit, input) in [(Duration::ZERO, "ZERO"), (Duration::MAX, "MAX")] {
            Runtime::from(runtime(1)).shutdown_timeout(limit);
            goes("Runtime::shutdown_timeout", input, "works");
        }
    });
    run(1, || async {
        let error = arc::spawn(async { Runtime::from(runtime(1)).shutdown_timeout(HOUR) })
            .await
            .unwrap_err();
        let text = "inside a task or block_on";
        let item = "Runtime::shutdown_timeout";
        panicked(item, "called in a task", text, &*error.into_panic());
        for name in ["", "a\0b"] {
            let task = arc_util::task::Builder::new().name(name).spawn(async { 1 }).unwrap();
            assert_eq!(task.await.unwrap(), 1);
            goes("task::Builder::name", &format!("{name:?}"), "works: it is listed so");
        }
    });
}

#[test]
fn a_scope_needs_a_runtime_that_runs() {
    let scope = || arc_util::task::scope(|_| ());
    panics("task::scope", "outside a runtime", "outside an arc runtime", scope);
    within_limit(move || {
        let runtime = runtime(2);
        let handle = runtime.handle().clone();
        drop(runtime);
        let _guard = handle.enter();
        let (mut ready, mut timed) = (0, false);
        arc_util::task::scope(|scope| scope.spawn(async { ready = 1 }));
        assert_eq!(ready, 1);
        goes("task::scope", "the runtime has ended", "works, as block_on does");
        let text = "a timer's arc runtime has ended";
        panics("task::scope", "a timer, when the runtime has ended", text, || {
            arc_util::task::scope(|scope| {
                scope.spawn(async {
                    arc_util::time::sleep(HOUR).await;
                    timed = true;
                });
            });
        });
        assert!(!timed);
    });
}

arc_util::task_local! {
    static KEY: u32;
}

#[test]
fn a_scope_of_a_value_cannot_begin_while_it_is_looked_at() {
    let text = "entered inside `with` of its key";
    KEY.sync_scope(1, || {
        let nested = || KEY.with(|_| KEY.sync_scope(2, || ()));
        panics("LocalKey::sync_scope", "inside `with` of the key", text, nested);
        let mut future = waiting(KEY.scope(3, std::future::pending::<()>()));
        let poll = || KEY.with(|_| future.waits());
        panics("LocalKey::scope, polled", "inside `with` of the key", text, poll);
        KEY.with(|_| drop(future));
        goes("LocalKey::scope, dropped", "inside `with` of the key", "works, with that value");
        assert_eq!(KEY.get(), 1, "as before");
        assert_eq!(KEY.sync_scope(4, || KEY.get()), 4);
    });
    panics("LocalKey::with", "outside a scope", "outside a scope", || KEY.with(|_| ()));
}

#[test]
fn times_to_linger_are_rounded_up() {
    run(1, || async {
        let (stream, _peer) = tcp_pair().await;
        let socket = TcpSocket::new_v4().unwrap();
        let seconds = Duration::from_secs;
        for (asked, input, set) in [
            (Duration::from_nanos(1), "1 ns", seconds(1)),
            (Duration::from_millis(500), "500 ms", seconds(1)),
            (Duration::from_millis(1001), "1001 ms", seconds(2)),
            (seconds(1 << 32), "2^32 s", seconds(65_535)),
            (Duration::MAX, "MAX", seconds(65_535)),
        ] {
            stream.set_linger(Some(asked)).unwrap();
            assert_eq!(stream.linger().unwrap(), Some(set), "{input}");
            goes("TcpStream::set_linger", input, format!("{set:?}"));
            socket.set_linger(Some(asked)).unwrap();
            assert_eq!(socket.linger().unwrap(), Some(set), "{input}");
            goes("TcpSocket::set_linger", input, format!("{set:?}"));
        }
        stream.set_linger(None).unwrap();
        assert_eq!(stream.linger().unwrap(), None);
    });
}

#[test]
fn times_to_live_are_a_byte() {
    run(1, || async {
        let (stream, _peer) = tcp_pair().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let all = || (stream.ttl().unwrap(), listener.ttl().unwrap(), udp.ttl().unwrap());
        let before = all();
        for (hops, input) in [(0, "0"), (256, "256"), (u32::MAX, "u32::MAX")] {
            let text = format!("a time to live must be in 1..=255, not {hops}");
            let set = stream.set_ttl(hops);
            refuses("TcpStream::set_ttl", input, set, InvalidInput, &text);
            let set = listener.set_ttl(hops);
            refuses("TcpListener::set_ttl", input, set, InvalidInput, &text);
            refuses("UdpSocket::set_ttl", input, udp.set_ttl(hops), InvalidInput, &text);
        }
        assert_eq!(all(), before);
        for (hops, input) in [(256, "256"), (u32::MAX, "u32::MAX")] {
            let set = udp.set_multicast_ttl_v4(hops);
            let text = "a time to live must be in 0..=255";
            refuses("UdpSocket::set_multicast_ttl_v4", input, set, InvalidInput, text);
        }
        udp.set_multicast_ttl_v4(0).unwrap();
        assert_eq!(udp.multicast_ttl_v4().unwrap(), 0);
        goes("UdpSocket::set_multicast_ttl_v4", "0", "works: not beyond this machine");
    });
}

#[test]
fn sizes_of_the_kernels_buffers_are_what_it_makes_of_them() {
    let socket = TcpSocket::new_v4().unwrap();
    for (bytes, input) in [(0, "0"), (u32::MAX, "u32::MAX")] {
        let sets = [socket.set_send_buffer_size(bytes), socket.set_recv_buffer_size(bytes)];
        let sizes = [socket.send_buffer_size().unwrap(), socket.recv_buffer_size().unwrap()];
        let names = ["TcpSocket::set_send_buffer_size", "TcpSocket::set_recv_buffer_size"];
        for ((name, set), size) in names.into_iter().zip(sets).zip(sizes) {
            assert!(size > 0 && (set.is_ok() || cfg!(not(target_os = "linux"))), "{set:?}");
            match cfg!(target_os = "linux") {
                true => goes(name, input, format!("works, {set:?}: the system's own limit")),
                false => goes(name, input, format!("{set:?}")),
            }
        }
    }
}

#[test]
fn sockets_that_listen_or_connect_out_of_turn() {
    run(1, || async {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        for (backlog, input) in [(0, "0"), (u32::MAX, "u32::MAX")] {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(any).unwrap();
            let listener = socket.listen(backlog).unwrap();
            let stream = TcpSocket::new_v4().unwrap().connect(listener.local_addr().unwrap());
            let _stream = soon(stream).await.unwrap();
            soon(listener.accept()).await.unwrap();
            goes("TcpSocket::listen", input, "works");
        }
        if cfg!(target_os = "linux") {
            let listener = TcpSocket::new_v4().unwrap().listen(1).unwrap();
            assert_ne!(listener.local_addr().unwrap().port(), 0);
            goes("TcpSocket::listen", "without bind", "works: any free port");
        }
        let socket = TcpSocket::new_v4().unwrap();
        fails("TcpSocket::bind", "203.0.113.1:0", socket.bind(([203, 0, 113, 1], 0).into()));
        let bound = socket.bind("[::1]:0".parse().unwrap());
        fails("TcpSocket::bind", "an address of IPv6, on IPv4", bound);
        socket.bind(any).unwrap();
        fails("TcpSocket::bind", "a second time", socket.bind(any));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let elsewhere = listener.local_addr().unwrap();
        let (stream, _peer) = tcp_pair().await;
        let connected = TcpSocket::from_std_stream(stream.into_std().unwrap());
        let stream = soon(connected.connect(elsewhere)).await;
        let text = "connected already";
        refuses("TcpSocket::connect", "connected already", stream, InvalidInput, text);
    });
}

#[test]
fn connecting_ends_in_time() {
    run(1, || async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stream = arc_util::net::connect_timeout(address, Duration::MAX).await;
        assert_eq!(stream.unwrap().peer_addr().unwrap(), address);
        goes("net::connect_timeout", "MAX", "works");
        // The lookup runs on another thread and is hardly ever ready at once. If it is, `connect`
        // may succeed.
        let name = ("localhost", address.port());
        match arc_util::net::connect_timeout(name, Duration::ZERO).await {
            Ok(_) => goes("net::connect_timeout", "ZERO", "TimedOut, or connected at once"),
            error => refuses("net::connect_timeout", "ZERO", error, TimedOut, "deadline"),
        }
        let none: &[SocketAddr] = &[];
        let text = "no address was given";
        let connected = arc_util::net::connect(none).await;
        refuses("net::connect", "&[]", connected, InvalidInput, text);
        fails("net::connect", "\"\"", arc_util::net::connect("").await);
    });
}

#[test]
fn a_udp_socket_without_a_peer() {
    run(1, || async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        fails("UdpSocket::send", "no peer", socket.send(b"x").await);
        fails("UdpSocket::try_send", "no peer", socket.try_send(b"x"));
        fails("UdpSocket::peer_addr", "no peer", socket.peer_addr());
        let mut buffer = [0; 8];
        let tried = socket.try_recv(&mut buffer);
        assert_eq!(tried.unwrap_err().kind(), WouldBlock);
        goes("UdpSocket::try_recv", "no peer, nothing sent", "error WouldBlock");
        for _ in 0..2 {
            stranger.send_to(b"hello", socket.local_addr().unwrap()).await.unwrap();
        }
        assert_eq!(soon(socket.peek(&mut buffer)).await.unwrap(), 5);
        assert_eq!(soon(socket.recv(&mut buffer)).await.unwrap(), 5);
        goes("UdpSocket::recv, peek", "no peer", "works: it hears anybody");
        let none: &[SocketAddr] = &[];
        let text = "no address was given";
        refuses("UdpSocket::bind", "&[]", UdpSocket::bind(none).await, InvalidInput, text);
        refuses("UdpSocket::connect", "&[]", socket.connect(none).await, InvalidInput, text);
        let sent = socket.send_to(b"x", none).await;
        refuses("UdpSocket::send_to", "&[]", sent, InvalidInput, text);
    });
}

#[test]
fn datagrams_and_groups_that_cannot_be() {
    run(1, || async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let to = socket.local_addr().unwrap();
        let long = vec![0; 65_508];
        fails("UdpSocket::send_to", "65,508 bytes", socket.send_to(&long, to).await);
        fails("UdpSocket::try_send_to", "65,508 bytes", socket.try_send_to(&long, to));
        assert_eq!(socket.send_to(&[], to).await.unwrap(), 0);
        assert_eq!(soon(socket.recv_from(&mut [0])).await.unwrap(), (0, to));
        goes("UdpSocket::send_to", "0 bytes", "works: a datagram of no length");
        if cfg!(unix) {
            socket.send_to(b"hello", to).await.unwrap();
            assert_eq!(soon(socket.recv(&mut [])).await.unwrap(), 0);
            goes("UdpSocket::recv", "an empty buffer", "0: the datagram is cut");
        }
        let (no_group, any) = ([127, 0, 0, 1].into(), [0, 0, 0, 0].into());
        let joined = socket.join_multicast_v4(no_group, any);
        fails("UdpSocket::join_multicast_v4", "no group", joined);
        let left = socket.leave_multicast_v4([224, 0, 0, 251].into(), any);
        fails("UdpSocket::leave_multicast_v4", "not joined", left);
        let joined = socket.join_multicast_v6(&"::1".parse().unwrap(), u32::MAX);
        fails("UdpSocket::join_multicast_v6", "no group", joined);
    });
}

#[test]
fn periods_and_beginnings_of_intervals() {
    use arc_util::time::{MissedTickBehavior, interval, interval_at};
    let text = "period must not be zero";
    panics("time::interval", "ZERO", text, || interval(Duration::ZERO));
    panics("time::interval_at", "ZERO", text, || interval_at(Instant::now(), Duration::ZERO));
    run(1, || async {
        let years = |years: u64| Duration::from_secs(years * 365 * 86_400);
        for (age, input) in [(years(200), "200 years ago"), (years(1000), "1000 years ago")] {
            // Not every clock goes back that far.
            let Some(start) = Instant::now().checked_sub(age) else {
                continue;
            };
            for behavior in [MissedTickBehavior::Skip, MissedTickBehavior::Delay] {
                let mut ticks = interval_at(start, Duration::from_millis(1));
                ticks.set_missed_tick_behavior(behavior);
                assert_eq!(soon(ticks.tick()).await, start);
                let next = soon(ticks.tick()).await;
                assert!(next.elapsed() < HOUR, "{behavior:?} from {input}");
            }
            let mut ticks = interval_at(start, Duration::from_millis(1));
            assert_eq!(soon(ticks.tick()).await, start);
            assert_eq!(soon(ticks.tick()).await, start + Duration::from_millis(1));
            goes("time::interval_at", input, "works: what was missed is caught up, or skipped");
        }
        let mut ticks = interval(Duration::MAX);
        soon(ticks.tick()).await;
        assert!(waits(ticks.tick()));
        goes("time::interval", "MAX", "ticks once");
    });
}

#[cfg(unix)]
mod unix {
    use super::*;
    use arc_util::net::{UnixDatagram, UnixListener, UnixStream};
    use arc_util::signal::unix::{SignalKind, signal};

    /// Linux would choose an abstract name for a path of no length.
    #[test]
    fn paths_that_are_none_are_refused_and_named() {
        run(1, || async {
            let long = format!("/tmp/{}", "x".repeat(108));
            let unbound = UnixDatagram::unbound().unwrap();
            let mut paths =
                vec![("", "\"\""), ("/tmp/a\0b", "a null byte inside"), (&long, "113 bytes")];
            let name = format!("\0{}", "x".repeat(108));
            if cfg!(target_os = "linux") {
                paths.push((&name, "an abstract name of 108 bytes"));
            }
            for (path, input) in paths {
                let kind = InvalidInput;
                let text = |what| format!("{what} {path}: ");
                let listening = text("listening on");
                refuses("UnixListener::bind", input, UnixListener::bind(path), kind, &listening);
                let stream = UnixStream::connect(path).await;
                refuses("UnixStream::connect", input, stream, kind, &text("connecting to"));
                let bound = UnixDatagram::bind(path);
                refuses("UnixDatagram::bind", input, bound, kind, &text("binding to"));
                let connected = unbound.connect(path);
                let connecting = text("connecting to");
                refuses("UnixDatagram::connect", input, connected, kind, &connecting);
                let sent = unbound.send_to(b"x", path).await;
                refuses("UnixDatagram::send_to", input, sent, kind, "");
                let sent = unbound.try_send_to(b"x", path);
                refuses("UnixDatagram::try_send_to", input, sent, kind, "");
            }
            fails("UnixDatagram::send", "no peer", unbound.send(b"x").await);
        });
    }

    #[test]
    fn an_address_without_a_name_cannot_be_connected_to() {
        run(1, || async {
            let (left, _right) = UnixStream::pair().unwrap();
            let nameless = left.local_addr().unwrap();
            let stream = UnixStream::connect_addr(&nameless).await;
            let text = "a socket without a name cannot be connected to";
            refuses("UnixStream::connect_addr", "without a name", stream, InvalidInput, text);
            if cfg!(target_os = "linux") {
                let listener = UnixListener::bind_addr(&nameless).unwrap();
                assert!(!listener.local_addr().unwrap().is_unnamed());
                let outcome = "works: Linux gives it an abstract name";
                goes("UnixListener::bind_addr", "without a name", outcome);
            }
        });
    }

    #[test]
    fn numbers_that_are_no_signals_are_errors() {
        run(1, || async {
            for number in [-1, 0, 1000, i32::MAX, i32::MIN] {
                let input = number.to_string();
                fails("signal", &input, signal(SignalKind::from_raw(number)));
            }
            assert_eq!(i32::from(SignalKind::terminate()), 15);
            for number in [9, 11, 19] {
                let (input, text) = (number.to_string(), "programs cannot listen for signal");
                let listening = signal(SignalKind::from_raw(number));
                // SIGSTOP has another number elsewhere.
                match cfg!(target_os = "linux") || number != 19 {
                    true => refuses("signal", &input, listening, InvalidInput, text),
                    false => drop(listening),
                }
            }
        });
        let text = "outside an arc runtime";
        panics("signal", "outside a runtime", text, || signal(SignalKind::hangup()));
    }
}

#[test]
fn a_limit_of_polls_says_its_range() {
    let builder = || crate::watched::builder(1);
    let text = "long_poll_limit must be in 1ns..";
    panics("Builder::long_poll_limit", "ZERO", text, || {
        builder().long_poll_limit(Duration::ZERO).clone()
    });
    let built = builder().long_poll_limit(Duration::MAX).build();
    assert_eq!(built.expect("it is built").block_on(async { 1 }), 1);
    goes("Builder::long_poll_limit", "MAX", "works: nothing is reported");
}

#[test]
fn names_of_tasks_are_any_text() {
    run(1, || async {
        let long = "x".repeat(1 << 20);
        for (name, input) in [("", "\"\""), ("a\0b", "a null byte"), (&*long, "1 MiB")] {
            let task = arc::task::spawn_named(name, std::future::pending::<()>());
            let listed = arc_util::runtime::Handle::current().tasks();
            let names: Vec<_> = listed.iter().filter_map(|it| it.name.as_deref()).collect();
            assert_eq!(names, [name]);
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
            goes("task::spawn_named", input, "works: it is listed so");
        }
    });
}
