//! What all clients share, and the clock that removes what expires.

use super::store::Db;
use crate::rt::select;
use crate::rt::sync::{CancellationToken, Notify};
use crate::rt::time::{Instant, sleep_until};
use std::future::pending;
use std::mem;
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
pub struct Shared {
    db: Mutex<Db>,
    /// Cancelled when the server is to end.
    pub stop: CancellationToken,
    /// Wakes the clock.
    alarm: Notify,
}

impl Shared {
    /// Does something that nobody else can come in between, and then wakes whom it concerns.
    pub fn with<R>(&self, work: impl FnOnce(&mut Db) -> R) -> R {
        // A command that panics may leave one value in the midst of a change, no more.
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work(&mut db);
        let served = mem::take(&mut db.served);
        let is_earlier = mem::take(&mut db.is_earlier);
        drop(db);

        for waiter in served {
            waiter.is_served.notify_one();
        }
        if is_earlier {
            self.alarm.notify_one();
        }
        result
    }

    /// Removes what expires, when it does.
    pub async fn clock(&self) {
        loop {
            let next = self.with(Db::expire);
            select! {
                () = until(next) => {}
                () = self.alarm.notified() => {}
            }
        }
    }
}

/// Waits until then; for ever if there is no then.
pub async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}
