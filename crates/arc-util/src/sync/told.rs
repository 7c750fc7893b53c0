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
    #[cfg(unix)]
    use std::os::fd::{AsFd, AsRawFd};
    use std::panic::Location;
    use std::pin::pin;
    use std::ptr::from_ref;
    use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
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
        /// How many values are in the channel, or how many tasks have come to a barrier. They are
        /// counted also while nobody listens.
        inside: AtomicUsize,
        /// How many permits there were at first and are now, or how many values or tasks it is for.
        first_size: usize,
        size: AtomicUsize,
        /// It is made for a static: a guard that borrows it may be moved to another task.
        is_static: bool,
        /// A `poll_` function was pending: the next one that is ready tells so.
        was_polled: AtomicBool,
    }

    impl Told {
        #[track_caller]
        pub(crate) const fn new(what: What) -> Self {
            Self::with_size(what, 0)
        }

        /// For so many permits, values or tasks.
        #[track_caller]
        pub(crate) const fn with_size(what: What, size: usize) -> Self {
            Self {
                what,
                location: Location::caller(),
                resource: OnceLock::new(),
                inside: AtomicUsize::new(0),
                first_size: size,
                size: AtomicUsize::new(size),
                is_static: false,
                was_polled: AtomicBool::new(false),
            }
        }

        /// What is made for a static lives for ever.
        pub(crate) const fn in_static(mut self) -> Self {
            self.is_static = true;
            self
        }

        #[track_caller]
        pub(crate) fn shared(what: What, size: usize) -> Shared {
            Arc::new(Self::with_size(what, size))
        }

        fn resource(&self) -> &Arc<Resource> {
            let sizes = || [self.first_size, self.size.load(Ordering::Relaxed)];
            self.resource.get_or_init(|| Resource::with_size(self.what, self.location, sizes()))
        }

        /// The task waits for it, by a `poll_` function. It is told in each poll.
        pub(crate) fn waits(&self) {
            if is_on() {
                self.was_polled.store(true, Ordering::Relaxed);
                tell::waits_for(self.resource(), None, 0, 0);
            }
        }

        /// The task has got what it asked for by a `poll_` function.
        pub(crate) fn got(&self) {
            // Nobody has waited for what was never told of.
            if let Some(resource) = self.resource.get() {
                tell::got(resource, None);
                if self.was_polled.swap(false, Ordering::Relaxed) {
                    tell::came(resource);
                }
            }
        }

        /// Begins to ask for it, by a future that keeps its place in memory from its first poll on.
        pub(crate) fn asks(&self) -> Asks<'_> {
            self.asks_at(None, 0)
        }

        fn asks_at(&self, line: Line, permits: u32) -> Asks<'_> {
            Asks { told: self, asks: AsksOf { line, permits, place: 0 } }
        }

        /// Awaits a future, and tells that the task waits as long as that is pending.
        pub(crate) async fn telling<F: Future>(&self, line: Line, future: F) -> F::Output {
            self.telling_of(line, 0, future).await
        }

        /// Does the same for so many permits.
        pub(crate) async fn telling_of<F: Future>(
            &self,
            line: Line,
            permits: u32,
            future: F,
        ) -> F::Output {
            let mut future = pin!(future);
            let mut asks = self.asks_at(line, permits);

            // Whoever drops this while the future is pending drops `asks`, which tells so.
            poll_fn(|context| {
                let poll = future.as_mut().poll(context);
                asks.tell(poll.is_pending());
                poll
            })
            .await
        }

        /// The task has got it, as long as what is returned lives. That may be moved to another
        /// task if it owns its share of the lock, or if the lock is a static.
        pub(crate) fn holds_since(&self, line: Line, is_owned: bool) -> Held {
            if !is_on() {
                return Held(None);
            }

            // Whoever gives it back may be another task by then. So the one that got it is noted.
            let resource = self.resource().clone();
            let task = tell::holds(&resource, line, is_owned || self.is_static);
            Held(Some((resource, task)))
        }

        /// There are so many more permits, or fewer.
        pub(crate) fn grows(&self, by: isize) {
            // Also while nobody listens: the number is right for whoever begins to.
            let add = |size: usize| Some(size.saturating_add_signed(by));
            let _ = self.size.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);

            // Whoever waits for permits is to know that some were added before it.
            if by > 0 || self.resource.get().is_some() {
                let size = self.size.load(Ordering::Relaxed);
                tell::resizes(self.resource(), size, by > 0);
            }
        }

        /// A task comes to a barrier for so many. The last one makes it begin anew.
        pub(crate) fn comes_to(&self, tasks: usize) {
            let next = |come: usize| Some((come + 1) % tasks.max(1));
            let _ = self.inside.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);

            // Each one that comes brings the others nearer to their end.
            if is_on() {
                self.provides();
                tell::come_to(self.resource(), self.inside.load(Ordering::Relaxed));
            }
        }

        /// The receiver has lost so many values.
        pub(crate) fn lags(&self, count: u64) {
            if is_on() {
                tell::lags(self.resource(), count);
            }
        }

        /// Counts a sender.
        pub(crate) fn sender(self: &Arc<Self>) -> End {
            static LAST: AtomicU64 = AtomicU64::new(0);
            let end = End(self.clone(), LAST.fetch_add(1, Ordering::Relaxed) + 1);
            end.is_used();
            end
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

            // Only now: to count them is to go through all.
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

    /// A future that asks for something. Its drop tells that it no longer does.
    #[derive(Debug)]
    pub(crate) struct Asks<'a> {
        told: &'a Told,
        asks: AsksOf,
    }

    impl Asks<'_> {
        /// The future was polled.
        pub(crate) fn tell(&mut self, is_pending: bool) {
            self.asks.tell(self.told, is_pending);
        }
    }

    /// The same, without what it asks for: that comes with each call.
    #[derive(Debug, Default)]
    pub(crate) struct AsksOf {
        line: Line,
        permits: u32,
        /// Where it was when its future was pending first. What is told of the wait goes by that.
        /// Zero: it is not pending.
        place: usize,
    }

    impl AsksOf {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        pub(crate) fn tell(&mut self, told: &Told, is_pending: bool) {
            if is_pending {
                // It keeps its place in memory from now on, so no other wait has this number.
                if self.place == 0 {
                    self.place = from_ref(self).addr();
                }
                if is_on() {
                    tell::waits_for(told.resource(), self.line, self.place, self.permits);
                }
                return;
            }

            // Nobody has waited for what was never told of.
            if let Some(resource) = told.resource.get() {
                tell::got(resource, self.line);
            }
            self.end();
        }

        fn end(&mut self) {
            let place = std::mem::take(&mut self.place);
            if place > 0 && is_on() {
                tell::no_longer_waits(place);
            }
        }
    }

    impl Drop for AsksOf {
        fn drop(&mut self) {
            self.end();
        }
    }

    /// A sender of a channel, and its number.
    #[derive(Debug)]
    pub(crate) struct End(Arc<Told>, u64);

    impl End {
        /// The task uses it.
        pub(crate) fn is_used(&self) {
            if is_on() {
                tell::uses_sender(self.0.resource(), self.1);
            }
        }
    }

    impl Clone for End {
        fn clone(&self) -> Self {
            self.is_used();
            self.0.sender()
        }
    }

    impl Drop for End {
        fn drop(&mut self) {
            if let Some(resource) = self.0.resource.get() {
                tell::drops_sender(resource, self.1);
            }
        }
    }

    /// What a `select!` polls from now on may be given up.
    #[inline]
    pub(crate) fn begins_choice() {
        if is_on() {
            tell::begins_choice();
        }
    }

    /// The poll of a `select!` has ended. If it is ready, it gives the other branches up.
    #[inline]
    pub(crate) fn ends_choice(is_ready: bool) {
        if is_on() {
            tell::ends_choice(is_ready);
        }
    }

    /// When it is dropped, the task no longer waits by any handle of a task, so far as is told.
    pub(crate) struct Joins;

    impl Drop for Joins {
        fn drop(&mut self) {
            if is_on() {
                tell::gives_up_handles();
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

    /// A descriptor is no socket, as long as this lives. It is to be dropped before that is closed.
    #[cfg(unix)]
    #[derive(Debug)]
    pub(crate) struct Named(Option<i64>);

    #[cfg(unix)]
    impl Named {
        /// The name is the end of a sentence, after "for".
        pub(crate) fn new(descriptor: &impl AsFd, name: impl FnOnce() -> String) -> Self {
            if !is_on() {
                return Self(None);
            }

            // The system gives the number to another descriptor when this one is closed. By then
            // the drop has taken the name away.
            let number = descriptor.as_fd().as_raw_fd().into();
            tell::names_source(number, &name());
            Self(Some(number))
        }
    }

    #[cfg(unix)]
    impl Drop for Named {
        fn drop(&mut self) {
            if let Some(number) = self.0 {
                tell::forgets_source(number);
            }
        }
    }
}

#[cfg(not(feature = "trace"))]
mod off {
    use std::marker::PhantomData;

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

    #[derive(Debug)]
    pub(crate) struct Asks<'a>(PhantomData<&'a ()>);

    #[derive(Debug)]
    pub(crate) struct AsksOf;

    #[derive(Clone, Debug)]
    pub(crate) struct End;

    impl AsksOf {
        #[inline(always)]
        pub(crate) fn new() -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn tell(&mut self, _told: &Told, _is_pending: bool) {}
    }

    impl Asks<'_> {
        #[inline(always)]
        pub(crate) fn tell(&mut self, _is_pending: bool) {}
    }

    impl End {
        #[inline(always)]
        pub(crate) fn is_used(&self) {}
    }

    impl Told {
        #[inline(always)]
        pub(crate) const fn new(_what: What) -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) const fn with_size(_what: What, _size: usize) -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) const fn in_static(self) -> Self {
            self
        }

        #[inline(always)]
        pub(crate) fn shared(_what: What, _size: usize) -> Shared {
            Self
        }

        #[inline(always)]
        pub(crate) fn waits(&self) {}

        #[inline(always)]
        pub(crate) fn got(&self) {}

        #[inline(always)]
        pub(crate) fn asks(&self) -> Asks<'_> {
            Asks(PhantomData)
        }

        #[inline(always)]
        pub(crate) fn telling<F>(&self, _line: Line, future: F) -> F {
            future
        }

        #[inline(always)]
        pub(crate) fn telling_of<F>(&self, _line: Line, _permits: u32, future: F) -> F {
            future
        }

        #[inline(always)]
        pub(crate) fn holds_since(&self, _line: Line, _is_owned: bool) -> Held {
            Held
        }

        #[inline(always)]
        pub(crate) fn comes(&self) {}

        #[inline(always)]
        pub(crate) fn comes_to(&self, _tasks: usize) {}

        #[inline(always)]
        pub(crate) fn grows(&self, _by: isize) {}

        #[inline(always)]
        pub(crate) fn lags(&self, _count: u64) {}

        #[inline(always)]
        pub(crate) fn sender(&self) -> End {
            End
        }

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

    pub(crate) struct Joins;

    #[inline(always)]
    pub(crate) fn begins_choice() {}

    #[inline(always)]
    pub(crate) fn ends_choice(_is_ready: bool) {}

    #[cfg(unix)]
    #[derive(Debug)]
    pub(crate) struct Named;

    #[cfg(unix)]
    impl Named {
        #[inline(always)]
        pub(crate) fn new<D>(_descriptor: &D, _name: impl FnOnce() -> String) -> Self {
            Self
        }
    }
}
