//! Turn names into addresses, without blocking a worker.

use crate::task::spawn_blocking;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A value that can be turned into socket addresses: an address, or a name with a port, which the
/// system looks up on a thread of the blocking pool.
///
/// The trait is implemented for the types that implement std's trait of this name.
pub trait ToSocketAddrs: std::net::ToSocketAddrs {
    /// The text `name:port` to look up. None: std finds the addresses without a lookup.
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
/// let mut addresses = arc::net::lookup_host("localhost:80").await?;
/// assert!(addresses.all(|address| address.ip().is_loopback()));
/// # Ok(())
/// # }
/// ```
pub async fn lookup_host(host: impl ToSocketAddrs) -> io::Result<impl Iterator<Item = SocketAddr>> {
    let Some(name) = host.name() else {
        return Ok(Vec::from_iter(host.to_socket_addrs()?).into_iter());
    };
    spawn_blocking(move || {
        std::net::ToSocketAddrs::to_socket_addrs(&name).map_err(|error| {
            // An error has either a number or a text. A number is left as it is.
            let text = || io::Error::new(error.kind(), format!("looking up {name}: {error}"));
            if error.raw_os_error().is_none() { text() } else { error }
        })
    })
    .await?
}
