//! Addresses and names, and how a name is looked up without blocking a worker.

use crate::blocking_io::no_thread;
use arc::net::SocketAddr;
use arc::task::try_spawn_blocking;
use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

/// A value that can be turned into socket addresses: an address, or a name with a port, which the
/// system looks up on a thread of the blocking pool.
///
/// The trait is implemented for the types that implement std's trait of this name.
pub trait ToSocketAddrs: std::net::ToSocketAddrs {
    /// The text `name:port` to look up. `None` if std finds the addresses without a lookup.
    fn name(&self) -> Option<String>;
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {
    fn name(&self) -> Option<String> {
        (**self).name()
    }
}

/// A table: types, and how to get the name to look up from a value of theirs.
macro_rules! implement_to_socket_addrs {
    ($([$($type:ty),*], |$this:ident| $name:expr;)*) => {$($(
        impl ToSocketAddrs for $type {
            fn name(&self) -> Option<String> {
                let $this = self;
                $name
            }
        }
    )*)*};
}

implement_to_socket_addrs! {
    [SocketAddr, SocketAddrV4, SocketAddrV6, &[SocketAddr]], |_address| None;
    [(IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16)], |_address| None;
    [str, String], |text| text.parse::<SocketAddr>().err().map(|_| text.to_string());
    [(&str, u16), (String, u16)], |host| {
        host.0.parse::<IpAddr>().err().map(|_| format!("{}:{}", host.0, host.1))
    };
}

/// Resolves a name and port to socket addresses.
///
/// # Errors
///
/// * The system's error: the name is unknown or empty, or no name server answers. Most systems give
///   no number for this (`raw_os_error` is None), and the text says the name then.
/// * The text is not of the form `host:port`, or has a null byte in it.
///
/// # Panics
///
/// Outside a runtime, when a name has to be looked up.
///
/// # Cancellation
///
/// Cancel safe. The lookup itself goes on, on a thread of the blocking pool.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut addresses = arc_util::net::lookup_host("localhost:80").await?;
/// assert!(addresses.all(|address| address.ip().is_loopback()));
/// # Ok(())
/// # }
/// ```
pub async fn lookup_host(host: impl ToSocketAddrs) -> Result<impl Iterator<Item = SocketAddr>> {
    let Some(name) = host.name() else {
        return Ok(Vec::from_iter(host.to_socket_addrs()?).into_iter());
    };

    // The system's lookup blocks for as long as the name server takes.
    let look_up = move || {
        std::net::ToSocketAddrs::to_socket_addrs(&name).map_err(|error| {
            match error.raw_os_error() {
                // An error has either a number or a text. A number is left as it is.
                Some(_) => error,
                None => Error::new(error.kind(), format!("looking up {name}: {error}")),
            }
        })
    };
    try_spawn_blocking(look_up).map_err(no_thread)?.await?
}

/// Tries one address after the other until one succeeds. The error is that of the last address.
pub(super) async fn first<T, F: Future<Output = Result<T>>>(
    host: impl ToSocketAddrs,
    attempt: impl Fn(SocketAddr) -> F,
) -> Result<T> {
    let mut last = no_address();
    // In the order in which the system has given them.
    for address in lookup_host(host).await? {
        match attempt(address).await {
            Ok(done) => return Ok(done),
            Err(error) => last = error,
        }
    }
    Err(last)
}

pub(super) fn no_address() -> Error {
    Error::new(ErrorKind::InvalidInput, "no address was given")
}
