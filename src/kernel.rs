//! The kernel's side of the reactor: registering and waiting.
//!
//! On Linux polling's epoll instance is used directly: a source is registered
//! edge-triggered with `EPOLLRDHUP`, without which a short read cannot be
//! trusted, and which polling cannot ask for. A wait is one `epoll_pwait`
//! (polling's own makes five system calls), a notification is one write to an
//! eventfd that is never read, and a deadline is a timerfd that is never read and is
//! set only when the deadline changes or is over: a wait's own timeout would be in milliseconds.
//!
//! Everywhere else polling does all of it, and sources are oneshot: an event ends
//! the interest, and asking for it again tells of what is there already. The
//! private cfgs `arc_oneshot` and `arc_portable` switch Linux to this: the tests
//! are run with polling's epoll and with its `poll`.

use polling::{AsSource, Event};
use std::io;
use std::time::{Duration, Instant};

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Until {
    /// Only look.
    Now,
    Deadline(Instant),
    Forever,
}

/// What happened to a source: its key, whether reading and writing are worth
/// trying now, and whether there was a hang-up, an error or urgent data. Such a one concerns
/// both directions: either one's next operation tells what happened.
pub(crate) type Told = (usize, [bool; 2], bool);
pub(crate) type Events = Vec<Told>;

pub(crate) use system::Kernel;

#[cfg(all(target_os = "linux", not(arc_oneshot), not(arc_portable)))]
mod system {
    use super::{AsSource, Duration, Event, Events, Instant, Told, Until, io};
    use crate::sync::{Mutex, lock};
    use rustix::event::epoll::{self, EventData, EventFlags};
    use rustix::event::{EventfdFlags, Timespec, eventfd};
    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};
    use rustix::time::{timerfd_create, timerfd_settime};
    use std::{fs::File, io::Write, os::fd::OwnedFd};

    /// How many events one wait fetches at the most.
    const EVENTS_MAX: usize = 1024;
    /// No source has this key: theirs have a slab index for the low bits.
    const NOTIFICATION: u64 = u64::MAX;

    pub(crate) struct Kernel {
        /// Its descriptor is an epoll instance.
        poller: polling::Poller,
        /// Registered edge-triggered: every write is an event of its own.
        notifier: File,
        /// The same, and for when it is set.
        timer: OwnedFd,
        set_for: Mutex<Option<Instant>>,
    }

    impl Kernel {
        pub(crate) fn new() -> io::Result<Self> {
            let poller = polling::Poller::new()?;
            let notifier = File::from(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
            let flags = EventFlags::IN | EventFlags::ET;
            epoll::add(&poller, &notifier, EventData::new_u64(NOTIFICATION), flags)?;
            let flags_of_timer = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags_of_timer)?;
            epoll::add(&poller, &timer, EventData::new_u64(NOTIFICATION), flags)?;
            Ok(Self { poller, notifier, timer, set_for: Mutex::default() })
        }

        /// PRI is for urgent bytes: a read stops short at them.
        pub(crate) fn add(&self, source: &impl AsSource, key: usize) -> io::Result<()> {
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP;
            let flags = flags | EventFlags::PRI | EventFlags::ET;
            let data = EventData::new_u64(key as u64);
            Ok(epoll::add(&self.poller, source.source(), data, flags)?)
        }

        /// An edge is told without being asked for.
        pub(crate) fn ask_again(&self, _: &impl AsSource, _: Event) -> io::Result<()> {
            Ok(())
        }

        pub(crate) fn delete(&self, source: &impl AsSource) -> io::Result<()> {
            self.poller.delete(source)
        }

        /// Waits until something happens, or the time has come.
        pub(crate) fn wait(&self, events: &mut Events, until: Until) -> io::Result<()> {
            events.clear();
            let mut buffer = [const { std::mem::MaybeUninit::uninit() }; EVENTS_MAX];
            if let Until::Deadline(deadline) = until {
                self.set_timer(deadline)?;
            }
            let timeout = (until == Until::Now).then(Timespec::default);
            match epoll::wait(&self.poller, &mut buffer[..], timeout.as_ref()) {
                Ok((told, _)) => events.extend(told.iter().map(tell)),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(())
        }

        /// If it was set for a deadline that is over, its event may have been told.
        /// A deadline that the kernel cannot hold is as good as none.
        fn set_timer(&self, deadline: Instant) -> io::Result<()> {
            let left = deadline.saturating_duration_since(Instant::now());
            let was_set_for = lock(&self.set_for).replace(deadline);
            if was_set_for == Some(deadline) && !left.is_zero() {
                return Ok(());
            }
            // Zero would be never.
            let left = left.max(Duration::from_nanos(1));
            let it_value = Timespec::try_from(left).unwrap_or_default();
            let time = Itimerspec { it_interval: Timespec::default(), it_value };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &time)?;
            Ok(())
        }

        /// Ends the current wait, or the next one; interrupted, it tries again. The eventfd
        /// is full after 2^64 - 2 notifications: not in a lifetime.
        pub(crate) fn notify(&self) -> io::Result<()> {
            (&self.notifier).write_all(&1_u64.to_ne_bytes())
        }
    }

    fn tell(event: &epoll::Event) -> Told {
        let (data, flags) = (event.data, event.flags);
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        let readable = broken || flags.intersects(EventFlags::IN | EventFlags::RDHUP);
        let writable = broken || flags.contains(EventFlags::OUT);
        let hangup = broken || flags.intersects(EventFlags::RDHUP | EventFlags::PRI);
        (data.u64() as usize, [readable, writable], hangup)
    }
}

#[cfg(any(not(target_os = "linux"), arc_oneshot, arc_portable))]
mod system {
    use super::{AsSource, Duration, Event, Events, Instant, Until, io};
    use polling::Poller;
    use std::sync::Mutex;

    /// Only whoever sits in the driver's seat locks the events.
    pub(crate) struct Kernel(Poller, Mutex<polling::Events>);

    impl Kernel {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self(Poller::new()?, Mutex::default()))
        }

        pub(crate) fn add(&self, source: &impl AsSource, key: usize) -> io::Result<()> {
            // SAFETY: the descriptor must be deleted from the poller before it is closed. The only
            // user is `Async`, which owns the source, lends it out by shared reference alone, and
            // calls `delete` before it gives it away or drops it. The descriptor of a source that
            // is only lent out stays open: that is the contract of `AsFd` and `AsSocket`. (Past an
            // `Async` that is forgotten it may be closed: the next of its number may be refused.)
            unsafe { self.0.add(&source.source(), Event::none(key)) }
        }

        /// Asks for the next event.
        pub(crate) fn ask_again(&self, source: &impl AsSource, interest: Event) -> io::Result<()> {
            self.0.modify(source, interest)
        }

        pub(crate) fn delete(&self, source: &impl AsSource) -> io::Result<()> {
            self.0.delete(source)
        }

        /// Waits until something happens, or the time has come. polling deals
        /// with interruptions. As an event ends the interest in both directions,
        /// whoever waits for the other one is woken as well, and asks again. Then
        /// it is told of a hang-up again, too, so nothing depends on knowing.
        ///
        /// polling's `poll` says `WouldBlock` when it sees a notification before the
        /// byte that is written for it, and then ignores all others until a wait has
        /// ended without an error: so there is another, which only looks.
        pub(crate) fn wait(&self, events: &mut Events, until: Until) -> io::Result<()> {
            let mut timeout = match until {
                Until::Now => Some(Duration::ZERO),
                Until::Deadline(time) => Some(time.saturating_duration_since(Instant::now())),
                Until::Forever => None,
            };
            let mut told = crate::sync::lock(&self.1);
            told.clear();
            while let Err(error) = self.0.wait(&mut told, timeout) {
                timeout = (error.kind() == io::ErrorKind::WouldBlock).then_some(Duration::ZERO);
                timeout.ok_or(error)?;
            }
            events.clear();
            events.extend(told.iter().map(|event| (event.key, [true; 2], false)));
            Ok(())
        }

        /// Ends the current wait, or the next one.
        pub(crate) fn notify(&self) -> io::Result<()> {
            self.0.notify()
        }
    }
}
