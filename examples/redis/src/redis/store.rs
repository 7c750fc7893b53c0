//! The keys, their values and when they expire.

use super::blocking::{Waiter, Waiting};
use super::commands::Error;
use super::pubsub::Hub;
use crate::rt::time::Instant;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::mem;
use std::sync::Arc;

/// How many expired keys are removed at once; then it is the turn of the clients.
const EXPIRED_AT_ONCE: usize = 1000;

pub type List = VecDeque<Vec<u8>>;

pub enum Value {
    Text(Vec<u8>),
    List(List),
}

struct Entry {
    value: Value,
    end: Option<Instant>,
}

/// All that is behind the lock.
#[derive(Default)]
pub struct Db {
    entries: HashMap<Vec<u8>, Entry>,
    /// Those that have an end, by it.
    ends: BTreeSet<(Instant, Vec<u8>)>,
    pub waiting: Waiting,
    pub hub: Hub,
    /// How many clients there are, and how many have come.
    pub connected: u64,
    pub came: u64,
    /// Who got what it waited for, and is to be woken.
    pub served: Vec<Arc<Waiter>>,
    /// Some end is now earlier than all were before: the clock is to be woken.
    pub is_earlier: bool,
}

impl Db {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.ends.clear();
    }

    /// A value, if it is there and of any type.
    pub fn get(&mut self, key: &[u8]) -> Option<&mut Value> {
        // The clock may be late.
        let end = self.entries.get(key)?.end;
        if end.is_some_and(|end| end <= Instant::now()) {
            self.remove(key);
        }
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// A string, if it is there. The error: the value is of another type.
    pub fn text(&mut self, key: &[u8]) -> Result<Option<&mut Vec<u8>>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::List(_)) => Err(Error::WRONG_TYPE),
        }
    }

    /// The same, for a list. Whoever takes something out of it calls `tidy`.
    pub fn list(&mut self, key: &[u8]) -> Result<Option<&mut List>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::List(list)) => Ok(Some(list)),
            Some(Value::Text(_)) => Err(Error::WRONG_TYPE),
        }
    }

    /// Adds to a list, a new one if there is none, and then serves those who wait for that. Gives
    /// how long the list was in between.
    pub fn push(&mut self, key: &[u8], push: impl FnOnce(&mut List)) -> Result<usize, Error> {
        if self.get(key).is_none() {
            self.set(key, Value::List(List::new()));
        }
        let list = self.list(key)?.ok_or(Error::WRONG_TYPE)?;
        push(list);
        let length = list.len();

        while let Some(waiter) = self.waiting.first(key)
            && let Ok(Some(list)) = self.list(key)
            && let Some(element) = list.pop_front()
        {
            self.waiting.serve(&waiter, key, element);
            self.served.push(waiter);
        }
        self.tidy(key);
        Ok(length)
    }

    /// Puts a value in the place of what was there. It has no end.
    pub fn set(&mut self, key: &[u8], value: Value) {
        self.remove(key);
        self.entries.insert(key.to_owned(), Entry { value, end: None });
    }

    /// False: there was no such key.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let Some((key, entry)) = self.entries.remove_entry(key) else { return false };
        if let Some(end) = entry.end {
            self.ends.remove(&(end, key));
        }
        true
    }

    /// Removes a list whose last element was taken.
    pub fn tidy(&mut self, key: &[u8]) {
        if matches!(self.get(key), Some(Value::List(list)) if list.is_empty()) {
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
        let Some(entry) = self.entries.get_mut(key) else { return false };
        if let Some(before) = mem::replace(&mut entry.end, end) {
            self.ends.remove(&(before, key.to_owned()));
        }
        if let Some(end) = end {
            self.is_earlier |= self.ends.first().is_none_or(|(first, _)| end < *first);
            self.ends.insert((end, key.to_owned()));
        }
        true
    }

    /// Removes some of what has expired. Gives when there will be more.
    pub fn expire(&mut self) -> Option<Instant> {
        let now = Instant::now();
        for _ in 0..EXPIRED_AT_ONCE {
            let (end, key) = self.ends.first()?.clone();
            if end > now {
                return Some(end);
            }
            self.remove(&key);
        }
        Some(now)
    }
}
