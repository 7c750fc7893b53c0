//! From a name to addresses, without blocking a worker.

use crate::task::spawn_blocking;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// What can be turned into socket addresses: addresses themselves, and names
/// with ports, which are looked up by the system on a thread of their own.
///
/// Implemented for what std's trait of this name is implemented for. It cannot
/// be implemented outside arc.
pub trait ToSocketAddrs: sealed::Addresses {}

impl<T: sealed::Addresses + ?Sized> ToSocketAddrs for T {}

pub(crate) mod sealed {
    use super::{SocketAddr, io};

    /// What has to be done to know the addresses.
    pub enum Lookup {
        Known(Vec<SocketAddr>),
        Name(String, u16),
    }

    pub trait Addresses {
        fn addresses(&self) -> io::Result<Lookup>;
    }
}

use sealed::{Addresses, Lookup};

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
    Ok(resolve(&host).await?.into_iter())
}

/// The addresses, at least one.
pub(crate) async fn resolve(host: &impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    let addresses = match host.addresses()? {
        Lookup::Known(addresses) => addresses,
        Lookup::Name(name, port) => {
            let lookup = spawn_blocking(move || {
                let target = (name.as_str(), port);
                let found = std::net::ToSocketAddrs::to_socket_addrs(&target).map(Vec::from_iter);
                found.map_err(|error| {
                    let what = format!("looking up the address of {name}: {error}");
                    io::Error::new(error.kind(), what)
                })
            });
            lookup.await??
        }
    };
    if addresses.is_empty() {
        let what = "there is no address to connect or bind to";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(addresses)
}

impl Addresses for SocketAddr {
    fn addresses(&self) -> io::Result<Lookup> {
        Ok(Lookup::Known(vec![*self]))
    }
}

/// The types that are an address already.
macro_rules! known {
    ($($type:ty),*) => {$(
        impl Addresses for $type {
            fn addresses(&self) -> io::Result<Lookup> {
                SocketAddr::from(*self).addresses()
            }
        }
    )*};
}

known!(
    SocketAddrV4,
    SocketAddrV6,
    (IpAddr, u16),
    (Ipv4Addr, u16),
    (Ipv6Addr, u16)
);

impl Addresses for [SocketAddr] {
    fn addresses(&self) -> io::Result<Lookup> {
        Ok(Lookup::Known(self.to_vec()))
    }
}

impl Addresses for (&str, u16) {
    fn addresses(&self) -> io::Result<Lookup> {
        match self.0.parse::<IpAddr>() {
            Ok(address) => (address, self.1).addresses(),
            Err(_) => Ok(Lookup::Name(self.0.to_owned(), self.1)),
        }
    }
}

impl Addresses for (String, u16) {
    fn addresses(&self) -> io::Result<Lookup> {
        (self.0.as_str(), self.1).addresses()
    }
}

impl Addresses for str {
    fn addresses(&self) -> io::Result<Lookup> {
        if let Ok(address) = self.parse::<SocketAddr>() {
            return address.addresses();
        }
        let parts = self.rsplit_once(':');
        let parsed = parts.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
        let (host, port) = parsed.ok_or_else(|| {
            let what = format!("`{self}` is not an address: write `host:port`");
            io::Error::new(io::ErrorKind::InvalidInput, what)
        })?;
        Ok(Lookup::Name(host.to_owned(), port))
    }
}

impl Addresses for String {
    fn addresses(&self) -> io::Result<Lookup> {
        self.as_str().addresses()
    }
}

impl<T: Addresses + ?Sized> Addresses for &T {
    fn addresses(&self) -> io::Result<Lookup> {
        (**self).addresses()
    }
}
