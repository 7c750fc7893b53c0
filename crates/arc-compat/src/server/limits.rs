//! What a server allows its clients, unless it is told otherwise.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// How many connections there may be at once. Each holds up to some 400 KiB for a request's
/// head, so that 10,000 hold 4 GB at the very most, and some 100 MB where clients behave.
pub(super) const CONNECTIONS_MAX: usize = 10_000;

/// How long a client may take until it has shown which version of HTTP it speaks.
const FIRST_BYTES: Duration = Duration::from_secs(30);

/// How long a client may take for the head of an HTTP/1 request, including the time before it.
pub(super) const HEAD: Duration = Duration::from_secs(30);

/// After what time without a frame an HTTP/2 client is asked whether it is still there.
pub(super) const PING_EVERY: Duration = Duration::from_secs(30);

/// How long an HTTP/2 client may take to answer that.
pub(super) const PONG: Duration = Duration::from_secs(20);

/// How long a client may take to read anything of what is written. Some browsers stop reading
/// a film that is paused; they ask for the rest of it when they go on.
const WRITE: Duration = Duration::from_secs(60);

/// How long a graceful end may take. Those who end servers often kill them after 30 s.
const SHUTDOWN: Duration = Duration::from_secs(20);

/// Longer than this counts as for ever: hyper adds durations to instants, which must not
/// overflow. A hundred years.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The limits of a server that hyper has not got.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) connections: usize,
    pub(super) first_bytes: Duration,
    pub(super) write: Duration,
    pub(super) shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS_MAX,
            first_bytes: FIRST_BYTES,
            write: WRITE,
            shutdown: SHUTDOWN,
        }
    }
}

/// Returns the limit as hyper takes it: `None` if there is to be none.
pub(super) fn for_hyper(limit: Duration) -> Option<Duration> {
    (limit <= FOREVER).then_some(limit)
}

/// The error of a server whose graceful shutdown took too long. It is inside the
/// [`io::Error`] that the server returns.
///
/// # Examples
///
/// ```
/// use arc_compat::server::CutOff;
///
/// fn report(error: &std::io::Error) {
///     match error.get_ref().and_then(|inner| inner.downcast_ref::<CutOff>()) {
///         Some(CutOff { connections, .. }) => eprintln!("{connections} connections cut off"),
///         None => eprintln!("{error}"),
///     }
/// }
/// # report(&std::io::ErrorKind::Other.into());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CutOff {
    /// How many connections were cut off.
    pub connections: usize,
    /// How long they had.
    pub timeout: Duration,
}

impl fmt::Display for CutOff {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connections, timeout } = self;
        let plural = if *connections == 1 { "" } else { "s" };
        write!(
            formatter,
            "{connections} connection{plural} cut off, {timeout:?} after the shutdown began"
        )
    }
}

impl Error for CutOff {}

impl From<CutOff> for io::Error {
    fn from(cut_off: CutOff) -> Self {
        Self::new(ErrorKind::TimedOut, cut_off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each limit does is tried in tests/limits.rs, by shorter times.
    #[test]
    fn the_page_for_users_of_tokio_says_the_limits() {
        let page = include_str!("../../../../docs/TOKIO.md");
        let words: Vec<_> = page.split_whitespace().collect();
        let page = words.join(" ");
        for said in [
            format!("{},000 connections", CONNECTIONS_MAX / 1_000),
            format!("{} s for the head of a request", HEAD.as_secs()),
            format!("{} s for a client that does not read", WRITE.as_secs()),
            format!("waits for {} s", SHUTDOWN.as_secs()),
        ] {
            assert!(page.contains(&said), "the page does not say {said:?}");
        }
        assert_eq!(FIRST_BYTES, HEAD, "the page knows one of them");
    }
}
