//! Sockets of the Unix domain. On Linux a path that begins with a null byte is an
//! abstract name: it is in no directory, and gone with its last socket.

mod datagram;
mod listener;
mod stream;
#[cfg(target_os = "linux")]
mod ucred;

pub use datagram::UnixDatagram;
pub use listener::UnixListener;
pub use std::os::unix::net::SocketAddr;
pub use stream::UnixStream;
#[cfg(target_os = "linux")]
pub use ucred::UCred;

/// The reading direction of a Unix stream.
pub type OwnedReadHalf = super::OwnedReadHalf<UnixStream>;
/// The writing direction of a Unix stream.
pub type OwnedWriteHalf = super::OwnedWriteHalf<UnixStream>;
/// The halves are not of one Unix stream.
pub type ReuniteError = super::ReuniteError<UnixStream>;

use std::io;
use std::path::Path;

/// The address of a path, or of an abstract name.
///
/// Without a name Linux would choose an abstract one, which nobody knows; and other systems
/// refuse.
fn address_of(path: &Path) -> io::Result<SocketAddr> {
    if path.as_os_str().is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is empty"));
    }
    #[cfg(target_os = "linux")]
    {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::ffi::OsStrExt;
        if let Some(name) = path.as_os_str().as_bytes().strip_prefix(b"\0") {
            return SocketAddr::from_abstract_name(name);
        }
    }
    SocketAddr::from_pathname(path)
}

/// The same as socket2 has it. Addresses that have no name cannot be connected to.
fn to_socket2(address: &SocketAddr) -> io::Result<socket2::SockAddr> {
    if let Some(path) = address.as_pathname() {
        return socket2::SockAddr::unix(path);
    }
    #[cfg(target_os = "linux")]
    {
        use std::ffi::OsStr;
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::ffi::OsStrExt;
        if let Some(name) = address.as_abstract_name() {
            return socket2::SockAddr::unix(OsStr::from_bytes(&[b"\0", name].concat()));
        }
    }
    let what = "a socket without a name cannot be connected to";
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Says at which path it happened.
fn explain(what: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what} {}: {error}", path.display()))
}
