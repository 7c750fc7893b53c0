//! Stage 02: what a waker is.
//!
//! Stage 01 let std make the waker. Here it is made by hand, and `block_on` stays as it is. A waker
//! is two words: a pointer to data, and a pointer to a table of four functions that know what to do
//! with that data. (`dyn Trait` works in the same way, with a table that the compiler makes.) So
//! one type, `Waker`, serves every runtime, and a future need not know by which it is polled.
//!
//! The data here is an `Arc<Signal>` whose type was forgotten. Each waker owns one of its
//! references: `clone` counts one more, `drop` gives one back, `wake` uses the waker up and so
//! gives one back as well, and `wake_by_ref` only borrows. No compiler checks that. A reference
//! that is given back too seldom is a leak; one that is given back too often is a use of freed
//! memory.
//!
//! Client 2 also shows why `block_on` has a flag of its own and does not trust `park` alone. If a
//! thread is unparked while it is awake, its next `park` returns at once: the thread has a *token*,
//! and `park` takes it away. There is one token for each thread. A library that is called in a poll
//! may park this thread as well, and then it takes the token that was meant for `block_on`. And the
//! ticker yields, so that `wake_by_ref` is used too.
//!
//! # Break it
//!
//! ```text
//! drop-forgets: a waker is dropped, and its reference is not given back
//!     - drop(unsafe { Arc::from_raw(data.cast::<Signal>()) });
//!     + let _ = data;
//!     you see: 3 of them are left: somebody did not give back a reference
//!
//! wake-forgets: `wake` uses the waker up, and its reference is not given back
//!     - let signal = unsafe { Arc::from_raw(data.cast::<Signal>()) };
//!     + let signal = unsafe { &*data.cast::<Signal>() };
//!     you see: 3 of them are left: somebody did not give back a reference
//!
//! by-ref-sleeps: one of the four functions does nothing, and so this waker wakes nobody
//!     - let signal = unsafe { &*data.cast::<Signal>() };
//!     - signal.wake();
//!     + let _ = data;
//!     you see: hung: the future is pending
//!
//! shared-token: without the flag, the library takes the token, and `block_on` sleeps for ever
//!     - loop {
//!     - if !signal.woken.swap(false, Ordering::Acquire) {
//!     - thread::park();
//!     - continue;
//!     - }
//!     + let mut is_first = true;
//!     + loop {
//!     + if !std::mem::take(&mut is_first) {
//!     + thread::park();
//!     + }
//!     with: ARC_GAP=token
//!     you see: hung: the future was woken, but its thread sleeps
//! ```

use inside::sync::{Arc, AtomicBool, Mutex, Ordering, lock, thread};
use inside::{after, client, gap, ticker, watchdog};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// How many signals there are. Each must go away in the end.
static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// Runs one future to its end on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    // A future may point into itself once it was polled, so it must not move any more.
    let mut future = pin!(future);

    // The flag is set at first: a future begins with its first poll, and nobody wakes it for that.
    let signal = Arc::new(Signal { woken: AtomicBool::new(true), thread: thread::current() });
    SIGNALS.fetch_add(1, Ordering::Relaxed);
    let waker = signal.clone().into_waker();
    let mut context = Context::from_waker(&waker);
    let _watchdog = signal.watch();

    loop {
        // Reset the flag before the poll: a wake-up that comes during the poll sets it again, and
        // asks for another one. Acquire pairs with `wake`: the poll sees what was done before it.
        if !signal.woken.swap(false, Ordering::Acquire) {
            // An unpark that came a moment ago is remembered: then this returns at once. It may
            // also return for no reason at all. Only the flag counts.
            thread::park();
            continue;
        }

        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// What the waker of `block_on` points to.
struct Signal {
    woken: AtomicBool,
    thread: thread::Thread,
}

impl Signal {
    /// Tell first, then wake: the thread looks at the flag as soon as it is awake. Release pairs
    /// with the Acquire in `block_on`. It is `swap` and not `store` for the case that two threads
    /// wake at once: the poll sees what each of them did before.
    fn wake(&self) {
        self.woken.swap(true, Ordering::Release);
        gap("wake");
        self.thread.unpark();
    }

    /// Gives the reference to a waker, which owns it from now on.
    fn into_waker(self: Arc<Self>) -> Waker {
        let data = Arc::into_raw(self).cast::<()>();

        // SAFETY: the table's functions may be called from any thread, as a `Signal` may be used by
        // any thread. They do with the reference in `data` what the table's contract asks for.
        unsafe { Waker::from_raw(RawWaker::new(data, &TABLE)) }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        SIGNALS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The four functions. Whoever calls one has a waker, so `data` is a `Signal` that lives.
static TABLE: RawWakerVTable =
    RawWakerVTable::new(clone_waker, wake_waker, wake_waker_by_ref, drop_waker);

/// One more waker owns one more reference.
unsafe fn clone_waker(data: *const ()) -> RawWaker {
    // SAFETY: `data` came from `Arc::into_raw`, and the caller's waker keeps it alive.
    unsafe { Arc::increment_strong_count(data.cast::<Signal>()) };
    RawWaker::new(data, &TABLE)
}

/// Uses the waker up: its reference becomes an `Arc` again, which gives it back at the end.
unsafe fn wake_waker(data: *const ()) {
    // SAFETY: `data` came from `Arc::into_raw`, and the reference is the waker's own.
    let signal = unsafe { Arc::from_raw(data.cast::<Signal>()) };
    signal.wake();
}

/// Wakes and keeps the waker: the reference is only borrowed.
unsafe fn wake_waker_by_ref(data: *const ()) {
    // SAFETY: `data` came from `Arc::into_raw`, and the caller's waker keeps it alive.
    let signal = unsafe { &*data.cast::<Signal>() };
    signal.wake();
}

/// Gives the waker's reference back.
unsafe fn drop_waker(data: *const ()) {
    // SAFETY: `data` came from `Arc::into_raw`, and the reference is the waker's own.
    drop(unsafe { Arc::from_raw(data.cast::<Signal>()) });
}

/// Something that happens once, some time: an answer comes, or the clock ticks.
#[derive(Clone, Default)]
pub struct Event {
    state: Arc<Mutex<EventState>>,
}

#[derive(Default)]
struct EventState {
    happened: bool,
    waker: Option<Waker>,
}

/// Waits for the event.
///
/// An `async fn` only passes a poll on to the future that it awaits, with the same waker. That one
/// passes it on as well, down to a future such as this one, a *leaf*, which knows what is waited
/// for.
impl Future for Event {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();

        // Look and leave the waker under one lock: the event cannot come in between.
        let mut state = lock(&self.state);
        if state.happened {
            return Poll::Ready(());
        }
        gap("look");

        // Somebody else may wait now than at the last poll: only the newest waker counts.
        let old = state.waker.replace(waker);

        // Dropping a waker runs code that is not ours. It must not find our lock held.
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl Event {
    /// It happens now. Runs on whatever thread brings the event.
    pub fn happen(&self) {
        let mut state = lock(&self.state);
        state.happened = true;
        let waker = state.waker.take();

        // Waking runs code that is not ours, too.
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// An event that the world outside makes happen after some milliseconds.
pub fn later(milliseconds: u64) -> Event {
    let event = Event::default();
    let same = event.clone();
    after(milliseconds, move || same.happen());
    event
}

/// Asks for another poll at once, and so lets others have their turn first.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Waits for the event, and calls a library in the same poll.
async fn with_a_library(mut event: Event) {
    poll_fn(|context| {
        let poll = Pin::new(&mut event).poll(context);

        // The event may happen just now, and unpark this thread. Then the library parks it.
        gap("token");
        inside::other_library();
        poll
    })
    .await;
}

fn main() {
    inside::run(|| {
        println!("main: One future at a time: client 2 does not even ask before client 1 is done.");
        block_on(client(1, || later(20)));
        block_on(client(2, || with_a_library(later(40))));
        block_on(ticker(|| async { (later(15).await, yield_now().await) }));

        inside::settle();
        match SIGNALS.load(Ordering::Relaxed) {
            0 => println!("main: Each of the three signals is gone, and so are all of its wakers."),
            left => {
                println!("main: {left} of them are left: somebody did not give back a reference.")
            }
        }
    });
}

impl Signal {
    /// Turns a hang into a sentence. `block_on` and its `waker` hold the signal twice.
    fn watch(self: &Arc<Self>) -> inside::Watchdog {
        let signal = Arc::downgrade(self);
        watchdog(move || match signal.upgrade() {
            Some(signal) if signal.woken.load(Ordering::Relaxed) => {
                "the future was woken, but its thread sleeps".into()
            }
            Some(signal) if Arc::strong_count(&signal) > 3 => {
                "the future is pending, and somebody holds its waker but never uses it".into()
            }
            _ => "the future is pending, and nobody holds its waker".into(),
        })
    }
}
