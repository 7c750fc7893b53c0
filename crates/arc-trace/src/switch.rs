//! Whether anything is recorded, and how much: one word that each event looks at, and two limits.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How many records a thread keeps, unless [`Options`] says otherwise: 3 MB.
pub(crate) const RECORDS_MAX: usize = 100_000;

/// Whether anything is kept. Above these bits is a number that each start changes, so that the
/// threads begin new rings. It orders nothing: the rings take care of that, and locks.
static STATE: AtomicU64 = AtomicU64::new(0);
/// Somebody has said whether anything is kept.
const KNOWN: u64 = 1;
/// What all threads tell is kept.
const ON: u64 = 2;
/// How many threads have a recording of their own, in these bits.
const APART: u64 = 4;
const APART_MASK: u64 = 0xffff * APART;
/// How many times a recording was started.
const STARTED: u64 = APART_MASK + APART;

static RECORDS_PER_THREAD: AtomicUsize = AtomicUsize::new(RECORDS_MAX);
static LAST_NANOS: AtomicU64 = AtomicU64::new(u64::MAX);

/// Limits of what is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How many events a thread keeps: 100,000 by default, which take 3 MB when there are as many.
    pub events_per_thread: usize,
    /// How far a timeline reaches back. None: as far as there are events, which is the default.
    pub last: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self { events_per_thread: RECORDS_MAX, last: None }
    }
}

/// The word as a thread has seen it. If it is another one now, something has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u64);

impl State {
    /// That of a thread which has not looked yet.
    pub(crate) const UNSEEN: Self = Self(0);

    #[inline]
    pub(crate) fn now() -> Self {
        Self(STATE.load(Ordering::Relaxed))
    }

    /// Whether what all threads tell is kept.
    pub(crate) fn is_on(self) -> bool {
        self.0 & ON != 0
    }

    /// Whether both are of the same start.
    pub(crate) fn has_same_start(self, other: Self) -> bool {
        self.0 / STARTED == other.0 / STARTED
    }

    #[inline]
    fn is_recording(self) -> bool {
        self.0 & (ON | APART_MASK) != 0
    }
}

/// Whether what happens is recorded. None: nobody has said so yet.
#[inline]
pub(crate) fn state() -> Option<bool> {
    let state = State::now();
    match state.0 & KNOWN {
        0 => None,
        _ => Some(state.is_recording()),
    }
}

/// Whether what happens is recorded. Who asks has asked [`is_on`](crate::is_on) before.
#[inline]
pub(crate) fn is_recording() -> bool {
    State::now().is_recording()
}

/// Begins to record, if there are options, unless a program has started or stopped a recording
/// meanwhile. Returns whether what happens is recorded.
pub(crate) fn begin(options: Option<Options>) -> bool {
    let state = if options.is_some() { ON } else { 0 };
    let is_first = |before: u64| (before & KNOWN == 0).then_some(before | KNOWN | state);
    let relaxed = Ordering::Relaxed;
    // Whoever comes second finds that somebody has said it, and changes nothing.
    if STATE.fetch_update(relaxed, relaxed, is_first).is_ok()
        && let Some(options) = options
    {
        set_limits(options);
    }
    State::now().is_recording()
}

/// Has all threads begin new rings.
pub(crate) fn begin_again() {
    let again = |state: u64| Some((state | KNOWN | ON) + STARTED);
    let _ = STATE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, again);
}

/// Records nothing more. What was recorded is kept.
pub fn stop() {
    let off = |state: u64| Some((state | KNOWN) & !ON);
    let _ = STATE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, off);
}

/// One more thread has a recording of its own.
pub(crate) fn begin_apart() {
    STATE.fetch_add(APART, Ordering::Relaxed);
}

/// One thread less has a recording of its own.
pub(crate) fn end_apart() {
    STATE.fetch_sub(APART, Ordering::Relaxed);
}

pub(crate) fn set_limits(options: Options) {
    RECORDS_PER_THREAD.store(options.events_per_thread.max(1), Ordering::Relaxed);
    let last = options.last.map_or(u64::MAX, nanos);
    LAST_NANOS.store(last, Ordering::Relaxed);
}

/// How many records each thread keeps.
pub(crate) fn records_per_thread() -> usize {
    RECORDS_PER_THREAD.load(Ordering::Relaxed)
}

/// How far a recording reaches back, in nanoseconds.
pub(crate) fn last_nanos() -> u64 {
    LAST_NANOS.load(Ordering::Relaxed)
}

/// A duration in nanoseconds. One of centuries is as good as the longest.
pub(crate) fn nanos(duration: Duration) -> u64 {
    let whole = duration.as_secs().saturating_mul(1_000_000_000);
    whole.saturating_add(duration.subsec_nanos().into())
}
