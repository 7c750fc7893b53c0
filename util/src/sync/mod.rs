//! What tasks tell each other by.
//!
//! [`CancellationToken`], [`Notify`], [`Semaphore`], [`watch`] and [`mpsc`] are built here.
//! The rest is of crates that know no runtime, re-exported by the feature `sync`, which is on
//! unless it is turned off:
//!
//! | tokio has | here it is | from |
//! |---|---|---|
//! | `Mutex`, `RwLock`, `Barrier`, `OnceCell` | the same | async-lock |
//! | none: several receivers | [`mpmc`] | async-channel |
//! | `oneshot` | [`oneshot`] | futures-channel |
//! | `broadcast` | [`broadcast`] | async-broadcast |
//! | `mpsc`, `watch`, `Notify`, `Semaphore` | the same | arc-util |
//!
//! tokio's own `sync` needs no runtime of tokio's, and works on arc as it is.
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

mod cancel;
pub mod mpsc;
mod notify;
mod semaphore;
pub mod watch;

pub use cancel::{CancellationToken, DropGuard};
pub use notify::{Notified, Notify};
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
#[cfg(feature = "sync")]
pub use futures_channel::oneshot;
