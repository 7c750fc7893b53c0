//! Channels, locks and events for tasks.
//!
//! Most of it is tokio's module `sync`, which needs no runtime of tokio's, and starts no thread.
//! [`CancellationToken`] is this crate's. [`mpmc`], a channel with several receivers, which tokio
//! has not, comes from the crate async-channel, with the feature of that name.
//!
//! The locks, [`Semaphore`] and the channels are types around tokio's: to wait for them takes a
//! unit of the task's budget. With the feature `trace` they, [`Barrier`] and [`Notify`] also tell
//! the timeline and the dump who waits for them and who has them.
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

/// Gives a type around one of tokio's the methods of that one that are not awaited.
macro_rules! tokios_own {
    (mut $($name:ident $field:ident $(?$size:ident)?)*) => {$(
        tokios_own! { $name $field $(?$size)? }

        impl<T $(: ?$size)?> std::ops::DerefMut for $name<T> {
            fn deref_mut(&mut self) -> &mut tokio::$name<T> {
                &mut self.$field
            }
        }
    )*};
    ($($name:ident $field:ident $(?$size:ident)?)*) => {$(
        impl<T $(: ?$size)?> std::ops::Deref for $name<T> {
            type Target = tokio::$name<T>;

            fn deref(&self) -> &tokio::$name<T> {
                &self.$field
            }
        }

        impl<T $(: ?$size)?> std::fmt::Debug for $name<T>
        where
            tokio::$name<T>: std::fmt::Debug,
        {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.$field.fmt(formatter)
            }
        }
    )*};
}

mod barrier;
mod blocking;
pub mod broadcast;
mod cancel;
mod guard;
pub mod mpsc;
mod mutex;
mod notify;
pub mod oneshot;
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
pub use {
    barrier::Barrier,
    mutex::{MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard},
    notify::{Notified, Notify, OwnedNotified},
    rwlock::{
        OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
        RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
    },
};
