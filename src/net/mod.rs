//! TCP sockets. Each is an [`Async`](crate::io::Async) of std's: what std's can
//! do and is not here, `get_ref` reaches.

mod address;
mod split;
mod tcp;

pub use address::{ToSocketAddrs, lookup_host};
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReuniteError};
pub use std::net::SocketAddr;
pub use tcp::{TcpListener, TcpStream};
