//! Runs code that this crate did not write (wakers, drops, futures), even if it panics; and a list
//! of wakers.

use std::any::Any;
use std::mem::replace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Calls a function. If the function panics, returns the payload of the panic as the error.
pub(crate) fn contain<R>(call: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Drops a value whose drop may panic. Dropping the payload of that panic may panic again: that
/// second payload is leaked.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = contain(|| drop(value)) {
        contain(|| drop(payload)).unwrap_or_else(std::mem::forget);
    }
}

/// The wakers of those who wait for one thing, each by a number of its own.
///
/// A list that is sorted by the numbers. A map would do the same, but it is much more code, and
/// most of those who wait have been given a number that is higher than that of all others.
#[derive(Default)]
pub(crate) struct Wakers(Vec<(u64, Waker)>);

impl Wakers {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Leaves a waker. Returns the one that was left by the same number before.
    pub(crate) fn insert(&mut self, number: u64, waker: Waker) -> Option<Waker> {
        match self.find(number) {
            Ok(place) => Some(replace(&mut self.0[place].1, waker)),
            Err(place) => {
                // Most often the last place: nothing has to move.
                self.0.insert(place, (number, waker));
                None
            }
        }
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Waker> {
        let place = self.find(number).ok()?;
        Some(self.0.remove(place).1)
    }

    /// Takes the waker of the highest number.
    pub(crate) fn pop(&mut self) -> Option<Waker> {
        let (_, waker) = self.0.pop()?;
        Some(waker)
    }

    /// The place of a number, or else the place where it would be.
    fn find(&self, number: u64) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.cmp(&number))
    }

    /// Wakes all, in the order of their numbers.
    pub(crate) fn wake(self) {
        for (_, waker) in self.0 {
            wake(waker);
        }
    }
}

/// Wakes all wakers, even if some of them panic.
///
/// A waker that panics must not keep the others asleep, and must not unwind into the caller,
/// which may be a drop.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        wake(waker);
    }
}

fn wake(waker: Waker) {
    contain(|| waker.wake()).unwrap_or_else(discard);
}

#[cfg(test)]
mod tests {
    use super::Wakers;
    use std::sync::{Arc, Mutex};
    use std::task::{Wake, Waker};

    /// Notes its number when it is woken.
    struct Noted(u64, Arc<Mutex<Vec<u64>>>);

    impl Wake for Noted {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    #[test]
    fn wakers_are_found_by_their_numbers_and_woken_in_their_order() {
        let log = Arc::new(Mutex::new(Vec::new()));
        let waker = |number| Waker::from(Arc::new(Noted(number, log.clone())));
        let mut wakers = Wakers::new();

        // At the front, at the end and between others.
        for number in [3, 1, 5, 2, 4] {
            assert!(wakers.insert(number, waker(number)).is_none());
        }
        let before = wakers.insert(2, waker(20)).unwrap();
        assert!(wakers.remove(6).is_none());
        assert!(wakers.remove(3).is_some());
        assert!(wakers.remove(3).is_none());
        drop(wakers.pop());

        wakers.wake();
        before.wake();
        assert_eq!(*log.lock().unwrap(), [1, 20, 4, 2]);
    }
}
