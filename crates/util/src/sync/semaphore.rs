//! A number of permits that tasks acquire and give back.
//!
//! The permits that no one holds are counted by an atomic number, and the tasks that wait stand in
//! a line, behind a lock. One bit of the number says that someone waits:
//!
//! | who | while no one waits | while someone waits |
//! |---|---|---|
//! | acquires | takes permits from the number | locks the line, and joins it |
//! | gives back | adds permits to the number | adds them, then locks the line and serves it |
//!
//! Whoever joins an empty line sets the bit in the step in which it finds too few permits. Permits
//! that are added before that step are found by it, and whoever adds some after it sees the bit.

use super::blocking::{block_on, may_block};
use super::line::{Left, Line};
use super::told::{Held, Told, What};
use crate::wake::wake_all;
use arc::task::consume_budget;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

/// Limits how much of something happens at once: tasks acquire permits and give them back.
/// Names and meaning are tokio's.
///
/// The semaphore is fair: the task that has waited longest is served first, even if tasks
/// behind it want fewer permits. Acquiring takes part in the task's budget: a task that always
/// finds permits still lets others run.
///
/// # Examples
///
/// ```
/// use arc_util::sync::Semaphore;
/// use std::sync::Arc;
/// # #[arc::main]
/// # async fn main() {
/// let connections = Arc::new(Semaphore::new(1));
/// let permit = connections.clone().acquire_owned().await.unwrap();
/// let task = arc::spawn(async move { drop(permit) });
/// // The only permit must be given back first.
/// let permit = connections.acquire().await.unwrap();
/// assert!(connections.try_acquire().is_err());
/// drop(permit);
/// assert_eq!(connections.available_permits(), 1);
/// # task.await.unwrap();
/// # }
/// ```
pub struct Semaphore {
    /// The permits that no one holds, times `ONE`, and the bits `CLOSED` and `WAITING`.
    ///
    /// While `WAITING` is set, permits are taken only under the lock of `line`.
    word: AtomicUsize,
    line: Mutex<Line>,
    pub(super) told: Told,
}

/// The bit that is set once the semaphore is closed.
const CLOSED: usize = 1;
/// The bit that is set while someone waits. It changes only under the lock of the line.
const WAITING: usize = 2;
/// One permit.
const ONE: usize = 4;

/// Returns the number of permits in the word.
fn permits(word: usize) -> usize {
    word / ONE
}

/// Returns the number of permits that can be taken. While someone waits there are none: those that
/// no one holds are too few for the first in line, and are set aside for that one.
fn available(word: usize) -> usize {
    if word & WAITING != 0 { 0 } else { permits(word) }
}

/// Returns the word without this many permits, or why they cannot be taken.
#[inline]
fn without(word: usize, count: usize) -> Result<usize, TryAcquireError> {
    if word & CLOSED != 0 {
        return Err(TryAcquireError::Closed);
    }
    // No one may overtake those who wait. (Who wants nothing takes nothing from them.)
    if count > available(word) {
        return Err(TryAcquireError::NoPermits);
    }
    Ok(word - count * ONE)
}

impl Semaphore {
    /// The highest number of permits that a semaphore can have.
    pub const MAX_PERMITS: usize = usize::MAX >> 3;

    /// Creates a semaphore with this many permits.
    ///
    /// # Panics
    ///
    /// Panics when there are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Self::const_new(permits)
    }

    /// Does the same as [`new`](Self::new), for a static. There, too many permits are an error of
    /// the compiler.
    ///
    /// # Panics
    ///
    /// As `new`.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::Semaphore;
    /// static UPLOADS: Semaphore = Semaphore::const_new(4);
    /// assert_eq!(UPLOADS.available_permits(), 4);
    /// ```
    #[track_caller]
    pub const fn const_new(permits: usize) -> Self {
        Self::told(permits, Told::new(What::Semaphore))
    }

    /// Creates one of which something else is told: the room in a channel.
    #[inline]
    #[track_caller]
    pub(super) const fn told(permits: usize, told: Told) -> Self {
        assert!(permits <= Self::MAX_PERMITS, "a semaphore has at most MAX_PERMITS permits");
        Self { word: AtomicUsize::new(permits * ONE), line: Mutex::new(Line::new()), told }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of permits that no one holds now. While a task waits it is 0: what no one
    /// holds is set aside for that task.
    pub fn available_permits(&self) -> usize {
        available(self.word.load(Ordering::Relaxed))
    }

    /// Adds permits. The tasks that have waited longest get them first.
    ///
    /// # Panics
    ///
    /// Panics when more than [`MAX_PERMITS`](Self::MAX_PERMITS) would be available. (Permits
    /// that are given back beyond this number are dropped without a panic.)
    #[track_caller]
    pub fn add_permits(&self, count: usize) {
        let sum =
            |permits: usize| permits.checked_add(count).filter(|sum| *sum <= Self::MAX_PERMITS);
        assert!(self.add(sum), "a semaphore has at most MAX_PERMITS permits");
    }

    /// Adds permits that were acquired. It never panics: the sum exceeds `MAX_PERMITS` only if
    /// permits were added while these were out, and the excess is dropped.
    pub(super) fn give_back(&self, count: usize) {
        self.add(|permits| Some(Self::MAX_PERMITS.min(permits + count)));
    }

    /// Sets the number of permits to what `sum` returns for it, which is no less, and serves those
    /// who wait. Returns false, and changes nothing, if `sum` returns `None`.
    #[inline]
    fn add(&self, sum: impl Fn(usize) -> Option<usize>) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let Some(sum) = sum(permits(word)) else {
                return false;
            };
            let new = word % ONE + sum * ONE;
            // Release: whoever acquires the permits sees what was done while they were out. It
            // pairs with the Acquire of `try_take` and of `take_or_wait`.
            match self.word.compare_exchange_weak(word, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }

        if word & WAITING != 0 {
            self.serve();
        }
        true
    }

    /// Serves those at the head of the line, as long as there are enough permits.
    fn serve(&self) {
        let mut is_enough = true;
        while is_enough {
            let mut line = self.lock();
            let waker = self.serve_first(&mut line);
            is_enough = self.has_enough(&line);

            // A waker is foreign code: wake without the lock.
            drop(line);
            wake_all(waker);
        }
    }

    /// Serves the first in line, if there are enough permits.
    fn serve_first(&self, line: &mut Line) -> Option<Waker> {
        if !self.has_enough(line) {
            return None;
        }

        // Under the lock no one else takes permits, so there are still enough.
        let wanted = line.wanted()?;
        let waker = line.serve();
        let no_longer_waiting = if line.is_empty() { WAITING } else { 0 };
        self.word.fetch_sub(wanted * ONE + no_longer_waiting, Ordering::Relaxed);
        waker
    }

    /// Returns whether someone waits for whom there are enough permits.
    fn has_enough(&self, line: &Line) -> bool {
        // Acquire, on behalf of the one who is served: pairs with the Release of `add`.
        line.wanted().is_some_and(|wanted| permits(self.word.load(Ordering::Acquire)) >= wanted)
    }

    /// Takes permits if there are enough and no one waits.
    #[inline]
    pub(super) fn try_take(&self, count: usize) -> Result<(), TryAcquireError> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let new = without(word, count)?;
            // Acquire: pairs with the Release of `add`.
            match self.word.compare_exchange_weak(word, new, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// Does the same as `try_take`, and says that someone waits if there are too few permits.
    /// Called under the lock, by a future that then joins the line.
    fn take_or_wait(&self, count: usize) -> Result<(), TryAcquireError> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let taken = without(word, count);
            let new = match taken {
                Ok(new) => new,
                Err(TryAcquireError::NoPermits) => word | WAITING,
                Err(TryAcquireError::Closed) => return Err(TryAcquireError::Closed),
            };
            // Acquire: as in `try_take`.
            match self.word.compare_exchange_weak(word, new, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return taken.map(|_| ()),
                Err(now) => word = now,
            }
        }
    }

    /// Returns whether `try_take` would find too few permits.
    #[inline]
    fn must_wait(&self, count: usize) -> bool {
        without(self.word.load(Ordering::Relaxed), count) == Err(TryAcquireError::NoPermits)
    }

    /// Gives up a place in the line.
    #[cold]
    fn leave(&self, place: usize, count: usize) {
        let mut line = self.lock();
        let left = line.leave(place);
        if line.is_empty() {
            self.word.fetch_and(!WAITING, Ordering::Relaxed);
        }
        drop(line);

        match left {
            Left::Served => self.give_back(count),
            Left::Dismissed => {}
            Left::Waited(waker) => {
                // The next in line may want fewer permits than this one did.
                self.serve();
                drop(waker);
            }
        }
    }

    /// Waits for a permit. Dropping the permit gives it back.
    ///
    /// # Errors
    ///
    /// Fails when the semaphore is closed.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no permit is lost. A future that is dropped loses its place in line.
    pub async fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.acquire_many(1).await
    }

    /// Waits for several permits at once. Otherwise the same as [`acquire`](Self::acquire).
    ///
    /// A task that wants more permits than there will ever be waits until the semaphore is
    /// [closed](Self::close), and so do all tasks behind it. A task that wants 0 permits does not
    /// wait.
    ///
    /// # Errors
    ///
    /// Same as `acquire`.
    ///
    /// # Cancellation
    ///
    /// Same as `acquire`.
    pub async fn acquire_many(&self, count: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        let count = count as usize;
        Acquire::new(self, count).await?;
        Ok(SemaphorePermit { semaphore: self, count, _held: self.told.holds() })
    }

    /// Acquires a permit without waiting.
    ///
    /// # Errors
    ///
    /// Fails when no permit is available, when other tasks wait for permits, and when the
    /// semaphore is closed.
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_take(1)?;
        Ok(SemaphorePermit { semaphore: self, count: 1, _held: self.told.holds() })
    }

    /// Acquires several permits at once without waiting.
    ///
    /// # Errors
    ///
    /// Same as [`try_acquire`](Self::try_acquire), if fewer permits than this are available.
    pub fn try_acquire_many(&self, count: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let count = count as usize;
        self.try_take(count)?;
        Ok(SemaphorePermit { semaphore: self, count, _held: self.told.holds() })
    }

    /// Does the same as [`acquire`](Self::acquire), on a thread that may block, such as one of
    /// [`spawn_blocking`](arc::task::spawn_blocking).
    ///
    /// # Errors
    ///
    /// Same as `acquire`.
    ///
    /// # Panics
    ///
    /// Panics inside a task or `block_on`: it would block a thread that polls futures.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = arc_util::sync::Semaphore::new(2);
    /// let permit = semaphore.blocking_acquire().unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # drop(permit);
    /// ```
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        may_block("blocking_acquire");
        block_on(self.acquire())
    }

    /// Does the same as [`acquire_many`](Self::acquire_many), on a thread that may block. See
    /// [`blocking_acquire`](Self::blocking_acquire).
    ///
    /// # Errors
    ///
    /// Same as `acquire`.
    ///
    /// # Panics
    ///
    /// Same as `blocking_acquire`.
    #[track_caller]
    pub fn blocking_acquire_many(&self, count: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        may_block("blocking_acquire_many");
        block_on(self.acquire_many(count))
    }

    /// Does the same as [`acquire_owned`](Self::acquire_owned), on a thread that may block. See
    /// [`blocking_acquire`](Self::blocking_acquire).
    ///
    /// # Errors
    ///
    /// Same as `acquire`.
    ///
    /// # Panics
    ///
    /// Same as `blocking_acquire`.
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        may_block("blocking_acquire_owned");
        block_on(self.acquire_owned())
    }

    /// Does the same as [`acquire_many_owned`](Self::acquire_many_owned), on a thread that may
    /// block. See [`blocking_acquire`](Self::blocking_acquire).
    ///
    /// # Errors
    ///
    /// Same as `acquire`.
    ///
    /// # Panics
    ///
    /// Same as `blocking_acquire`.
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        count: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        may_block("blocking_acquire_many_owned");
        block_on(self.acquire_many_owned(count))
    }

    /// Does the same as [`acquire`](Self::acquire), for a permit that owns a reference to the
    /// semaphore.
    ///
    /// # Errors
    ///
    /// Same as `acquire`.
    ///
    /// # Cancellation
    ///
    /// Same as `acquire`.
    pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.acquire_many_owned(1).await
    }

    /// Does the same as [`acquire_many`](Self::acquire_many), for permits that own a reference
    /// to the semaphore.
    ///
    /// # Errors
    ///
    /// Same as `acquire`.
    ///
    /// # Cancellation
    ///
    /// Same as `acquire`.
    pub async fn acquire_many_owned(
        self: Arc<Self>,
        count: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let count = count as usize;
        Acquire::new(&self, count).await?;
        let held = self.told.holds();
        Ok(OwnedSemaphorePermit { semaphore: self, count, _held: held })
    }

    /// Does the same as [`try_acquire`](Self::try_acquire), for a permit that owns a reference
    /// to the semaphore.
    ///
    /// # Errors
    ///
    /// Same as `try_acquire`.
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// Does the same as [`try_acquire_many`](Self::try_acquire_many), for permits that own a
    /// reference to the semaphore.
    ///
    /// # Errors
    ///
    /// Same as `try_acquire_many`.
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        count: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let count = count as usize;
        self.try_take(count)?;
        let held = self.told.holds();
        Ok(OwnedSemaphorePermit { semaphore: self, count, _held: held })
    }

    /// Removes permits that no one holds, at most `count`. Returns how many it has removed. While a
    /// task waits it is 0: see [`available_permits`](Self::available_permits).
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = arc_util::sync::Semaphore::new(3);
    /// assert_eq!(semaphore.forget_permits(2), 2);
    /// assert_eq!(semaphore.forget_permits(2), 1);
    /// assert_eq!(semaphore.available_permits(), 0);
    /// ```
    pub fn forget_permits(&self, count: usize) -> usize {
        // While someone waits, permits are taken only under the lock.
        let _line = self.lock();
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let removed = count.min(available(word));
            let new = word - removed * ONE;
            match self.word.compare_exchange_weak(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return removed,
                Err(now) => word = now,
            }
        }
    }

    /// Closes the semaphore: it gives out no more permits. All tasks that wait get an error,
    /// even those that have been served and not been polled since.
    pub fn close(&self) {
        let mut line = self.lock();
        self.word.fetch_or(CLOSED, Ordering::Relaxed);
        let waiting: Vec<Waker> = std::iter::from_fn(|| line.dismiss()).collect();
        self.word.fetch_and(!WAITING, Ordering::Relaxed);
        drop(line);
        wake_all(waiting);
    }

    /// Returns whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.word.load(Ordering::Relaxed) & CLOSED != 0
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Semaphore({} permits)", self.available_permits())
    }
}

/// Waits until permits have been taken for it. Whoever awaited it owns them.
pub(super) struct Acquire<'a> {
    semaphore: &'a Semaphore,
    count: usize,
    place: Place,
}

/// The place of a future in the line.
#[derive(Clone, Copy)]
enum Place {
    /// Not in line yet, or done.
    Outside,
    /// In line, or served there, at this place of the line.
    Inside(usize),
    /// Out of the line with its permits, which it gives back if it is dropped.
    Served,
}

impl<'a> Acquire<'a> {
    #[inline]
    pub(super) fn new(semaphore: &'a Semaphore, count: usize) -> Self {
        Self { semaphore, count, place: Place::Outside }
    }

    /// Takes the permits, or gets in line. Ready as well if the semaphore is closed.
    fn poll_join(&mut self, context: &Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let mut line = self.semaphore.lock();
        match self.semaphore.take_or_wait(self.count) {
            Ok(()) => self.place = Place::Served,
            Err(TryAcquireError::Closed) => {}
            Err(TryAcquireError::NoPermits) => {
                self.place = Place::Inside(line.join(self.count, waker));
                self.semaphore.told.waits();
                return Poll::Pending;
            }
        }

        // The waker, which is foreign code, is dropped after the lock is released.
        drop(line);
        Poll::Ready(())
    }

    /// Waits at a place in the line. Ready as well if the semaphore is closed.
    fn poll_place(&mut self, place: usize, context: &Context<'_>) -> Poll<()> {
        // A waker is foreign code. It is cloned, and dropped after `line` is, without the lock.
        let mut waker;
        let mut line = self.semaphore.lock();
        if line.waits(place) {
            drop(line);
            waker = context.waker().clone();
            line = self.semaphore.lock();
            if line.exchange_waker(place, &mut waker) {
                self.semaphore.told.waits();
                return Poll::Pending;
            }
        }

        self.place = match line.leave(place) {
            Left::Served => Place::Served,
            Left::Waited(_) | Left::Dismissed => Place::Outside,
        };
        Poll::Ready(())
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.place {
            Place::Outside if self.semaphore.must_wait(self.count) => {
                ready!(self.poll_join(context));
            }
            Place::Inside(place) => ready!(self.poll_place(place, context)),
            Place::Outside | Place::Served => {}
        }
        ready!(pin!(consume_budget()).poll(context));

        if let Place::Outside = self.place {
            match self.semaphore.try_take(self.count) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(TryAcquireError::Closed) => return Poll::Ready(Err(AcquireError(()))),
                // Someone else has taken them meanwhile.
                Err(TryAcquireError::NoPermits) => ready!(self.poll_join(context)),
            }
        }

        // Closing comes before being served: the drop gives permits back.
        if self.semaphore.is_closed() {
            return Poll::Ready(Err(AcquireError(())));
        }
        self.place = Place::Outside;
        Poll::Ready(Ok(()))
    }
}

impl Drop for Acquire<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.place {
            Place::Outside => {}
            Place::Inside(place) => self.semaphore.leave(place, self.count),
            Place::Served => self.semaphore.give_back(self.count),
        }
    }
}

/// Defines a kind of permit with all that both kinds have.
macro_rules! permit {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?, $semaphore:ty) => {
        $(#[$doc])*
        #[must_use]
        pub struct $name $(<$life>)? {
            semaphore: $semaphore,
            count: usize,
            _held: Held,
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// Drops the permits without giving them back: the semaphore has fewer from now on.
            pub fn forget(mut self) {
                self.count = 0;
            }

            /// Returns the number of permits.
            pub fn num_permits(&self) -> usize {
                self.count
            }

            /// Takes over the other's permits.
            ///
            /// # Panics
            ///
            /// Panics when they are permits of another semaphore.
            #[track_caller]
            pub fn merge(&mut self, mut other: Self) {
                let (this, that): (&Semaphore, &Semaphore) = (&self.semaphore, &other.semaphore);
                assert!(std::ptr::eq(this, that), "merging permits of different semaphores");
                self.count += std::mem::take(&mut other.count);
            }

            /// Hands so many of the permits over to the value that it returns. Returns `None`, and
            /// keeps all permits, if there are fewer.
            pub fn split(&mut self, count: usize) -> Option<Self> {
                self.count = self.count.checked_sub(count)?;
                let held = self.semaphore.told.holds();
                Some(Self { semaphore: Clone::clone(&self.semaphore), count, _held: held })
            }
        }

        impl $(<$life>)? Drop for $name $(<$life>)? {
            fn drop(&mut self) {
                if self.count > 0 {
                    self.semaphore.give_back(self.count);
                }
            }
        }

        impl $(<$life>)? fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}({})", stringify!($name), self.count)
            }
        }
    };
}

permit! {
    /// Permits of a [`Semaphore`]. Dropping this gives them back.
    SemaphorePermit<'a>, &'a Semaphore
}

permit! {
    /// Permits of a [`Semaphore`], like [`SemaphorePermit`], that own a reference to it.
    OwnedSemaphorePermit, Arc<Semaphore>
}

impl OwnedSemaphorePermit {
    /// Returns the semaphore whose permits these are.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}

/// The error of waiting for permits of a semaphore that is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("semaphore closed")
    }
}

impl std::error::Error for AcquireError {}

/// Why no permits were acquired without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// Too few permits are available, or other tasks wait for them.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Closed => "semaphore closed",
            Self::NoPermits => "no permits available",
        })
    }
}

impl std::error::Error for TryAcquireError {}
