//! What `sync.rs` and `kernel.rs` give under shuttle: a stage runs in a thousand random orders.
//!
//! All threads of a run share one real thread. After each access to an atomic or a lock, shuttle
//! chooses which of them goes on. Nobody wakes up for no reason, since that would hide a lost
//! wake-up: a thread that nobody wakes is a deadlock, which shuttle reports. The clock moves only
//! when somebody waits for it.

use polling::{Event, Events};
use shuttle::scheduler::RandomScheduler;
use std::cell::Cell;
use std::time::Duration;

/// How many orders of a stage are tried, and by which numbers they are chosen: always the same.
const SCHEDULES: usize = 1000;
const SEED: u64 = 20;

/// How often a wait that has no end looks, before it counts as a lost wake-up. The others have
/// come to their ends long before.
const LOOKS_MAX: usize = 20_000;

thread_local! {
    static CLOCK: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

fn move_clock(by: Duration) {
    CLOCK.set(CLOCK.get() + by);
}

/// Runs the stage in many orders.
pub(crate) fn run(program: fn()) {
    let mut config = shuttle::Config::default();
    config.stack_size = 256 * 1024;
    config.silence_warnings = true;
    let scheduler = RandomScheduler::new_from_seed(SEED, SCHEDULES);
    shuttle::Runner::new(scheduler, config).run(program);
    eprintln!("{SCHEDULES} schedules");
}

/// Asks the sockets without waiting, until there is something.
pub struct Poller {
    poller: polling::Poller,
    notified: sync::AtomicBool,
}

impl Default for Poller {
    fn default() -> Self {
        let poller = polling::Poller::new().expect("the system has one more poller");
        Self { poller, notified: sync::AtomicBool::new(false) }
    }
}

impl Poller {
    /// As polling's own.
    ///
    /// # Safety
    ///
    /// As polling's own: the source must be deleted before it is closed.
    pub unsafe fn add(
        &self,
        source: impl polling::AsRawSource,
        interest: Event,
    ) -> std::io::Result<()> {
        sync::thread::yield_now();
        // SAFETY: the caller's promise.
        unsafe { self.poller.add(source, interest) }
    }

    /// As polling's own.
    pub fn modify(&self, source: impl polling::AsSource, interest: Event) -> std::io::Result<()> {
        sync::thread::yield_now();
        self.poller.modify(source, interest)
    }

    /// As polling's own.
    pub fn delete(&self, source: impl polling::AsSource) -> std::io::Result<()> {
        sync::thread::yield_now();
        self.poller.delete(source)
    }

    /// As polling's own.
    pub fn notify(&self) -> std::io::Result<()> {
        self.notified.store(true, sync::Ordering::SeqCst);
        Ok(())
    }

    /// As polling's own. A time that is not zero may be over after any number of looks.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> std::io::Result<usize> {
        use shuttle::rand::Rng;
        for _ in 0..LOOKS_MAX {
            self.poller.wait(events, Some(Duration::ZERO))?;
            let notified = self.notified.swap(false, sync::Ordering::SeqCst);
            if !events.is_empty() || notified {
                return Ok(events.len());
            }
            match timeout {
                Some(time) if time.is_zero() || shuttle::rand::thread_rng().gen_bool(0.2) => {
                    move_clock(time);
                    return Ok(0);
                }
                _ => sync::thread::yield_now(),
            }
        }
        panic!("lost wake-up: a thread waits in the kernel for ever");
    }
}

/// What `inside::sync` is under shuttle.
pub(crate) mod sync {
    use super::{CLOCK, move_clock};
    use std::sync::PoisonError;

    pub use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
    pub use std::sync::Arc;
    pub use std::time::Duration;

    /// shuttle's, with guards that know it.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// As std's.
        pub fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        /// As std's.
        pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, WouldBlock> {
            self.0.try_lock().map(|guard| MutexGuard(guard, self)).map_err(|_| WouldBlock)
        }
    }

    /// Somebody else holds the lock.
    #[derive(Debug)]
    pub struct WouldBlock;

    /// Knows its mutex, so that a wait can lock it again.
    pub struct MutexGuard<'a, T>(shuttle::sync::MutexGuard<'a, T>, &'a Mutex<T>);

    impl<T> std::ops::Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }

    impl<T> std::ops::DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.0
        }
    }

    /// As `lock` over std.
    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        MutexGuard(mutex.0.lock().unwrap_or_else(PoisonError::into_inner), mutex)
    }

    /// shuttle's.
    #[derive(Debug, Default)]
    pub struct Condvar(shuttle::sync::Condvar);

    impl Condvar {
        /// As std's.
        pub fn notify_one(&self) {
            self.0.notify_one();
        }

        /// As std's.
        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    /// As `wait` over std. If there is a time, it is over at once: then nobody depends on the
    /// notification, and the others have had as much time as they like.
    pub fn wait<'a, T>(
        condvar: &Condvar,
        guard: MutexGuard<'a, T>,
        timeout: Option<Duration>,
    ) -> MutexGuard<'a, T> {
        let mutex = guard.1;
        match timeout {
            None => {
                let guard = condvar.0.wait(guard.0).unwrap_or_else(PoisonError::into_inner);
                MutexGuard(guard, mutex)
            }
            Some(time) => {
                drop(guard);
                thread::yield_now();
                move_clock(time);
                lock(mutex)
            }
        }
    }

    /// A time of the clock that moves only when somebody waits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Instant(Duration);

    impl Instant {
        /// As std's.
        pub fn now() -> Self {
            Self(CLOCK.get())
        }

        /// As std's.
        pub fn saturating_duration_since(self, earlier: Self) -> Duration {
            self.0.saturating_sub(earlier.0)
        }
    }

    impl std::ops::Add<Duration> for Instant {
        type Output = Self;

        fn add(self, duration: Duration) -> Self {
            Self(self.0 + duration)
        }
    }

    /// shuttle's threads, but only an unpark wakes one that is parked.
    pub mod thread {
        use super::{Arc, Duration, Ordering, move_clock};
        use std::cell::OnceCell;
        use std::sync::atomic::AtomicBool;

        pub use shuttle::thread::{JoinHandle, spawn, yield_now};

        shuttle::thread_local! {
            static TOKEN: OnceCell<Arc<AtomicBool>> = OnceCell::new();
        }

        fn token() -> Arc<AtomicBool> {
            TOKEN.with(|token| token.get_or_init(Arc::default).clone())
        }

        /// As std's.
        #[derive(Clone, Debug)]
        pub struct Thread {
            thread: shuttle::thread::Thread,
            token: Arc<AtomicBool>,
        }

        /// As std's.
        pub fn current() -> Thread {
            Thread { thread: shuttle::thread::current(), token: token() }
        }

        impl Thread {
            /// As std's.
            pub fn unpark(&self) {
                yield_now();
                self.token.store(true, Ordering::SeqCst);
                self.thread.unpark();
            }
        }

        /// As std's.
        pub fn park() {
            yield_now();
            let token = token();
            while !token.swap(false, Ordering::SeqCst) {
                shuttle::thread::park();
            }
        }

        /// Others go on, and the clock does.
        pub fn sleep(time: Duration) {
            yield_now();
            move_clock(time);
        }
    }
}
