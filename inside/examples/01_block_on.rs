//! Stage 01: ask a future, and sleep until it is worth asking again.
//!
//! A future is a value that can be asked one question: are you done? To ask is to *poll*. The
//! answer is `Ready(output)` or `Pending`. A future does nothing between two polls, and nobody
//! polls it unless somebody writes the loop that does. In a program on tokio the loop is hidden
//! behind `#[tokio::main]`. Here it is in the open: `block_on`.
//!
//! When the answer is `Pending`, the loop must not ask again at once: it would burn a whole core to
//! hear the same answer. It sleeps. So that it can be woken, it gives the future a *waker* with
//! each poll, inside the argument `Context`. A future that answers `Pending` must have left that
//! waker where the event will find it. Whoever brings the event calls `wake` on it, and then the
//! loop polls again. That is the whole contract, and every bug below breaks it in a different way.
//!
//! The loop sleeps with `thread::park` of std, which returns when another thread calls `unpark` on
//! this thread. Comments such as "Acquire pairs with `wake`" say why an access to an atomic needs
//! more than `Relaxed`. If you have never met memory orderings, skip them: all else holds without.
//!
//! What is imported from `inside` is scenery, the same in all stages. `client` and `ticker` are the
//! futures that are run, and `after` plays the world that they wait for. `gap` and `watchdog` do
//! nothing in a program that is right.
//!
//! # Break it
//!
//! Run the program as it is first: `cargo run -p arc-first --example 01_block_on`. Then choose a
//! bug, replace its `-` lines by its `+` lines in the code below, and run the program again. (A bug
//! may have several such places. Comments between the `-` lines do not matter.) To mend it:
//! `git checkout inside/examples`.
//!
//! Some bugs are races, which most runs win. The line `with:` of such a bug names the `gap` into
//! which the other thread must come. Put what it says before the command, and the thread sleeps in
//! that gap, so that nearly every run loses: `ARC_GAP=look cargo run ...`. If a run ends well, run
//! it again. (Four of the races need no gap. Their chapters say so.)
//!
//! ```text
//! no-park: the loop asks again and again what it was told a moment ago
//!     - thread::park();
//!     - continue;
//!     + std::hint::spin_loop();
//!     you see: It never slept
//!
//! no-waker: `Pending`, and nobody knows whom to wake
//!     - let old = state.waker.replace(waker);
//!     + let old = Some(waker);
//!     you see: hung: the future is pending, and nobody holds its waker
//!
//! look-then-leave: the event comes after the look and before the waker is there
//!     - let mut state = lock(&self.state);
//!     - if state.happened {
//!     + if lock(&self.state).happened {
//!     - gap("look");
//!     + gap("look");
//!     + let mut state = lock(&self.state);
//!     with: ARC_GAP=look
//!     you see: hung: the future is pending, and somebody holds its waker but never uses it
//!
//! unpark-then-tell: the thread is awake before the flag is set, and sleeps again
//!     - self.woken.swap(true, Ordering::Release);
//!     - gap("wake");
//!     - self.thread.unpark();
//!     + self.thread.unpark();
//!     + gap("wake");
//!     + self.woken.swap(true, Ordering::Release);
//!     with: ARC_GAP=wake
//!     you see: hung: the future was woken, but its thread sleeps
//! ```

use inside::sync::{Arc, AtomicBool, Mutex, Ordering, lock, thread};
use inside::{after, client, gap, ticker, watchdog};
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll, Wake, Waker};

/// How often `block_on` has polled a future, for the last line that is printed.
static POLLS: AtomicUsize = AtomicUsize::new(0);

/// Runs one future to its end on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    // A future may point into itself once it was polled, so it must not move any more.
    let mut future = pin!(future);

    // The flag is set at first: a future begins with its first poll, and nobody wakes it for that.
    let signal = Arc::new(Signal { woken: AtomicBool::new(true), thread: thread::current() });
    let waker = Waker::from(signal.clone());
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

        POLLS.fetch_add(1, Ordering::Relaxed);
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

/// std makes a `Waker` of an `Arc` of anything that can do this. Stage 02 shows how.
impl Wake for Signal {
    /// Tell first, then wake: the thread looks at the flag as soon as it is awake. Release pairs
    /// with the Acquire in `block_on`. It is `swap` and not `store` for the case that two threads
    /// wake at once: the poll sees what each of them did before.
    fn wake(self: Arc<Self>) {
        self.woken.swap(true, Ordering::Release);
        gap("wake");
        self.thread.unpark();
    }
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

fn main() {
    inside::run(|| {
        println!("main: One future at a time: client 2 does not even ask before client 1 is done.");
        block_on(client(1, || later(20)));
        block_on(client(2, || later(40)));
        block_on(ticker(|| later(15)));

        let polls = POLLS.load(Ordering::Relaxed);
        println!("main: The three futures waited 5 times, and were polled {polls} times.");
        if polls <= 8 {
            println!("main: A future is polled once to begin, and once for each wake-up.");
        } else {
            println!("main: It never slept: it asked again and again for the same answer.");
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
