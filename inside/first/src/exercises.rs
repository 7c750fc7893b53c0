//! What the exercises are checked with: futures are polled by hand, and wake-ups are counted.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

mod alarm;
pub mod threads;
mod verdict;

pub use alarm::set_alarm;
pub use verdict::expect;

/// Counts how often the wakers were used that [`poll`] made for it.
#[derive(Default)]
pub struct Wakeups(AtomicUsize);

impl Wakeups {
    /// A new counter.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// How often it was woken.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Ends the exercise, with this message, if one of the wakers is still somewhere.
    pub fn expect_no_waker_left(self: &Arc<Self>, message: &str) {
        expect(Arc::strong_count(self) == 1, message);
    }
}

/// How many wakers of [`poll`] there are, and how many futures of [`counted`].
static WAKERS: AtomicUsize = AtomicUsize::new(0);
static FUTURES: AtomicUsize = AtomicUsize::new(0);

/// Adds one to a count for as long as it is there.
struct Alive(&'static AtomicUsize);

impl Alive {
    fn new(count: &'static AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Alive(count)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The waker of one poll. It objects to being woken or dropped while a lock is held. std would call
/// a `Drop` of this type for the last clone alone, so the four functions are written by hand (as in
/// stage 02): they object to each.
struct PollWaker {
    wakeups: Arc<Wakeups>,
    _alive: Alive,
}

/// Whoever calls one of them has a waker, whose data came from `Arc::into_raw`.
static TABLE: RawWakerVTable =
    RawWakerVTable::new(clone_waker, wake_waker, wake_waker_by_ref, drop_waker);

impl PollWaker {
    fn into_waker(self) -> Waker {
        let data = Arc::into_raw(Arc::new(self)).cast();
        // SAFETY: the functions may be called by any thread: a `PollWaker` is Send and Sync.
        unsafe { Waker::from_raw(RawWaker::new(data, &TABLE)) }
    }

    fn wake(&self) {
        let message = "a waker is woken while a lock is held: what it runs may want that lock";
        expect(!threads::holds_a_lock(), message);
        self.wakeups.0.fetch_add(1, Ordering::SeqCst);
    }
}

unsafe fn clone_waker(data: *const ()) -> RawWaker {
    // SAFETY: see `TABLE`. The clone owns one reference more.
    unsafe { Arc::increment_strong_count(data.cast::<PollWaker>()) };
    RawWaker::new(data, &TABLE)
}

unsafe fn wake_waker(data: *const ()) {
    // SAFETY: see `TABLE`. The reference was the waker's, and ends here.
    unsafe { Arc::from_raw(data.cast::<PollWaker>()) }.wake();
}

unsafe fn wake_waker_by_ref(data: *const ()) {
    // SAFETY: see `TABLE`. The waker keeps its reference.
    unsafe { &*data.cast::<PollWaker>() }.wake();
}

unsafe fn drop_waker(data: *const ()) {
    let message = "a waker is dropped while a lock is held: what it runs may want that lock";
    expect(!threads::holds_a_lock(), message);
    // SAFETY: see `TABLE`. The reference was the waker's, and ends here.
    drop(unsafe { Arc::from_raw(data.cast::<PollWaker>()) });
}

/// Polls a future once. The wake-ups that it asks for are counted.
pub fn poll<F: Future + ?Sized>(
    future: &mut Pin<Box<F>>,
    wakeups: &Arc<Wakeups>,
) -> Poll<F::Output> {
    set_alarm();
    let waker = PollWaker { wakeups: wakeups.clone(), _alive: Alive::new(&WAKERS) }.into_waker();
    let _in_poll = Alive::new(&alarm::POLLS);
    future.as_mut().poll(&mut Context::from_waker(&waker))
}

/// The same future, which is counted until it is dropped: when the exercise is [`solved`], none may
/// be left. It objects to being dropped while a lock is held.
pub fn counted<F: Future>(future: F) -> Counted<F> {
    Counted { future: Box::pin(future), _alive: Alive::new(&FUTURES) }
}

/// See [`counted`].
pub struct Counted<F> {
    future: Pin<Box<F>>,
    _alive: Alive,
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.future.as_mut().poll(context)
    }
}

impl<F> Drop for Counted<F> {
    fn drop(&mut self) {
        let message = "a future is dropped while a lock is held: what it runs may want that lock";
        expect(!threads::holds_a_lock(), message);
    }
}

/// The exercise is solved, if of all its wakers and futures none is left. (Call this when all that
/// could hold one is gone.)
pub fn solved() {
    let wakers = WAKERS.load(Ordering::SeqCst);
    let message = format!(
        "all is over, and {wakers} wakers are left, in a place where nobody looks any more: the \
         tasks that they belong to stay in memory"
    );
    expect(wakers == 0, &message);
    let futures = FUTURES.load(Ordering::SeqCst);
    let message = format!(
        "all is over, and {futures} futures were never dropped: what they hold stays in memory"
    );
    expect(futures == 0, &message);
    println!("solved");
}
