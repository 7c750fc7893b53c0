//! From a name to addresses, without blocking a worker.

use crate::task::spawn_blocking;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// What can be turned into socket addresses: addresses themselves, and names
/// with ports, which are looked up by the system on a thread of their own.
///
/// Implemented for what std's trait of this name is implemented for. It cannot
/// be implemented outside arc.
pub trait ToSocketAddrs: sealed::Target {}

impl<T: sealed::Target + ?Sized> ToSocketAddrs for T {}

pub(crate) mod sealed {
    pub trait Target {
        /// The addresses, or else a text `name:port`.
        fn target(&self) -> Result<Vec<std::net::SocketAddr>, String>;
    }
}

use sealed::Target;

/// Resolves a name and port to socket addresses.
///
/// # Errors
///
/// What the system says: the name is unknown, or no server answers. Or the
/// text is not of the form `host:port`.
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
    let addresses = match host.target() {
        Ok(addresses) => addresses,
        Err(name) => {
            spawn_blocking(move || {
                let found = std::net::ToSocketAddrs::to_socket_addrs(&name).map(Vec::from_iter);
                found.map_err(|error| explain("looking up", &name, &error))
            })
            .await??
        }
    };
    Ok(addresses.into_iter())
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

fn explain(what: &str, target: &impl std::fmt::Display, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what} {target}: {error}"))
}

/// How each type says what it means.
macro_rules! targets {
    ($($type:ty => |$this:ident| $target:expr;)*) => {$(
        impl Target for $type {
            fn target(&self) -> Result<Vec<SocketAddr>, String> {
                let $this = self;
                $target
            }
        }
    )*};
}

targets! {
    SocketAddr => |this| Ok(vec![*this]);
    SocketAddrV4 => |this| Ok(vec![SocketAddr::from(*this)]);
    SocketAddrV6 => |this| Ok(vec![SocketAddr::from(*this)]);
    (IpAddr, u16) => |this| Ok(vec![SocketAddr::from(*this)]);
    (Ipv4Addr, u16) => |this| Ok(vec![SocketAddr::from(*this)]);
    (Ipv6Addr, u16) => |this| Ok(vec![SocketAddr::from(*this)]);
    [SocketAddr] => |this| Ok(this.to_vec());
    str => |this| this.parse().map(|address| vec![address]).map_err(|_| this.to_owned());
    String => |this| this.as_str().target();
    (&str, u16) => |this| host_and_port(this.0, this.1);
    (String, u16) => |this| host_and_port(&this.0, this.1);
}

impl<T: Target + ?Sized> Target for &T {
    fn target(&self) -> Result<Vec<SocketAddr>, String> {
        (**self).target()
    }
}

fn host_and_port(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let address = host
        .parse::<IpAddr>()
        .map(|ip| vec![SocketAddr::from((ip, port))]);
    address.map_err(|_| format!("{host}:{port}"))
}
