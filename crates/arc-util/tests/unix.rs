//! Sockets of the Unix domain: streams, listeners, datagrams, abstract names.

#![cfg(unix)]

use crate::common::{Folder, all_text, kind, soon};
use arc_util::io::{AsyncReadExt, AsyncWriteExt};
use arc_util::net::unix::pipe;
use arc_util::net::{UnixDatagram, UnixListener, UnixStream};
use futures_util::{FutureExt, StreamExt};
use rustix::io::Errno;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use tokio::io::ReadBuf;

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn connections_are_accepted_and_carry_bytes() {
    let folder = Folder::new("stream");
    let path = folder.0.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(&*path));
    let server = arc::spawn(async move {
        for _ in 0..50 {
            let (stream, from) = listener.accept().await.unwrap();
            assert!(from.is_unnamed());
            let (mut reader, mut writer) = (&stream, &stream);
            arc_util::io::copy(&mut reader, &mut writer).await.unwrap();
        }
    });
    for number in 0..50_u8 {
        let mut client = soon(UnixStream::connect(&path)).await.unwrap();
        assert_eq!(client.peer_addr().unwrap().as_pathname(), Some(&*path));
        let sent = vec![number; 5000];
        client.write_all(&sent).await.unwrap();
        client.shutdown().await.unwrap();
        let mut all = Vec::new();
        soon(client.read_to_end(&mut all)).await.unwrap();
        assert!(all == sent);
    }
    soon(server).await.unwrap();
}

#[arc::test(flavor = "multi_thread")]
async fn incoming_connections_are_a_stream() {
    let folder = Folder::new("incoming");
    let path = folder.0.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let _clients =
        (UnixStream::connect(&path).await.unwrap(), UnixStream::connect(&path).await.unwrap());
    let two = listener.incoming().take(2).collect::<Vec<_>>();
    assert!(soon(two).await.iter().all(Result::is_ok));
}

/// Returns the error of connecting to a path whose listener was dropped. The listener may live a
/// little longer in a process that another test starts: that process has a copy of the descriptor
/// until it executes its program.
async fn refused(path: &Path) -> std::io::Error {
    let refused = async {
        loop {
            match UnixStream::connect(path).await {
                Ok(_) => arc::task::yield_now().await,
                Err(error) => return error,
            }
        }
    };
    soon(refused).await
}

#[arc::test]
async fn errors_of_the_system_keep_their_numbers() {
    let folder = Folder::new("errors");
    let path = folder.0.join("socket");
    let unbound = UnixDatagram::unbound().unwrap();
    let missing =
        [UnixStream::connect(&path).await.unwrap_err(), unbound.connect(&path).unwrap_err()];
    drop(UnixListener::bind(&path).unwrap());
    let refused = [refused(&path).await];
    let taken = [UnixListener::bind(&path).unwrap_err(), UnixDatagram::bind(&path).unwrap_err()];
    for (errors, kind, number) in [
        (&missing[..], ErrorKind::NotFound, Errno::NOENT),
        (&refused, ErrorKind::ConnectionRefused, Errno::CONNREFUSED),
        (&taken, ErrorKind::AddrInUse, Errno::ADDRINUSE),
    ] {
        for error in errors {
            assert_eq!((error.kind(), error.raw_os_error()), (kind, Some(number.raw_os_error())));
        }
    }
}

#[arc::test(flavor = "multi_thread")]
async fn a_stream_is_split_and_shut_down() {
    let (mut left, right) = UnixStream::pair().unwrap();
    let (_, mut writer) = UnixStream::split(&mut left);
    writer.write_all(b"end").await.unwrap();
    left.shutdown().await.unwrap();
    assert_eq!(all_text(&mut &right).await, "end");
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn datagrams_are_answered_by_name() {
    let folder = Folder::new("datagram");
    let (server, client) = (folder.0.join("server"), folder.0.join("client"));
    let receiver = UnixDatagram::bind(&server).unwrap();
    let echo = arc::spawn(async move {
        let mut buffer = [0; 64];
        for _ in 0..100 {
            let (length, from) = receiver.recv_from(&mut buffer).await.unwrap();
            let path = from.as_pathname().unwrap();
            receiver.send_to(&buffer[..length], path).await.unwrap();
        }
    });
    let socket = UnixDatagram::bind(&client).unwrap();
    assert_eq!(socket.local_addr().unwrap().as_pathname(), Some(&*client));
    let mut buffer = [0; 64];
    for number in 0..100_u8 {
        let datagram = vec![number; usize::from(number % 60) + 1];
        socket.send_to(&datagram, &server).await.unwrap();
        let (length, from) = soon(socket.recv_from(&mut buffer)).await.unwrap();
        assert_eq!(&buffer[..length], datagram);
        assert_eq!(from.as_pathname(), Some(&*server));
    }
    soon(echo).await.unwrap();
    assert_eq!(kind(socket.send_to(b"", folder.0.join("none")).await), ErrorKind::NotFound);
}

#[arc::test(flavor = "multi_thread")]
async fn peers_of_datagrams_are_told() {
    let folder = Folder::new("peers");
    let (one, two) = (folder.0.join("one"), folder.0.join("two"));
    let (left, right) = (UnixDatagram::bind(&one).unwrap(), UnixDatagram::bind(&two).unwrap());
    assert!(left.peer_addr().is_err());
    assert!(left.connect(folder.0.join("none")).is_err());
    left.connect(&two).unwrap();
    assert_eq!(left.peer_addr().unwrap().as_pathname(), Some(&*two));
    left.send(b"hello").await.unwrap();
    let mut buffer = [0; 8];
    let received = soon(right.recv_from(&mut buffer)).await.unwrap();
    assert_eq!(received.1.as_pathname(), Some(&*one));
    assert!(UnixDatagram::bind(&one).is_err());
    assert!(left.take_error().unwrap().is_none());
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn streams_come_from_std_and_go_back() {
    let (left, right) = std::os::unix::net::UnixStream::pair().unwrap();
    let (left, right) = (UnixStream::from_std(left).unwrap(), Arc::new(right));
    (&mut &left).write_all(b"hello").await.unwrap();
    let left = left.into_std().unwrap();
    let mut text = [0; 5];
    std::io::Read::read_exact(&mut &*right, &mut text).unwrap();
    assert_eq!(&text, b"hello");
    let error = std::io::Read::read(&mut &left, &mut text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock, "still non-blocking");
}

#[test]
fn accepting_without_descriptors_is_an_error_and_the_connection_waits() {
    const NAME: &str = "unix::accepting_without_descriptors_is_an_error_and_the_connection_waits";
    if let Some(child) = crate::common::child(NAME, "ulimit -n 64") {
        crate::common::ended(child);
        return;
    }
    let runtime = arc::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let folder = Folder::new("descriptors");
        let path = folder.0.join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let _client = UnixStream::connect(&path).await.unwrap();
        let open = |_| std::fs::File::open("/dev/null").ok();
        let files: Vec<_> = (0..64).map_while(open).collect();
        assert!(files.len() < 64, "there is a limit");
        let start = Instant::now();
        let error = soon(listener.accept()).await.unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
        drop(files);
        soon(listener.accept()).await.unwrap();
        assert!(start.elapsed() >= Duration::from_millis(50), "it pauses before the next attempt");
    });
}

/// Other kernels behave differently, or lack these features.
#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use crate::common::waiting;
    use crate::net_common::Counter;
    use futures_util::stream::FuturesUnordered;
    use socket2::{Domain, SockAddr, Socket, Type};

    /// The kernel returns `WouldBlock`, and reports no event when there is room.
    #[arc::test(flavor = "multi_thread", workers = 2)]
    async fn connecting_waits_while_the_queue_is_full() {
        let folder = Folder::new("queue");
        let path = folder.0.join("socket");
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        socket.bind(&SockAddr::unix(&path).unwrap()).unwrap();
        socket.listen(0).unwrap();
        let listener = UnixListener::from_std(socket.into()).unwrap();
        let _first = soon(UnixStream::connect(&path)).await.unwrap();
        let second = waiting(UnixStream::connect(&path));
        soon(listener.accept()).await.unwrap();
        soon(second).await.unwrap();
        soon(listener.accept()).await.unwrap();
    }

    #[arc::test]
    async fn abstract_names_need_no_folder() {
        use std::os::linux::net::SocketAddrExt;
        let name = format!("arc-util-{}", std::process::id());
        let path = format!("\0{name}-stream");
        let listener = UnixListener::bind(&path).unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(address.as_abstract_name(), Some(&path.as_bytes()[1..]));
        soon(UnixStream::connect(&path)).await.unwrap();
        soon(UnixStream::connect_addr(&address)).await.unwrap();
        let error = UnixListener::bind_addr(&address).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        drop(listener);
        refused(Path::new(&path)).await;
        UnixListener::bind(&path).unwrap();

        let path = format!("\0{name}-datagram");
        let receiver = UnixDatagram::bind(&path).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        sender.send_to(b"to a name", &path).await.unwrap();
        let mut buffer = [0; 16];
        assert_eq!(soon(receiver.recv(&mut buffer)).await.unwrap(), 9);
        sender.connect(&path).unwrap();
        assert_eq!(sender.send(b"again").await.unwrap(), 5);
        assert_eq!(soon(receiver.recv(&mut buffer)).await.unwrap(), 5);
    }

    #[cfg(feature = "ucred")]
    #[arc::test]
    async fn the_peer_is_known() {
        let folder = Folder::new("peer");
        let path = folder.0.join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).await.unwrap();
        let (server, _) = soon(listener.accept()).await.unwrap();
        let peer = server.peer_cred().unwrap();
        assert_eq!(peer, client.peer_cred().unwrap());
        let process = i32::try_from(std::process::id()).unwrap();
        assert_eq!(peer.pid(), Some(process));
        use std::os::unix::fs::MetadataExt;
        let own = std::fs::metadata("/proc/self").unwrap();
        assert_eq!((peer.uid(), peer.gid()), (own.uid(), own.gid()));
    }

    /// Between containers, the process at the other end has no process id here.
    #[cfg(feature = "ucred")]
    #[test]
    fn a_peer_of_another_namespace_is_known_without_its_number() {
        const NAME: &str = "unix::linux::a_peer_of_another_namespace_is_known_without_its_number";
        const UNSHARE: &str = "unshare --user --map-root-user --pid --fork";
        const PATH: &str = "ARC_UTIL_TEST_PATH";
        if let Some(path) = std::env::var_os(PATH) {
            let runtime = arc::runtime::Runtime::new().unwrap();
            return runtime.block_on(async {
                let stream = soon(UnixStream::connect(path)).await.unwrap();
                assert_eq!(stream.peer_cred().unwrap().pid(), None);
            });
        }
        let mut shell = std::process::Command::new("sh");
        let may = shell.arg("-c").arg(format!("{UNSHARE} true")).status();
        if !may.unwrap().success() {
            return;
        }
        let folder = Folder::new("namespace");
        let path = folder.0.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let path = path.display();
        let line = format!("export {PATH}='{path}'; exec {UNSHARE} \"$0\" \"$@\"");
        crate::common::ended(crate::common::child(NAME, &line).unwrap());
    }

    #[arc::test(flavor = "multi_thread", workers = 2)]
    async fn who_sends_to_a_full_queue_waits_and_nothing_is_lost() {
        let (left, right) = UnixDatagram::pair().unwrap();
        let mut sent = 0_u32;
        let error = loop {
            match left.try_send(&sent.to_le_bytes()) {
                Ok(_) => sent += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        let sender = arc::spawn(async move {
            for number in sent..sent + 1000 {
                left.send(&number.to_le_bytes()).await.unwrap();
            }
            left.shutdown(std::net::Shutdown::Write).unwrap();
            left
        });
        for number in 0..sent + 1000 {
            let mut buffer = [0; 4];
            assert_eq!(soon(right.recv(&mut buffer)).await.unwrap(), 4);
            assert_eq!(u32::from_le_bytes(buffer), number);
        }
        let _left = soon(sender).await.unwrap();
        let error = right.try_recv(&mut [0; 4]);
        assert!(error.is_err() || error.unwrap() == 0, "nothing is left");
    }

    /// The kernel reports a socket that is not connected as writable, and then a write would block.
    #[arc::test(flavor = "multi_thread", workers = 2)]
    async fn who_waits_for_room_does_not_spin() {
        let folder = Folder::new("spin");
        let path = folder.0.join("socket");
        let receiver = UnixDatagram::bind(&path).unwrap();
        let connected = UnixDatagram::unbound().unwrap();
        connected.connect(&path).unwrap();
        let unconnected = UnixDatagram::unbound().unwrap();
        while unconnected.try_send_to(b"other", &path).is_ok() {}
        let (connected_polls, unconnected_polls) = (Counter::default(), Counter::default());
        let start = Instant::now();
        let sending = async {
            let connected = counted(&connected_polls, connected.send(b"mine"));
            let unconnected = counted(&unconnected_polls, unconnected.send_to(b"mine", &path));
            let sent = futures_util::future::join(connected, unconnected).await;
            assert_eq!((sent.0.unwrap(), sent.1.unwrap()), (4, 4));
        };
        let receiving = async {
            // Time in which the senders would spin.
            arc::time::sleep(Duration::from_millis(50)).await;
            let mut ours = 0;
            while ours < 2 {
                let mut buffer = [0; 5];
                let length = receiver.recv(&mut buffer).await.unwrap();
                ours += usize::from(buffer[..length] == *b"mine");
            }
        };
        soon(async { arc_util::join!(sending, receiving) }).await;
        let most = usize::try_from(start.elapsed().as_millis()).unwrap() + 20;
        for polls in [connected_polls, unconnected_polls] {
            assert!((2..most).contains(&polls.get()), "{}", polls.get());
        }
    }

    /// Counts only the polls for which the future itself was woken, and not its neighbours.
    async fn counted<F: Future>(polls: &Counter, future: F) -> F::Output {
        let mut alone = FuturesUnordered::from_iter([polls.polls_of(future)]);
        alone.next().await.unwrap()
    }

    #[arc::test(flavor = "multi_thread", workers = 2)]
    async fn who_sends_to_a_queue_that_others_have_filled_waits_for_room() {
        let folder = Folder::new("full");
        let path = folder.0.join("socket");
        let receiver = UnixDatagram::bind(&path).unwrap();
        let others = UnixDatagram::unbound().unwrap();
        while others.try_send_to(b"other", &path).is_ok() {}
        let sender = UnixDatagram::unbound().unwrap();
        let sending = waiting(sender.send_to(b"mine", &path));
        let mut buffer = [0; 8];
        assert_eq!(soon(receiver.recv(&mut buffer)).await.unwrap(), 5);
        assert_eq!(soon(sending).await.unwrap(), 4);
        while buffer[..4] != *b"mine" {
            soon(receiver.recv(&mut buffer)).await.unwrap();
        }
        assert_eq!(kind(receiver.try_recv_from(&mut buffer)), ErrorKind::WouldBlock);
        assert!(sender.try_send_to(b"mine", &path).is_ok());
    }

    /// The one who polls has no event to wait for either, and is woken all the same.
    #[arc::test]
    async fn who_polls_to_send_to_a_queue_that_is_full_is_woken() {
        let folder = Folder::new("polled");
        let path = folder.0.join("socket");
        let receiver = UnixDatagram::bind(&path).unwrap();
        let others = UnixDatagram::unbound().unwrap();
        while others.try_send_to(b"other", &path).is_ok() {}
        let sender = UnixDatagram::unbound().unwrap();
        let polls = Counter::default();
        let sending =
            counted(&polls, poll_fn(|context| sender.poll_send_to(context, b"mine", &path)));
        let receiving = async {
            // Until it has found the queue full more than once.
            while polls.get() < 3 {
                arc::task::yield_now().await;
            }
            let mut buffer = [0; 8];
            while buffer[..4] != *b"mine" {
                receiver.recv(&mut buffer).await.unwrap();
            }
        };
        let (sent, ()) = soon(async { arc_util::join!(sending, receiving) }).await;
        assert_eq!(sent.unwrap(), 4);
        let none = poll_fn(|context| sender.poll_send_to(context, b"", folder.0.join("none")));
        assert_eq!(kind(none.await), ErrorKind::NotFound);
    }
}

/// Nobody else has an end of them yet. The kernel is not asked.
#[arc::test]
async fn what_has_just_been_made_can_be_written_and_not_read() {
    let (near, far) = UnixStream::pair().unwrap();
    for end in [&near, &far] {
        assert!(end.readable().now_or_never().is_none());
        assert!(end.writable().now_or_never().is_some());
    }
    far.try_write(b"stream").unwrap();
    soon(near.readable()).await.unwrap();
    assert_eq!(near.try_read(&mut [0; 8]).unwrap(), 6);

    let (near, far) = UnixDatagram::pair().unwrap();
    for end in [&near, &far] {
        assert!(end.readable().now_or_never().is_none());
        assert!(end.writable().now_or_never().is_some());
    }
    far.try_send(b"datagram").unwrap();
    soon(near.readable()).await.unwrap();
    assert_eq!(near.try_recv(&mut [0; 8]).unwrap(), 8);

    let (sender, receiver) = pipe::pipe().unwrap();
    assert!(receiver.readable().now_or_never().is_none());
    assert!(sender.writable().now_or_never().is_some());
    sender.try_write(b"pipe").unwrap();
    soon(receiver.readable()).await.unwrap();
    assert_eq!(receiver.try_read(&mut [0; 8]).unwrap(), 4);
}

/// As much as the sender's kernel takes at once, into whichever buffer has the room.
#[arc::test]
async fn long_datagrams_come_whole() {
    let (near, far) = UnixDatagram::pair().unwrap();
    let mut length = 1 << 20;
    socket2::SockRef::from(&near).set_send_buffer_size(length).unwrap();

    // The system may allow less. Most allow more than 256 KiB.
    while near.send(&vec![7; length]).await.is_err() {
        length -= 1 << 14;
    }
    assert_eq!(far.recv(&mut vec![0; length]).await.unwrap(), length);
    let send = async || assert_eq!(near.send(&vec![7; length]).await.unwrap(), length);

    let mut memory = vec![0; length];
    let mut buffer = ReadBuf::new(&mut memory);
    send().await;
    soon(poll_fn(|context| far.poll_recv(context, &mut buffer))).await.unwrap();
    assert_eq!(buffer.filled().len(), length);
    buffer.clear();
    send().await;
    soon(poll_fn(|context| far.poll_recv_from(context, &mut buffer))).await.unwrap();
    assert_eq!(buffer.filled().len(), length);

    let room = || Vec::with_capacity(length);
    send().await;
    assert_eq!(soon(far.recv_buf(&mut room())).await.unwrap(), length);
    send().await;
    assert_eq!(soon(far.recv_buf_from(&mut room())).await.unwrap().0, length);
    send().await;
    assert_eq!(far.try_recv_buf(&mut room()).unwrap(), length);
    send().await;
    assert_eq!(far.try_recv_buf_from(&mut room()).unwrap().0, length);
}

#[arc::test]
async fn datagrams_are_polled_for() {
    let (near, far) = UnixDatagram::pair().unwrap();
    let mut bytes = [0; 8];
    let mut buffer = ReadBuf::new(&mut bytes);
    assert!(near.poll_recv(&mut Context::from_waker(Waker::noop()), &mut buffer).is_pending());
    for text in [b"one", b"two"] {
        let sent = poll_fn(|context| far.poll_send(context, text)).await;
        assert_eq!(sent.unwrap(), 3);
    }
    soon(poll_fn(|context| near.poll_recv(context, &mut buffer))).await.unwrap();
    assert_eq!(buffer.filled(), b"one");
    let received = poll_fn(|context| near.poll_recv_from(context, &mut buffer));
    assert!(soon(received).await.unwrap().is_unnamed());
    assert_eq!(buffer.filled(), b"onetwo");
}
