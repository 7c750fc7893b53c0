//! Sockets: those of arc's core, and what tokio has beyond them.
//!
//! Every socket here is an [`Async`](arc::io::Async) of std's or dereferences to one:
//! `readable`, `writable`, `read_with` and the like are there, and `get_ref` reaches what
//! std's can do. Only a [`TcpSocket`] is not: it is registered when it listens or
//! connects.

mod connect;
mod options;
mod socket;
mod split;
pub mod tcp;
mod udp;
#[cfg(unix)]
pub mod unix;

pub use arc::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs, lookup_host};
pub use connect::{connect, connect_timeout};
pub use socket::TcpSocket;
pub use split::{IntoSplit, OwnedReadHalf, OwnedWriteHalf, ReuniteError};
pub use tcp::{TcpListenerExt, TcpStreamExt};
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix::{UnixDatagram, UnixListener, UnixStream};
