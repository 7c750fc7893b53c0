//! From a name to addresses, without blocking a worker.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// What can be turned into socket addresses: addresses themselves, and names
/// with ports, which are looked up by the system on a thread of their own.
///
/// Implemented for what std's trait of this name is implemented for.
pub trait ToSocketAddrs: std::net::ToSocketAddrs {
    /// The text `name:port` to look up; None: std has the addresses at once.
    fn name(&self) -> Option<String>;
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {
    fn name(&self) -> Option<String> {
        (**self).name()
    }
}

macro_rules! targets {
    ($([$($type:ty),*], |$this:ident| $name:expr;)*) => {$($(
        impl ToSocketAddrs for $type {
            fn name(&self) -> Option<String> {
                let $this = self;
                $name
            }
        }
    )*)*};
}

targets! {
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
/// What the system says: the name is unknown (or none, such as an empty one), or no
/// server answers. Or the text is not of the form `host:port`, or has a null byte in it.
///
/// # Panics
///
/// Outside a runtime, when a name has to be looked up.
///
/// # Cancellation
///
/// When it is dropped the lookup goes on, unheard, on its own thread.
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
    let looked_up = crate::task::spawn_blocking(move || {
        let found = std::net::ToSocketAddrs::to_socket_addrs(&name);
        found.map_err(|error| explain("looking up", &name, &error))
    });
    looked_up.await?
}

/// Tries one address after the other; the error is the last one's.
pub(crate) async fn first<T>(
    host: impl ToSocketAddrs,
    what: &str,
    attempt: impl AsyncFn(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "no address was given");
    for address in lookup_host(host).await? {
        match attempt(address).await {
            Ok(done) => return Ok(done),
            Err(error) => last = explain(what, &address, &error),
        }
    }
    Err(last)
}

/// An error that says what was tried.
pub(crate) fn explain(what: &str, target: &impl std::fmt::Display, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what} {target}: {error}"))
}
