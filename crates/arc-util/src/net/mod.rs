//! Sockets: those of arc's core, and those that only tokio has.
//!
//! Every socket here is an [`Async`](arc::io::Async) around a socket of std, or dereferences to
//! one. So it has `readable`, `writable`, `read_with` and so on, and `get_ref` gives access to
//! the methods of std's socket. The exception is [`TcpSocket`], which is registered with the
//! runtime only when it listens or connects.

#[cfg(feature = "bytes")]
mod buffers;
mod connect;
mod datagrams;
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
pub use unix::{UnixDatagram, UnixListener, UnixSocket, UnixStream};
