//! A number of permits that tasks acquire and give back.

use crate::wake::wake_all;
use arc::task::consume_budget;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
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
    state: Mutex<State>,
}

struct State {
    permits: usize,
    is_closed: bool,
    /// The number of the next future that gets in line. Numbers grow, so they give the order.
    next: u64,
    /// The futures in line, with the number of permits that each one wants.
    waiting: BTreeMap<u64, (usize, Waker)>,
    /// The futures whose permits have been taken for them, and that have not been polled since.
    served: BTreeSet<u64>,
}

impl State {
    /// Takes permits for the futures at the head of the line, as long as there are enough.
    /// Returns their wakers, to be woken without the lock.
    #[must_use]
    fn serve(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        while let Some(first) = self.waiting.first_entry()
            && let Some(rest) = self.permits.checked_sub(first.get().0)
        {
            self.permits = rest;
            self.served.insert(*first.key());
            woken.push(first.remove().1);
        }
        woken
    }

    /// Adds permits that were acquired. The sum exceeds `MAX_PERMITS` only if permits were
    /// added while these were out: the excess is dropped.
    fn give_back(&mut self, count: usize) {
        self.permits = Semaphore::MAX_PERMITS.min(self.permits + count);
    }

    fn try_take(&mut self, count: usize) -> Result<(), TryAcquireError> {
        if self.is_closed {
            return Err(TryAcquireError::Closed);
        }
        self.permits = self.rest_after(count).ok_or(TryAcquireError::NoPermits)?;
        Ok(())
    }

    /// Returns how many permits are left after taking `count`. Returns `None` if there are too
    /// few, or if others wait: no one may overtake them.
    fn rest_after(&self, count: usize) -> Option<usize> {
        self.permits.checked_sub(count).filter(|_| self.waiting.is_empty())
    }

    /// Returns whether a poll of `acquire` would be ready.
    fn is_ready(&self, acquire: &Acquire<'_>) -> bool {
        self.is_closed
            || match acquire.number {
                Some(number) => self.served.contains(&number),
                None => self.rest_after(acquire.count).is_some(),
            }
    }
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
        assert!(permits <= Self::MAX_PERMITS, "a semaphore has at most MAX_PERMITS permits");
        let (waiting, served) = (BTreeMap::new(), BTreeSet::new());
        Self { state: Mutex::new(State { permits, is_closed: false, next: 0, waiting, served }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of permits that no one holds now.
    pub fn available_permits(&self) -> usize {
        self.lock().permits
    }

    /// Adds permits. The tasks that have waited longest get them first.
    ///
    /// # Panics
    ///
    /// Panics when more than [`MAX_PERMITS`](Self::MAX_PERMITS) would be available. (Permits
    /// that are given back beyond this number are dropped without a panic.)
    #[track_caller]
    pub fn add_permits(&self, count: usize) {
        let mut state = self.lock();
        let sum = state.permits.checked_add(count).filter(|sum| *sum <= Self::MAX_PERMITS);
        let Some(sum) = sum else {
            drop(state);
            panic!("a semaphore has at most MAX_PERMITS permits");
        };

        state.permits = sum;
        let woken = state.serve();
        drop(state);
        wake_all(woken);
    }

    /// Gives permits back when they are dropped. It never panics.
    fn give_back(&self, count: usize) {
        let mut state = self.lock();
        state.give_back(count);
        let woken = state.serve();
        drop(state);
        wake_all(woken);
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
    /// [closed](Self::close), and so do all tasks behind it. A task that wants 0 permits waits
    /// for its turn, too.
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
        Acquire { semaphore: self, count, number: None }.await?;
        Ok(SemaphorePermit { semaphore: self, count })
    }

    /// Acquires a permit without waiting.
    ///
    /// # Errors
    ///
    /// Fails when no permit is available, when other tasks wait for permits, and when the
    /// semaphore is closed.
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.lock().try_take(1)?;
        Ok(SemaphorePermit { semaphore: self, count: 1 })
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
        Acquire { semaphore: &self, count, number: None }.await?;
        Ok(OwnedSemaphorePermit { semaphore: self, count })
    }

    /// Does the same as [`try_acquire`](Self::try_acquire), for a permit that owns a reference
    /// to the semaphore.
    ///
    /// # Errors
    ///
    /// Same as `try_acquire`.
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.lock().try_take(1)?;
        Ok(OwnedSemaphorePermit { semaphore: self, count: 1 })
    }

    /// Closes the semaphore: it gives out no more permits. All tasks that wait get an error,
    /// even those that have been served and not been polled since.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        wake_all(waiting.into_values().map(|(_, waker)| waker));
    }

    /// Returns whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Semaphore({} permits)", self.available_permits())
    }
}

/// Waits until permits have been taken for it.
struct Acquire<'a> {
    semaphore: &'a Semaphore,
    count: usize,
    /// The future's number in the line. `None` before it gets in line, and after it is ready.
    number: Option<u64>,
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.semaphore.lock().is_ready(&self) {
            ready!(pin!(consume_budget()).poll(context));
        }

        let waker = context.waker().clone();
        let mut state = self.semaphore.lock();
        if state.is_closed {
            // If the future had been served, its drop gives the permits back.
            return Poll::Ready(Err(AcquireError(())));
        }

        let is_served = match self.number {
            Some(number) => state.served.remove(&number),
            None => state.try_take(self.count).is_ok(),
        };
        if is_served {
            self.number = None;
            return Poll::Ready(Ok(()));
        }

        let number = self.number.unwrap_or(state.next);
        state.next = state.next.max(number + 1);
        let before = state.waiting.insert(number, (self.count, waker));

        // A waker is foreign code: drop the old one after the lock is released.
        drop(state);
        drop(before);
        self.number = Some(number);
        Poll::Pending
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else {
            return;
        };
        let mut state = self.semaphore.lock();
        let waiting = state.waiting.remove(&number);
        if state.served.remove(&number) {
            state.give_back(self.count);
        }

        // The next in line may want fewer permits than this one did.
        let woken = state.serve();
        drop(state);
        wake_all(woken);
        drop(waiting);
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
