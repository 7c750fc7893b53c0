//! The crate polling, with oneshot sources: an event ends the source's interest, and to ask
//! again reports what is there already.

use crate::driver::kernel::{Event, Events, Until};
use crate::sync::{Duration, Instant};
use polling::{AsSource, Event as Interest, Poller};
use std::io::{ErrorKind, Result};

/// No wait takes longer. Some systems refuse a timeout of years, or take one of months for none at
/// all. A wait that ends too early costs an empty turn.
const WAIT_MAX: Duration = Duration::from_secs(86_400);

pub(crate) struct Kernel {
    poller: Poller,
}

impl Kernel {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { poller: Poller::new()? })
    }

    /// Registers a source. Its events have to be asked for.
    pub(crate) fn add(&self, source: &impl AsSource, key: usize) -> Result<()> {
        // On Windows polling waits for errors of each source. It does not report one that nobody
        // has asked for, and takes a core meanwhile: so there the first event is asked for.
        let all = Interest::all(key);
        let interest = if cfg!(windows) { all } else { Interest::none(key) };

        // SAFETY: the descriptor must be deleted from the poller before it is closed. The only
        // user is `Async`, which owns the source, lends it out by shared reference alone, and
        // calls `Driver::deregister` before it gives the source away or drops it. By the contract
        // of `AsFd` and `AsSocket` the descriptor stays open until then, so the same number means
        // the same descriptor. If the source answers with another number, the reactor leaks it.
        // (When an `Async` is forgotten, its descriptor may be closed all the same. Then the
        // poller may refuse the next descriptor of that number.)
        unsafe { self.poller.add(&source.source(), interest) }
    }

    /// Asks for the next event in the directions that are wanted.
    pub(crate) fn ask_again(&self, io: &impl AsSource, wanted: Interest) -> Result<()> {
        self.poller.modify(io, wanted)?;

        // On Windows polling asks at once only if it sees that a thread waits. Otherwise it leaves
        // a note for the next wait. A thread that begins to wait at that moment may have looked for
        // notes already, and the event would be lost. This second call sees that thread wait, or
        // finds that it has the note.
        #[cfg(windows)]
        self.poller.modify(io, wanted)?;
        Ok(())
    }

    pub(crate) fn delete(&self, source: &impl AsSource) -> Result<()> {
        self.poller.delete(source)
    }

    /// Waits until something happens or the deadline has passed, and passes the events to `take`.
    /// polling tries again when a signal interrupts it.
    pub(crate) fn wait(&self, until: Until, take: impl FnOnce(Events<'_>)) -> Result<()> {
        let now = Instant::now();
        let left = until.map(|deadline| deadline.saturating_duration_since(now));
        let mut timeout = left.map(|left| left.min(WAIT_MAX));
        let mut reported = polling::Events::new();

        while let Err(error) = self.poller.wait(&mut reported, timeout) {
            // polling's `poll` says `WouldBlock` when it sees a notification before the byte
            // that is written for it. It then ignores all notifications until a wait ends
            // without an error. And macOS may say that the time is over. So wait once more, only to
            // look.
            if ![ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) {
                return Err(error);
            }
            timeout = Some(Duration::ZERO);
        }

        // An event ends the interest in both directions. So the tasks of both directions are woken,
        // try, and ask again. A hang-up is reported again then, so it need not be known here.
        let both = |key| Event { key, ready: [true; 2], hang_up: false };
        take(&mut reported.iter().map(|event| both(event.key)));
        Ok(())
    }

    /// Ends the current wait, or else the next one.
    pub(crate) fn notify(&self) -> Result<()> {
        self.poller.notify()
    }
}
