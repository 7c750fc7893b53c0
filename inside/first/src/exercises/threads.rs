//! A lock and atomics that find the races of an exercise, in every run.
//!
//! A race shows once in a million runs, and a wrong ordering perhaps never on your processor. So
//! the exercises do not wait for luck. Their `Mutex` and their atomics do what std's do, and two
//! things more.
//!
//! # Another thread acts between two steps
//!
//! [`meanwhile`] runs a function and has another thread act in the middle of it: right after its
//! first step, or its second, and so on. A *step* is an access to an atomic, or the release of a
//! lock. An exercise tries one place after the other. Only one of the two threads runs at a time.
//! The other one never acts while a lock is held: most of what it does would wait for that lock.
//!
//! [`by_turns`] also stops the other thread in the middle of what it does, and has the first one go
//! on: [`orders`] has all the ways to do so in three turns.
//!
//! # What a thread can be sure to see
//!
//! The exercise knows which writes a thread *must* see, whatever the processor does. A [`Note`]
//! stands for such a write, for example a message that was put somewhere before its reader was
//! woken. The rules are those of chapter 2:
//!
//! * a store with `Release` publishes all that its thread knows, and one with `Relaxed` nothing;
//! * a load with `Acquire` learns what the last store has published;
//! * `swap`, `fetch_update` and their like do both, as their ordering says. They also keep what was
//!   published in the atomic before, where a plain store wipes it out;
//! * a `compare_exchange` that fails only loads. It publishes nothing;
//! * to release a lock publishes, and to take it learns.
//!
//! `AcqRel` and `SeqCst` are both `Acquire` and `Release`. (More is to be said of `SeqCst`, and of
//! fences, see chapter 9. No exercise here needs it.)

use super::alarm::{STEPS, set_alarm};
use super::verdict::{expect, not_yet};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::ops::{BitAnd, BitOr, Deref, DerefMut};
use std::panic::resume_unwind;
use std::sync::{self, Arc, PoisonError, TryLockError};
use std::thread;

pub use std::sync::atomic::Ordering;

/// The numbers of the notes that a thread is sure to see, or that an atomic or a lock publishes.
type Notes = BTreeSet<usize>;

thread_local! {
    /// How many locks this thread holds.
    static HELD: Cell<usize> = const { Cell::new(0) };
    static KNOWN: RefCell<Notes> = const { RefCell::new(Notes::new()) };
    /// The thread plays this part in [`by_turns`].
    static PLAYER: RefCell<Option<(Arc<Turns>, usize)>> = const { RefCell::new(None) };
}

/// Whether this thread holds a lock.
pub fn holds_a_lock() -> bool {
    HELD.get() > 0
}

fn learn(published: &Notes) {
    KNOWN.with_borrow_mut(|known| known.extend(published));
}

/// Runs `action` on another thread, which knows nothing of what this one did. Waits for its end.
pub fn other_thread<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    set_alarm();
    let ended = thread::scope(|scope| scope.spawn(action).join());
    ended.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs `run`, and has another thread run `action` right after the step of `run` with this number.
/// (The first step is 1.) If `run` has fewer steps, it comes after `run`. Returns what both return:
/// first that of `action`.
pub fn meanwhile<A: Send, R>(
    step: usize,
    action: impl FnOnce() -> A + Send,
    run: impl FnOnce() -> R,
) -> (A, R) {
    let (output, acted) = by_turns(&[step], run, action);
    (acted, output)
}

/// Runs both functions, the second one on a thread of its own, and only one of them at a time. The
/// first one takes as many steps as the first number says, then the second one as many as the
/// second says, then the first again, and so on. Behind the last number, whoever's turn it is goes
/// on to its end, and then the other one does.
pub fn by_turns<A, B: Send>(
    turns: &[usize],
    first: impl FnOnce() -> A,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    set_alarm();
    let turns = Arc::new(Turns::new(turns));
    thread::scope(|scope| {
        let other = Player { turns: turns.clone(), me: 1 };
        let other = scope.spawn(move || other.play(second));
        let output = Player { turns, me: 0 }.play(first);
        (output, other.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Every way to take three turns of at most so many steps each, for [`by_turns`]. Either of the two
/// begins.
pub fn orders(steps_max: usize) -> impl Iterator<Item = [usize; 3]> {
    let numbers = move || 1..=steps_max;
    (0..=steps_max).flat_map(move |one| {
        numbers().flat_map(move |two| numbers().map(move |three| [one, two, three]))
    })
}

/// Whose turn it is, of the two threads of [`by_turns`].
struct Turns {
    state: sync::Mutex<Turn>,
    changed: sync::Condvar,
}

struct Turn {
    whose: usize,
    /// None: to its end.
    steps_left: Option<usize>,
    /// The turns that come after this one, in their order.
    next: VecDeque<usize>,
}

impl Turns {
    fn new(turns: &[usize]) -> Self {
        let mut next: VecDeque<usize> = turns.iter().copied().collect();
        let whose = usize::from(next.front() == Some(&0));
        if whose == 1 {
            next.pop_front();
        }
        let state = Turn { whose, steps_left: next.pop_front(), next };
        Self { state: sync::Mutex::new(state), changed: sync::Condvar::new() }
    }

    fn lock(&self) -> sync::MutexGuard<'_, Turn> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_turn<'a>(&'a self, mut turn: sync::MutexGuard<'a, Turn>, me: usize) {
        while turn.whose != me {
            turn = self.changed.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// It has taken a step. Returns when it is its turn.
    fn step(&self, me: usize) {
        let mut turn = self.lock();
        let Some(steps_left) = &mut turn.steps_left else { return };
        *steps_left -= 1;
        if *steps_left == 0 {
            turn.steps_left = turn.next.pop_front();
            turn.whose = 1 - me;
            self.changed.notify_one();
            self.wait_for_turn(turn, me);
        }
    }

    /// It has come to its end. The other one goes on to its own.
    fn end(&self, me: usize) {
        let mut turn = self.lock();
        turn.steps_left = None;
        turn.whose = 1 - me;
        self.changed.notify_one();
    }
}

/// One of the two threads of [`by_turns`].
struct Player {
    turns: Arc<Turns>,
    me: usize,
}

impl Player {
    fn play<T>(self, run: impl FnOnce() -> T) -> T {
        self.turns.wait_for_turn(self.turns.lock(), self.me);
        let outer = PLAYER.replace(Some((self.turns.clone(), self.me)));
        let _ends = Ends { player: self, outer };
        run()
    }
}

/// Ends the part of a player, also if it panics. Otherwise the other one would wait for ever.
struct Ends {
    player: Player,
    outer: Option<(Arc<Turns>, usize)>,
}

impl Drop for Ends {
    fn drop(&mut self) {
        PLAYER.set(self.outer.take());
        self.player.turns.end(self.player.me);
    }
}

/// This thread has taken a step. Lets the other thread act if it is its turn.
fn step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
    if holds_a_lock() {
        return;
    }
    if let Some((turns, me)) = PLAYER.with_borrow(Clone::clone) {
        turns.step(me);
    }
}

/// Something that one thread writes, and that another one must see.
#[derive(Clone, Copy)]
pub struct Note(usize);

impl Note {
    /// A note that nobody has written yet.
    #[expect(clippy::new_without_default, reason = "each note is another one")]
    pub fn new() -> Self {
        static NEXT: sync::atomic::AtomicUsize = sync::atomic::AtomicUsize::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Writes the note, on this thread.
    pub fn write(self) {
        KNOWN.with_borrow_mut(|known| known.insert(self.0));
    }

    /// Whether this thread is sure to see that it was written.
    pub fn is_seen(self) -> bool {
        KNOWN.with_borrow(|known| known.contains(&self.0))
    }

    /// Reads the note, in the poll of a task that was woken after it was written. Ends the exercise
    /// if this thread is not sure to see it.
    pub fn read(self) {
        let message = "a task is woken after something has happened, and its poll may not see \
                       that: no Release and Acquire order the two (chapter 2)";
        expect(self.is_seen(), message);
    }
}

/// A lock. No exercise needs two of them at once, and nobody panics, so `lock` returns the guard.
#[derive(Default)]
pub struct Mutex<T> {
    data: sync::Mutex<T>,
    published: sync::Mutex<Notes>,
}

impl<T> Mutex<T> {
    /// A lock that nobody holds.
    pub const fn new(data: T) -> Self {
        Self { data: sync::Mutex::new(data), published: sync::Mutex::new(Notes::new()) }
    }

    /// Takes the lock. Ends the exercise if this thread holds it, or another one, already.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let data = match self.data.try_lock() {
            Ok(data) => data,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => not_yet("it waits for a lock that it holds itself"),
        };
        let message = "it holds two locks at once: a thread that takes them in the other order \
                       and this one may wait for each other forever";
        expect(!holds_a_lock(), message);

        HELD.set(HELD.get() + 1);
        learn(&self.published.lock().unwrap_or_else(PoisonError::into_inner));
        MutexGuard { data, _unlocked: Unlocked(&self.published) }
    }
}

/// Releases the lock when it is dropped.
pub struct MutexGuard<'a, T> {
    data: sync::MutexGuard<'a, T>,
    /// Comes second: it is dropped when the lock is released.
    _unlocked: Unlocked<'a>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.data
    }
}

struct Unlocked<'a>(&'a sync::Mutex<Notes>);

impl Drop for Unlocked<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = KNOWN.with_borrow(Clone::clone);
        HELD.set(HELD.get() - 1);
        step();
    }
}

/// An atomic, as std has one for each type.
#[derive(Default)]
pub struct Atomic<T>(sync::Mutex<Word<T>>);

/// An atomic that is true or false.
pub type AtomicBool = Atomic<bool>;
/// An atomic byte.
pub type AtomicU8 = Atomic<u8>;
/// An atomic word.
pub type AtomicUsize = Atomic<usize>;

#[derive(Default)]
struct Word<T> {
    value: T,
    /// What a load with Acquire learns.
    published: Notes,
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

impl<T: Copy> Word<T> {
    fn load(&self, order: Ordering) -> T {
        if acquires(order) {
            learn(&self.published);
        }
        self.value
    }

    /// Changes the value in one step. Returns what it was.
    fn change(&mut self, value: T, order: Ordering) -> T {
        let old = self.load(order);
        self.value = value;
        if releases(order) {
            KNOWN.with_borrow(|known| self.published.extend(known));
        }
        old
    }
}

impl<T: Copy> Atomic<T> {
    /// An atomic with this value.
    pub const fn new(value: T) -> Self {
        Self(sync::Mutex::new(Word { value, published: Notes::new() }))
    }

    /// One step of this thread.
    fn access<R>(&self, access: impl FnOnce(&mut Word<T>) -> R) -> R {
        let result = access(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        step();
        result
    }

    /// As std's.
    pub fn load(&self, order: Ordering) -> T {
        let is_allowed = !matches!(order, Ordering::Release | Ordering::AcqRel);
        expect(is_allowed, "a load writes nothing: it cannot be Release or AcqRel");
        self.access(|word| word.load(order))
    }

    /// As std's.
    pub fn store(&self, value: T, order: Ordering) {
        let is_allowed = !matches!(order, Ordering::Acquire | Ordering::AcqRel);
        expect(is_allowed, "a store reads nothing: it cannot be Acquire or AcqRel");
        self.access(|word| {
            word.published.clear();
            word.change(value, if releases(order) { Ordering::Release } else { order });
        });
    }

    /// As std's.
    pub fn swap(&self, value: T, order: Ordering) -> T {
        self.access(|word| word.change(value, order))
    }
}

impl<T: Copy + PartialEq> Atomic<T> {
    /// As std's.
    ///
    /// # Errors
    /// The value is another one. It is returned.
    pub fn compare_exchange(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T> {
        self.access(|word| {
            if word.value == current {
                Ok(word.change(new, success))
            } else {
                Err(word.load(failure))
            }
        })
    }

    /// As std's, which may also fail for no reason. This one does not.
    ///
    /// # Errors
    /// The value is another one. It is returned.
    pub fn compare_exchange_weak(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T> {
        self.compare_exchange(current, new, success, failure)
    }

    /// As std's. It takes two steps: it reads the value, and changes it if it is still the same.
    /// Otherwise it begins again.
    ///
    /// # Errors
    /// `next` returned None. The value is returned.
    pub fn fetch_update(
        &self,
        success: Ordering,
        failure: Ordering,
        mut next: impl FnMut(T) -> Option<T>,
    ) -> Result<T, T> {
        let mut old = self.load(failure);
        while let Some(new) = next(old) {
            match self.compare_exchange(old, new, success, failure) {
                Ok(old) => return Ok(old),
                Err(other) => old = other,
            }
        }
        Err(old)
    }
}

impl<T: Copy + BitAnd<Output = T> + BitOr<Output = T>> Atomic<T> {
    /// As std's.
    pub fn fetch_and(&self, bits: T, order: Ordering) -> T {
        self.access(|word| word.change(word.value & bits, order))
    }

    /// As std's.
    pub fn fetch_or(&self, bits: T, order: Ordering) -> T {
        self.access(|word| word.change(word.value | bits, order))
    }
}

impl Atomic<usize> {
    /// As std's.
    pub fn fetch_add(&self, count: usize, order: Ordering) -> usize {
        self.access(|word| word.change(word.value.wrapping_add(count), order))
    }

    /// As std's.
    pub fn fetch_sub(&self, count: usize, order: Ordering) -> usize {
        self.access(|word| word.change(word.value.wrapping_sub(count), order))
    }
}

#[cfg(test)]
mod tests {
    use super::Ordering::{AcqRel, Acquire, Relaxed, Release};
    use super::*;

    /// Has another thread write a note and then `publish`. Returns whether this thread is sure to
    /// see the note after it has loaded the atomic.
    fn is_seen_after(publish: impl FnOnce(&AtomicUsize) + Send) -> bool {
        let note = Note::new();
        let atomic = AtomicUsize::new(0);
        other_thread(|| {
            note.write();
            publish(&atomic);
        });
        atomic.load(Relaxed);
        assert!(!note.is_seen(), "a relaxed load learns nothing");
        atomic.load(Acquire);
        note.is_seen()
    }

    #[test]
    fn release_publishes_and_relaxed_does_not() {
        assert!(is_seen_after(|atomic| atomic.store(1, Release)));
        assert!(!is_seen_after(|atomic| atomic.store(1, Relaxed)));
        assert!(is_seen_after(|atomic| _ = atomic.fetch_add(1, AcqRel)));
        assert!(!is_seen_after(|atomic| _ = atomic.swap(1, Acquire)));
    }

    #[test]
    fn swap_keeps_what_is_published_and_store_does_not() {
        assert!(is_seen_after(|atomic| {
            atomic.store(1, Release);
            other_thread(|| atomic.swap(2, Relaxed));
        }));
        assert!(!is_seen_after(|atomic| {
            atomic.store(1, Release);
            other_thread(|| atomic.store(2, Release));
        }));
    }

    #[test]
    fn change_that_fails_publishes_nothing() {
        assert!(!is_seen_after(|atomic| {
            assert_eq!(atomic.compare_exchange(7, 8, AcqRel, Relaxed), Err(0));
        }));
        assert!(!is_seen_after(|atomic| {
            assert_eq!(atomic.fetch_update(AcqRel, Relaxed, |_| None), Err(0));
        }));
        assert!(is_seen_after(|atomic| {
            assert_eq!(atomic.fetch_update(AcqRel, Relaxed, Some), Ok(0));
        }));
    }

    #[test]
    fn lock_publishes() {
        let note = Note::new();
        let lock = Mutex::new(0);
        other_thread(|| {
            note.write();
            *lock.lock() += 1;
        });
        assert!(!note.is_seen());
        assert_eq!(*lock.lock(), 1);
        assert!(note.is_seen());
    }

    #[test]
    fn other_thread_acts_after_the_step() {
        let atomic = AtomicUsize::new(0);
        for (step, expected) in [(1, [0, 0, 7, 7]), (2, [0, 0, 0, 7]), (9, [0, 0, 0, 0])] {
            atomic.store(0, Relaxed);
            let load = || atomic.load(Relaxed);
            let (first, seen) = meanwhile(
                step,
                || atomic.swap(7, Relaxed),
                || {
                    // Nobody comes in while a lock is held. The release is a step.
                    let lock = Mutex::new(());
                    let guard = lock.lock();
                    let (one, two) = (load(), load());
                    drop(guard);
                    [one, two, load(), load()]
                },
            );
            assert_eq!(first, 0);
            assert_eq!(seen, expected);
            assert_eq!(load(), 7);
        }
    }

    #[test]
    fn each_takes_its_turns_and_then_goes_on_to_its_end() {
        let order = |turns: &[usize], steps: [usize; 2]| {
            let (atomic, taken) = (AtomicUsize::new(0), sync::Mutex::new(String::new()));
            let take = |name: char, steps: usize| {
                for _ in 0..steps {
                    taken.lock().unwrap().push(name);
                    atomic.load(Relaxed);
                }
            };
            by_turns(turns, || take('a', steps[0]), || take('b', steps[1]));
            taken.into_inner().unwrap()
        };
        assert_eq!(order(&[1], [3, 2]), "abbaa");
        assert_eq!(order(&[1, 1], [3, 2]), "abaab");
        assert_eq!(order(&[1, 2, 1], [3, 4]), "abbabba");
        // When one of them has ended, the other one has no turns any more.
        assert_eq!(order(&[3, 1, 1], [2, 2]), "aabb");
        assert_eq!(order(&[1, 3, 1], [3, 2]), "abbaa");
        assert_eq!(order(&[0, 1, 1], [3, 2]), "babaa");
        assert_eq!(orders(4).count(), 80);
    }

    #[test]
    fn panic_does_not_leave_the_other_thread_waiting() {
        let atomic = AtomicUsize::new(0);
        let run = || meanwhile(9, || atomic.store(1, Relaxed), || panic!("on purpose"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
        assert_eq!(atomic.load(Relaxed), 1);
    }

    #[test]
    fn update_begins_again_if_the_value_has_changed() {
        let atomic = AtomicUsize::new(0);
        let add = || atomic.fetch_update(AcqRel, Relaxed, |value| Some(value + 1));
        assert_eq!(meanwhile(1, add, add), (Ok(0), Ok(1)));
        assert_eq!(atomic.load(Relaxed), 2);
    }
}
