//! Clients that wait for an element of a list: BLPOP.
//!
//! Who has waited longest is served first, when the command that added an element is
//! done. The element is kept for the client until it looks; if it has gone meanwhile, the
//! element goes back to where it was.

use super::lines::Lines;
use super::shared::Shared;
use crate::rt::sync::Notify;
use crate::rt::time::Instant;
use std::collections::{HashMap, HashSet, VecDeque};
use std::future::Future;
use std::sync::Arc;

/// A client that waits, for any of these keys.
pub struct Waiter {
    number: u64,
    keys: Vec<Vec<u8>>,
    pub is_served: Notify,
}

/// An element, and the key of its list.
pub type Element = (Vec<u8>, Vec<u8>);

/// All who wait.
#[derive(Default)]
pub struct Waiting {
    /// How many came, which is the number of the last one.
    came: u64,
    /// How many of them are in lines.
    clients: usize,
    lines: Lines<u64, Arc<Waiter>>,
    /// What they were given and have not taken yet.
    given: HashMap<u64, Element>,
    /// The keys of lists that were added to, in this order, if somebody waits for them.
    touched: VecDeque<Vec<u8>>,
}

impl Waiting {
    /// Gets in the line of each key, once.
    pub fn enter(&mut self, mut keys: Vec<Vec<u8>>) -> Arc<Waiter> {
        let mut entered = HashSet::new();
        keys.retain(|key| entered.insert(key.clone()));
        self.came += 1;
        self.clients += 1;
        let waiter = Arc::new(Waiter { number: self.came, keys, is_served: Notify::new() });
        for key in &waiter.keys {
            self.lines.enter(key, waiter.number, waiter.clone());
        }
        waiter
    }

    /// Leaves all lines. Whoever is not in the first of them is in none any more.
    fn leave(&mut self, waiter: &Waiter) {
        if waiter.keys.iter().all(|key| self.lines.leave(key, &waiter.number)) {
            self.clients -= 1;
        }
    }

    /// Leaves all lines, with the element that it was given, if any.
    fn take(&mut self, waiter: &Waiter) -> Option<Element> {
        self.leave(waiter);
        self.given.remove(&waiter.number)
    }

    /// The list is going to be added to.
    pub fn touch(&mut self, key: &[u8]) {
        if self.lines.contains(key) {
            self.touched.push_back(key.to_owned());
        }
    }

    pub fn next_touched(&mut self) -> Option<Vec<u8>> {
        self.touched.pop_front()
    }

    /// The first in the line of this key.
    pub fn first(&self, key: &[u8]) -> Option<Arc<Waiter>> {
        self.lines.first(key).cloned()
    }

    /// Gives it an element. It is told when nobody holds the lock.
    pub fn serve(&mut self, waiter: &Arc<Waiter>, key: &[u8], element: Vec<u8>) {
        self.leave(waiter);
        self.given.insert(waiter.number, (key.to_owned(), element));
    }

    /// How many wait.
    pub fn clients(&self) -> usize {
        self.clients
    }
}

/// A client's place in the lines. Its drop gives it up.
pub struct Blocked {
    waiter: Arc<Waiter>,
    shared: Arc<Shared>,
    /// None: it waits for as long as it takes.
    pub deadline: Option<Instant>,
}

impl Blocked {
    pub fn new(waiter: Arc<Waiter>, shared: Arc<Shared>, deadline: Option<Instant>) -> Self {
        Self { waiter, shared, deadline }
    }

    /// Waits until it has been given an element.
    pub fn served(&self) -> impl Future<Output = ()> + '_ {
        self.waiter.is_served.notified()
    }

    /// The element, if there is one.
    pub fn take(&self) -> Option<Element> {
        self.shared.with(|db| db.waiting.take(&self.waiter))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        self.shared.with(|db| {
            let Some((key, element)) = db.waiting.take(&self.waiter) else {
                return;
            };
            // If the key is of another type by now, nobody can have it back.
            if let Ok(list) = db.list(&key) {
                list.push_front(element);
            }
        });
    }
}
