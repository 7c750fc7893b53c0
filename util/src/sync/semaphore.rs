//! A number of permits that tasks take and give back.

use crate::wake::wake_all;
use arc::task::consume_budget;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

/// A number of permits that tasks take and give back, to limit how much of something
/// there is at once. (Names and meaning are tokio's.)
///
/// It is fair: who has waited longest is served first, also when others want less. Waiting
/// takes part in arc's budget: whoever finds permits for ever still lets others run.
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
/// // The one there is has to be given back first.
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
    /// The number of the next to wait: in their order they came.
    next: u64,
    /// How many permits each wants.
    waiting: BTreeMap<u64, (usize, Waker)>,
    /// Those whose permits are taken for them, and who do not know yet.
    served: BTreeSet<u64>,
}

impl State {
    /// Serves those who have waited longest, as far as the permits go; they are to be
    /// woken without the lock.
    #[must_use]
    fn serve(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        while let Some(first) = self.waiting.first_entry()
            && let Some(left) = self.permits.checked_sub(first.get().0)
        {
            self.permits = left;
            self.served.insert(*first.key());
            woken.push(first.remove().1);
        }
        woken
    }

    /// More than `MAX_PERMITS` there are only if as many were added as were out: those
    /// are too many, and forgotten.
    fn give_back(&mut self, count: usize) {
        self.permits = Semaphore::MAX_PERMITS.min(self.permits + count);
    }

    fn try_take(&mut self, count: usize) -> Result<(), TryAcquireError> {
        if self.is_closed {
            return Err(TryAcquireError::Closed);
        }
        self.permits = self.left_without(count).ok_or(TryAcquireError::NoPermits)?;
        Ok(())
    }

    /// Nobody is passed over.
    fn left_without(&self, count: usize) -> Option<usize> {
        self.permits.checked_sub(count).filter(|_| self.waiting.is_empty())
    }

    fn is_ready(&self, acquire: &Acquire<'_>) -> bool {
        self.is_closed
            || match acquire.number {
                Some(number) => self.served.contains(&number),
                None => self.left_without(acquire.count).is_some(),
            }
    }
}

impl Semaphore {
    /// The most permits that one can have.
    pub const MAX_PERMITS: usize = usize::MAX >> 3;

    /// With this many permits.
    ///
    /// # Panics
    ///
    /// When they are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        assert!(permits <= Self::MAX_PERMITS, "a semaphore has at most MAX_PERMITS permits");
        let (waiting, served) = (BTreeMap::new(), BTreeSet::new());
        Self { state: Mutex::new(State { permits, is_closed: false, next: 0, waiting, served }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many permits nobody has now.
    pub fn available_permits(&self) -> usize {
        self.lock().permits
    }

    /// Adds permits, which go to those who wait first.
    ///
    /// # Panics
    ///
    /// When the available permits would be more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    /// Permits that are given back beyond that are forgotten.
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

    /// What a permit's drop does; it never panics.
    fn give_back(&self, count: usize) {
        let mut state = self.lock();
        state.give_back(count);
        let woken = state.serve();
        drop(state);
        wake_all(woken);
    }

    /// Waits for a permit, which is given back when it is dropped.
    ///
    /// # Errors
    ///
    /// When the semaphore is closed.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no permit is lost. The place in the line is.
    pub async fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.acquire_many(1).await
    }

    /// Waits for several permits at once; otherwise as [`acquire`](Self::acquire).
    ///
    /// Who wants more than there ever are waits until the semaphore is
    /// [closed](Self::close), and so do all behind it. Who wants none waits for its turn.
    ///
    /// # Errors
    ///
    /// As `acquire`.
    ///
    /// # Cancellation
    ///
    /// As `acquire`.
    pub async fn acquire_many(&self, count: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        let count = count as usize;
        Acquire { semaphore: self, count, number: None }.await?;
        Ok(SemaphorePermit { semaphore: self, count })
    }

    /// Takes a permit if there is one now that nobody waits for.
    ///
    /// # Errors
    ///
    /// When there is none, or the semaphore is closed.
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.lock().try_take(1)?;
        Ok(SemaphorePermit { semaphore: self, count: 1 })
    }

    /// As [`acquire`](Self::acquire), for a permit that can go anywhere.
    ///
    /// # Errors
    ///
    /// As `acquire`.
    ///
    /// # Cancellation
    ///
    /// As `acquire`.
    pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.acquire_many_owned(1).await
    }

    /// As [`acquire_many`](Self::acquire_many), for permits that can go anywhere.
    ///
    /// # Errors
    ///
    /// As `acquire`.
    ///
    /// # Cancellation
    ///
    /// As `acquire`.
    pub async fn acquire_many_owned(
        self: Arc<Self>,
        count: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let count = count as usize;
        Acquire { semaphore: &self, count, number: None }.await?;
        Ok(OwnedSemaphorePermit { semaphore: self, count })
    }

    /// As [`try_acquire`](Self::try_acquire), for a permit that can go anywhere.
    ///
    /// # Errors
    ///
    /// As `try_acquire`.
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.lock().try_take(1)?;
        Ok(OwnedSemaphorePermit { semaphore: self, count: 1 })
    }

    /// Gives out no more permits: those who wait get an error, also those who were served
    /// and have not been polled since.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        wake_all(waiting.into_values().map(|(_, waker)| waker));
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Semaphore({} permits)", self.available_permits())
    }
}

/// Waits until permits are taken for it.
struct Acquire<'a> {
    semaphore: &'a Semaphore,
    count: usize,
    /// None: not in the line, or no more.
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
            // If it had been served, the drop gives it back.
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
        // Whoever comes next may want less than this one did.
        let woken = state.serve();
        drop(state);
        wake_all(woken);
        drop(waiting);
    }
}

/// What both kinds of permits have.
macro_rules! permit {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?, $semaphore:ty) => {
        $(#[$doc])*
        #[must_use]
        pub struct $name $(<$life>)? {
            semaphore: $semaphore,
            count: usize,
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// Does not give the permits back: the semaphore has fewer from now on.
            pub fn forget(mut self) {
                self.count = 0;
            }

            /// How many permits these are.
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
    /// One or more permits of a [`Semaphore`], given back when this is dropped.
    SemaphorePermit<'a>, &'a Semaphore
}

permit! {
    /// As [`SemaphorePermit`], but it owns a reference to its semaphore.
    OwnedSemaphorePermit, Arc<Semaphore>
}

/// The semaphore is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("semaphore closed")
    }
}

impl std::error::Error for AcquireError {}

/// Why there was no permit at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// Others have the permits, or wait for them.
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
