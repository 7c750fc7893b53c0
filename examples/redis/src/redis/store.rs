//! The keys, their values and when they expire.

use super::blocking::{Waiter, Waiting};
use super::commands::Error;
use super::value::{Kind, List, Value};
use crate::rt::time::Instant;
use indexmap::IndexMap;
use indexmap::map::Entry as Place;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many expired keys are removed at once; then it is the turn of the clients.
const EXPIRED_AT_ONCE: usize = 1000;

#[derive(Default)]
pub struct Db {
    entries: IndexMap<Vec<u8>, Entry>,
    /// Those that have an end, by it.
    ends: BTreeSet<(Instant, Vec<u8>)>,
    pub waiting: Waiting,
    /// Some end is now earlier than all were before.
    is_earlier: bool,
    /// What the clock said when it was first looked at: see `now`.
    now: Cell<Option<Instant>>,
}

struct Entry {
    value: Value,
    end: Option<Instant>,
}

/// What is to be done when nobody holds the lock any more.
pub struct Afterwards {
    /// Those who got what they waited for.
    pub served: Vec<Arc<Waiter>>,
    /// The clock has to look at the ends again.
    pub is_earlier: bool,
}

impl Db {
    /// A command begins, or several that nobody comes in between.
    pub fn begin(&mut self) {
        self.now.take();
    }

    /// The time, which stands still meanwhile: no key expires in the midst of a command.
    pub fn now(&self) -> Instant {
        let now = self.now.get().unwrap_or_else(Instant::now);
        self.now.set(Some(now));
        now
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many of the keys have an end.
    pub fn expiring(&self) -> usize {
        self.ends.len()
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.ends.clear();
    }

    /// A value, if it is there and of any type.
    pub fn get(&mut self, key: &[u8]) -> Option<&mut Value> {
        let (place, _, entry) = self.entries.get_full(key)?;
        // The clock may be late.
        if entry.end.is_some_and(|end| end <= self.now()) {
            self.remove(key);
            return None;
        }
        self.entries.get_index_mut(place).map(|(_, entry)| &mut entry.value)
    }

    /// A value of this type, if it is there.
    pub fn read<T: Kind>(&mut self, key: &[u8]) -> Result<Option<&mut T>, Error> {
        self.get(key).map(T::of).transpose()
    }

    /// A value of this type, a new one if there is none. Whoever takes something out of
    /// it calls `tidy`.
    pub fn edit<T: Kind>(&mut self, key: &[u8]) -> Result<&mut T, Error> {
        // For those that have expired.
        self.get(key);
        let place = match self.entries.get_index_of(key) {
            Some(place) => place,
            None => {
                let entry = Entry { value: T::default().into(), end: None };
                self.entries.insert_full(key.to_owned(), entry).0
            }
        };
        T::of(&mut self.entries[place].value)
    }

    /// A list to which is added: whoever waits for that is served afterwards.
    pub fn list(&mut self, key: &[u8]) -> Result<&mut List, Error> {
        self.waiting.touch(key);
        self.edit(key)
    }

    /// Puts a value in the place of what was there. The end goes, or stays.
    pub fn set(&mut self, key: &[u8], value: Value, keeps_end: bool) {
        match self.entries.get_mut(key) {
            Some(entry) => {
                entry.value = value;
                if !keeps_end && let Some(end) = entry.end.take() {
                    self.ends.remove(&(end, key.to_owned()));
                }
            }
            None => {
                self.entries.insert(key.to_owned(), Entry { value, end: None });
            }
        }
    }

    pub fn remove(&mut self, key: &[u8]) -> Option<Value> {
        let (key, entry) = self.entries.swap_remove_entry(key)?;
        if let Some(end) = entry.end {
            self.ends.remove(&(end, key));
        }
        Some(entry.value)
    }

    /// Removes a value whose last element was taken.
    pub fn tidy(&mut self, key: &[u8]) {
        if self.entries.get(key).is_some_and(|entry| entry.value.is_empty()) {
            self.remove(key);
        }
    }

    /// When a key ends. None outside: there is no such key.
    pub fn end(&mut self, key: &[u8]) -> Option<Option<Instant>> {
        self.get(key)?;
        self.entries.get(key).map(|entry| entry.end)
    }

    /// Sets when a key ends, or that it does not. False: there is no such key.
    pub fn set_end(&mut self, key: &[u8], end: Option<Instant>) -> bool {
        let Place::Occupied(mut place) = self.entries.entry(key.to_owned()) else {
            return false;
        };
        let before = std::mem::replace(&mut place.get_mut().end, end);
        if let Some(before) = before {
            self.ends.remove(&(before, key.to_owned()));
        }
        if let Some(end) = end {
            self.is_earlier |= self.next_end().is_none_or(|next| end < next);
            self.ends.insert((end, key.to_owned()));
        }
        true
    }

    /// The end that comes next.
    pub fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// Removes some of what has expired.
    pub fn expire(&mut self) {
        let now = self.now();
        for _ in 0..EXPIRED_AT_ONCE {
            let Some((_, key)) = self.ends.pop_first_if(|(end, _)| *end <= now) else {
                break;
            };
            self.entries.swap_remove(&key);
        }
    }

    /// All keys that have not expired, and their types.
    pub fn keys(&self) -> impl Iterator<Item = (&[u8], &Value)> {
        self.part(0, self.len())
    }

    /// The keys of these places. A key may move, but only down: whoever goes from the end
    /// to the beginning passes over none that is there all the time.
    pub fn part(&self, start: usize, end: usize) -> impl Iterator<Item = (&[u8], &Value)> {
        let now = self.now();
        let entries = self.entries.get_range(start..end).into_iter().flatten();
        let alive = entries.filter(move |(_, entry)| entry.end.is_none_or(|end| end > now));
        alive.map(|(key, entry)| (&**key, &entry.value))
    }

    /// Serves those who wait for elements of lists.
    pub fn settle(&mut self) -> Afterwards {
        let mut served = Vec::new();
        while let Some(key) = self.waiting.next_touched() {
            while let Ok(Some(list)) = self.read::<List>(&key)
                && !list.is_empty()
                && let Some(waiter) = self.waiting.first(&key)
            {
                let element = self.pop_front(&key);
                self.waiting.serve(&waiter, &key, element);
                served.push(waiter);
            }
        }
        Afterwards { served, is_earlier: std::mem::take(&mut self.is_earlier) }
    }

    fn pop_front(&mut self, key: &[u8]) -> Vec<u8> {
        let list = self.read::<List>(key).ok().flatten();
        let element = list.and_then(List::pop_front).unwrap_or_default();
        self.tidy(key);
        element
    }
}

/// `BTreeSet::pop_first`, if the first is such a one.
trait PopFirstIf<T> {
    fn pop_first_if(&mut self, condition: impl Fn(&T) -> bool) -> Option<T>;
}

impl<T: Ord> PopFirstIf<T> for BTreeSet<T> {
    fn pop_first_if(&mut self, condition: impl Fn(&T) -> bool) -> Option<T> {
        match self.first().is_some_and(condition) {
            true => self.pop_first(),
            false => None,
        }
    }
}
