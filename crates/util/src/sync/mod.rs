//! Channels, locks and events for tasks.
//!
//! This crate implements [`CancellationToken`], [`Notify`], [`Semaphore`], [`mpsc`], [`oneshot`]
//! and [`watch`]. The other items come from crates that depend on no runtime. The feature `sync`,
//! which is on by default, re-exports them:
//!
//! | tokio's name | name here | from |
//! |---|---|---|
//! | `Mutex`, `RwLock`, `Barrier`, `OnceCell` | the same | async-lock |
//! | none (a channel with several receivers) | [`mpmc`] | async-channel |
//! | `broadcast` | [`broadcast`] | async-broadcast |
//! | `mpsc`, `oneshot`, `watch`, `Notify`, `Semaphore` | the same | arc-util |
//!
//! The items of other crates know nothing of the task's budget. In a loop over a lock that nobody
//! else holds, await `cooperative(mutex.lock())`: see [`cooperative`](crate::task::cooperative).
//!
//! tokio's own `sync` module needs no tokio runtime: it works on arc as it is.
//!
//! # Examples
//!
//! ```
//! use arc_util::sync::{Mutex, mpmc, oneshot};
//! use std::sync::Arc;
//! # #[arc::main]
//! # async fn main() {
//! let count = Arc::new(Mutex::new(0));
//! let (sender, receiver) = mpmc::bounded(1);
//! let (answer, answered) = oneshot::channel();
//! let task = arc::spawn({
//!     let count = count.clone();
//!     async move {
//!         while let Ok(number) = receiver.recv().await {
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
mod cancel;
mod line;
pub mod mpsc;
mod notify;
pub mod oneshot;
mod semaphore;
pub mod watch;

pub use cancel::{
    CancellationToken, DropGuard, DropGuardRef, RunUntilCancelledFuture,
    RunUntilCancelledFutureOwned, WaitForCancellationFuture, WaitForCancellationFutureOwned,
};
pub use notify::{Notified, Notify, OwnedNotified};
pub use semaphore::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};

#[cfg(feature = "sync")]
pub use async_broadcast as broadcast;
#[cfg(feature = "sync")]
pub use async_channel as mpmc;
#[cfg(feature = "sync")]
pub use async_lock::{
    Barrier, BarrierWaitResult, Mutex, MutexGuard, MutexGuardArc, OnceCell, RwLock,
    RwLockReadGuard, RwLockReadGuardArc, RwLockUpgradableReadGuard, RwLockUpgradableReadGuardArc,
    RwLockWriteGuard, RwLockWriteGuardArc,
};
