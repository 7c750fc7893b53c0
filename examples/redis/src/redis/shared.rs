//! What all clients share, and the clock that removes what expires.

use super::options::Options;
use super::pubsub::Hub;
use super::store::Db;
use crate::rt::select;
use crate::rt::sync::{CancellationToken, Notify, Semaphore};
use crate::rt::time::{Instant, sleep_until};
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub struct Shared {
    db: Mutex<Db>,
    pub hub: Hub,
    /// One permit for each client.
    pub places: Arc<Semaphore>,
    pub clients_max: usize,
    pub port: u16,
    pub started: Instant,
    /// Cancelled when the server is to end.
    pub stop: CancellationToken,
    /// Wakes the clock.
    alarm: Notify,
    last_client: AtomicU64,
}

impl Shared {
    pub fn new(options: &Options, port: u16) -> Self {
        Self {
            db: Mutex::default(),
            hub: Hub::default(),
            places: Arc::new(Semaphore::new(options.clients_max)),
            clients_max: options.clients_max,
            port,
            started: Instant::now(),
            stop: CancellationToken::new(),
            alarm: Notify::new(),
            last_client: AtomicU64::new(0),
        }
    }

    /// A number for a client.
    pub fn next_client(&self) -> u64 {
        // Only told apart.
        self.last_client.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many clients there are.
    pub fn clients(&self) -> usize {
        self.clients_max - self.places.available_permits()
    }

    /// Does something with the keys that nobody else can come in between, and then wakes
    /// whom it concerns.
    pub fn with<R>(&self, work: impl FnOnce(&mut Db) -> R) -> R {
        // A command that panics may leave one value in the midst of a change, no more.
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        db.begin();
        let result = work(&mut db);
        let afterwards = db.settle();
        drop(db);
        afterwards.served.iter().for_each(|waiter| waiter.is_served.notify_one());
        if afterwards.is_earlier {
            self.alarm.notify_one();
        }
        result
    }

    /// Removes what expires, when it does.
    pub async fn clock(&self) {
        loop {
            let next = self.with(|db| {
                db.expire();
                db.next_end()
            });
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
