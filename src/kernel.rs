//! The kernel's side of the reactor: registering and waiting.
//!
//! On Linux a wait is one `epoll_pwait2` on the poller's descriptor (polling's
//! own `wait` makes five system calls), a source is registered edge-triggered
//! with `EPOLLRDHUP` (which polling cannot ask for, and without which a short
//! read cannot be trusted), and a notification is one write to an eventfd that
//! is never read. Everywhere else polling does all of it. The private cfg
//! `arc_oneshot` switches Linux to oneshot registration, `arc_portable` to the
//! code of the other platforms: both are run by the tests.

use polling::{AsSource, Event, PollMode, Poller};
use std::io;
use std::time::Duration;

/// What happened to a source.
pub(crate) struct Occurrence {
    pub(crate) key: usize,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    pub(crate) hangup: bool,
}

/// None is for ever.
pub(crate) type Timeout = Option<Duration>;

/// How many events one wait fetches at the most.
const EVENTS_MAX: usize = 1024;

pub(crate) use system::Kernel;

impl Kernel {
    /// Whether one event is told per change, with no need to ask again.
    pub(crate) fn is_edge(&self) -> bool {
        !cfg!(arc_oneshot) && self.poller().supports_edge()
    }

    /// Registers through polling.
    fn add_source(&self, source: &impl AsSource, key: usize, mode: PollMode) -> io::Result<()> {
        let edge = matches!(mode, PollMode::Edge);
        let interest = Event::new(key, edge, edge);
        // SAFETY: the descriptor must be deleted from the poller before it is
        // closed. The only caller is `Async::new`, which owns the source, lends
        // it out by shared reference alone, and calls `delete` before it gives
        // it away or drops it. The descriptor of a source that is only lent out
        // stays open: that is the contract of `AsFd` and `AsSocket`.
        unsafe {
            self.poller()
                .add_with_mode(&source.source(), interest, mode)
        }
    }

    /// Oneshot mode: asks for the next event.
    pub(crate) fn ask_again(&self, source: &impl AsSource, interest: Event) -> io::Result<()> {
        if self.is_edge() {
            Ok(())
        } else {
            self.poller().modify(source, interest)
        }
    }

    pub(crate) fn delete(&self, source: &impl AsSource) -> io::Result<()> {
        self.poller().delete(source)
    }
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(arc_portable)))]
mod system {
    use super::{AsSource, EVENTS_MAX, Occurrence, PollMode, Poller, Timeout, io};
    use rustix::buffer::spare_capacity;
    use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
    use rustix::io::Errno;
    use std::os::fd::OwnedFd;

    /// No source has it: the reactor's keys are slab indices below it.
    const NOTIFICATION: u64 = u64::MAX;

    pub(crate) struct Kernel {
        poller: Poller,
        /// Registered edge-triggered: every write is an event of its own.
        notifier: OwnedFd,
    }

    pub(crate) struct Events(Vec<epoll::Event>);

    impl Events {
        pub(crate) fn new() -> Self {
            Self(Vec::with_capacity(EVENTS_MAX))
        }

        pub(crate) fn iter(&self) -> impl Iterator<Item = Occurrence> + '_ {
            use epoll::EventFlags as Flags;
            let sources = self
                .0
                .iter()
                .filter(|event| event.data.u64() != NOTIFICATION);
            sources.map(|event| {
                let flags = event.flags;
                // Errors and hang-ups wake both directions: either one's next
                // operation tells what happened.
                let broken = flags.intersects(Flags::ERR | Flags::HUP);
                Occurrence {
                    key: event.data.u64() as usize,
                    readable: broken || flags.intersects(Flags::IN | Flags::RDHUP),
                    writable: broken || flags.contains(Flags::OUT),
                    hangup: broken || flags.contains(Flags::RDHUP),
                }
            })
        }
    }

    impl Kernel {
        pub(crate) fn new() -> io::Result<Self> {
            let poller = Poller::new()?;
            let notifier = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            let data = epoll::EventData::new_u64(NOTIFICATION);
            epoll::add(
                &poller,
                &notifier,
                data,
                epoll::EventFlags::IN | epoll::EventFlags::ET,
            )?;
            Ok(Self { poller, notifier })
        }

        pub(super) fn poller(&self) -> &Poller {
            &self.poller
        }

        /// A short read or write means that the kernel has no more: hang-ups
        /// are told, and told with the event that precedes the read.
        pub(crate) fn trusts_short_transfers(&self) -> bool {
            self.is_edge()
        }

        pub(crate) fn add(&self, source: &impl AsSource, key: usize) -> io::Result<()> {
            use epoll::EventFlags as Flags;
            if !self.is_edge() {
                return self.add_source(source, key, PollMode::Oneshot);
            }
            let flags = Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET;
            let data = epoll::EventData::new_u64(key as u64);
            Ok(epoll::add(&self.poller, source.source(), data, flags)?)
        }

        /// Waits until something happens or `timeout` is over (Linux 5.11).
        pub(crate) fn wait(&self, events: &mut Events, timeout: Timeout) -> io::Result<()> {
            events.0.clear();
            // A timeout that the kernel cannot hold is as good as none.
            let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
            match epoll::wait(
                &self.poller,
                spare_capacity(&mut events.0),
                timeout.as_ref(),
            ) {
                Ok(_) | Err(Errno::INTR) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }

        /// Ends the current wait, or the next one.
        pub(crate) fn notify(&self) -> io::Result<()> {
            // Full after 2^64 - 2 notifications: not in a lifetime.
            rustix::io::write(&self.notifier, &1_u64.to_ne_bytes())?;
            Ok(())
        }
    }
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(arc_portable))))]
mod system {
    use super::{AsSource, EVENTS_MAX, Occurrence, PollMode, Poller, Timeout, io};
    use std::num::NonZeroUsize;

    pub(crate) struct Kernel(Poller);

    pub(crate) struct Events(polling::Events);

    impl Events {
        pub(crate) fn new() -> Self {
            let capacity = NonZeroUsize::new(EVENTS_MAX).unwrap_or(NonZeroUsize::MIN);
            Self(polling::Events::with_capacity(capacity))
        }

        pub(crate) fn iter(&self) -> impl Iterator<Item = Occurrence> + '_ {
            self.0.iter().map(|event| {
                let broken = event.is_interrupt() || event.is_err().unwrap_or(false);
                Occurrence {
                    key: event.key,
                    readable: broken || event.readable,
                    writable: broken || event.writable,
                    hangup: broken,
                }
            })
        }
    }

    impl Kernel {
        pub(crate) fn new() -> io::Result<Self> {
            Poller::new().map(Self)
        }

        pub(super) fn poller(&self) -> &Poller {
            &self.0
        }

        /// polling does not tell of every hang-up.
        pub(crate) fn trusts_short_transfers(&self) -> bool {
            false
        }

        pub(crate) fn add(&self, source: &impl AsSource, key: usize) -> io::Result<()> {
            let mode = if self.is_edge() {
                PollMode::Edge
            } else {
                PollMode::Oneshot
            };
            self.add_source(source, key, mode)
        }

        /// Waits until something happens or `timeout` is over.
        pub(crate) fn wait(&self, events: &mut Events, timeout: Timeout) -> io::Result<()> {
            events.0.clear();
            // Interruptions polling deals with.
            self.0.wait(&mut events.0, timeout).map(drop)
        }

        /// Ends the current wait, or the next one.
        pub(crate) fn notify(&self) -> io::Result<()> {
            self.0.notify()
        }
    }
}

pub(crate) use system::Events;
