//! TCP connections and listeners.

pub(super) mod listener;
pub(super) mod stream;

pub use listener::TcpListener;
pub use stream::TcpStream;

/// The reading half of a TCP connection, which a task can own.
pub type OwnedReadHalf = super::split::OwnedReadHalf<TcpStream>;
/// The writing half of a TCP connection, which a task can own.
pub type OwnedWriteHalf = super::split::OwnedWriteHalf<TcpStream>;
/// A borrowed reading half of a TCP connection.
pub type ReadHalf<'stream> = super::split::ReadHalf<'stream, TcpStream>;
/// A borrowed writing half of a TCP connection.
pub type WriteHalf<'stream> = super::split::WriteHalf<'stream, TcpStream>;
/// The error of reuniting halves that belong to different TCP connections.
pub type ReuniteError = super::split::ReuniteError<TcpStream>;
