//! Connecting to a name that has several addresses.

use arc::net::{SocketAddr, TcpStream, ToSocketAddrs, lookup_host};
use arc::time::timeout;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

/// For how long an attempt has the field to itself: RFC 8305's recommendation.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Connects to whichever of a name's addresses answers first: Happy Eyeballs, RFC 8305.
///
/// The families take turns, beginning with that of the address which the system puts
/// first. The next attempt begins when one has failed, or 250 ms after the last began;
/// those before it go on. [`TcpStream::connect`] waits for each address in turn, which
/// takes minutes when the first is never answered.
///
/// All addresses are looked up before the first attempt: the system's lookup does not
/// give those of the two families apart.
///
/// # Errors
///
/// When the name is not known, or no address accepts: then it is the error of the
/// attempt that failed last.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancellation
///
/// The attempts are given up, and their sockets closed.
///
/// # Examples
///
/// ```
/// use arc_util::net::{TcpListener, connect};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let port = listener.local_addr()?.port();
/// let stream = connect(("localhost", port)).await?;
/// assert_eq!(stream.peer_addr()?.port(), port);
/// # Ok(())
/// # }
/// ```
pub async fn connect(address: impl ToSocketAddrs) -> Result<TcpStream> {
    let addresses = take_turns(lookup_host(address).await?.collect());
    race(addresses, TcpStream::connect).await
}

/// As [`connect`], for at most so long, the lookup included.
///
/// # Errors
///
/// `TimedOut` when the time is over; else as `connect`.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancellation
///
/// As `connect`.
///
/// # Examples
///
/// ```
/// use arc_util::net::{TcpListener, connect_timeout};
/// use std::time::Duration;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// connect_timeout(listener.local_addr()?, Duration::from_secs(10)).await?;
/// # Ok(())
/// # }
/// ```
pub async fn connect_timeout(address: impl ToSocketAddrs, limit: Duration) -> Result<TcpStream> {
    timeout(limit, connect(address)).await?
}

/// The families in turns, each in its own order, the first one's first.
fn take_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let (ours, theirs): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|it| it.is_ipv4() == first);
    let (mut ours, mut theirs) = (ours.into_iter(), theirs.into_iter());
    let mut all = Vec::with_capacity(ours.len() + theirs.len());
    while ours.len() + theirs.len() > 0 {
        all.extend(ours.next());
        all.extend(theirs.next());
    }
    all
}

/// Makes attempts one after the other until one succeeds.
async fn race<T, F: Future<Output = Result<T>>>(
    addresses: Vec<SocketAddr>,
    attempt: impl Fn(SocketAddr) -> F,
) -> Result<T> {
    let (mut addresses, mut attempts) = (addresses.into_iter(), FuturesUnordered::new());
    let mut last = no_address();
    loop {
        attempts.extend(addresses.next().map(&attempt));
        let outcome = match addresses.len() {
            0 => attempts.next().await,
            _ => match timeout(ATTEMPT_DELAY, attempts.next()).await {
                Ok(outcome) => outcome,
                Err(_) => continue,
            },
        };
        match outcome {
            Some(Ok(done)) => return Ok(done),
            Some(Err(error)) => last = error,
            None => return Err(last),
        }
    }
}

/// Tries one address after the other; the error is the last one's.
pub(super) async fn first<T>(
    host: impl ToSocketAddrs,
    what: &str,
    attempt: impl Fn(SocketAddr) -> Result<T>,
) -> Result<T> {
    let mut last = no_address();
    for address in lookup_host(host).await? {
        match attempt(address) {
            Ok(done) => return Ok(done),
            Err(error) => last = Error::new(error.kind(), format!("{what} {address}: {error}")),
        }
    }
    Err(last)
}

pub(super) fn no_address() -> Error {
    Error::new(ErrorKind::InvalidInput, "no address was given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_families_take_turns() {
        let four = |number| SocketAddr::from(([127, 0, 0, number], 1));
        let six = |number| SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, number], 1));
        let turns = take_turns(vec![six(1), six(2), six(3), four(1), four(2)]);
        assert_eq!(turns, [six(1), four(1), six(2), four(2), six(3)]);
        let turns = take_turns(vec![four(1), four(2), six(1), six(2), six(3)]);
        assert_eq!(turns, [four(1), six(1), four(2), six(2), six(3)]);
        assert_eq!(take_turns(vec![]), []);
    }
}
