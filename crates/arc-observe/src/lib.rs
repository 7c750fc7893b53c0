//! The seam of the async runtime arc: whoever looks at a runtime hears of its events here.
//!
//! The runtime itself keeps no statistics and writes no reports. An [`Observer`] is told what
//! happens, and makes of it what it likes: a list of tasks, a report of a poll that takes too long,
//! a timeline. `arc-util` and `arc-trace` have observers, and any other crate may have one.
//!
//! Tasks and runtimes are told by their numbers: those of `arc::task::Id` and `arc::runtime::Id`.
//!
//! # Examples
//!
//! Who spawned what:
//!
//! ```
//! use arc_observe::{Note, Observer, attach};
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! static SPAWNED: AtomicUsize = AtomicUsize::new(0);
//!
//! struct Prints;
//!
//! impl Observer for Prints {
//!     fn spawned(&self, task: u64, _runtime: u64, note: &Note) {
//!         println!("{} spawned task {task}", note.location());
//!         SPAWNED.fetch_add(1, Ordering::Relaxed);
//!     }
//! }
//!
//! attach(Prints);
//! let runtime = arc::runtime::Runtime::new()?;
//! runtime.block_on(async { arc::spawn(async {}).await.unwrap() });
//! assert_eq!(SPAWNED.load(Ordering::Relaxed), 2); // the future of `block_on`, and the task
//! # std::io::Result::Ok(())
//! ```
//!
//! # What it costs
//!
//! An event that no observer [hears](Observer::hears) costs a load and a branch, and so does each
//! while nobody is attached. Any other costs a call of each observer, and what that does. Without
//! the feature `observe` of `arc-runtime`, which turns this crate on, nothing of it is compiled.

#![forbid(unsafe_code)]

mod note;

pub use note::{Kind, Note};

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Hears what happens in the runtimes of the process, on the threads where it happens.
///
/// The methods that are told of events do nothing unless an observer overrides them. The runtime
/// holds no lock when it calls one, but it waits for its return. So a method must be short. It must
/// not block, spawn or wake a task: it would hear of that, too. A panic in it is printed by the
/// panic hook, and otherwise ignored.
pub trait Observer: Send + Sync {
    /// Whether this observer wants to be told of an event. It is asked once for each of them, when
    /// it is attached.
    ///
    /// By default it is told of every event, and a method that is not overridden ignores it. An
    /// observer that a program always has should name the few events that it needs: then each of
    /// the others costs a load, and no call. If another observer hears an event, this one is told
    /// of it as well, whatever it answers.
    fn hears(&self, _event: Event) -> bool {
        true
    }

    /// A task or a job was spawned, or a thread begins a `block_on`: then it is this thread.
    fn spawned(&self, _task: u64, _runtime: u64, _note: &Note) {}

    /// A task enters a queue, because it was spawned or woken.
    fn queued(&self, _task: u64, _note: &Note) {}

    /// A poll begins, on this thread.
    fn begins(&self, _task: u64, _note: &Note) {}

    /// A poll has ended. It was the last one that had begun on this thread.
    fn ends(&self, _task: u64) {}

    /// In this poll the task is over, and its future is about to be dropped.
    fn drops(&self, _task: u64) {}

    /// The task has panicked.
    fn panicked(&self, _task: u64) {}

    /// The task has ended, and its future is dropped. A task that is dropped by the end of its
    /// runtime is not told of here: see [`closes`](Self::closes).
    fn ended(&self, _task: u64) {}

    /// An operation of a socket, a timer or a handle has succeeded in this poll.
    fn made_progress(&self) {}

    /// The task that is polled has used up its budget, and goes to the end of a queue.
    fn out_of_budget(&self) {}

    /// The task that is polled waits for another one.
    fn waits_for_task(&self, _task: u64) {}

    /// The task that is polled has got the output of another one, or has dropped its handle.
    fn no_longer_waits_for_task(&self, _task: u64) {}

    /// The task that is polled waits until so much time has passed. The timer has a number, which
    /// is its own as long as it waits.
    fn waits_for_time(&self, _timer: usize, _left: Duration) {}

    /// The task that is polled waits for a descriptor (a socket on Windows): to read from it (0) or
    /// to write to it (1). What waits has a number, as a timer has.
    fn waits_for_io(&self, _waiter: usize, _source: i64, _direction: usize) {}

    /// What had this number waits no more: it is ready, or was dropped.
    fn no_longer_waits(&self, _waiter: usize) {}

    /// This thread runs a worker from now on.
    fn runs_worker(&self, _runtime: u64, _worker: usize) {}

    /// This thread runs that worker no more.
    fn leaves_worker(&self, _runtime: u64, _worker: usize) {}

    /// The worker of this thread falls asleep.
    fn sleeps(&self) {}

    /// The worker of this thread is awake again.
    fn awake(&self) {}

    /// This thread wakes a worker.
    fn wakes(&self, _runtime: u64, _worker: usize) {}

    /// The worker of this thread has taken so many tasks from the queue of another one.
    fn stole(&self, _tasks: usize) {}

    /// This thread asks the kernel for events. It waits for them, or only looks.
    fn asks_kernel(&self, _waits: bool) {}

    /// The kernel has answered, and has reported these descriptors: whether each can be read, and
    /// whether it can be written. To list them costs a runtime some hundred instructions at each
    /// look at the kernel, which is spared as long as nobody [hears](Self::hears) of it.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::net::TcpListener;
    /// use arc_observe::{Event, Observer, attach};
    /// use std::net::TcpStream;
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    ///
    /// static READY: AtomicUsize = AtomicUsize::new(0);
    ///
    /// struct Counts(bool);
    ///
    /// impl Observer for Counts {
    ///     fn hears(&self, event: Event) -> bool {
    ///         self.0 && event == Event::kernel_told
    ///     }
    ///     fn kernel_told(&self, ready: &[(i64, [bool; 2])]) {
    ///         READY.fetch_add(ready.len(), Relaxed);
    ///     }
    /// }
    ///
    /// /// Accepts a connection that was not there when this was tried first.
    /// async fn accepts() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind(([127, 0, 0, 1], 0)).await?;
    ///     let address = listener.get_ref().local_addr()?;
    ///     let client = async {
    ///         arc::task::spawn_blocking(move || TcpStream::connect(address)).await
    ///     };
    ///     let (accepted, client) = futures_util::join!(listener.accept(), client);
    ///     drop((accepted?, client.unwrap()?));
    ///     Ok(())
    /// }
    ///
    /// let runtime = arc::runtime::Runtime::new()?;
    /// attach(Counts(false));
    /// runtime.block_on(accepts())?;
    /// assert_eq!(READY.load(Relaxed), 0);
    ///
    /// attach(Counts(true));
    /// runtime.block_on(accepts())?;
    /// // The worker that has asked the kernel may be about to tell of it.
    /// while READY.load(Relaxed) == 0 {
    ///     std::thread::yield_now();
    /// }
    /// # std::io::Result::Ok(())
    /// ```
    fn kernel_told(&self, _ready: &[(i64, [bool; 2])]) {}

    /// The monitor has looked at a runtime, so long after the last time.
    ///
    /// Returns whether it should look again although no worker has anything to do. Otherwise it
    /// sleeps until some thread polls again.
    fn tick(&self, _runtime: u64, _since: Duration) -> bool {
        false
    }

    /// The runtime ends. No worker polls a task of it any more, and nothing is dropped yet.
    fn closes(&self, _runtime: u64) {}

    /// The end of the runtime is over, or was waited for as long as its limit says.
    fn runtime_ended(&self, _runtime: u64) {}
}

/// Declares [`Event`].
macro_rules! events {
    ($($event:ident)*) => {
        /// The events of the runtime. Each has the name of the method of [`Observer`] that is told
        /// of it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, reason = "they are the names of methods")]
        #[non_exhaustive]
        pub enum Event {
            $(
                #[doc = concat!("See [`Observer::", stringify!($event), "`].")]
                $event,
            )*
        }

        impl Event {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$event),*];
        }
    };
}

events! {
    spawned queued begins ends drops panicked ended
    made_progress out_of_budget
    waits_for_task no_longer_waits_for_task waits_for_time waits_for_io no_longer_waits
    runs_worker leaves_worker sleeps awake wakes stole
    asks_kernel kernel_told tick
    closes runtime_ended
}

impl Event {
    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// One of the observers, in the order in which they came.
struct Node {
    observer: Box<dyn Observer>,
    next: OnceLock<&'static Node>,
}

static FIRST: OnceLock<&'static Node> = OnceLock::new();

/// A bit for each event that any of them hears.
static HEARD: AtomicU32 = AtomicU32::new(0);

/// Has an observer told of the events that it hears, from now on until the process ends.
///
/// There may be several: they are told of an event in the order in which they were attached.
pub fn attach(observer: impl Observer + 'static) {
    let heard = Event::ALL.iter().filter(|event| observer.hears(**event));
    let heard = heard.fold(0, |bits, event| bits | event.bit());

    let node = Node { observer: Box::new(observer), next: OnceLock::new() };
    let node: &'static Node = Box::leak(Box::new(node));

    // It goes to the first free place at the end of the chain.
    let mut place = &FIRST;
    while place.set(node).is_err() {
        place = &place.wait().next;
    }
    // After that: whoever finds the bit finds the observer as well.
    HEARD.fetch_or(heard, Ordering::Release);
}

/// Whether any observer hears such events. Only arc uses this.
#[doc(hidden)]
#[inline]
pub fn is_heard(event: Event) -> bool {
    HEARD.load(Ordering::Acquire) & event.bit() != 0
}

/// Tells the observers of an event, if any of them hears it. Only arc uses this.
#[doc(hidden)]
#[macro_export]
macro_rules! tell {
    ($event:ident($($fact:expr),*)) => {
        if $crate::is_heard($crate::Event::$event) {
            $crate::tell(|it| it.$event($($fact),*));
        }
    };
}

/// Whether the descriptors that are ready have to be listed. Only arc uses this.
#[doc(hidden)]
#[inline]
pub fn wants_descriptors() -> bool {
    is_heard(Event::kernel_told)
}

/// Tells all observers of an event. Only arc uses this.
#[doc(hidden)]
pub fn tell(mut event: impl FnMut(&dyn Observer)) {
    let mut next = FIRST.get().copied();
    while let Some(node) = next {
        next = node.next.get().copied();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| event(&*node.observer))) {
            ignore(panic);
        }
    }
}

/// Drops what the panic of an observer carries. That may panic, too: what that one carries is
/// leaked.
#[cold]
fn ignore(panic: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
}

/// Tells of a tick, and returns whether any observer wants the next one. Only arc uses this.
#[doc(hidden)]
pub fn tick(runtime: u64, since: Duration) -> bool {
    let mut is_watched = false;
    if is_heard(Event::tick) {
        tell(|it| is_watched |= it.tick(runtime, since));
    }
    is_watched
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::panic_any;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Adds its number, and may panic then.
    struct Adds {
        to: &'static AtomicU64,
        number: u64,
        panics: bool,
    }

    impl Observer for Adds {
        fn hears(&self, event: Event) -> bool {
            event == Event::awake
        }

        /// Nobody hears this.
        fn sleeps(&self) {
            self.to.fetch_add(1_000_000, Ordering::Relaxed);
        }

        fn awake(&self) {
            self.to.fetch_add(self.number, Ordering::Relaxed);
            if self.panics {
                panic_any(Carried);
            }
        }
    }

    /// What a panic carries. Its drop panics, too.
    struct Carried;

    static DROPPED: AtomicU64 = AtomicU64::new(0);

    impl Drop for Carried {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose");
        }
    }

    /// Whoever panics keeps no event from the others, nor from itself the next time.
    #[test]
    fn all_are_told_once_whoever_panics() {
        static SUM: AtomicU64 = AtomicU64::new(0);
        for (number, panics) in [(1, false), (10, true), (100, true), (1_000, false)] {
            attach(Adds { to: &SUM, number, panics });
        }
        for times in 1..=3 {
            tell!(awake());
            tell!(sleeps());
            assert_eq!(SUM.load(Ordering::Relaxed), 1_111 * times);
            assert_eq!(DROPPED.load(Ordering::Relaxed), 2 * times, "what a panic carries is kept");
        }
    }
}
