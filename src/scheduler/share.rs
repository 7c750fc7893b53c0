//! When a busy worker wakes another one to share its load.
//!
//! To wake a worker costs some microseconds on both sides, and moves data to the caches of another
//! core. Whether that is worth it depends on what the workers measure. The last two of these
//! questions are about the moment before a worker sleeps:
//!
//! **Are there free cores?** A thread that is alone on its core never waits for one. As long as a
//! worker hardly waits, the cores count as free, and the worker *shares*: before each poll it calls
//! a helper, which is another worker that sleeps, if tasks wait in its queue or in the injector.
//! Only one helper at a time is on its way. It calls the next one, if there is more to do.
//!
//! After each 16 ms of polling, a *span*, a worker finds out for how long it had no core and waited
//! for one. If that is more than an eighth of the span, it was a *loss*. (A worker whose poll
//! blocks in the kernel, by a lock or a file, does not wait for a core: that is no loss.) What
//! follows from losses depends on the other workers:
//!
//! * If some are awake, the cores are *crowded*: the workers take them from each other, or from
//!   the program that they serve. The worker then calls a helper only at a look at the kernel, and
//!   only if the tasks that wait would take more than [`WAIT_MAX`]. (The idea comes from CoDel,
//!   which judges the queues of a network by the time that is spent in them, not by their length.)
//! * If all sleep, the worker is *pressed*: another program takes its core away, and while it does
//!   nobody serves the worker's tasks. It may be the very program that the worker serves, if that
//!   needs more cores than the others leave it. The worker then shares in any case: a second worker
//!   gets a second share of the machine.
//!
//! A single loss may be chance. So a worker keeps a *score* of each of the two, from 0 to 3. At the
//! end of each span the scores change:
//!
//! | the span is | the others are      | so                        |
//! |-------------|---------------------|---------------------------|
//! | a loss      | awake, some of them | the crowded score goes up |
//! | a loss      | asleep, all of them | the pressed score goes up |
//! | no loss     | awake or asleep     | both scores go down       |
//!
//! A score that has gone up has an effect. The cores count as crowded for 3, 12 or 50 spans, with a
//! score of 1, 2 or 3. A worker counts as pressed for 50 spans, with a score of 2 or 3. As long as
//! its effect lasts, a score does not move.
//!
//! When the effect is over, the next span that moves this score is a *trial*. If it is a loss, the
//! score goes up, and the effect begins anew. If it is none, there is no effect, and the score has
//! gone down by one. So a single further loss brings it back to where it was, but what is over is
//! forgotten in the end.
//!
//! Each worker judges by its own core alone. It may be pressed and crowded at once, since the
//! helper that it called is awake when it looks again. Then it does what a pressed one does. While
//! it is pressed, no span tells whether it would be without help, even if all others sleep at its
//! end: a helper has done a part of the work.
//!
//! **How long does a poll take?** If the mean is above [`LONG_POLL`], a wake-up is cheap beside a
//! poll, and workers share even if the cores are crowded. On Linux, all that fall asleep then wait
//! for the kernel, which wakes one of them for each event (`idle.rs`). If nobody waits for it, a
//! worker calls a helper before it polls, also if it is pressed: events should not have to wait
//! until its poll ends.
//!
//! A poll takes as long as its worker does not come to the next one. What others take of the core
//! meanwhile is part of that, because the tasks behind it wait all the same.
//!
//! **Does the next work come soon?** To sleep and to be woken takes some microseconds, and so does
//! waking somebody. A worker that finds nothing therefore *searches* before anything else, if it
//! was idle for less than [`SHORT_IDLE`] when it last found nothing: it looks at the kernel and at
//! all queues again, up to [`LOOKS`] times. Meanwhile it counts as awake. So nobody has to wake it,
//! and a task that is injected wakes nobody while polls are short, as some worker is awake. It
//! searches only if polls are not long, and if it counts neither as pressed nor its cores as
//! crowded: as far as it knows, nobody else needs the time.
//!
//! **Who else is on this core?** A worker that is about to sleep may *yield*: it lets other
//! threads run that wait for its core. Often they are what brings the next work, such as the
//! client of a server on the same machine. The worker then finds its events when it asks the
//! kernel, and need not be put to sleep and be woken. But if these threads compute, the core is
//! gone for a whole slice of time. And if they run for an answer or two, each answer costs a switch
//! to them and back: Linux lets a thread that wakes up preempt one that has yielded. So the worker
//! measures how long yields take. If that is too long or too short on average, it does not yield
//! for a while, and those yields that it still tries take some 2 % of the time.
//!
//! Time is measured by the *stretch*: the polls from one look at the kernel, or a sleep, to the
//! next. So a short poll pays next to nothing for a reading of the clock.
//!
//! This is a pure structure. Times and counts go in, and whether to wake a worker comes out, so
//! tests and simulations can drive it in virtual time. What costs something to find out is passed
//! as a function, and asked for only if it matters. (docs/ARCHITECTURE.md has the rules as a table,
//! with the figures that led to them.)

use crate::sync::{AtomicU64, Duration, Instant, Ordering};
use std::mem::{replace, take};

/// Polls are long if their mean is above this, which is twice what it costs both sides to wake a
/// worker. With 15 µs, the polls of a small HTTP server on a busy virtual machine were long at
/// times.
pub(crate) const LONG_POLL: Duration = Duration::from_micros(20);

/// On crowded cores a worker calls a helper at its next look if the tasks that wait would take it
/// longer than this. To wake one costs a hundredth of it.
pub(crate) const WAIT_MAX: Duration = Duration::from_millis(1);

/// A stretch that is found to have lasted for this long ends, however few polls it had. So events
/// do not go unseen for long, and a look at the kernel costs less than a hundredth of it.
pub(crate) const STRETCH_MAX: Duration = Duration::from_micros(300);

/// After this much time of polling, a worker asks for how long its thread has had a core, and for
/// how long it has waited for one. The system writes both into a file. To read it takes some
/// microseconds. Over 4 ms a single preemption was enough to make a difference.
///
/// A span is a loss by the time for which the thread had no core *and* waited for one. Either alone
/// would say too much. A thread has no core while it blocks in a lock. And each time that it is
/// woken it waits for a moment, also on a core that is free.
///
/// What the thread does between two stretches, such as going to sleep, counts as used though it is
/// no part of the span. So a worker that sleeps often finds out later that it loses time, and
/// until then shares more than it should. What it waits for there, in a yield or when it is woken,
/// counts as waited. So where a worker yields often, a poll that blocks may still be taken for a
/// loss. And the time for which it had a core may be some milliseconds old, so that a single span
/// may be judged wrongly.
pub(crate) const SPAN: Duration = Duration::from_millis(16);

/// What the worker has found out often enough is tried again after this many times as long as a
/// trial takes. So trials take 2 % of the time. The last numbers of [`COUNTS_FOR`] are the same.
/// And if yields are too long or too short, the worker does without for this many times as long as
/// the last one took.
///
/// But it does without for a [`SPAN`] at least. What a short yield costs is not only the time that
/// it takes: for some milliseconds after it, the client preempts the worker for each answer. And a
/// yield counts as no longer than a span, which is more than the slice of time that a system gives
/// to a thread. Otherwise a worker would do without for two days after an hour for which the
/// machine was stopped.
pub(crate) const TRIAL_FACTOR: u32 = 50;

/// For how many spans the cores count as crowded, and a worker as pressed, with a score of 0 to 3.
///
/// A single loss may be chance: a system that wakes two workers may put both on one core, and takes
/// some milliseconds to find that another one is free. What lasts is found again in each trial, and
/// soon counts for long. Help that is not needed is dear, so a worker needs a second loss for it.
/// Then it has help for long: without help, its slowest requests wait while another program has its
/// core.
const COUNTS_FOR: [[u32; 4]; 2] = [[0, 3, 12, 50], [0, 0, 50, 50]];

/// Where each of the two stands in [`COUNTS_FOR`], `spans_left` and `scores`.
const CROWDED: usize = 0;
const PRESSED: usize = 1;

/// Yields are too short if they take less than this on average. With 8 connections a yield lasts
/// for 15 µs, as oha deals with one answer, and with 64 for 250 µs.
pub(crate) const YIELD_MIN: Duration = Duration::from_micros(50);

/// Yields are too long if they take more than this on average: then it is not a client that runs
/// meanwhile.
pub(crate) const YIELD_MAX: Duration = Duration::from_millis(1);

/// Over how many yields the average is taken.
pub(crate) const MEAN_YIELDS: u32 = 16;

/// A worker searches before it sleeps if it was idle for less than this when it last found nothing.
/// That counts from there until it went on: a search, a yield and a sleep, as far as there were
/// any. With 20 µs, more searches find nothing. A server with 40,000 requests per second then takes
/// 16 % more CPU than without searches, and with 10 µs it takes 10 % more.
pub(crate) const SHORT_IDLE: Duration = Duration::from_micros(10);

/// How many looks a search has at most, with a pause between two. They take five to ten
/// microseconds, as much as it costs to wake a worker, and twenty on processors that make a longer
/// pause of a spin loop. (The end of a search is not a matter of time, as the clock stands still in
/// models.) A runtime that was built for simulations by arc-sim (the feature `sim`) does not
/// search: nothing comes there while a worker runs.
pub(crate) const LOOKS: u32 = if cfg!(feature = "sim") { 0 } else { 18 };

/// Over how many polls of all workers the mean is taken. A single poll of 2 ms among polls of 5 µs
/// raises it by 4 µs; one in a hundred makes polls long.
pub(crate) const MEAN_POLLS: u64 = 512;

/// What all workers know of how long a poll takes: the mean, in nanoseconds.
pub(crate) struct MeanPoll(AtomicU64);

impl MeanPoll {
    /// As long as nothing is known, polls count as long: a few wake-ups cost little, and to
    /// wait behind a poll may cost much.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(2 * LONG_POLL.as_nanos() as u64))
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Whether polls are long. Then all tasks are queued in the injector, and each worker takes one
    /// of them at a time: what waits in a queue of one worker would wait for that worker, however
    /// soon another one is free. Beside such polls it costs nothing that all use one queue.
    ///
    /// This is asked twice for each poll, so it compares numbers: a `Duration` would be made by a
    /// division.
    pub(crate) fn is_long(&self) -> bool {
        self.0.load(Ordering::Relaxed) > LONG_POLL.as_nanos() as u64
    }

    /// Workers that do this at once may overwrite each other's part, which does no harm.
    pub(crate) fn learn(&self, polls: u32, took: Duration) {
        let known = self.0.load(Ordering::Relaxed).saturating_mul(MEAN_POLLS);
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mean = known.saturating_add(took) / (MEAN_POLLS + u64::from(polls));
        self.0.store(mean, Ordering::Relaxed);
    }
}

/// What a worker remembers.
#[derive(Default)]
pub(crate) struct Sharing {
    /// When the current stretch began. While the worker is idle: when it found nothing. None: it
    /// has just been made. Its first stretch ends with its first poll, and counts as no time.
    pub(crate) began: Option<Instant>,
    /// How many polls the stretch has had.
    polls: u32,
    /// How long the worker has polled in the current span, and for how long its thread had had a
    /// core, and had waited for one, when the span began.
    span: Duration,
    core_times: Option<(Duration, Duration)>,
    /// For how many more spans the cores count as crowded, and the worker as pressed.
    spans_left: [u32; 2],
    /// From 0 to 3. A loss raises the score that it tells about, and a span that is none lowers
    /// both. Neither moves a score whose effect lasts.
    scores: [usize; 2],
    /// How long a yield takes, on average (with the search before it, if there was one), and until
    /// when there is none. (None sorts before all times.)
    mean_yield: Duration,
    no_yield_until: Option<Instant>,
    /// For how long the worker had nothing to do when that happened last.
    last_idle: Duration,
}

impl Sharing {
    /// Whether the worker should look at the kernel now: after `polls_max` polls, or when the
    /// stretch has lasted for long. The clock is read after 1, 2, 4 and 8 polls, and then after
    /// every sixteenth, because to read it takes a third as long as a poll that does next to
    /// nothing. So when polls suddenly become long, this worker may run up to sixteen before it
    /// notices. If each takes more than a tick of the monitor, the monitor looks before that.
    pub(crate) fn is_time_to_look(&self, polls_max: u32, now: impl Fn() -> Instant) -> bool {
        let is_late = |now| self.began.is_none_or(|began| now - began > STRETCH_MAX);
        let reads_clock = self.polls.is_power_of_two() || self.polls.is_multiple_of(16);
        self.polls >= polls_max || (self.polls > 0 && reads_clock && is_late(now()))
    }

    /// Called before each poll. `waiting` is the number of tasks that wait behind it. Returns
    /// whether to wake another worker now.
    ///
    /// Here the mean of all workers decides. A single worker whose polls are long among many whose
    /// polls are short is left to the monitor.
    pub(crate) fn before_poll(
        &mut self,
        mean: &MeanPoll,
        waiting: impl Fn() -> usize,
        kernel_is_watched: impl Fn() -> bool,
    ) -> bool {
        self.polls = self.polls.saturating_add(1);
        let watches = self.spans_left[PRESSED] > 0 || mean.is_long();
        let shares = watches || self.spans_left[CROWDED] == 0;
        shares && (waiting() > 0 || (watches && !kernel_is_watched()))
    }

    /// Called when a stretch ends, with a look at the kernel or with a sleep. `waiting` is the
    /// number of tasks that wait behind the next one. Returns whether they are more than this
    /// worker should do alone. `is_alone` says whether all other workers sleep.
    pub(crate) fn end_stretch(
        &mut self,
        mean: &MeanPoll,
        now: Instant,
        waiting: usize,
        is_alone: impl Fn() -> bool,
        core_times: impl Fn() -> Option<(Duration, Duration)>,
    ) -> bool {
        let took = now - self.began.replace(now).unwrap_or(now);
        let polls = take(&mut self.polls);
        if polls > 0 {
            mean.learn(polls, took);
        }

        self.span += took;
        if self.span > SPAN {
            let span = take(&mut self.span);
            let before = replace(&mut self.core_times, core_times());
            let is_loss = self.core_times.zip(before).is_some_and(|((used, waited), before)| {
                let not_used = span.saturating_sub(used.saturating_sub(before.0));
                not_used.min(waited.saturating_sub(before.1)) > span / 8
            });
            let (counts, tells) = (self.spans_left, if is_alone() { PRESSED } else { CROWDED });
            self.spans_left = counts.map(|spans| spans.saturating_sub(1));
            if !is_loss {
                let less = |it: usize| self.scores[it].saturating_sub(usize::from(counts[it] == 0));
                self.scores = [less(CROWDED), less(PRESSED)];
            } else if counts[tells] == 0 {
                self.scores[tells] = 3.min(self.scores[tells] + 1);
                self.spans_left[tells] = COUNTS_FOR[tells][self.scores[tells]];
            }
        }

        // The mean of all workers says little about the tasks of this one, if they take longer.
        let poll = mean.get().max(took / polls.max(1));
        poll.as_nanos().saturating_mul(waiting as u128) > WAIT_MAX.as_nanos()
    }

    /// Called when a stretch has ended because the worker found nothing. Returns how many times to
    /// look for work again before it sleeps.
    pub(crate) fn looks(&self, mean: &MeanPoll) -> u32 {
        let is_free = self.spans_left == [0, 0] && !mean.is_long();
        if is_free && self.last_idle < SHORT_IDLE { LOOKS } else { 0 }
    }

    /// Called before a sleep, when a stretch has ended and polls are short. (Beside long ones, a
    /// sleep and a wake-up are cheap.) Yields the core, if that pays.
    pub(crate) fn before_sleep(&mut self, yield_core: impl Fn(), now: impl Fn() -> Instant) {
        if self.no_yield_until <= self.began {
            yield_core();
            let took = self.began.map_or(SPAN, |began| SPAN.min(now() - began));
            self.mean_yield = (self.mean_yield * (MEAN_YIELDS - 1) + took) / MEAN_YIELDS;
            let is_worth_it = (YIELD_MIN..=YIELD_MAX).contains(&self.mean_yield);
            self.no_yield_until = (!is_worth_it).then(|| now() + (took * TRIAL_FACTOR).max(SPAN));
        }
    }

    /// Called when a worker that had found nothing goes on, after a search, a yield or a sleep,
    /// which are no part of the next stretch. (If there were polls, the stretch has not ended: it
    /// goes on because the future in `block_on` is to be polled.)
    pub(crate) fn goes_on(&mut self, now: Instant) {
        let found_nothing = if self.polls == 0 { self.began.replace(now) } else { None };
        self.last_idle = now - found_nothing.unwrap_or(now);
    }
}
