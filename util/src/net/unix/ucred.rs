//! Who is at the other end.

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::io;
use std::os::fd::AsFd;

/// The process at the other end of a Unix stream, as it was when it connected or began
/// to listen; from [`UnixStream::peer_cred`](super::UnixStream::peer_cred).
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

    /// The process; None: it is of a namespace that this process does not see
    /// into, such as that of the host of a container.
    pub fn pid(&self) -> Option<i32> {
        (self.process != 0).then_some(self.process)
    }

    /// Its effective user.
    pub fn uid(&self) -> u32 {
        self.user
    }

    /// Its effective group.
    pub fn gid(&self) -> u32 {
        self.group
    }
}
