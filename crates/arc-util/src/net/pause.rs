//! What a listener does when the system has no descriptor or no memory for a connection.

use std::io::Result;
use std::time::Duration;

/// How long `accept` pauses after an error of the system: short for a client, long for a loop that
/// would otherwise use up a core.
const PAUSE: Duration = Duration::from_millis(50);

/// Returns what a listener has accepted. If the system has refused, this pauses first: the
/// connection waits in the kernel, and the listener stays ready.
pub(crate) async fn after_refusal<R>(accepted: Result<R>) -> Result<R> {
    // An error without a number is not the system's: the runtime has ended.
    if let Err(error) = &accepted
        && error.raw_os_error().is_some()
    {
        arc::time::sleep(PAUSE).await;
    }
    accepted
}
