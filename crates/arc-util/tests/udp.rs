//! UDP over the loopback interface.

use crate::common::{Woken, kind, soon, waiting};
use arc_util::net::{SocketAddr, UdpSocket};
use std::future::poll_fn;
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::task::Context;
use tokio::io::ReadBuf;

async fn bound() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn datagrams_go_to_and_fro_with_their_limits() {
    let ((server, address), (client, from)) = (bound().await, bound().await);
    let echo = arc::spawn(async move {
        let mut buffer = [0; 2000];
        for _ in 0..100 {
            let (length, from) = server.recv_from(&mut buffer).await.unwrap();
            let sent = server.send_to(&buffer[..length], from).await;
            assert_eq!(sent.unwrap(), length);
        }
        server
    });
    let mut buffer = [0; 2000];
    for length in (0..100).map(|it| it * 17) {
        let datagram = vec![length as u8; length];
        client.send_to(&datagram, address).await.unwrap();
        let (received, of) = soon(client.recv_from(&mut buffer)).await.unwrap();
        assert_eq!((&buffer[..received], of), (&datagram[..], address));
    }
    let server = soon(echo).await.unwrap();
    // Bytes that do not fit are cut off.
    server.send_to(b"too long", from).await.unwrap();
    let (received, _) = soon(client.recv_from(&mut buffer[..3])).await.unwrap();
    assert_eq!(&buffer[..received], b"too");
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn receiving_waits_for_the_datagram() {
    let ((server, address), (client, _)) = (bound().await, bound().await);
    let mut buffer = [0; 8];
    let mut receiving = waiting(server.recv(&mut buffer));
    client.send_to(b"now", address).await.unwrap();
    assert_eq!(soon(&mut receiving).await.unwrap(), 3);
    assert!(receiving.wakes() <= 1);
}

#[arc::test(flavor = "multi_thread")]
async fn connected_sockets_hear_their_peer_only() {
    let ((left, left_address), (right, right_address)) = (bound().await, bound().await);
    let (other, _) = bound().await;
    let error = left.send(b"to whom?").await.unwrap_err();
    assert!(left.peer_addr().is_err(), "{error}");
    left.connect(right_address).await.unwrap();
    right.connect(left_address).await.unwrap();
    assert_eq!(left.peer_addr().unwrap(), right_address);
    other.send_to(b"stranger", left_address).await.unwrap();
    right.send(b"friend").await.unwrap();
    let mut buffer = [0; 16];
    let length = soon(left.recv(&mut buffer)).await.unwrap();
    assert_eq!(&buffer[..length], b"friend");
}

#[cfg(target_os = "linux")]
#[arc::test(flavor = "multi_thread")]
async fn a_refusal_is_told_to_the_connected_sender() {
    let ((left, _), (right, address)) = (bound().await, bound().await);
    left.connect(address).await.unwrap();
    drop(right);
    left.send(b"anybody?").await.unwrap();
    let error = soon(left.recv(&mut [0; 8])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[arc::test(flavor = "multi_thread")]
async fn peeked_datagrams_stay() {
    let ((left, _), (right, address)) = (bound().await, bound().await);
    left.send_to(b"look", address).await.unwrap();
    let mut buffer = [0; 8];
    let from = left.local_addr().unwrap();
    assert_eq!(soon(right.peek_from(&mut buffer)).await.unwrap(), (4, from));
    assert_eq!(right.try_peek_from(&mut buffer).unwrap(), (4, from));
    right.connect(from).await.unwrap();
    assert_eq!(soon(right.peek(&mut buffer)).await.unwrap(), 4);
    assert_eq!(right.try_peek(&mut buffer).unwrap(), 4);
    assert_eq!(right.try_recv(&mut buffer).unwrap(), 4);
    assert_eq!(kind(right.try_peek(&mut buffer)), ErrorKind::WouldBlock);
}

#[arc::test(flavor = "multi_thread")]
async fn attempts_without_waiting_say_would_block() {
    let ((left, from), (right, address)) = (bound().await, bound().await);
    let mut buffer = [0; 8];
    assert_eq!(kind(right.try_recv_from(&mut buffer)), ErrorKind::WouldBlock);
    assert_eq!(left.try_send_to(b"one", address).unwrap(), 3);
    soon(right.readable()).await.unwrap();
    assert_eq!(right.try_recv_from(&mut buffer).unwrap(), (3, from));
    left.connect(address).await.unwrap();
    assert_eq!(left.try_send(b"four").unwrap(), 4);
    soon(right.readable()).await.unwrap();
    assert_eq!(right.try_recv(&mut buffer).unwrap(), 4);
}

#[arc::test]
async fn options_are_set_and_read() {
    let (socket, _) = bound().await;
    for on in [true, false] {
        socket.set_broadcast(on).unwrap();
        assert_eq!(socket.broadcast().unwrap(), on);
        socket.set_multicast_loop_v4(on).unwrap();
        assert_eq!(socket.multicast_loop_v4().unwrap(), on);
    }
    socket.set_ttl(7).unwrap();
    socket.set_multicast_ttl_v4(3).unwrap();
    let hops = (socket.ttl().unwrap(), socket.multicast_ttl_v4().unwrap());
    assert_eq!(hops, (7, 3));
    assert!(socket.take_error().unwrap().is_none());
}

#[cfg(target_os = "linux")]
#[arc::test]
async fn what_a_broadcast_needs_is_the_option() {
    let (socket, _) = bound().await;
    let all = (Ipv4Addr::BROADCAST, 9);
    assert_eq!(kind(socket.send_to(b"all", all).await), ErrorKind::PermissionDenied);
}

/// This uses the loopback interface, which needs no network.
#[cfg(target_os = "linux")]
#[arc::test(flavor = "multi_thread")]
async fn members_of_a_group_hear_what_is_sent_to_it() {
    let group = Ipv4Addr::new(239, 255, 42, 98);
    let member = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
    let port = member.local_addr().unwrap().port();
    let joined = member.join_multicast_v4(group, Ipv4Addr::LOCALHOST);
    joined.unwrap();
    let (sender, _) = bound().await;
    let view = socket2::SockRef::from(&sender);
    view.set_multicast_if_v4(&Ipv4Addr::LOCALHOST).unwrap();
    sender.send_to(b"members", (group, port)).await.unwrap();
    let mut buffer = [0; 16];
    let (length, _) = soon(member.recv_from(&mut buffer)).await.unwrap();
    assert_eq!(&buffer[..length], b"members");
    member.leave_multicast_v4(group, Ipv4Addr::LOCALHOST).unwrap();
    let again = member.leave_multicast_v4(group, Ipv4Addr::LOCALHOST);
    assert!(again.is_err(), "it has left");
}

#[arc::test]
async fn groups_of_ipv6_are_joined_where_there_is_ipv6() {
    let Ok(socket) = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).await else {
        return;
    };
    socket.set_multicast_loop_v6(false).unwrap();
    assert!(!socket.multicast_loop_v6().unwrap());
    let none = "::1".parse().unwrap();
    assert!(socket.join_multicast_v6(&none, 0).is_err(), "no group");
    assert!(socket.leave_multicast_v6(&none, 0).is_err());
}

#[arc::test]
async fn errors_of_the_system_keep_their_numbers() {
    let (_socket, taken) = bound().await;
    let error = UdpSocket::bind(taken).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    #[cfg(unix)]
    assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::ADDRINUSE.raw_os_error()));
    let none: &[SocketAddr] = &[];
    assert_eq!(kind(UdpSocket::bind(none).await), ErrorKind::InvalidInput);
}

#[arc::test]
async fn sockets_come_from_std_and_go_back() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let socket = UdpSocket::from_std(socket).unwrap();
    assert!(format!("{socket:?}").contains("UdpSocket"));
    let socket = socket.into_std().unwrap();
    assert_eq!(socket.local_addr().unwrap(), address);
    let error = socket.recv(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock, "still non-blocking");
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn several_tasks_receive_from_one_socket() {
    let (socket, address) = bound().await;
    let socket = std::sync::Arc::new(socket);
    let mut set = arc_util::task::JoinSet::new();
    for _ in 0..4 {
        let socket = socket.clone();
        set.spawn(async move {
            let mut buffer = [0; 8];
            socket.recv(&mut buffer).await.unwrap();
            buffer[0]
        });
    }
    let (sender, _) = bound().await;
    for number in 0..4 {
        sender.send_to(&[number], address).await.unwrap();
    }
    let mut numbers = soon(set.join_all()).await;
    numbers.sort();
    assert_eq!(numbers, [0, 1, 2, 3]);
}

#[arc::test]
async fn datagrams_are_polled_for() {
    let std_socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = UdpSocket::try_from(std_socket).unwrap();
    let address = server.local_addr().unwrap();
    let (client, from) = bound().await;
    let (_, waker) = Woken::new();
    let mut context = Context::from_waker(&waker);
    let mut bytes = [MaybeUninit::uninit(); 16];
    let mut buffer = ReadBuf::uninit(&mut bytes);
    assert!(server.poll_recv_from(&mut context, &mut buffer).is_pending());

    let sent = poll_fn(|context| client.poll_send_to(context, b"first", address)).await;
    assert_eq!(sent.unwrap(), 5);
    let seen = poll_fn(|context| server.poll_peek_from(context, &mut buffer));
    assert_eq!(soon(seen).await.unwrap(), from);
    let received = poll_fn(|context| server.poll_recv_from(context, &mut buffer));
    assert_eq!(soon(received).await.unwrap(), from);
    assert_eq!(buffer.filled(), b"firstfirst");

    client.connect(address).await.unwrap();
    assert!(server.poll_recv(&mut context, &mut buffer).is_pending());
    let sent = poll_fn(|context| client.poll_send(context, b"next")).await;
    assert_eq!(sent.unwrap(), 4);
    soon(poll_fn(|context| server.poll_recv(context, &mut buffer))).await.unwrap();
    assert_eq!(buffer.filled(), b"firstfirstnext");
}
