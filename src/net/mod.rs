//! TCP sockets.

mod address;
mod split;
mod tcp;

pub use address::{ToSocketAddrs, lookup_host};
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use std::net::SocketAddr;
pub use tcp::{Incoming, TcpListener, TcpStream};
