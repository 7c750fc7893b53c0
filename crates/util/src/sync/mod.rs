//! Channels, locks and events for tasks.
//!
//! Most of it is tokio's module `sync`, which needs no runtime of tokio's, and starts no thread.
//! [`CancellationToken`] is this crate's. [`mpmc`], a channel with several receivers, which tokio
//! has not, comes from the crate async-channel, with the feature of that name.
//!
//! [`Semaphore`] and the channels are types around tokio's: to wait for them takes a unit of the
//! task's budget. With the feature `trace` all types that tasks wait for are such types, and tell
//! the timeline and the dump who waits for them and who has them.
//!
//! The locks of tokio's know nothing of the task's budget. In a loop over a lock that nobody else
//! holds, await `cooperative(mutex.lock())`: see [`cooperative`](crate::task::cooperative).
//!
//! Types around tokio's that take from the budget were tried, and turned down. `lock_owned` has an
//! `Arc` of such a type, and tokio's guard wants an `Arc` of tokio's. To make one of the other
//! takes `unsafe`, here or in what a derive macro writes. What is shared at its first use, as with
//! `trace`, has no `dyn` values. And a program may hand tokio's own type to another crate.
//!
//! # Examples
//!
//! ```
//! use arc_util::sync::{Mutex, mpsc, oneshot};
//! use std::sync::Arc;
//! # #[arc::main]
//! # async fn main() {
//! let count = Arc::new(Mutex::new(0));
//! let (sender, mut receiver) = mpsc::channel(1);
//! let (answer, answered) = oneshot::channel();
//! let task = arc::spawn({
//!     let count = count.clone();
//!     async move {
//!         while let Some(number) = receiver.recv().await {
//!             *count.lock().await += number;
//!         }
//!         answer.send("done")
//!     }
//! });
//! sender.send(2).await.unwrap();
//! sender.send(3).await.unwrap();
//! drop(sender);
//! assert_eq!(answered.await, Ok("done"));
//! assert_eq!(*count.lock().await, 5);
//! # task.await.unwrap().unwrap();
//! # }
//! ```

/// Gives a type around one of tokio's the methods of that one: those that wait for nothing.
macro_rules! tokios_own {
    (mut $($name:ident $field:ident)*) => {$(
        tokios_own! { $name $field }

        impl<T> std::ops::DerefMut for $name<T> {
            fn deref_mut(&mut self) -> &mut tokio::$name<T> {
                &mut self.$field
            }
        }
    )*};
    ($($name:ident $field:ident)*) => {$(
        impl<T> std::ops::Deref for $name<T> {
            type Target = tokio::$name<T>;

            fn deref(&self) -> &tokio::$name<T> {
                &self.$field
            }
        }

        impl<T> std::fmt::Debug for $name<T>
        where
            tokio::$name<T>: std::fmt::Debug,
        {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.$field.fmt(formatter)
            }
        }
    )*};
}

#[cfg(feature = "trace")]
mod barrier;
mod blocking;
pub mod broadcast;
mod cancel;
#[cfg(feature = "trace")]
mod guard;
pub mod mpsc;
#[cfg(feature = "trace")]
mod mutex;
#[cfg(feature = "trace")]
mod notify;
pub mod oneshot;
#[cfg(feature = "trace")]
mod rwlock;
mod semaphore;
pub(crate) mod told;
mod wait;
pub mod watch;

pub use cancel::{
    CancellationToken, DropGuard, DropGuardRef, RunUntilCancelledFuture,
    RunUntilCancelledFutureOwned, WaitForCancellationFuture, WaitForCancellationFutureOwned,
};
pub use semaphore::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
pub use tokio::sync::{
    AcquireError, BarrierWaitResult, OnceCell, SetError, SetOnce, SetOnceError, TryAcquireError,
    TryLockError,
};

#[cfg(feature = "mpmc")]
pub use async_channel as mpmc;
#[cfg(not(feature = "trace"))]
pub use tokio::sync::{
    Barrier, MappedMutexGuard, Mutex, MutexGuard, Notify, OwnedMappedMutexGuard, OwnedMutexGuard,
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
    futures::{Notified, OwnedNotified},
};
#[cfg(feature = "trace")]
pub use {
    barrier::Barrier,
    mutex::{MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard},
    notify::{Notified, Notify, OwnedNotified},
    rwlock::{
        OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
        RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
    },
};
