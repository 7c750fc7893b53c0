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
    use std::future::{Future, poll_fn};
    use std::panic::Location;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, OnceLock};

    /// So many things are no pile.
    const PILE_MIN: usize = 1_024;

    type Line = Option<&'static Location<'static>>;

    /// What the ends of a channel have in common.
    pub(crate) type Shared = Arc<Told>;

    /// What is told of one lock, or of one end of a channel.
    #[derive(Debug)]
    pub(crate) struct Told {
        what: What,
        location: &'static Location<'static>,
        /// Made when there is something to tell: many channels are never waited for.
        resource: OnceLock<Arc<Resource>>,
        /// How many values are in the channel. They are counted also while nobody listens.
        inside: AtomicUsize,
    }

    impl Told {
        #[track_caller]
        pub(crate) const fn new(what: What) -> Self {
            let (location, inside) = (Location::caller(), AtomicUsize::new(0));
            Self { what, location, resource: OnceLock::new(), inside }
        }

        #[track_caller]
        pub(crate) fn shared(what: What) -> Shared {
            Arc::new(Self::new(what))
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

        /// The task has got what it asked for.
        pub(crate) fn got(&self) {
            self.got_at(None);
        }

        fn got_at(&self, line: Line) {
            // Nobody has waited for what was never told of.
            if let Some(resource) = self.resource.get() {
                tell::got(resource, line);
            }
        }

        /// Awaits a future, and tells that the task waits as long as that is pending.
        pub(crate) async fn telling<F: Future>(&self, line: Line, future: F) -> F::Output {
            let mut future = pin!(future);
            poll_fn(|context| {
                let poll = future.as_mut().poll(context);
                match poll.is_pending() {
                    true => self.waits_at(line),
                    false => self.got_at(line),
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
            self.enters();
        }

        /// A value goes into a channel that has room for any number.
        pub(crate) fn sends_without_limit(&self) {
            let inside = self.enters();
            self.piles(inside, || inside);
        }

        /// Returns how many values are in the channel with this one.
        fn enters(&self) -> usize {
            let before = self.inside.fetch_add(1, Ordering::Relaxed);
            if is_on() {
                tell::sends(self.resource());
            }
            before.wrapping_add(1)
        }

        /// So many values come out of the channel.
        pub(crate) fn receives(&self, count: usize) {
            self.inside.fetch_sub(count, Ordering::Relaxed);
            if count > 0 && is_on() {
                tell::receives(self.resource(), count);
            }
        }
    }

    impl Drop for Told {
        fn drop(&mut self) {
            if let Some(resource) = self.resource.get() {
                tell::dropped(resource);
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
    type Line = Option<&'static std::panic::Location<'static>>;

    /// See the other one.
    #[derive(Clone, Copy)]
    pub(crate) enum What {
        Mutex,
        RwLock,
        Semaphore,
        Notify,
        Barrier,
        Room,
        Value,
        Oneshot,
        Watch,
        Closed,
        Token,
        JoinSet,
        Select,
        Broadcast,
    }

    pub(crate) type Shared = Told;

    #[derive(Clone, Debug)]
    pub(crate) struct Told;

    #[derive(Debug)]
    pub(crate) struct Held;

    impl Told {
        #[inline(always)]
        pub(crate) const fn new(_what: What) -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn shared(_what: What) -> Shared {
            Self
        }

        #[inline(always)]
        pub(crate) fn waits(&self) {}

        #[inline(always)]
        pub(crate) fn got(&self) {}

        #[inline(always)]
        pub(crate) fn telling<F>(&self, _line: Line, future: F) -> F {
            future
        }

        #[inline(always)]
        pub(crate) fn holds(&self) -> Held {
            Held
        }

        #[inline(always)]
        pub(crate) fn holds_since(&self, _line: Line) -> Held {
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
        pub(crate) fn sends_without_limit(&self) {}

        #[inline(always)]
        pub(crate) fn receives(&self, _count: usize) {}
    }
}
