//! Channels, locks and events for tasks.
//!
//! This crate implements [`CancellationToken`], [`Notify`], [`Semaphore`], [`mpsc`], [`oneshot`]
//! and [`watch`]. The other items come from crates, by features that are on by default:
//!
//! | name | from | feature |
//! |---|---|---|
//! | `Mutex`, `RwLock`, `Barrier`, `OnceCell`, `SetOnce`; in [`broadcast`] | tokio | `sync` |
//! | [`mpmc`], a channel with several receivers (tokio has none) | async-channel | `mpmc` |
//!
//! tokio's module `sync` needs no runtime of tokio's, and starts no thread. All of it works on arc
//! as it is. With the feature `trace`, `Mutex`, `RwLock` and `Barrier` are types around tokio's,
//! which tell the timeline and the dump who waits for them and who has them.
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

#[cfg(all(feature = "sync", feature = "trace"))]
mod barrier;
mod blocking;
#[cfg(feature = "sync")]
pub mod broadcast;
mod cancel;
#[cfg(all(feature = "sync", feature = "trace"))]
mod guard;
mod line;
pub mod mpsc;
#[cfg(all(feature = "sync", feature = "trace"))]
mod mutex;
mod notify;
pub mod oneshot;
#[cfg(all(feature = "sync", feature = "trace"))]
mod rwlock;
mod semaphore;
pub(crate) mod told;
pub mod watch;

pub use cancel::{
    CancellationToken, DropGuard, DropGuardRef, RunUntilCancelledFuture,
    RunUntilCancelledFutureOwned, WaitForCancellationFuture, WaitForCancellationFutureOwned,
};
pub use notify::{Notified, Notify, OwnedNotified};
pub use semaphore::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};

#[cfg(feature = "mpmc")]
pub use async_channel as mpmc;
#[cfg(all(feature = "sync", not(feature = "trace")))]
pub use tokio::sync::{
    Barrier, MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
#[cfg(feature = "sync")]
pub use tokio::sync::{BarrierWaitResult, OnceCell, SetError, SetOnce, SetOnceError, TryLockError};
#[cfg(all(feature = "sync", feature = "trace"))]
pub use {
    barrier::Barrier,
    mutex::{MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard},
    rwlock::{
        OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
        RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
    },
};
