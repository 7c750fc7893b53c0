//! The permits of arc_util's semaphore: taken and given back without the lock while no one waits.

use crate::race;
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicUsize, Ordering};

const WAITING: usize = 2;
const ONE: usize = 4;

/// A copy of what `Semaphore` in crates/util/src/sync/semaphore.rs does, for one future that waits.
struct Permits {
    word: AtomicUsize,
    line: Mutex<Line>,
    /// What whoever had the permit before has done.
    done: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Waits,
    Served,
}

impl Permits {
    fn new() -> Self {
        let line = Mutex::new(Line::Empty);
        Self { word: AtomicUsize::new(0), line, done: AtomicUsize::new(0) }
    }

    /// `Semaphore::add`, and `Semaphore::serve` after it.
    fn give_back(&self) {
        self.done.store(1, Ordering::Relaxed);
        let mut word = self.word.load(Ordering::Relaxed);
        let release = Ordering::Release;
        while let Err(now) =
            self.word.compare_exchange(word, word + ONE, release, Ordering::Relaxed)
        {
            word = now;
        }

        if word & WAITING == 0 {
            return;
        }
        let mut line = self.line.lock().unwrap();
        if *line == Line::Waits && self.word.load(Ordering::Acquire) >= ONE {
            *line = Line::Served;
            self.word.fetch_sub(ONE + WAITING, Ordering::Relaxed);
        }
    }

    /// `Acquire::poll_join`, with `Semaphore::take_or_wait`. Returns whether it took the permit.
    fn join(&self) -> bool {
        let mut line = self.line.lock().unwrap();
        let mut word = self.word.load(Ordering::Relaxed);
        let acquire = Ordering::Acquire;
        loop {
            let is_there = word >= ONE;
            let new = if is_there { word - ONE } else { word | WAITING };
            match self.word.compare_exchange(word, new, acquire, Ordering::Relaxed) {
                Ok(_) if is_there => return true,
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        *line = Line::Waits;
        false
    }

    /// `Semaphore::leave`: a future that waits is dropped.
    fn leave(&self) {
        let mut line = self.line.lock().unwrap();
        let left = std::mem::replace(&mut *line, Line::Empty);
        self.word.fetch_and(!WAITING, Ordering::Relaxed);
        drop(line);
        if left == Line::Served {
            self.give_back();
        }
    }

    fn is_served(&self) -> bool {
        *self.line.lock().unwrap() == Line::Served
    }
}

/// A permit comes back while a future gets in line: it gets the permit, one way or the other, and
/// sees what was done before.
#[test]
fn permit_that_comes_back_finds_whoever_waits_for_it() {
    race(
        Permits::new,
        Permits::give_back,
        |permits| {
            let has_taken = permits.join();
            assert!(!has_taken || permits.done.load(Ordering::Relaxed) == 1);
            has_taken
        },
        |permits, (), has_taken| assert!(has_taken != permits.is_served()),
    );
}

/// A permit comes back while a future that waits is dropped: it is there for the next one.
#[test]
fn permit_is_not_lost_with_a_future_that_waited() {
    race(
        || {
            let permits = Permits::new();
            assert!(!permits.join());
            permits
        },
        Permits::give_back,
        Permits::leave,
        |permits, (), ()| assert_eq!(permits.word.load(Ordering::Relaxed), ONE),
    );
}
