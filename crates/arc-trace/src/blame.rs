//! What stands out of the waits: for locks and who has them, for each other, and for nothing.

use crate::cycle::{Blockers, Certainty, Cycle, Judgement, Need, Needs, judge};
use crate::resource::{Description, Holder, Numbers, What};
use crate::timeline::{By, Hold, Poll, Timeline, Wait};
use crate::waiting::{self, NAMED_MAX, assumption, cycle_text, handed_over_text, nobody_text};
use crate::why::{Finding, LATE, time};
use std::collections::BTreeMap;
use std::panic::Location;

/// A task that wakes itself is told of when it has had so many polls in which it did nothing else,
/// and which were so short, in nanoseconds. A longer poll computes something, and lets others run
/// meanwhile.
const SPINS_MIN: usize = 1_000;
const SPIN_MAX: u64 = 10_000;

/// A value that nobody takes is told of after so many polls of the receiver, and so much time.
const POLLS_WITHOUT: usize = 50;
const VALUE_LATE: u64 = 20_000_000;

/// So many wake-ups that did nothing are told of.
const EMPTY_MIN: usize = 10;

/// A wait that may never end is told of after so many nanoseconds.
pub(crate) const LONG_WAIT: u64 = 50_000_000;

/// How many holds of a lock are looked at for the one that a task waited for.
const HOLDS_MAX: usize = 256;

/// A wait for a resource.
#[derive(Clone, Copy)]
pub(crate) struct ResourceWait {
    pub(crate) task: u64,
    pub(crate) resource: u64,
    line: u64,
    pub(crate) from: u64,
    to: u64,
    /// It has not ended.
    pub(crate) goes_on: bool,
}

/// All waits for one lock.
struct Contention {
    worst: ResourceWait,
    /// Who had the lock meanwhile.
    hold: Hold,
    count: usize,
    total: u64,
}

impl ResourceWait {
    pub(crate) fn time(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

impl Timeline {
    /// Where a wait for a resource was asked for, what that is, and who has it at a time.
    pub(crate) fn resource_text(&self, resource: u64, line: u64, permits: u64, at: u64) -> String {
        let holders = self.holders_at(resource, at);
        self.text_with_holders(resource, line, permits, &holders)
    }

    pub(crate) fn text_with_holders(
        &self,
        resource: u64,
        line: u64,
        permits: u64,
        holders: &[Holder],
    ) -> String {
        let Some(info) = self.resources.get(&resource) else {
            return format!("for the lock or channel {resource}");
        };
        let description = Description {
            what: info.what,
            location: info.location,
            permits,
            holders,
            provider: info.provider,
            numbers: &info.numbers,
        };
        let text = description.text(&|task| self.label(task));
        match self.line(resource, line) {
            Some(line) => format!("at {line} for {text}"),
            None => format!("for {text}"),
        }
    }

    fn holders_at(&self, resource: u64, at: u64) -> Vec<Holder> {
        let holder = |hold: &Hold| Holder {
            task: hold.task,
            line: self.line(resource, hold.line),
            may_move: hold.may_move,
            step: hold.step,
        };
        self.holds_at(resource, at).map(holder).collect()
    }

    pub(crate) fn line(&self, resource: u64, number: u64) -> Option<&'static Location<'static>> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.resources.get(&resource)?.lines.get(index).copied()
    }

    /// Who has a resource at a time.
    fn holds_at(&self, resource: u64, at: u64) -> impl Iterator<Item = &Hold> {
        let is_held = move |hold: &&Hold| hold.begin <= at && hold.end.is_none_or(|end| end > at);
        self.holds_of(resource).filter(is_held)
    }

    fn holds_of(&self, resource: u64) -> impl DoubleEndedIterator<Item = &Hold> {
        let of_resource = self.holds_of.get(&resource).into_iter().flatten();
        of_resource.map(|&index| &self.holds[index])
    }

    /// Tasks that wait for each other, and will for ever, or that nobody is left who could wake.
    /// Then what is so perhaps.
    pub(crate) fn stuck(&self) -> Vec<Finding> {
        let mut all: BTreeMap<u64, Needs> = BTreeMap::new();
        let mut waits: BTreeMap<u64, Vec<Wait>> = BTreeMap::new();
        let mut since: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut has_main, mut goes_on) = (false, false);
        for (&id, task) in &self.tasks {
            if task.dropped.is_some() || task.ended.is_some() {
                continue;
            }
            let Some((asked, begin)) = self.last_waits(id).filter(|_| !task.is_job) else {
                goes_on = true;
                continue;
            };
            has_main |= task.is_main;
            let earlier = self.earlier.get(&id).cloned().unwrap_or_default();
            let kept: Vec<Wait> = earlier.kept.iter().map(|(_, wait)| *wait).collect();
            let given_up: Vec<Wait> = earlier.given_up.iter().map(|(_, wait)| *wait).collect();
            let handles = asked.iter().chain(&kept).filter_map(|wait| match wait {
                Wait::Task { task } => Some(*task),
                _ => None,
            });
            let handles: Vec<u64> = handles.collect();
            let needs = |waits: &[Wait]| {
                waits.iter().map(|wait| self.need(wait, begin, &handles)).collect()
            };
            all.insert(
                id,
                Needs {
                    asked: needs(&asked),
                    kept: needs(&kept),
                    given_up: needs(&given_up),
                    is_crowded: earlier.is_crowded,
                },
            );
            waits.insert(id, [asked, kept, given_up].concat());
            since.insert(id, begin);
        }
        // What was polled last may have woken the future of a `block_on`, which is not told.
        let last = self.polls.iter().filter_map(|poll| poll.end).max().unwrap_or(self.begin);
        let has_settled = self.end.saturating_sub(last) >= LONG_WAIT;

        // Without a `block_on` the program goes on outside of the runtime.
        let is_all = has_main && !goes_on && has_settled && !self.others_go_on;
        let Judgement { deadlocks, perhaps, is_quiet } = judge(&all, is_all);

        let link = |(task, number): &(u64, usize)| {
            let wait = waits[task][*number];
            format!("{} waits {}", self.label(*task), self.text_of_waits(&[wait], self.end))
        };
        let finding = |cycle: &Cycle, text: String| {
            let at = cycle.iter().map(|(task, _)| since[task]).max().unwrap_or(self.end);
            let cost = self.end.saturating_sub(at);
            Finding { cost, at, task: Some(cycle[0].0), text }
        };
        let mut findings = Vec::new();
        for cycle in &deadlocks {
            findings.push(finding(cycle, format!("deadlock: {}", cycle_text(cycle, link))));
        }
        let begin = since.values().copied().max().unwrap_or(self.end);
        let cost = self.end.saturating_sub(begin);
        if is_quiet && deadlocks.is_empty() {
            let named = waits.iter().take(NAMED_MAX).map(|(task, waits)| {
                let asked = &waits[..all[task].asked.len()];
                format!("{} waits {}", self.label(*task), self.text_of_waits(asked, self.end))
            });
            let text = nobody_text(waits.len(), named.collect());
            findings.push(Finding { cost, at: begin, task: waits.keys().next().copied(), text });
        }
        for cycle in &perhaps {
            let given_up = cycle.iter().filter_map(|(task, _)| self.earlier.get(task));
            let given_up = given_up.flat_map(|earlier| &earlier.given_up);
            let given_up: Vec<String> =
                given_up.map(|(_, wait)| self.text_of_waits(&[*wait], self.end)).collect();
            let (text, assumption) = (cycle_text(cycle, link), assumption(&given_up));
            findings.push(finding(cycle, format!("perhaps a deadlock: {text}; {assumption}")));
        }
        findings
    }

    /// Who has to act so that a wait ends that has lasted since some time.
    fn need(&self, wait: &Wait, since: u64, handles: &[u64]) -> Need {
        match *wait {
            Wait::Task { task } => Blockers::one(task).with(Certainty::Known),
            Wait::Resource { resource, .. } => {
                let Some(info) = self.resources.get(&resource) else {
                    return Blockers::default().with(Certainty::Anybody);
                };
                if info.what == What::JoinSet {
                    return waiting::joins(handles.to_vec(), info.numbers.is_refilled);
                }
                let holders = self.holders_at(resource, self.end);
                let has_moved = |task: u64, step: u64| {
                    self.moved.get(&task).is_some_and(|moved| *moved >= step)
                };
                let age = self.end.saturating_sub(since);
                let refilled = info.numbers.is_refilled;
                waiting::need(info.what, &holders, info.provided, refilled, age, &has_moved)
            }
            Wait::Io { .. } | Wait::Time { .. } | Wait::Turn => Need::default(),
        }
    }

    /// Locks that were given to a future which its task does not poll.
    pub(crate) fn handed_over(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (&id, task) in &self.tasks {
            if task.ended.is_some() || task.dropped.is_some() {
                continue;
            }
            let Some((asked, since)) = self.last_waits(id) else { continue };
            for wait in asked {
                let Wait::Resource { resource, line, .. } = wait else { continue };
                let Some(info) = self.resources.get(&resource).filter(|info| info.what.is_lock())
                else {
                    continue;
                };
                if self.holds_at(resource, self.end).next().is_some() {
                    continue;
                }
                // Who has got it a moment ago may be about to be polled.
                let freed = self.holds_of(resource).filter_map(|hold| hold.end).max();
                if freed.is_none_or(|freed| self.end.saturating_sub(freed) < LONG_WAIT) {
                    continue;
                }
                let Some((first, at, asked_at)) = self.first_in_line(resource) else { continue };
                if at >= since {
                    continue;
                }
                let (waiter, first_label) = (self.label(id), self.label(first));
                let text = handed_over_text(
                    info.what,
                    info.location,
                    (&waiter, self.line(resource, line)),
                    (&first_label, self.line(resource, asked_at)),
                );
                let cost = self.end.saturating_sub(since);
                findings.push(Finding { cost, at: since, task: Some(id), text });
            }
        }
        findings
    }

    /// The first wait for a resource that its task's last poll has not asked for, and whose future
    /// is still there: its task, since when, and by which line.
    fn first_in_line(&self, resource: u64) -> Option<(u64, u64, u64)> {
        let mut first: Option<(u64, u64, u64)> = None;
        for (&task, earlier) in &self.earlier {
            for (since, wait) in earlier.kept.iter().chain(&earlier.given_up) {
                let Wait::Resource { resource: of, line, .. } = *wait else { continue };
                if of == resource && first.is_none_or(|(_, at, _)| *since < at) {
                    first = Some((task, *since, line));
                }
            }
        }
        first
    }

    /// Locks that tasks waited for, and who had them meanwhile, across which await.
    ///
    /// A lock that nobody had for long is not told of, although many may have stood in line for it.
    /// Each of them is given the lock when it is woken, and so has it while it waits for its turn.
    pub(crate) fn waits_for_resources(&self) -> Vec<Finding> {
        let mut by_resource: BTreeMap<u64, Contention> = BTreeMap::new();
        let is_lock = |what| matches!(what, What::Mutex | What::RwLock | What::Semaphore);
        for wait in self.resource_waits(is_lock) {
            let Some((hold, overlap)) = self.hold_during(&wait) else { continue };
            if overlap < LATE || overlap < wait.time() / 2 {
                continue;
            }
            let contention = by_resource.entry(wait.resource).or_insert(Contention {
                worst: wait,
                hold,
                count: 0,
                total: 0,
            });
            contention.count += 1;
            contention.total += wait.time();
            if wait.time() > contention.worst.time() {
                (contention.worst, contention.hold) = (wait, hold);
            }
        }
        let finding = |Contention { worst, hold, count, total }: Contention| {
            let text = self.lock_text(&worst, &hold);
            let more = match count {
                1 => String::new(),
                _ => format!("; {count} such waits for it took {}", time(total)),
            };
            let text = format!("{text}{more}");
            Finding { cost: total, at: worst.from, task: Some(worst.task), text }
        };
        by_resource.into_values().map(finding).collect()
    }

    /// Who had a lock for the most of a wait, and for how long of that.
    fn hold_during(&self, wait: &ResourceWait) -> Option<(Hold, u64)> {
        if wait.time() < LATE {
            return None;
        }
        let overlap = |hold: &Hold| {
            let end = hold.end.unwrap_or(self.end).min(wait.to);
            (*hold, end.saturating_sub(hold.begin.max(wait.from)))
        };
        let holds = self.holds_of(wait.resource).filter(|hold| hold.begin < wait.to);
        holds.rev().take(HOLDS_MAX).map(overlap).max_by_key(|(_, overlap)| *overlap)
    }

    /// The waits for resources of some kinds, from the poll that asked to the wake-up.
    pub(crate) fn resource_waits(&self, is_wanted: impl Fn(What) -> bool) -> Vec<ResourceWait> {
        let is_wanted =
            |resource: u64| self.resources.get(&resource).is_some_and(|info| is_wanted(info.what));
        let mut all = Vec::new();
        for (&id, task) in &self.tasks {
            let mut open: BTreeMap<(u64, u64), u64> = BTreeMap::new();
            let end_of = |open: &mut BTreeMap<(u64, u64), u64>, waits: &[Wait], to: u64| {
                let mut over = Vec::new();
                open.retain(|&(resource, line), from| {
                    let is_it = |wait: &Wait| {
                        matches!(wait, Wait::Resource { resource: of, line: at, .. }
                            if (*of, *at) == (resource, line))
                    };
                    let goes_on = waits.iter().any(is_it);
                    if !goes_on {
                        let from = *from;
                        let goes_on = false;
                        over.push(ResourceWait { task: id, resource, line, from, to, goes_on });
                    }
                    goes_on
                });
                over
            };
            for &index in &task.polls {
                let poll = &self.polls[index];
                let woken = poll.queued.map_or(poll.begin, |queued| queued.at);
                all.extend(end_of(&mut open, &poll.waits, woken));
                let Some(end) = poll.end else { continue };
                for wait in &poll.waits {
                    if let Wait::Resource { resource, line, .. } = *wait
                        && is_wanted(resource)
                    {
                        open.entry((resource, line)).or_insert(end);
                    }
                }
            }
            let is_over = task.ended.is_some() || task.queued.is_some();
            let end = task.dropped.unwrap_or(self.end);
            let last = end_of(&mut open, &[], if is_over { 0 } else { end });
            all.extend(last.into_iter().map(|wait| ResourceWait { goes_on: !is_over, ..wait }));
        }
        all
    }

    fn lock_text(&self, wait: &ResourceWait, hold: &Hold) -> String {
        let Some(info) = self.resources.get(&wait.resource) else { return String::new() };
        let label = self.label(wait.task);
        let at = self.line(wait.resource, wait.line);
        let at = at.map_or(String::new(), |line| format!(" at {line}"));
        let description = Description {
            what: info.what,
            location: info.location,
            permits: 0,
            holders: &[],
            provider: None,
            numbers: &Numbers::default(),
        };
        let what = description.text(&|_| String::new());
        let (waited, had) = (time(wait.time()), self.hold_text(hold));
        // Permits are made to be kept for a while. A single one is a lock.
        match info.what {
            What::Semaphore if info.numbers.size > 1 || self.may_have_moved(hold) => {
                let size = info.numbers.size;
                format!("limit: {label} waited {waited}{at} for {what}: all {size} were out")
            }
            _ => format!("lock: {label} waited {waited}{at} for {what}{had}"),
        }
    }

    /// Whether a permit may be where its task has moved it. One that has ended is known to have.
    fn may_have_moved(&self, hold: &Hold) -> bool {
        let end = hold.end.unwrap_or(self.end);
        let task = self.tasks.get(&hold.task);
        hold.may_move && task.is_none_or(|task| task.ended.is_none_or(|ended| ended >= end))
    }

    /// The end of a sentence: who had a lock, and what that task did meanwhile.
    fn hold_text(&self, hold: &Hold) -> String {
        let end = hold.end.unwrap_or(self.end);
        let who = if hold.task == 0 { "a thread".to_owned() } else { self.label(hold.task) };
        let at = self.line(hold.resource, hold.line);
        let at = at.map_or(String::new(), |line| format!(" since {line}"));
        let took = time(end.saturating_sub(hold.begin));
        let mut text = match hold.may_move {
            false => format!(", which {who} had for {took}{at}"),
            true => {
                let at = at.replace(" since ", " at ");
                format!(", which {who} had got{at}, and which was given back after {took}")
            }
        };
        if hold.may_move && hold.end.is_none() {
            text = text.replace("was given back after", "has not been given back for");
        }

        // The longest time between two of its polls meanwhile.
        let Some(task) = self.tasks.get(&hold.task) else { return text };
        if task.ended.is_some_and(|ended| ended < end) {
            text += ", and it has ended meanwhile: somebody else keeps that for it";
            return text;
        }
        if hold.may_move {
            text += ": it has kept that, or has moved it to another task";
            return text;
        }
        let mut longest: Option<(u64, &Poll)> = None;
        for (index, &poll) in task.polls.iter().enumerate() {
            let poll = &self.polls[poll];
            let Some(from) = poll.end.filter(|from| *from > hold.begin && *from < end) else {
                continue;
            };
            let next = task.polls.get(index + 1).map(|&next| self.polls[next].begin);
            let gap = next.unwrap_or(self.end).min(end).saturating_sub(from);
            if longest.is_none_or(|(most, _)| gap > most) {
                longest = Some((gap, poll));
            }
        }
        text += &match longest {
            Some((gap, poll)) => {
                let at = poll.end.unwrap_or(self.end);
                let waits = self.text_of_waits(&poll.waits, at);
                format!(", across an await: it waited {} of that {waits}", time(gap))
            }
            None => ", in a single poll".to_owned(),
        };
        text
    }

    /// Wake-ups after which the task waited for the same again, and who woke it most often.
    pub(crate) fn wake_ups_for_nothing(&self) -> Vec<Finding> {
        #[derive(Default)]
        struct Empty {
            first: Option<usize>,
            count: usize,
            cost: u64,
            wakers: BTreeMap<u64, usize>,
        }
        // A watch channel wakes in eight groups. Who was in the first one and asks again may be in
        // the next one, and is woken for the value that it has seen.
        let is_watch = |wait: &Wait| {
            let Wait::Resource { resource, .. } = wait else { return false };
            self.resources.get(resource).is_some_and(|info| info.what == What::Watch)
        };
        let mut was_idle: BTreeMap<u64, bool> = BTreeMap::new();
        let mut by_location: BTreeMap<&str, Empty> = BTreeMap::new();
        for (index, poll) in self.polls.iter().enumerate() {
            // A poll may take a value a moment before the wake-up comes that belongs to it.
            let is_idle = was_idle.insert(poll.task, poll.operations == 0) == Some(true);
            if !poll.did_nothing || !is_idle || poll.waits.iter().all(is_watch) {
                continue;
            }
            let task = &self.tasks[&poll.task];
            let empty = by_location.entry(&task.location).or_default();
            empty.first.get_or_insert(index);
            empty.count += 1;
            // What it costs is the poll, and the turn of whoever waited behind it.
            empty.cost += poll.time(self.end) + poll.waited();
            if let Some(By::Poll(by)) = poll.queued.map(|queued| queued.by) {
                *empty.wakers.entry(self.polls[by].task).or_default() += 1;
            }
        }
        let finding = |empty: Empty| {
            let poll = &self.polls[empty.first?];
            let (label, count) = (self.label(poll.task), empty.count);
            if count < EMPTY_MIN {
                return None;
            }
            let mut text = format!(
                "wake-ups that did nothing: {count}; {label} went on waiting for the same each time"
            );
            if let Some((waker, times)) = empty.wakers.iter().max_by_key(|(_, times)| **times) {
                text += &format!("; {times} of them were by {}", self.label(*waker));
            }
            Some(Finding { cost: empty.cost, at: poll.begin, task: Some(poll.task), text })
        };
        by_location.into_values().filter_map(finding).collect()
    }

    /// Tasks that wake themselves over and over, and do nothing else.
    pub(crate) fn self_wakers(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (&id, task) in &self.tasks {
            let is_spin = |poll: &&Poll| {
                let by = poll.queued.map(|queued| queued.by);
                let by_itself = matches!(by, Some(By::Poll(by)) if self.polls[by].task == id);
                let is_short = poll.time(self.end) <= SPIN_MAX;
                by_itself && is_short && poll.operations == 0 && poll.waits.is_empty()
            };
            let polls = task.polls.iter().map(|&index| &self.polls[index]);
            let spins: Vec<&Poll> = polls.filter(is_spin).collect();
            let (Some(first), Some(last)) = (spins.first(), spins.last()) else { continue };
            // Most of its polls, so that a task that yields now and then is none.
            if spins.len() < SPINS_MIN || spins.len() < task.polls.len() / 2 {
                continue;
            }
            let cost = last.begin - first.begin;
            let (label, count) = (self.label(id), spins.len());
            let text = format!(
                "spins: {label} woke itself over and over: {count} polls in {} that did nothing \
                 else",
                time(cost)
            );
            findings.push(Finding { cost, at: first.begin, task: Some(id), text });
        }
        findings
    }

    /// Channels whose first value waited while the receiver did other things.
    pub(crate) fn starved_values(&self) -> Vec<Finding> {
        /// The time at which the value before this one was received, and by whom.
        #[derive(Default)]
        struct Last {
            at: u64,
            by: u64,
        }
        let mut last: BTreeMap<u64, Last> = BTreeMap::new();
        let mut worst: BTreeMap<u64, (u64, u64, usize, u64)> = BTreeMap::new();
        for value in &self.values {
            let last = last.entry(value.resource).or_default();
            let from = value.sent.max(last.at);
            let provider = self.resources.get(&value.resource).and_then(|info| info.receiver);
            let (to, by) = match value.received {
                Some(received) => received,
                None => (self.end, if last.by > 0 { last.by } else { provider.unwrap_or(0) }),
            };
            *last = Last { at: to, by };
            let waited = to.saturating_sub(from);
            let Some(task) = self.tasks.get(&by).filter(|_| waited > VALUE_LATE) else { continue };
            let position =
                |at: u64| task.polls.partition_point(|&poll| self.polls[poll].begin < at);
            let polls = position(to) - position(from);
            let entry = worst.entry(value.resource).or_insert((0, 0, 0, 0));
            if polls >= POLLS_WITHOUT && waited > entry.0 {
                *entry = (waited, from, polls, by);
            }
        }
        let finding = |(resource, (cost, at, polls, by)): (u64, (u64, u64, usize, u64))| {
            let info = self.resources.get(&resource).filter(|_| cost > 0)?;
            let (location, label) = (info.location, self.label(by));
            let text = format!(
                "starved: a value waited {} in the channel made at {location}, while its receiver \
                 {label} was polled {polls} times for other things: a `select!` that prefers \
                 another branch, or a loop that takes no value",
                time(cost)
            );
            Some(Finding { cost, at, task: Some(by), text })
        };
        worst.into_iter().filter_map(finding).collect()
    }
}
