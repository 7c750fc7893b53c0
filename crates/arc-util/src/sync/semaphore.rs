//! tokio's `Semaphore`, within the task's budget. With the feature `trace`, it tells who waits for
//! permits and who has some.

use super::blocking::{block_on, may_block};
use super::told::{Held, Told, What};
use arc::task::consume_budget;
use std::fmt;
use std::mem::take;
use std::sync::Arc;
use tokio::sync as tokio;
use tokio::{AcquireError, TryAcquireError};

/// Limits how much of something happens at once: tasks acquire permits and give them back. It
/// stands around tokio's.
///
/// The semaphore is fair: the task that has waited longest is served first, even if tasks
/// behind it want fewer permits. To acquire takes a unit of the task's budget: a task that always
/// finds permits still lets others run.
///
/// # Errors
///
/// To acquire fails when the semaphore is closed, and without waiting also when there are too few
/// permits, or others wait for some.
///
/// # Panics
///
/// The functions that block panic inside a task or `block_on`, where they would block a thread that
/// polls futures. Use them on a thread of [`spawn_blocking`](arc::task::spawn_blocking), for
/// instance.
///
/// # Cancellation
///
/// To acquire is cancel safe: no permit is lost. A future that is dropped loses its place in line.
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
    told: Told,
    semaphore: tokio::Semaphore,
}

impl Semaphore {
    /// The highest number of permits that a semaphore can have.
    pub const MAX_PERMITS: usize = tokio::Semaphore::MAX_PERMITS;

    /// Creates a semaphore with this many permits.
    ///
    /// # Panics
    ///
    /// Panics when there are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Self { told: Told::with_size(What::Semaphore, permits), ..Self::const_new(permits) }
    }

    /// Does the same as [`new`](Self::new), for a static. There, too many permits are an error of
    /// the compiler.
    ///
    /// # Panics
    ///
    /// As `new`.
    #[track_caller]
    pub const fn const_new(permits: usize) -> Self {
        assert!(permits <= Self::MAX_PERMITS, "a semaphore has at most MAX_PERMITS permits");
        let told = Told::with_size(What::Semaphore, permits).in_static();
        Self { told, semaphore: tokio::Semaphore::const_new(permits) }
    }

    /// Returns the number of permits that no one holds now. While a task waits it is 0: what no one
    /// holds is set aside for that task.
    pub fn available_permits(&self) -> usize {
        self.semaphore.available_permits()
    }

    /// Adds permits. The tasks that have waited longest get them first.
    ///
    /// # Panics
    ///
    /// Panics when more than [`MAX_PERMITS`](Self::MAX_PERMITS) would be available. (Permits
    /// that are given back beyond this number are dropped without a panic, unless two threads give
    /// them back at the same moment.)
    #[track_caller]
    pub fn add_permits(&self, count: usize) {
        assert!(count <= self.room(), "a semaphore has at most MAX_PERMITS permits");
        self.told.grows(count as isize);
        self.semaphore.add_permits(count);
    }

    /// How many more permits there can be.
    fn room(&self) -> usize {
        Self::MAX_PERMITS - self.available_permits()
    }

    /// Removes permits that no one holds, at most `count`. Returns how many it has removed.
    pub fn forget_permits(&self, count: usize) -> usize {
        let forgotten = self.semaphore.forget_permits(count);
        self.told.grows(-(forgotten as isize));
        forgotten
    }

    /// Closes the semaphore: it gives out no more permits. All tasks that wait get an error,
    /// even those that have been served and not been polled since.
    pub fn close(&self) {
        self.semaphore.close();
    }

    /// Returns whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.semaphore.is_closed()
    }

    /// Waits until so many permits are the caller's. They are counted by the permit that is made of
    /// them, and not by tokio's.
    async fn wait_for(&self, count: u32, is_owned: bool) -> Result<Held, AcquireError> {
        let acquiring = self.semaphore.acquire_many(count);
        let acquired = self.told.telling_of(None, count, acquiring).await;
        let acquired = acquired.map(|permit| (permit, self.told.holds_since(None, is_owned)));

        // Afterwards, so that a task without budget gets a place in line. If it is dropped here,
        // the permit is given back.
        consume_budget().await;
        let (permit, held) = acquired?;
        permit.forget();
        Ok(held)
    }

    fn try_take(&self, count: u32, is_owned: bool) -> Result<Held, TryAcquireError> {
        self.semaphore.try_acquire_many(count)?.forget();
        Ok(self.told.holds_since(None, is_owned))
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.semaphore.fmt(formatter)
    }
}

/// Defines a kind of permit, and the ways to get it.
macro_rules! permit {
    (
        $(#[$doc:meta])* $name:ident $(<$life:lifetime>)? of $semaphore:ty, owned: $owned:literal;
        $acquire:ident $acquire_many:ident $try_acquire:ident $try_acquire_many:ident
        $blocking_acquire:ident $blocking_acquire_many:ident
    ) => {
        #[doc = concat!("Ways to get a [`", stringify!($name), "`].")]
        impl Semaphore {
            /// Waits for a permit. [Errors, cancellation.](Semaphore#errors)
            pub async fn $acquire $(<$life>)? (
                self: $semaphore,
            ) -> Result<$name $(<$life>)?, AcquireError> {
                self.$acquire_many(1).await
            }

            /// Waits for several permits at once. [Errors, cancellation.](Semaphore#errors)
            ///
            /// A task that wants more permits than there will ever be waits until the semaphore is
            /// [closed](Self::close), and so do all tasks behind it. A task that wants 0 permits
            /// does not wait.
            pub async fn $acquire_many $(<$life>)? (
                self: $semaphore,
                count: u32,
            ) -> Result<$name $(<$life>)?, AcquireError> {
                let _held = self.wait_for(count, $owned).await?;
                Ok($name { semaphore: self, count: count as usize, _held })
            }

            /// Acquires a permit without waiting. [Errors.](Semaphore#errors)
            pub fn $try_acquire $(<$life>)? (
                self: $semaphore,
            ) -> Result<$name $(<$life>)?, TryAcquireError> {
                self.$try_acquire_many(1)
            }

            /// Acquires several permits at once without waiting. [Errors.](Semaphore#errors)
            pub fn $try_acquire_many $(<$life>)? (
                self: $semaphore,
                count: u32,
            ) -> Result<$name $(<$life>)?, TryAcquireError> {
                let _held = self.try_take(count, $owned)?;
                Ok($name { semaphore: self, count: count as usize, _held })
            }

            /// Blocks the thread until it has a permit. [Errors, panics.](Semaphore#errors)
            #[track_caller]
            pub fn $blocking_acquire $(<$life>)? (
                self: $semaphore,
            ) -> Result<$name $(<$life>)?, AcquireError> {
                may_block(stringify!($blocking_acquire));
                block_on(self.$acquire())
            }

            /// Blocks the thread until it has so many permits. [Errors, panics.](Semaphore#errors)
            #[track_caller]
            pub fn $blocking_acquire_many $(<$life>)? (
                self: $semaphore,
                count: u32,
            ) -> Result<$name $(<$life>)?, AcquireError> {
                may_block(stringify!($blocking_acquire_many));
                block_on(self.$acquire_many(count))
            }
        }

        $(#[$doc])*
        #[must_use]
        pub struct $name $(<$life>)? {
            /// Dropped first: the semaphore may go with this.
            _held: Held,
            semaphore: $semaphore,
            count: usize,
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// Drops the permits without giving them back: the semaphore has fewer from now on.
            pub fn forget(mut self) {
                let count = take(&mut self.count);
                self.semaphore.told.grows(-(count as isize));
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
                let this: &Semaphore = &self.semaphore;
                let that: &Semaphore = &other.semaphore;
                assert!(std::ptr::eq(this, that), "merging permits of different semaphores");
                self.count += take(&mut other.count);
            }

            /// Hands so many of the permits over to the value that it returns. Returns `None`, and
            /// keeps all permits, if there are fewer.
            pub fn split(&mut self, count: usize) -> Option<Self> {
                self.count = self.count.checked_sub(count)?;
                let _held = self.semaphore.told.holds_since(None, $owned);
                Some(Self { semaphore: Clone::clone(&self.semaphore), count, _held })
            }
        }

        impl $(<$life>)? Drop for $name $(<$life>)? {
            fn drop(&mut self) {
                if self.count > 0 {
                    // Some may have been added while these were out, and a drop must not panic.
                    let count = self.count.min(self.semaphore.room());
                    self.semaphore.semaphore.add_permits(count);
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
    SemaphorePermit<'a> of &'a Semaphore, owned: false;
    acquire acquire_many try_acquire try_acquire_many blocking_acquire blocking_acquire_many
}

permit! {
    /// Permits of a [`Semaphore`], like [`SemaphorePermit`], that own a reference to it.
    OwnedSemaphorePermit of Arc<Semaphore>, owned: true;
    acquire_owned acquire_many_owned try_acquire_owned try_acquire_many_owned
    blocking_acquire_owned blocking_acquire_many_owned
}

impl SemaphorePermit<'_> {
    /// Returns the semaphore whose permits these are.
    pub fn semaphore(&self) -> &Semaphore {
        self.semaphore
    }
}

impl OwnedSemaphorePermit {
    /// Returns the semaphore whose permits these are.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}
