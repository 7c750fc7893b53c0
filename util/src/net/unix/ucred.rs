//! Who is at the other end.

use rustix::net::sockopt::socket_peercred;
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
    pub(super) fn of(stream: impl AsFd) -> io::Result<Self> {
        let peer = socket_peercred(stream)?;
        Ok(Self {
            process: rustix::process::Pid::as_raw(Some(peer.pid)),
            user: peer.uid.as_raw(),
            group: peer.gid.as_raw(),
        })
    }

    /// The process; None: it is outside of this process's namespace.
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
