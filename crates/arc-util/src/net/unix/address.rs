//! Addresses of sockets of the Unix domain, and errors that name them.

use std::io;
use std::os::unix::net::SocketAddr;
use std::path::Path;

/// Returns the address of a path or of an abstract name.
///
/// An empty path is an error here: Linux would choose an abstract name, which no one knows, and
/// other systems refuse it.
pub fn address_of(path: &Path) -> io::Result<SocketAddr> {
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

/// Converts an address to socket2's type. Fails if the address has no name, as such an address
/// cannot be connected to.
pub fn to_socket2(address: &SocketAddr) -> io::Result<socket2::SockAddr> {
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

/// Adds the attempted action and its path to an error that is not the system's, such as that of
/// a path which is too long. An error of the system is left as it is: it has a number, or a text.
pub fn explain(what: &str, path: &Path, error: io::Error) -> io::Error {
    if error.raw_os_error().is_some() {
        return error;
    }
    io::Error::new(error.kind(), format!("{what} {}: {error}", path.display()))
}
