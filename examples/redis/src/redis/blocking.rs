//! Clients that wait for an element of a list: BLPOP.
//!
//! Who has waited longest is served first, by the command that adds an element. The element is kept
//! for the client until it looks; if it has gone meanwhile, the element goes back to where it was.

use super::shared::Shared;
use crate::rt::sync::Notify;
use crate::rt::time::Instant;
use std::collections::{BTreeMap, HashMap};
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
    /// How many of them wait.
    pub clients: u64,
    /// A line for each key: the lowest number is first.
    lines: BTreeMap<(Vec<u8>, u64), Arc<Waiter>>,
    /// What they were given and have not taken yet.
    given: HashMap<u64, Element>,
}

impl Waiting {
    /// Gets in the line of each key.
    pub fn enter(&mut self, keys: Vec<Vec<u8>>) -> Arc<Waiter> {
        self.came += 1;
        self.clients += 1;
        let waiter = Arc::new(Waiter { number: self.came, keys, is_served: Notify::new() });
        for key in &waiter.keys {
            self.lines.insert((key.clone(), waiter.number), waiter.clone());
        }
        waiter
    }

    fn leave(&mut self, waiter: &Waiter) {
        let mut was_in = false;
        for key in &waiter.keys {
            was_in |= self.lines.remove(&(key.clone(), waiter.number)).is_some();
        }
        self.clients -= u64::from(was_in);
    }

    /// Leaves all lines, with the element that it was given, if any.
    fn take(&mut self, waiter: &Waiter) -> Option<Element> {
        self.leave(waiter);
        self.given.remove(&waiter.number)
    }

    /// The first in the line of this key.
    pub fn first(&self, key: &[u8]) -> Option<Arc<Waiter>> {
        let line = (key.to_owned(), 0)..=(key.to_owned(), u64::MAX);
        self.lines.range(line).next().map(|(_, waiter)| waiter.clone())
    }

    /// Gives it an element. It is told when nobody holds the lock.
    pub fn serve(&mut self, waiter: &Waiter, key: &[u8], element: Vec<u8>) {
        self.leave(waiter);
        self.given.insert(waiter.number, (key.to_owned(), element));
    }
}

/// A client's place in the lines. Its drop gives it up.
pub struct Blocked {
    pub waiter: Arc<Waiter>,
    pub shared: Arc<Shared>,
    /// None: it waits for as long as it takes.
    pub deadline: Option<Instant>,
}

impl Blocked {
    /// The element, if there is one.
    pub fn take(&self) -> Option<Element> {
        self.shared.with(|db| db.waiting.take(&self.waiter))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        self.shared.with(|db| {
            if let Some((key, element)) = db.waiting.take(&self.waiter) {
                // If the key is of another type by now, nobody can have the element back.
                let _ = db.push(&key, |list| list.push_front(element));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_given_an_element_and_goes_leaves_it_here() {
        let shared = Arc::new(Shared::default());
        let enter = || {
            let waiter = shared.with(|db| db.waiting.enter(vec![b"a".to_vec()]));
            Blocked { waiter, shared: shared.clone(), deadline: None }
        };
        let (leaves, stays) = (enter(), enter());
        let length = shared.with(|db| db.push(b"a", |list| list.push_back(b"1".to_vec())));
        assert!(matches!(length, Ok(1)));
        drop(leaves);
        assert_eq!(stays.take(), Some((b"a".to_vec(), b"1".to_vec())));
    }
}
