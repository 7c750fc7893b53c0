//! `O_NONBLOCK`. The flag belongs to the open file, which duplicates and other processes have as
//! well: std's streams on the same terminal, a shell, a parent that hands a socket on. So what only
//! asks for readiness leaves it alone, and what fails or is given back leaves it as it was.
#![cfg(unix)]

use crate::common::soon;
use arc::runtime::Builder;
use arc_util::io::unix::AsyncFd;
use arc_util::io::{AsyncWriteExt, Interest};
use arc_util::net::unix::pipe;
use arc_util::net::{UdpSocket, UnixDatagram, UnixListener, UnixStream};
use socket2::SockRef;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net;

fn is_nonblocking(descriptor: &impl AsFd) -> bool {
    SockRef::from(descriptor).nonblocking().unwrap()
}

/// A file that epoll refuses.
fn regular() -> File {
    File::open(std::env::current_exe().unwrap()).unwrap()
}

#[arc::test]
async fn what_only_asks_for_readiness_leaves_it_alone() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let same = reader.try_clone().unwrap();
    let watched = AsyncFd::new(reader).unwrap();
    assert!(!is_nonblocking(&same));
    writer.write_all(b"x").unwrap();
    drop(soon(watched.readable()).await.unwrap());
    assert!(!is_nonblocking(&same));

    // So a blocking read goes on to wait after it was given back.
    let mut reader = watched.into_inner();
    let writing = std::thread::spawn(move || {
        std::thread::yield_now();
        writer.write_all(b"yz").unwrap();
        writer
    });
    let mut bytes = [0; 3];
    reader.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"xyz");
    drop(writing.join().unwrap());

    for interest in [Interest::READABLE, Interest::WRITABLE, Interest::ERROR] {
        let (near, _far) = net::UnixStream::pair().unwrap();
        let watched = AsyncFd::with_interest(near.try_clone().unwrap(), interest).unwrap();
        assert!(!is_nonblocking(&near));
        drop(watched);
        assert!(!is_nonblocking(&near));
    }

    // A duplicate waits for other events than the socket does.
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut error = Box::pin(socket.ready(Interest::ERROR));
    assert!(futures_util::poll!(&mut error).is_pending());
    assert!(is_nonblocking(&socket));
}

#[arc::test]
async fn what_fails_leaves_it_as_it_was() {
    for flag in [false, true] {
        let file = regular();
        SockRef::from(&file).set_nonblocking(flag).unwrap();
        let same = || file.try_clone().unwrap();
        if !cfg!(arc_portable) {
            assert!(AsyncFd::new(same()).is_err());
            assert!(AsyncFd::with_interest(same(), Interest::READABLE).is_err());
            assert!(pipe::Receiver::from_file_unchecked(same()).is_err());
            assert!(pipe::Sender::from_file_unchecked(same()).is_err());
        }
        assert!(pipe::Receiver::from_file(same()).is_err());
        assert!(pipe::Sender::from_owned_fd(same().into()).is_err());
        assert_eq!(is_nonblocking(&file), flag);
    }
}

/// With the context of a runtime that has ended, every registration fails.
#[test]
fn from_std_that_fails_leaves_it_as_it_was() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let handle = runtime.handle().clone();
    drop(runtime);
    let _guard = handle.enter();
    for flag in [false, true] {
        let (near, far) = net::UnixStream::pair().unwrap();
        let path = std::env::temp_dir().join(format!("arc-flag-{}-{flag}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let unix = net::UnixListener::bind(&path).unwrap();
        let (datagram, _) = net::UnixDatagram::pair().unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let all: [&dyn AsFd; 8] = [&near, &unix, &datagram, &udp, &tcp, &stream, &reader, &writer];
        let fds = all.map(|socket| socket.as_fd().try_clone_to_owned().unwrap());
        fds.iter().for_each(|fd| SockRef::from(fd).set_nonblocking(flag).unwrap());
        drop(far);

        assert!(UnixStream::from_std(near).is_err());
        assert!(UnixListener::from_std(unix).is_err());
        assert!(UnixDatagram::from_std(datagram).is_err());
        assert!(UdpSocket::from_std(udp).is_err());
        assert!(arc_util::net::TcpListener::from_std(tcp).is_err());
        assert!(arc_util::net::TcpStream::from_std(stream).is_err());
        assert!(pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).is_err());
        assert!(pipe::Sender::from_owned_fd(OwnedFd::from(writer)).is_err());
        assert!(fds.iter().all(|fd| is_nonblocking(fd) == flag));
        std::fs::remove_file(&path).unwrap();
    }
}

/// tokio's names say what is given back.
#[arc::test]
async fn what_is_given_back_is_what_its_name_says() {
    let (near, _far) = UnixStream::pair().unwrap();
    assert!(is_nonblocking(&near.into_std().unwrap()));
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    assert!(is_nonblocking(&udp.into_std().unwrap()));

    let (sender, receiver) = pipe::pipe().unwrap();
    assert!(is_nonblocking(&sender.into_nonblocking_fd().unwrap()));
    assert!(!is_nonblocking(&receiver.into_blocking_fd().unwrap()));

    // The operations of a pipe need the flag.
    let (reader, writer) = std::io::pipe().unwrap();
    let mut sender = pipe::Sender::from_owned_fd(writer.into()).unwrap();
    let receiver = pipe::Receiver::from_owned_fd(reader.into()).unwrap();
    assert_eq!(receiver.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    soon(sender.write_all(b"x")).await.unwrap();
    assert!(is_nonblocking(&sender) && is_nonblocking(&receiver));
}
