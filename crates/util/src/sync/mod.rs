//! Channels, locks and events for tasks.
//!
//! This crate implements [`CancellationToken`], [`Notify`], [`Semaphore`], [`mpsc`], [`oneshot`]
//! and [`watch`]. The other items come from crates, by features that are on by default:
//!
//! | name | from | feature |
//! |---|---|---|
//! | `Mutex`, `RwLock`, `Barrier`, `OnceCell`, `SetOnce`; [`broadcast`] inside | tokio | `sync` |
//! | [`mpmc`], a channel with several receivers (tokio has none) | async-channel | `mpmc` |
//!
//! tokio's module `sync` needs no runtime of tokio's, and starts no thread. All of it works on arc
//! as it is. With the feature `trace`, `Mutex` is a type around tokio's, which tells the timeline
//! and the dump who waits for it and who has it.
//!
//! The locks of tokio's know nothing of the task's budget. In a loop over a lock that nobody else
//! holds, await `cooperative(mutex.lock())`: see [`cooperative`](crate::task::cooperative).
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

mod blocking;
#[cfg(feature = "sync")]
pub mod broadcast;
mod cancel;
mod line;
pub mod mpsc;
#[cfg(all(feature = "sync", feature = "trace"))]
mod mutex;
mod notify;
pub mod oneshot;
mod semaphore;
mod told;
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
#[cfg(all(feature = "sync", feature = "trace"))]
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard};
#[cfg(feature = "sync")]
pub use tokio::sync::{
    Barrier, BarrierWaitResult, OnceCell, OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard,
    OwnedRwLockWriteGuard, RwLock, RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
    SetError, SetOnce, SetOnceError, TryLockError,
};
#[cfg(all(feature = "sync", not(feature = "trace")))]
pub use tokio::sync::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
};
