//! Sockets of the Unix domain.
//!
//! On Linux, a path that begins with a null byte is an abstract name. An abstract name is in no
//! directory, and disappears with its last socket.

mod address;
mod datagram;
mod fresh;
mod listener;
pub mod pipe;
mod socket;
pub(super) mod stream;
#[cfg(all(feature = "ucred", target_os = "linux"))]
mod ucred;

pub use datagram::UnixDatagram;
pub use listener::UnixListener;
pub use socket::UnixSocket;
pub use std::os::unix::net::SocketAddr;
pub use stream::UnixStream;
#[cfg(all(feature = "ucred", target_os = "linux"))]
pub use ucred::UCred;

/// The reading half of a Unix stream, which a task can own.
pub type OwnedReadHalf = super::split::OwnedReadHalf<UnixStream>;
/// The writing half of a Unix stream, which a task can own.
pub type OwnedWriteHalf = super::split::OwnedWriteHalf<UnixStream>;
/// A borrowed reading half of a Unix stream.
pub type ReadHalf<'stream> = super::split::ReadHalf<'stream, UnixStream>;
/// A borrowed writing half of a Unix stream.
pub type WriteHalf<'stream> = super::split::WriteHalf<'stream, UnixStream>;
/// The error of reuniting halves that belong to different Unix streams.
pub type ReuniteError = super::split::ReuniteError<UnixStream>;

/// The id of a user.
#[allow(non_camel_case_types, reason = "the system's name, and tokio's")]
pub type uid_t = u32;
/// The id of a group.
#[allow(non_camel_case_types, reason = "the system's name, and tokio's")]
pub type gid_t = u32;
/// The id of a process.
#[allow(non_camel_case_types, reason = "the system's name, and tokio's")]
pub type pid_t = i32;
