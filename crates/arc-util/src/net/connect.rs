//! Connecting to names that have several addresses.

use super::names::{ToSocketAddrs, lookup_host, no_address};
use super::tcp::TcpStream;
use crate::time::timeout;
use arc::net::SocketAddr;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::Future;
use std::io::Result;
use std::time::Duration;

/// How long the next attempt waits for the one before it. RFC 8305 recommends this value.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Connects to the address of a name that answers first: Happy Eyeballs, RFC 8305.
///
/// The attempts alternate between IPv4 and IPv6, beginning with the family of the address that
/// the system lists first. The next attempt begins when one has failed, or 250 ms after the
/// last one began. Earlier attempts go on meanwhile. ([`TcpStream::connect`] waits for each
/// address in turn, which takes minutes when the first one never answers.)
///
/// All addresses are looked up before the first attempt, because the system's lookup returns
/// both families together.
///
/// # Errors
///
/// Fails when the name is not known, and when no address accepts: then the error is that of the
/// attempt that failed last.
///
/// # Panics
///
/// Panics outside a runtime.
///
/// # Cancellation
///
/// Dropping the future abandons all attempts and closes their sockets.
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

/// Connects like [`connect`], within a time limit that includes the lookup.
///
/// # Errors
///
/// Fails with `TimedOut` when the time is over. Otherwise the same as `connect`.
///
/// # Panics
///
/// Panics outside a runtime.
///
/// # Cancellation
///
/// Same as `connect`.
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

/// Alternates between the families, beginning with the family of the first address. Each family
/// keeps its own order.
fn take_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let (ours, theirs): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|it| it.is_ipv4() == first);

    let (mut ours, mut theirs) = (ours.into_iter(), theirs.into_iter());
    let mut all = Vec::with_capacity(ours.len() + theirs.len());
    // When one family has no more, the rest of the other one follows.
    while ours.len() + theirs.len() > 0 {
        all.extend(ours.next());
        all.extend(theirs.next());
    }
    all
}

/// Begins one attempt after the other until one succeeds. See [`connect`].
async fn race<T, F: Future<Output = Result<T>>>(
    addresses: Vec<SocketAddr>,
    attempt: impl Fn(SocketAddr) -> F,
) -> Result<T> {
    let (mut addresses, mut attempts) = (addresses.into_iter(), FuturesUnordered::new());
    let mut last = no_address();
    loop {
        attempts.extend(addresses.next().map(&attempt));

        // Only an attempt that has a successor has a time limit.
        let outcome = match addresses.len() {
            0 => attempts.next().await,
            _ => match timeout(ATTEMPT_DELAY, attempts.next()).await {
                Ok(outcome) => outcome,
                // It goes on, beside the next one.
                Err(_) => continue,
            },
        };

        match outcome {
            Some(Ok(done)) => return Ok(done),
            Some(Err(error)) => last = error,
            // All have failed, or there was no address.
            None => return Err(last),
        }
    }
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
