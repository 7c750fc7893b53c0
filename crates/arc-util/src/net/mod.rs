//! Sockets, and how names are looked up.
//!
//! Every socket here dereferences to an [`Async`](arc::io::Async) around a socket of std. So it has
//! `readable`, `writable`, `read_with` and so on, and `get_ref` gives access to the methods of
//! std's socket. The exception is [`TcpSocket`], which is registered with the runtime only when it
//! listens or connects.
//!
//! What is a stream has the traits of tokio and those of futures-io.

mod buffers;
mod connect;
mod datagrams;
mod names;
mod options;
mod pause;
mod ready;
mod socket;
mod split;
mod stream;
pub mod tcp;
mod udp;
#[cfg(unix)]
pub mod unix;

pub use arc::net::SocketAddr;
pub use connect::{connect, connect_timeout};
pub use names::{ToSocketAddrs, lookup_host};
pub use socket::TcpSocket;
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use tcp::{TcpListener, TcpStream};
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix::{UnixDatagram, UnixListener, UnixSocket, UnixStream};
