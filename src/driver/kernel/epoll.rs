//! epoll, edge-triggered, with one system call for each wait.
//!
//! A source is registered once, for both directions, with `EPOLLRDHUP`. That flag reports that the
//! peer has closed its side. Without it, a short read would not tell whether the end of the stream
//! follows. polling cannot ask for it, and its own wait makes five system calls. So rustix's calls
//! are made on polling's epoll instance, which polling keeps open.
//!
//! * A wait is one `epoll_pwait`.
//! * A notification is one write to an eventfd that is never read.
//! * A deadline is a timerfd that is never read, and that is set only when the deadline has
//!   changed. The timeout of `epoll_pwait` itself would be in milliseconds.

use crate::driver::kernel::{Event, Events, Until};
use crate::sync::{Duration, Instant, Mutex, lock};
use polling::AsSource;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::time::{self, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};
use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// How many events one wait fetches at most. The buffer is on the stack: 12 KiB.
const EVENTS_MAX: usize = 1024;

/// The key of the eventfd and of the timerfd. The key of a source never has all bits set, so the
/// reactor finds no source for their events and passes over them.
const NO_SOURCE: u64 = u64::MAX;

pub(crate) struct Kernel {
    /// Its descriptor is the epoll instance.
    poller: polling::Poller,
    /// An eventfd. As it is registered edge-triggered, every write to it is an event.
    notifier: File,
    /// A timerfd, registered in the same way.
    timer: OwnedFd,
    /// What the timerfd was last set for. Only the thread that waits locks this.
    alarm: Mutex<Option<Instant>>,
}

impl Kernel {
    pub(crate) fn new() -> io::Result<Self> {
        let poller = polling::Poller::new()?;
        let edge = EventFlags::IN | EventFlags::ET;
        let no_source = EventData::new_u64(NO_SOURCE);

        let notifier = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&poller, &notifier, no_source, edge)?;

        // It counts by the clock of `Instant`, which cannot be set back.
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        epoll::add(&poller, &timer, no_source, edge)?;
        Ok(Self { poller, notifier: notifier.into(), timer, alarm: Mutex::default() })
    }

    /// Registers a source for both directions.
    pub(crate) fn add(&self, source: &impl AsSource, key: usize) -> io::Result<()> {
        // PRI stands for urgent bytes, at which a read stops short.
        let read = EventFlags::IN | EventFlags::RDHUP | EventFlags::PRI;
        let flags = read | EventFlags::OUT | EventFlags::ET;
        let key = EventData::new_u64(key as u64);
        Ok(epoll::add(&self.poller, source.source(), key, flags)?)
    }

    /// Does nothing: an edge is reported without being asked for.
    pub(crate) fn ask_again(&self, _: &impl AsSource, _: polling::Event) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn delete(&self, source: &impl AsSource) -> io::Result<()> {
        self.poller.delete(source)
    }

    /// Waits until something happens or the deadline has passed, and passes the events to `take`.
    pub(crate) fn wait(&self, until: Until, take: impl FnOnce(Events<'_>)) -> io::Result<()> {
        // The kernel's own timeout is for a look alone. A wait for a deadline is ended by the
        // timerfd.
        let mut timeout = None;
        if let Some(deadline) = until {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                timeout = Some(Timespec::default());
            } else {
                self.set_alarm(deadline, left)?;
            }
        }

        let mut buffer = [const { MaybeUninit::uninit() }; EVENTS_MAX];
        match epoll::wait(&self.poller, &mut buffer[..], timeout.as_ref()) {
            // The second part is the memory that was not filled.
            Ok((reported, _)) => take(&mut reported.iter().map(event_of)),
            // A signal came. The caller looks at everything and comes back.
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Sets the timerfd, unless it is set for this deadline. The deadline has not passed. Nobody
    /// switches it off: if no timer is left, an old alarm costs one empty turn.
    fn set_alarm(&self, deadline: Instant, left: Duration) -> io::Result<()> {
        let mut alarm = lock(&self.alarm);
        if *alarm != Some(deadline) {
            // A time that the kernel cannot hold becomes zero, which switches the timer off: such
            // a deadline is as good as none.
            let it_value = Timespec::try_from(left).unwrap_or_default();
            let setting = Itimerspec { it_interval: Timespec::default(), it_value };
            time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &setting)?;
            *alarm = Some(deadline);
        }
        Ok(())
    }

    /// Ends the current wait, or else the next one. The eventfd is full after 2^64 - 2 writes,
    /// which would take centuries.
    pub(crate) fn notify(&self) -> io::Result<()> {
        // Unlike `write`, this tries again when a signal interrupts it.
        (&self.notifier).write_all(&1_u64.to_ne_bytes())
    }
}

fn event_of(event: &epoll::Event) -> Event {
    // By value: the struct is packed.
    let key = event.data;
    let flags = event.flags;

    // An error or a hang-up concerns both directions. The task finds out which when it tries.
    let broken = EventFlags::ERR | EventFlags::HUP;
    let is_writable = flags.intersects(broken | EventFlags::OUT);
    let hang_up = flags.intersects(broken | EventFlags::RDHUP | EventFlags::PRI);
    let is_readable = hang_up || flags.contains(EventFlags::IN);
    Event { key: key.u64() as usize, ready: [is_readable, is_writable], hang_up }
}
