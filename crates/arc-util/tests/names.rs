//! Addresses and names: several addresses are tried in turn, and looking a name up does not stand
//! in a worker's way.

#[cfg(unix)]
use crate::bad_input_common::fails;
use crate::bad_input_common::{goes, panics, refuses};
use crate::net_common::{foreign_block_on, millis, refusing, run, run_each, within_limit};
use arc::time::sleep;
use arc_util::net::{TcpListener, TcpStream, ToSocketAddrs, lookup_host};
use std::io::ErrorKind;
use std::io::ErrorKind::InvalidInput;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::mpsc::channel;

#[test]
fn addresses_are_tried_one_after_the_other() {
    run_each(|| async {
        let ((_one, first), (_two, second)) = (refusing(), refusing());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let stream = TcpStream::connect(&[first, second, good][..]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        let error = TcpStream::connect(&[first, second][..]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);

        // The error is the last one's.
        let nobodys = SocketAddr::from(([255, 255, 255, 255], 80));
        let error = TcpStream::connect(&[nobodys, first][..]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let of_std = std::net::TcpStream::connect(nobodys).unwrap_err();
        let error = TcpStream::connect(&[first, nobodys][..]).await.unwrap_err();
        assert_eq!(error.raw_os_error(), of_std.raw_os_error());

        // One that is free is enough to listen on.
        let other = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let second = TcpListener::bind(&[good, other][..]).await.unwrap();
        assert_ne!(second.local_addr().unwrap(), good);
    });
}

#[test]
fn whatever_names_an_address_can_be_looked_up() {
    async fn found(host: impl ToSocketAddrs) -> Vec<SocketAddr> {
        lookup_host(host).await.unwrap().collect()
    }
    run_each(|| async {
        let v4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 80);
        let v6 = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 80, 0, 0);
        assert_eq!(found(v4).await, [v4.into()]);
        assert_eq!(found(v6).await, [v6.into()]);
        assert_eq!(found(SocketAddr::V4(v4)).await, [v4.into()]);
        assert_eq!(found((Ipv4Addr::LOCALHOST, 80)).await, [v4.into()]);
        assert_eq!(found((Ipv6Addr::LOCALHOST, 80)).await, [v6.into()]);
        assert_eq!(found((IpAddr::from([127, 0, 0, 1]), 80)).await, [v4.into()]);
        assert_eq!(found("127.0.0.1:80").await, [v4.into()]);
        assert_eq!(found("[::1]:80").await, [v6.into()]);
        assert_eq!(found(("127.0.0.1", 80)).await, [v4.into()]);
        assert_eq!(found(("::1", 80)).await, [v6.into()]);
        assert_eq!(found(String::from("127.0.0.1:80")).await, [v4.into()]);
        assert_eq!(found((String::from("127.0.0.1"), 80)).await, [v4.into()]);
        let both = [SocketAddr::V4(v4), SocketAddr::V6(v6)];
        assert_eq!(found(&both[..]).await, both);
        for names in [found("localhost:80").await, found(("localhost", 80)).await] {
            assert!(names.iter().all(|address| address.ip().is_loopback()));
            assert!(names.iter().all(|address| address.port() == 80));
            assert!(!names.is_empty());
        }
    });
}

#[test]
fn text_that_is_no_address_is_an_error() {
    run_each(|| async {
        for text in ["", "localhost", "127.0.0.1", "127.0.0.1:", "localhost:http:1", ":::"] {
            assert!(lookup_host(text).await.is_err(), "{text}");
            assert!(TcpStream::connect(text).await.is_err(), "{text}");
        }
        for text in ["127.0.0.1:65536", "localhost:-1", "localhost:port"] {
            let outcome = lookup_host(text).await.map(Vec::from_iter);
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::InvalidInput, "{text}");
        }
    });
}

#[test]
fn name_is_connected_to() {
    run_each(|| async {
        let listener = TcpListener::bind(("localhost", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = TcpStream::connect(("localhost", port)).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap().port(), port);
        TcpStream::connect(format!("localhost:{port}")).await.unwrap();
    });
}

#[test]
fn name_lookup_does_not_block_the_only_worker() {
    // The pool of threads that block has one, which is busy: the lookup waits for
    // it, and tasks and timers of the only worker go on.
    within_limit(|| {
        let (open, gate) = channel::<()>();
        let runtime = arc_util::runtime::Builder::new_multi_thread()
            .workers(1)
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let job = runtime.spawn_blocking(move || gate.recv().is_ok());
        runtime.block_on(async {
            let lookup = arc::spawn(async {
                let found = lookup_host("localhost:80").await;
                found.unwrap().count()
            });
            for _ in 0..20 {
                sleep(millis(1)).await;
                arc::spawn(async {}).await.unwrap();
            }
            assert!(!lookup.is_finished(), "the name was looked up on a worker");
            open.send(()).unwrap();
            assert!(lookup.await.unwrap() > 0);
            assert!(job.await.unwrap());
        });
    });
}

#[test]
fn no_address_is_an_error() {
    run(1, || async {
        let none: &[SocketAddr] = &[];
        let text = "no address was given";
        refuses("TcpListener::bind", "&[]", TcpListener::bind(none).await, InvalidInput, text);
        refuses("TcpStream::connect", "&[]", TcpStream::connect(none).await, InvalidInput, text);
        assert_eq!(lookup_host(none).await.unwrap().count(), 0);
        goes("net::lookup_host", "&[]", "no addresses");
    });
}

/// Windows has other errors, and takes an empty name for its own.
#[cfg(unix)]
#[test]
fn names_that_are_none_are_errors() {
    run(1, || async {
        let long = "x".repeat(70_000);
        let pairs = [("", "(\"\", 80)"), ("a\0", "(\"a\\0\", 80)"), (&*long, "70,000 bytes")];
        for (name, input) in pairs {
            fails("TcpListener::bind", input, TcpListener::bind((name, 80)).await);
            fails("TcpStream::connect", input, TcpStream::connect((name, 80)).await);
        }
        for text in ["", ":", "80", "a\0b:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:"]
        {
            let found = lookup_host(text).await.map(Iterator::count);
            assert!(found.as_ref().is_err_and(|error| !error.to_string().is_empty()), "{text}");
            fails("net::lookup_host", &format!("{text:?}"), found);
        }
    });
}

/// Also of a name, as the lookup is on another thread.
#[test]
fn a_lookup_may_be_moved_to_another_thread_and_needs_a_runtime() {
    fn check<T: Send + Sync>(_: T) {}
    check(lookup_host(SocketAddr::from(([127, 0, 0, 1], 0))));
    check(lookup_host("localhost:0"));
    let look_up = || foreign_block_on(lookup_host("localhost:80")).map(|_| ());
    let text = "outside an arc runtime";
    panics("net::lookup_host", "a name, outside a runtime", text, look_up);
    assert_eq!(foreign_block_on(lookup_host("127.0.0.1:80")).unwrap().count(), 1);
}

/// The error is no panic, and not the system's `WouldBlock`: whoever sends a datagram to a name
/// would take that for a full queue.
#[cfg(target_os = "linux")]
#[test]
fn a_lookup_without_a_thread_is_refused() {
    let name = "names::a_lookup_without_a_thread_is_refused";
    crate::thread_limit::with_limited_threads(name, || {
        let runtime = crate::net_common::runtime(1);
        crate::thread_limit::allow_threads(0);
        let error = runtime.block_on(lookup_host("localhost:80")).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Other, "{error}");
        assert!(error.to_string().contains("no thread could be started"), "{error}");
    });
}
