//! Errors of a simulated network.

use std::io;

pub(super) fn in_use(port: u16) -> io::Error {
    io::Error::new(io::ErrorKind::AddrInUse, format!("port {port} is in use"))
}

pub(super) fn no_free_port() -> io::Error {
    io::Error::new(io::ErrorKind::AddrInUse, "every port from 49152 on is in use")
}

pub(super) fn too_long(bytes: usize) -> io::Error {
    let text = format!("a datagram has at most 65507 bytes, and not {bytes}");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

pub(super) fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the host has crashed")
}
