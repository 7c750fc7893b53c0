//! Errors of a simulated network.

use std::io;

pub(super) fn in_use(port: u16) -> io::Error {
    io::Error::new(io::ErrorKind::AddrInUse, format!("port {port} is in use"))
}

pub(super) fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the host has crashed")
}
