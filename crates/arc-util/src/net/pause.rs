//! What a listener does after an error of the system, such as that no descriptor is left.

use arc::time::{Instant, sleep_until};
use std::io::Result;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long `accept` pauses after an error of the system: short for a client, long for a loop that
/// would otherwise use up a core.
const PAUSE: Duration = Duration::from_millis(50);

/// The time until which a listener pauses, if it does. The connection waits in the kernel
/// meanwhile, and the listener stays ready.
///
/// The error itself is told at once, and the pause comes before the next attempt: a future that is
/// dropped while it pauses takes no error with it.
#[derive(Default)]
pub(crate) struct Pause(Mutex<Option<Instant>>);

impl Pause {
    /// Waits until the pause is over, if there is one.
    pub(crate) async fn wait(&self) {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = until {
            sleep_until(until).await;
        }
    }

    /// Takes note of what a listener has accepted. A pause begins if the system has refused.
    /// Anything else ends it: there is room again.
    pub(crate) fn note<R>(&self, accepted: &Result<R>) {
        // An error without a number is not the system's: the runtime has ended.
        let is_refused = accepted.as_ref().is_err_and(|error| error.raw_os_error().is_some());
        let until = is_refused.then(|| Instant::now() + PAUSE);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}
