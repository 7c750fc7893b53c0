//! The identity of the process at the other end of a Unix stream.

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::io;
use std::os::fd::AsFd;

/// The identity of the process at the other end of a Unix stream; from
/// [`UnixStream::peer_cred`](super::UnixStream::peer_cred).
///
/// It is the identity from when that process connected or began to listen.
///
/// # Examples
///
/// ```
/// use arc_util::net::UnixStream;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (left, _right) = UnixStream::pair()?;
/// let process = i32::try_from(std::process::id()).unwrap();
/// assert_eq!(left.peer_cred()?.pid(), Some(process));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UCred {
    process: i32,
    user: u32,
    group: u32,
}

impl UCred {
    pub(super) fn of(stream: &impl AsFd) -> io::Result<Self> {
        let peer = getsockopt(stream, PeerCredentials)?;
        Ok(Self { process: peer.pid(), user: peer.uid(), group: peer.gid() })
    }

    /// Returns the process id. Returns `None` when the process belongs to a namespace that this
    /// process does not see into, such as that of the host of a container.
    pub fn pid(&self) -> Option<i32> {
        (self.process != 0).then_some(self.process)
    }

    /// Returns the effective user id of the process.
    pub fn uid(&self) -> u32 {
        self.user
    }

    /// Returns the effective group id of the process.
    pub fn gid(&self) -> u32 {
        self.group
    }
}
