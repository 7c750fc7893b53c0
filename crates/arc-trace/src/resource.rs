//! What tasks wait for beside sockets, times and other tasks: locks, channels and the like.

use crate::lock::lock;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How many resources a recording knows by their lines. Before others, those are forgotten that
/// nobody has any more.
const KNOWN_MAX: usize = 16_384;

/// How many lines of one resource are known. Any further one is not shown.
const LINES_MAX: usize = 64;

/// Of the tasks that have a resource, or could send into it, so many are named.
const NAMED_MAX: usize = 3;

/// No line, in an event.
const NO_LINE: u64 = 0;

/// What kind of thing a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// A lock that one task has at a time.
    Mutex,
    /// A lock that many readers have, or one writer.
    RwLock,
    /// Permits.
    Semaphore,
    /// Room in a channel.
    Room,
    /// A value in a channel.
    Value,
    /// The one value of a channel.
    Oneshot,
    /// A new value of a `watch` channel.
    Watch,
    /// A value that each receiver of a `broadcast` channel gets.
    Broadcast,
    /// A notification.
    Notify,
    /// All the other tasks that meet there.
    Barrier,
    /// A value that another task computes.
    Cell,
    /// The end of the receiver.
    Closed,
    /// That somebody cancels a token.
    Token,
    /// The end of a task of a `JoinSet`.
    JoinSet,
    /// A `select!`. Nobody waits for it: it tells which branch it takes.
    Select,
}

impl What {
    /// Three parts of sentences: what of it a task waits for, what it is, and what somebody did
    /// last that could end the wait. The line that made it follows the second one.
    fn words(self) -> [&'static str; 3] {
        match self {
            // Locks.
            Self::Mutex => ["", "the Mutex", "gave some back"],
            Self::RwLock => ["", "the RwLock", "gave some back"],
            Self::Semaphore => ["permits of ", "the Semaphore", "gave some back"],

            // Channels.
            Self::Room => ["room in ", "the channel", "received"],
            Self::Value => ["a value from ", "the channel", "sent"],
            Self::Oneshot => ["the value of ", "the oneshot channel", "sent"],
            Self::Watch => ["a new value of ", "the watch channel", "sent"],
            Self::Broadcast => ["a value from ", "the broadcast channel", "sent"],

            // Whatever else a task may wait for.
            Self::Notify => ["", "the Notify", "notified"],
            Self::Barrier => ["the other tasks at ", "the Barrier", "came"],
            Self::Cell => ["the value of ", "the cell", "has begun"],
            Self::Closed => ["the end of the receiver of ", "the channel", "notified"],
            Self::Token => ["", "the CancellationToken", "notified"],
            Self::JoinSet => ["a task of ", "the JoinSet", "was added"],
            Self::Select => ["a branch of ", "the select!", "was added"],
        }
    }

    pub(crate) fn is_lock(self) -> bool {
        matches!(self, Self::Mutex | Self::RwLock)
    }

    /// What it is, for a sentence that goes on with the line that made it.
    pub(crate) fn name(self) -> &'static str {
        self.words()[1]
    }
}

/// A lock, an end of a channel, or something else that a task waits for.
pub struct Resource {
    /// No other one of the process has this number.
    pub id: u64,
    /// What it is.
    pub what: What,
    /// The line that made it.
    pub location: &'static Location<'static>,
    state: Mutex<State>,
    /// The task that did last what ends a wait, such as to send. Zero: none did. It orders nothing.
    provider: AtomicU64,
    /// The step by which the poll began that did so.
    provided: AtomicU64,
    /// The task that took a value last. Zero: none did.
    receiver: AtomicU64,
    /// How many permits a semaphore has in all, how many tasks a barrier is for, or how many values
    /// a channel holds. Zero: it has no such number.
    size: AtomicUsize,
    /// How many permits a semaphore was made with.
    first_size: usize,
    /// How many tasks have come to a barrier.
    come: AtomicUsize,
    /// Permits were added: whoever waits for some may get them from anybody.
    is_refilled: AtomicBool,
    is_gone: AtomicBool,
    /// A wait for it has ended.
    has_come: AtomicBool,
    is_known: AtomicBool,
}

#[derive(Default)]
struct State {
    /// The lines that wait for it.
    lines: Vec<&'static Location<'static>>,
    holders: Vec<Holder>,
    pile: Option<Pile>,
    /// The senders that are left, and the task that has used each of them last.
    senders: BTreeMap<u64, u64>,
    lag: Option<Lag>,
}

/// The numbers of a resource, for a reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) size: usize,
    pub(crate) first_size: usize,
    pub(crate) come: usize,
    pub(crate) is_refilled: bool,
    /// The tasks that have used the senders last which are left.
    pub(crate) senders: Vec<u64>,
}

/// Values that a receiver has lost, as it was too slow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lag {
    pub(crate) since: u64,
    pub(crate) count: u64,
    pub(crate) times: usize,
    pub(crate) by: u64,
}

/// What nobody takes out of a channel or a `JoinSet`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pile {
    /// When it was told of first, and when it was the highest.
    pub(crate) since: u64,
    pub(crate) last: u64,
    /// How much it was then.
    pub(crate) count: usize,
    /// The task that added to it then. Zero: it was no task.
    pub(crate) by: u64,
}

/// A task that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Zero: it is no task that has it, but another thread.
    pub(crate) task: u64,
    /// The line by which the task got it.
    pub(crate) line: Option<&'static Location<'static>>,
    /// The guard may be moved to another task.
    pub(crate) may_move: bool,
    /// The step by which the poll began that got it.
    pub(crate) step: u64,
}

/// What a recording knows of a resource.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceInfo {
    /// What it is.
    pub what: What,
    /// The line that made it.
    pub location: &'static Location<'static>,
    /// The lines that wait for it. Events name them by their places here, from 1.
    pub lines: Vec<&'static Location<'static>>,
    /// The task that did last what ends a wait, such as to send.
    pub provider: Option<u64>,
    /// The task that took a value from the channel last.
    pub receiver: Option<u64>,
    /// It is a `Notify`, and somebody has received a notification.
    pub has_come: bool,
    pub(crate) pile: Option<Pile>,
    pub(crate) lag: Option<Lag>,
    pub(crate) numbers: Numbers,
    /// It was dropped.
    pub(crate) is_gone: bool,
    /// The task that did last what ends a wait, and the step of that poll.
    pub(crate) provided: Option<(u64, u64)>,
}

fn task_in(word: &AtomicU64) -> Option<u64> {
    Some(word.load(Ordering::Relaxed)).filter(|task| *task > 0)
}

static KNOWN: Mutex<BTreeMap<u64, Arc<Resource>>> = Mutex::new(BTreeMap::new());

/// Adds a resource to those that a recording knows. Returns those that are forgotten for it.
fn add(known: &mut BTreeMap<u64, Arc<Resource>>, new: &Arc<Resource>) -> Vec<Arc<Resource>> {
    let forgotten = if known.len() >= KNOWN_MAX { make_room(known) } else { Vec::new() };
    known.insert(new.id, new.clone());
    forgotten
}

/// Makes room: of the resources that nobody has any more, the half that was made first is
/// forgotten. If these are few, the older half of all goes. Either way there is room for thousands,
/// as this takes long.
fn make_room(known: &mut BTreeMap<u64, Arc<Resource>>) -> Vec<Arc<Resource>> {
    // Nothing but the map has it.
    let is_gone = |resource: &Arc<Resource>| Arc::strong_count(resource) == 1;
    let gone = known.values().filter(|resource| is_gone(resource));
    let mut ids: Vec<u64> = gone.map(|resource| resource.id).collect();
    if ids.len() < known.len() / 4 {
        ids = known.keys().copied().collect();
    }

    // Numbers are given out in their order, so the lesser ones are older.
    ids.truncate(ids.len().div_ceil(2));
    let forgotten: Vec<_> = ids.iter().filter_map(|id| known.remove(id)).collect();
    for resource in &forgotten {
        // Whoever uses it again makes it known again.
        resource.is_known.store(false, Ordering::Relaxed);
    }
    forgotten
}

/// Those that a recording knows.
pub(crate) fn known() -> BTreeMap<u64, ResourceInfo> {
    let all: Vec<_> = lock(&KNOWN).values().cloned().collect();
    all.iter().map(|resource| (resource.id, resource.info())).collect()
}

impl Resource {
    /// Something of this kind, that was made at a line.
    pub fn new(what: What, location: &'static Location<'static>) -> Arc<Self> {
        Self::with_size(what, location, [0; 2])
    }

    /// The same, with how many permits there were when it was made and are now, or how many tasks
    /// or values it is for.
    pub fn with_size(
        what: What,
        location: &'static Location<'static>,
        [first_size, size]: [usize; 2],
    ) -> Arc<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Arc::new(Self {
            id: LAST.fetch_add(1, Ordering::Relaxed) + 1,
            what,
            location,
            state: Mutex::default(),
            provider: AtomicU64::new(0),
            provided: AtomicU64::new(0),
            receiver: AtomicU64::new(0),
            size: AtomicUsize::new(size),
            first_size,
            come: AtomicUsize::new(0),
            is_refilled: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            has_come: AtomicBool::new(false),
            is_known: AtomicBool::new(false),
        })
    }

    /// A recording knows it from now on.
    pub(crate) fn make_known(self: &Arc<Self>) {
        // Looked at first: to write there stops all other cores that use the resource.
        if self.is_known.load(Ordering::Relaxed) || self.is_known.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut known = lock(&KNOWN);
        let forgotten = add(&mut known, self);

        // They are dropped when the lock is free again.
        drop(known);
        drop(forgotten);
    }

    fn info(&self) -> ResourceInfo {
        // Not all at once: `numbers` takes this lock as well.
        let state = lock(&self.state);
        let lines = state.lines.clone();
        let (pile, lag) = (state.pile, state.lag);
        drop(state);

        ResourceInfo {
            what: self.what,
            location: self.location,
            lines,
            provider: self.provider(),
            receiver: task_in(&self.receiver),
            has_come: self.has_come.load(Ordering::Relaxed),
            pile,
            lag,
            numbers: self.numbers(),
            is_gone: self.is_gone(),
            provided: self.provided(),
        }
    }

    pub(crate) fn numbers(&self) -> Numbers {
        // Each may change meanwhile. They are for a reader, who sees them a moment later anyway.
        let relaxed = Ordering::Relaxed;
        Numbers {
            size: self.size.load(relaxed),
            first_size: self.first_size,
            come: self.come.load(relaxed),
            is_refilled: self.is_refilled.load(relaxed),
            senders: lock(&self.state).senders.values().copied().collect(),
        }
    }

    /// A semaphore has so many permits in all from now on.
    pub(crate) fn set_size(&self, size: usize, is_refilled: bool) {
        self.size.store(size, Ordering::Relaxed);
        self.is_refilled.fetch_or(is_refilled, Ordering::Relaxed);
    }

    /// So many tasks have come to a barrier.
    pub(crate) fn set_come_to(&self, come: usize) {
        self.come.store(come, Ordering::Relaxed);
    }

    /// A task makes or uses a sender.
    pub(crate) fn set_sender(&self, sender: u64, task: u64) {
        lock(&self.state).senders.insert(sender, task);
    }

    pub(crate) fn remove_sender(&self, sender: u64) {
        lock(&self.state).senders.remove(&sender);
    }

    pub(crate) fn add_to_lag(&self, count: u64, at: u64, by: u64) {
        let lag = &mut lock(&self.state).lag;
        let lag = lag.get_or_insert(Lag { since: at, count: 0, times: 0, by });
        lag.count += count;
        lag.times += 1;
        lag.by = by;
    }

    pub(crate) fn set_gone(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// The number of a line among those of this resource, from 1. Zero: there is none.
    pub(crate) fn number_of(&self, line: Option<&'static Location<'static>>) -> u64 {
        let Some(line) = line else { return NO_LINE };
        let lines = &mut lock(&self.state).lines;
        // The compiler may make one location of a line or several. Either way it is the same text.
        if let Some(place) = lines.iter().position(|known| std::ptr::eq(*known, line)) {
            return place as u64 + 1;
        }
        if lines.len() >= LINES_MAX {
            return NO_LINE;
        }
        lines.push(line);
        lines.len() as u64
    }

    pub(crate) fn add_holder(&self, holder: Holder) {
        lock(&self.state).holders.push(holder);
    }

    pub(crate) fn remove_holder(&self, task: u64) {
        let holders = &mut lock(&self.state).holders;
        if let Some(place) = holders.iter().position(|holder| holder.task == task) {
            holders.swap_remove(place);
        }
    }

    pub(crate) fn holders(&self) -> Vec<Holder> {
        lock(&self.state).holders.clone()
    }

    pub(crate) fn set_provider(&self, task: u64, step: u64) {
        self.provider.store(task, Ordering::Relaxed);
        self.provided.store(step, Ordering::Relaxed);
    }

    pub(crate) fn provider(&self) -> Option<u64> {
        task_in(&self.provider)
    }

    /// A receiver that takes all at once makes it begin anew: what counts is the most that it was.
    pub(crate) fn add_to_pile(&self, count: usize, at: u64, by: u64) {
        let pile = &mut lock(&self.state).pile;
        if pile.is_none_or(|before| count > before.count) {
            let since = pile.map_or(at, |before| before.since);
            *pile = Some(Pile { since, last: at, count, by });
        }
    }

    pub(crate) fn set_come(&self) {
        self.has_come.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_receiver(&self, task: u64) {
        self.receiver.store(task, Ordering::Relaxed);
    }

    /// The task that did last what ends a wait, such as to receive, and the step of that poll.
    pub(crate) fn provided(&self) -> Option<(u64, u64)> {
        Some((self.provider()?, self.provided.load(Ordering::Relaxed)))
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}({})", self.what, self.location)
    }
}

/// The end of a sentence: what a task waits for, and who has it or did something for it last.
pub(crate) struct Description<'a> {
    pub(crate) what: What,
    pub(crate) location: &'static Location<'static>,
    /// How many permits the task waits for. Zero: it is not known, or not permits.
    pub(crate) permits: u64,
    pub(crate) holders: &'a [Holder],
    pub(crate) provider: Option<u64>,
    pub(crate) numbers: &'a Numbers,
}

impl Description<'_> {
    pub(crate) fn text(&self, label: &dyn Fn(u64) -> String) -> String {
        let [part, name, deed] = self.what.words();
        let mut text = format!("{part}{name} made at {}", self.location);
        text += &self.numbers_text(label);
        text += &self.holders_text(label);

        // Who gave it back last has it no more, and is of interest only if nobody has it.
        if self.holders.is_empty()
            && let Some(task) = self.provider
        {
            text += &format!("; {} {deed} last", label(task));
        }
        text
    }

    /// Who has it. A reader needs no list of a hundred readers of a lock.
    fn holders_text(&self, label: &dyn Fn(u64) -> String) -> String {
        let mut text = String::new();
        for (index, holder) in self.holders.iter().enumerate().take(NAMED_MAX) {
            text += if index == 0 { ", which " } else { " and " };
            text += &who(holder.task, label);
            // A guard that is moved says nothing of it: then it is only known who has got it.
            text += match (holder.line, holder.may_move) {
                (Some(_), false) => " has had since ",
                (Some(_), true) => " has got at ",
                (None, false) => " has",
                (None, true) => " has got",
            };
            if let Some(line) = holder.line {
                text += &line.to_string();
            }
        }

        if self.holders.len() > NAMED_MAX {
            text += &format!(" and {} more", self.holders.len() - NAMED_MAX);
        }
        text
    }

    /// What a reader asks next: how many permits there are at all, or who could still send.
    fn numbers_text(&self, label: &dyn Fn(u64) -> String) -> String {
        let Numbers { size, first_size, come, is_refilled, ref senders } = *self.numbers;
        match self.what {
            What::Semaphore if self.permits > 0 => {
                let mut text = format!(" ({} of {size} permits", self.permits);
                // A task that forgets a permit takes it from all others for ever.
                if size < first_size && !is_refilled {
                    text += &format!("; {} were forgotten", first_size - size);
                }
                text + ")"
            }
            What::Barrier if size > 0 => format!(" ({come} of {size} have come)"),
            // Whoever has reserved room sends later, or never.
            What::Room if size == 1 => {
                " (1 value is in it or promised, and no more fits)".to_owned()
            }
            What::Room if size > 1 => {
                format!(" ({size} values are in it or promised, and no more fit)")
            }
            What::Value if !senders.is_empty() => senders_text(senders, label),
            _ => String::new(),
        }
    }
}

/// The senders that are left, by the tasks that have used them. One that nobody uses any more, and
/// that is kept somewhere, is why a receiver waits for ever.
fn senders_text(senders: &[u64], label: &dyn Fn(u64) -> String) -> String {
    let mut tasks: Vec<String> = Vec::new();
    for &task in senders {
        let task = who(task, label);
        if !tasks.contains(&task) && tasks.len() < NAMED_MAX {
            tasks.push(task);
        }
    }

    let tasks = tasks.join(" and ");
    match senders.len() {
        1 => format!(" (one sender is left, in {tasks} when it was used last)"),
        count => format!(" ({count} senders are left, used last in {tasks})"),
    }
}

fn who(task: u64, label: &dyn Fn(u64) -> String) -> String {
    if task == 0 { "a thread".to_owned() } else { label(task) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn mutex() -> Arc<Resource> {
        Resource::new(What::Mutex, Location::caller())
    }

    #[test]
    fn what_is_in_use_stays_known_while_others_come_and_go() {
        let mut known = BTreeMap::new();
        let oldest = mutex();
        add(&mut known, &oldest);
        for _ in 0..2 * KNOWN_MAX {
            let other = mutex();
            add(&mut known, &other);

            // What was dropped a moment ago is known as well: records of it may be there.
            assert!(known.contains_key(&other.id));
            assert!(known.len() <= KNOWN_MAX);
        }
        assert!(known.contains_key(&oldest.id));
        assert!(known.len() >= KNOWN_MAX / 2);
    }

    #[test]
    fn what_was_forgotten_is_known_again_when_it_is_used() {
        let all: Vec<_> = (0..2 * KNOWN_MAX).map(|_| mutex()).collect();
        for resource in &all {
            resource.make_known();
        }

        // All of them are in use, and so the older ones had to go.
        let oldest = &all[0];
        assert!(!known().contains_key(&oldest.id));
        oldest.make_known();
        assert!(known().contains_key(&oldest.id));
    }

    /// A permit of a channel takes up room for a value that is not there yet.
    #[test]
    fn room_may_be_taken_by_what_is_only_promised() {
        let text = |size| {
            let numbers = Numbers { size, ..Numbers::default() };
            let description = Description {
                what: What::Room,
                location: Location::caller(),
                permits: 0,
                holders: &[],
                provider: None,
                numbers: &numbers,
            };
            description.text(&|_| String::new())
        };
        assert!(text(1).ends_with(" (1 value is in it or promised, and no more fits)"));
        assert!(text(64).ends_with(" (64 values are in it or promised, and no more fit)"));
    }
}
