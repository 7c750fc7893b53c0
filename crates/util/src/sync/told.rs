//! What the timeline and the dump get to know of a lock or a channel.
//!
//! Each of them has a [`Told`], made by the line that made it. One call of it stands where a task
//! begins to wait, gets something, or gives something. With the feature `trace` these tell
//! arc-trace of it. Without it, all of this is empty, and takes no memory.

#[cfg(feature = "trace")]
pub(crate) use on::*;

#[cfg(not(feature = "trace"))]
pub(crate) use off::*;

#[cfg(feature = "trace")]
mod on {
    pub(crate) use arc_trace::What;
    use arc_trace::{Resource, is_on, tell};
    #[cfg(feature = "sync")]
    use std::future::{Future, poll_fn};
    use std::panic::Location;
    #[cfg(feature = "sync")]
    use std::pin::pin;
    use std::sync::{Arc, OnceLock};

    /// So many things are no pile.
    const PILE_MIN: usize = 1_024;

    type Line = Option<&'static Location<'static>>;

    /// What is told of one lock, or of one end of a channel.
    #[derive(Debug)]
    pub(crate) struct Told {
        what: What,
        location: &'static Location<'static>,
        /// Made when there is something to tell: many channels are never waited for.
        resource: OnceLock<Arc<Resource>>,
    }

    impl Told {
        #[track_caller]
        pub(crate) const fn new(what: What) -> Self {
            Self { what, location: Location::caller(), resource: OnceLock::new() }
        }

        fn resource(&self) -> &Arc<Resource> {
            self.resource.get_or_init(|| Resource::new(self.what, self.location))
        }

        /// The task waits for it. It is told in each poll.
        pub(crate) fn waits(&self) {
            self.waits_at(None);
        }

        fn waits_at(&self, line: Line) {
            if is_on() {
                tell::waits_for(self.resource(), line);
            }
        }

        /// Awaits a future, and tells that the task waits as long as that is pending.
        #[cfg(feature = "sync")]
        pub(crate) async fn telling<F: Future>(&self, line: Line, future: F) -> F::Output {
            let mut future = pin!(future);
            poll_fn(|context| {
                let poll = future.as_mut().poll(context);
                if poll.is_pending() {
                    self.waits_at(line);
                }
                poll
            })
            .await
        }

        /// The task has got it, as long as what is returned lives.
        pub(crate) fn holds(&self) -> Held {
            self.holds_since(None)
        }

        pub(crate) fn holds_since(&self, line: Line) -> Held {
            if !is_on() {
                return Held(None);
            }
            let resource = self.resource().clone();
            let task = tell::holds(&resource, line);
            Held(Some((resource, task)))
        }

        /// A notification has come to the task.
        pub(crate) fn comes(&self) {
            if is_on() {
                tell::comes(self.resource());
            }
        }

        /// There are so many things in it. It is told each time that twice as many have come
        /// together, and at least half of them wait for somebody who takes them.
        pub(crate) fn piles(&self, things: usize, count_waiting: impl FnOnce() -> usize) {
            if things < PILE_MIN || !things.is_power_of_two() || !is_on() {
                return;
            }
            let waiting = count_waiting();
            if waiting >= things / 2 {
                tell::piles(self.resource(), waiting);
            }
        }

        /// A `select!` takes one of its branches, from 1.
        pub(crate) fn chooses(&self, branch: usize, branches: usize) {
            if is_on() {
                tell::chooses(self.resource(), branch, branches);
            }
        }

        /// The task did what ends the wait of another one.
        pub(crate) fn provides(&self) {
            if is_on() {
                tell::provides(self.resource());
            }
        }

        /// A value goes into the channel.
        pub(crate) fn sends(&self) {
            if is_on() {
                tell::sends(self.resource());
            }
        }

        /// So many values come out of the channel.
        pub(crate) fn receives(&self, count: usize) {
            if count > 0 && is_on() {
                tell::receives(self.resource(), count);
            }
        }
    }

    /// Somebody has a lock or a permit. The drop tells that it was given back.
    #[derive(Debug)]
    pub(crate) struct Held(Option<(Arc<Resource>, u64)>);

    impl Drop for Held {
        fn drop(&mut self) {
            if let Some((resource, task)) = &self.0 {
                tell::releases(resource, *task);
            }
        }
    }
}

#[cfg(not(feature = "trace"))]
mod off {
    #[cfg(feature = "sync")]
    type Line = Option<&'static std::panic::Location<'static>>;

    /// See the other one.
    #[derive(Clone, Copy)]
    pub(crate) enum What {
        Semaphore,
        Room,
        Value,
        Oneshot,
        Watch,
        Notify,
        Closed,
        Token,
        JoinSet,
        Select,
        #[cfg(feature = "sync")]
        Broadcast,
    }

    #[derive(Debug)]
    pub(crate) struct Told;

    #[derive(Debug)]
    pub(crate) struct Held;

    impl Told {
        #[inline(always)]
        pub(crate) const fn new(_what: What) -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn waits(&self) {}

        #[cfg(feature = "sync")]
        #[inline(always)]
        pub(crate) fn telling<F>(&self, _line: Line, future: F) -> F {
            future
        }

        #[inline(always)]
        pub(crate) fn holds(&self) -> Held {
            Held
        }

        #[inline(always)]
        pub(crate) fn comes(&self) {}

        #[inline(always)]
        pub(crate) fn chooses(&self, _branch: usize, _branches: usize) {}

        #[inline(always)]
        pub(crate) fn piles(&self, _things: usize, _count_waiting: impl FnOnce() -> usize) {}

        #[inline(always)]
        pub(crate) fn provides(&self) {}

        #[inline(always)]
        pub(crate) fn sends(&self) {}

        #[inline(always)]
        pub(crate) fn receives(&self, _count: usize) {}
    }
}
