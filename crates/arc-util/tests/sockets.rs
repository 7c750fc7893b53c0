//! What sockets have beyond sending and receiving: readiness, buffers that grow, options.

use crate::common::{kind, soon, tcp_pair, waiting, waits};
use arc_util::io::{AsyncReadExt, AsyncWriteExt, Interest, Ready};
use arc_util::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use std::future::poll_fn;
use std::io::ErrorKind;
use std::time::Duration;

#[test]
fn interests_and_readiness_are_sets() {
    let both = Interest::READABLE | Interest::WRITABLE;
    assert!(both.is_readable() && both.is_writable() && !both.is_error());
    assert_eq!(both.remove(Interest::READABLE), Some(Interest::WRITABLE));
    assert_eq!(Interest::READABLE.remove(both), None);
    let mut ready = Ready::READABLE;
    ready |= Ready::WRITE_CLOSED;
    assert!(ready.is_readable() && ready.is_writable() && ready.is_write_closed());
    assert!(!ready.is_read_closed() && !ready.is_error());
    assert_eq!(ready & Ready::WRITE_CLOSED, Ready::WRITE_CLOSED);
    assert!((ready - Ready::ALL).is_empty());
}

#[cfg(unix)]
async fn until_ready(stream: &TcpStream, interest: Interest, is_so: fn(Ready) -> bool) {
    while !is_so(stream.ready(interest).await.unwrap()) {
        arc::task::yield_now().await;
    }
}

#[cfg(unix)]
#[arc::test]
async fn readiness_tells_which_direction_is_closed() {
    let (near, mut far) = tcp_pair().await;
    let ready = soon(near.ready(Interest::WRITABLE)).await.unwrap();
    assert!(ready.is_writable() && !ready.is_write_closed() && !ready.is_read_closed());

    far.write_all(b"last").await.unwrap();
    far.shutdown().await.unwrap();
    soon(poll_fn(|context| near.poll_read_ready(context))).await.unwrap();
    soon(until_ready(&near, Interest::READABLE, Ready::is_read_closed)).await;
    let ready = soon(near.ready(Interest::WRITABLE)).await.unwrap();
    assert!(!ready.is_read_closed(), "that is not what was asked for");
    assert!(!ready.is_write_closed());

    // Both directions are over now.
    near.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    soon(until_ready(&near, Interest::WRITABLE, Ready::is_write_closed)).await;
}

#[cfg(target_os = "linux")]
#[arc::test]
async fn urgent_data_are_waited_for_beside_others() {
    use socket2::SockRef;

    let (near, mut far) = tcp_pair().await;
    far.write_all(b"plain").await.unwrap();
    soon(near.readable()).await.unwrap();
    // There are plain data only.
    let urgent = waiting(near.ready(Interest::PRIORITY));
    assert!(!waits(near.readable()), "the plain data are still told of");
    let attempt = near.try_io(Interest::PRIORITY, || Ok(()));
    assert_eq!(attempt.unwrap_err().kind(), ErrorKind::WouldBlock);

    SockRef::from(&far).send_out_of_band(b"!").unwrap();
    let ready = soon(urgent).await.unwrap();
    assert!(ready.is_priority() && !ready.is_error());
    near.try_io(Interest::PRIORITY, || Ok(())).unwrap();
    let mut attempts = 0;
    let waited = near.async_io(Interest::PRIORITY, || {
        attempts += 1;
        Ok(())
    });
    soon(waited).await.unwrap();
    assert_eq!(attempts, 1);
}

#[cfg(target_os = "linux")]
#[arc::test]
async fn an_error_is_waited_for() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let nobody = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = nobody.local_addr().unwrap();
    socket.connect(address).await.unwrap();
    let error = waiting(socket.ready(Interest::ERROR));
    drop(nobody);
    socket.send(b"lost").await.unwrap();
    assert!(soon(error).await.unwrap().is_error());
    let taken = socket.take_error().unwrap().expect("there is an error");
    assert_eq!(taken.kind(), ErrorKind::ConnectionRefused);
    assert!(waits(socket.ready(Interest::ERROR)), "it was taken");
}

#[cfg(unix)]
#[arc::test]
async fn a_guard_can_be_cleared_of_a_part() {
    use arc_util::io::unix::AsyncFd;
    use std::os::unix::net::UnixStream;

    let (near, mut far) = UnixStream::pair().unwrap();
    let near = AsyncFd::register_with_interest(near, Interest::READABLE).unwrap();
    std::io::Write::write_all(&mut far, b"x").unwrap();
    soon(near.readable()).await.unwrap().retain_ready();
    let mut guard = soon(near.ready(Interest::READABLE | Interest::WRITABLE)).await.unwrap();
    let both = Ready::READABLE | Ready::WRITABLE;
    while guard.ready() != both {
        guard = soon(near.ready(Interest::READABLE | Interest::WRITABLE)).await.unwrap();
    }
    // The kernel is asked again, and it has not read the byte away.
    guard.clear_ready_matching(Ready::READABLE);
    assert_eq!(guard.ready(), Ready::WRITABLE);
    assert!(!waits(near.readable()));

    assert_eq!(std::io::Read::read(&mut near.get_ref(), &mut [0; 8]).unwrap(), 1);
    let mut guard = soon(near.ready(Interest::READABLE)).await.unwrap();
    guard.clear_ready_matching(Ready::WRITABLE);
    assert!(!waits(near.readable()), "only the other direction was cleared");
    guard.clear_ready_matching(Ready::READABLE);
    assert!(waits(near.readable()));
}

#[arc::test]
async fn what_is_received_goes_to_the_end_of_a_buffer() {
    let (near, mut far) = tcp_pair().await;
    let mut all = b"> ".to_vec();
    assert_eq!(kind(near.try_read_buf(&mut all)), ErrorKind::WouldBlock);
    far.write_all(b"hello").await.unwrap();
    soon(near.readable()).await.unwrap();
    assert_eq!(near.try_read_buf(&mut all).unwrap(), 5);
    assert_eq!(all, b"> hello");

    let (one, other) = (UdpSocket::bind("127.0.0.1:0").await, UdpSocket::bind("127.0.0.1:0").await);
    let (one, other) = (one.unwrap(), other.unwrap());
    one.connect(other.local_addr().unwrap()).await.unwrap();
    let mut all = Vec::with_capacity(100);
    assert_eq!(kind(other.try_recv_buf(&mut all)), ErrorKind::WouldBlock);
    assert!(waits(other.peek_sender()));
    for part in [b"1", b"2", b"3", b"4"] {
        one.send(part).await.unwrap();
    }
    let from = one.local_addr().unwrap();
    assert_eq!(soon(other.peek_sender()).await.unwrap(), from);
    assert_eq!(other.try_peek_sender().unwrap(), from);
    assert_eq!(soon(poll_fn(|context| other.poll_peek_sender(context))).await.unwrap(), from);
    assert_eq!(soon(other.recv_buf(&mut all)).await.unwrap(), 1);
    assert_eq!(soon(other.recv_buf_from(&mut all)).await.unwrap(), (1, from));
    soon(other.readable()).await.unwrap();
    assert_eq!(other.try_recv_buf(&mut all).unwrap(), 1);
    soon(other.readable()).await.unwrap();
    assert_eq!(other.try_recv_buf_from(&mut all).unwrap(), (1, from));
    assert_eq!(all, b"1234");

    // A slice has the room that it has.
    one.send(b"long").await.unwrap();
    let mut room = [0; 2];
    assert_eq!(soon(other.recv_buf(&mut &mut room[..])).await.unwrap(), 2);
    assert_eq!(&room, b"lo");
}

#[cfg(unix)]
#[arc::test]
async fn unix_sockets_and_pipes_read_to_the_end_of_a_buffer() {
    use arc_util::net::unix::pipe::pipe;
    use arc_util::net::{UnixDatagram, UnixStream};

    let mut all = Vec::with_capacity(100);
    let (near, mut far) = UnixStream::pair().unwrap();
    far.write_all(b"1").await.unwrap();
    soon(near.readable()).await.unwrap();
    assert_eq!(near.try_read_buf(&mut all).unwrap(), 1);
    let (mut sender, receiver) = pipe().unwrap();
    sender.write_all(b"2").await.unwrap();
    soon(receiver.readable()).await.unwrap();
    assert_eq!(receiver.try_read_buf(&mut all).unwrap(), 1);

    let (near, far) = UnixDatagram::pair().unwrap();
    far.send(b"3").await.unwrap();
    assert_eq!(soon(near.recv_buf(&mut all)).await.unwrap(), 1);
    far.send(b"4").await.unwrap();
    assert_eq!(soon(near.recv_buf_from(&mut all)).await.unwrap().0, 1);
    assert_eq!(near.try_recv_buf(&mut all).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(near.try_recv_buf_from(&mut all).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(all, b"1234");
}

#[arc::test]
async fn a_connection_without_lingering_is_reset() {
    let (near, mut far) = tcp_pair().await;
    near.set_zero_linger().unwrap();
    assert_eq!(near.linger().unwrap(), Some(Duration::ZERO));
    drop(near);
    let read = soon(far.read(&mut [0])).await;
    assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_zero_linger().unwrap();
    assert_eq!(socket.linger().unwrap(), Some(Duration::ZERO));
}

#[arc::test]
async fn a_connection_can_be_polled_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let accepting = waiting(poll_fn(|context| listener.poll_accept(context)));
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (mut server, from) = soon(accepting).await.unwrap();
    assert_eq!(from, client.local_addr().unwrap());
    server.write_all(b"x").await.unwrap();
    assert_eq!(soon((&client).read_u8()).await.unwrap(), b'x');
}

#[cfg(unix)]
#[arc::test]
async fn a_connection_of_the_unix_domain_can_be_polled_for() {
    use arc_util::net::{UnixListener, UnixStream};

    let folder = crate::common::Folder::new("poll-accept");
    let listener = UnixListener::bind(folder.0.join("socket")).unwrap();
    let accepting = waiting(poll_fn(|context| listener.poll_accept(context)));
    let client = UnixStream::connect(folder.0.join("socket")).await.unwrap();
    let (mut server, _) = soon(accepting).await.unwrap();
    server.write_all(b"x").await.unwrap();
    assert_eq!(soon((&client).read_u8()).await.unwrap(), b'x');
}

#[cfg(target_os = "linux")]
#[arc::test]
async fn sockets_have_a_type_of_service_and_a_device() {
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    udp.set_tos_v4(16).unwrap();
    assert_eq!((udp.tos_v4().unwrap(), udp.tos().unwrap()), (16, 16));
    let tcp = TcpSocket::new_v4().unwrap();
    tcp.set_tos(8).unwrap();
    assert_eq!((tcp.tos_v4().unwrap(), tcp.tos().unwrap()), (8, 8));
    if let (Ok(udp), Ok(tcp)) = (UdpSocket::bind("[::1]:0").await, TcpSocket::new_v6()) {
        udp.set_tclass_v6(16).unwrap();
        tcp.set_tclass_v6(8).unwrap();
        assert_eq!((udp.tclass_v6().unwrap(), tcp.tclass_v6().unwrap()), (16, 8));
    }

    assert_eq!(tcp.device().unwrap(), None);
    assert!(tcp.bind_device(Some(b"arc-has-none")).is_err());
    for bound in [tcp.bind_device(Some(b"lo")), udp.bind_device(Some(b"lo"))] {
        // Old kernels let the administrator alone do it.
        if let Err(error) = bound {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            return;
        }
    }
    assert_eq!(tcp.device().unwrap().as_deref(), Some(&b"lo"[..]));
    assert_eq!(udp.device().unwrap().as_deref(), Some(&b"lo"[..]));
    tcp.bind_device(None).unwrap();
    assert_eq!(tcp.device().unwrap(), None);
}

#[cfg(unix)]
#[arc::test]
async fn each_socket_tells_the_number_of_its_descriptor() {
    use arc_util::net::unix::pipe::pipe;
    use arc_util::net::{UnixDatagram, UnixListener, UnixSocket, UnixStream};
    use std::os::fd::{AsFd, AsRawFd};

    fn check(socket: &(impl AsFd + AsRawFd)) {
        assert_eq!(socket.as_raw_fd(), socket.as_fd().as_raw_fd());
    }
    let folder = crate::common::Folder::new("raw-fd");
    check(&TcpSocket::new_v4().unwrap());
    check(&UdpSocket::bind("127.0.0.1:0").await.unwrap());
    check(&UnixSocket::new_stream().unwrap());
    check(&UnixStream::pair().unwrap().0);
    check(&UnixDatagram::pair().unwrap().0);
    check(&UnixListener::bind(folder.0.join("socket")).unwrap());
    let (sender, receiver) = pipe().unwrap();
    check(&sender);
    check(&receiver);
}
