//! Why a poll began when it did, and what stands out in a timeline.

use crate::timeline::{By, Look, Place, Poll, Queued, Task, Timeline, Wait};
use std::collections::BTreeMap;

/// A poll is long if it takes longer than this, in nanoseconds.
pub(crate) const LONG_POLL: u64 = 10_000_000;

/// Work that waits for less than this while a worker sleeps is nobody's fault: to wake a worker takes
/// some time, and on crowded cores it takes until the kernel lets it run. The same is true of a
/// timer: most of what it is late is slack then, and the rest a wake-up.
pub(crate) const LATE: u64 = 2_000_000;

/// arc lets timers expire together, at the end of 131 us. See `SLACK` in `driver/timers.rs` of arc.
const SLACK: u64 = 1 << 17;

/// How many polls back a chain of causes goes.
const LINKS_MAX: usize = 8;

/// How many polls of those that a task waited behind are looked at.
const BEHIND_MAX: usize = 20_000;

/// What a link of a chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkKind {
    /// The kernel or a timer: something had happened, and nobody had looked.
    Kernel,
    /// The task waited in a queue.
    Queue,
    /// A poll.
    Poll,
    /// The beginning of it all: who woke the first task of the chain.
    Cause,
}

/// A part of the time between a cause and the end of a poll.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Link {
    /// What it is.
    pub kind: LinkKind,
    /// When it began.
    pub from: u64,
    /// When it ended.
    pub to: u64,
    /// A sentence about it.
    pub text: String,
}

/// The chain of causes of a poll, the first cause first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Why {
    /// In the order of time.
    pub links: Vec<Link>,
}

/// Something that stands out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// How much time it has cost, in nanoseconds.
    pub cost: u64,
    /// When it began.
    pub at: u64,
    /// The task to look at, if there is one.
    pub task: Option<u64>,
    /// A sentence that names the culprit.
    pub text: String,
}

/// What ran while a task waited.
struct Behind {
    /// How many polls.
    polls: usize,
    /// For how long, in nanoseconds.
    time: u64,
    /// The task that ran the longest, and for how long.
    longest: Option<(u64, u64)>,
    /// The line that spawned most of what ran, the number of its polls, and their time.
    most: Option<(String, usize, u64)>,
    /// Some of what ran may have been left out.
    has_gap: bool,
}

/// What a task waits for, when that stands out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum For {
    /// Nothing that arc knows of.
    Nothing,
    /// A thread of the blocking pool.
    Pool,
    /// Its turn in the injector.
    Injector,
    /// Its turn in a worker's queue.
    Worker,
}

/// Of the tasks of one line that wait for the same, the one that has waited the longest.
struct Waiting {
    task: u64,
    since: u64,
    cost: u64,
    /// How many of the line's tasks wait for that.
    tasks_of_line: usize,
}

/// The threads that take tasks out of a queue.
struct Takers {
    lanes: Vec<usize>,
    /// They may work for several runtimes. Of another one than this no poll counts.
    runtime: Option<u64>,
}

/// When the work that a poll does was due, and why it was not found before it was queued.
struct Due {
    at: u64,
    text: String,
}

impl Timeline {
    /// Why a poll began when it did: the chain of its causes, the first one first.
    ///
    /// # Panics
    ///
    /// When there is no poll of that index.
    pub fn why(&self, poll: usize) -> Why {
        let mut links = Vec::new();
        let mut next = Some((poll, self.polls[poll].end.unwrap_or(self.end)));
        for _ in 0..LINKS_MAX {
            let Some((index, until)) = next else { break };
            next = self.link(index, until, &mut links);
        }
        links.reverse();
        Why { links }
    }

    /// Adds what came before `until` in the chain, the latest first. Returns the poll that woke
    /// this one, and when it did.
    fn link(&self, index: usize, until: u64, links: &mut Vec<Link>) -> Option<(usize, u64)> {
        let poll = &self.polls[index];
        let label = self.label(poll.task);
        let text = format!("{label} was polled on {}", self.lane_label(poll.lane));
        links.push(Link { kind: LinkKind::Poll, from: poll.begin, to: until, text });

        let queued = poll.queued?;
        let text = self.queue_text(poll);
        links.push(Link { kind: LinkKind::Queue, from: queued.at, to: poll.begin, text });

        match queued.by {
            By::Poll(by) if by == index => None,
            By::Poll(by) => Some((by, queued.at)),
            By::Look(look) => {
                let due = self.due(index, look);
                links.push(Link {
                    kind: LinkKind::Kernel,
                    from: due.at,
                    to: queued.at,
                    text: due.text,
                });
                None
            }
            By::Thread(lane) => {
                let text = format!("{label} was woken or spawned by {}", self.lane_label(lane));
                links.push(Link { kind: LinkKind::Cause, from: queued.at, to: queued.at, text });
                None
            }
        }
    }

    /// How long before the look that woke a poll's task its cause was due, in nanoseconds, and a
    /// sentence about that.
    pub(crate) fn due_text(&self, index: usize, look: usize) -> (u64, String) {
        let due = self.due(index, look);
        let queued = self.polls[index].queued.map_or(due.at, |queued| queued.at);
        (queued.saturating_sub(due.at), due.text)
    }

    /// When what woke a poll was due, and what the look at the kernel that found it came after.
    fn due(&self, index: usize, look: usize) -> Due {
        let poll = &self.polls[index];
        let label = self.label(poll.task);
        let look = &self.looks[look];
        let told = look.end.unwrap_or(look.begin);
        let waits = self.waits_before(index);

        let is_ready = |wait: &&Wait| {
            let Wait::Io { source, write } = **wait else { return false };
            look.ready.iter().any(|(of, ready)| *of == source && ready[usize::from(write)])
        };
        if let Some(Wait::Io { source, write }) = waits.iter().find(is_ready) {
            let what = if *write { "be written to" } else { "be read" };
            let text = format!("the kernel said that descriptor {source} can {what}");
            return self.unlooked(look, poll.task, text);
        }

        let Some(deadline) = self.deadline_before(index, told) else {
            let text = format!("the kernel or a timer woke {label}");
            return Due { at: told, text };
        };

        let late = told - deadline;
        let mut text = format!("the timer of {label} was due {} before", time(late));
        text += ": up to 131 us of that are the timers' slack, in which those that are due share a \
                 wake-up";
        if late > SLACK && look.waits {
            text += "; for the rest the system did not run the thread that waited";
        } else if late > SLACK
            && let Some(culprit) = self.culprit(deadline, told, poll.task)
        {
            text += &format!("; for the rest nobody looked at the clock, because of {culprit}");
        }
        Due { at: deadline, text }
    }

    /// An event that was found by a look. If the thread had not waited for it, it may have come at
    /// any time since the look before.
    fn unlooked(&self, look: &Look, task: u64, text: String) -> Due {
        let told = look.end.unwrap_or(look.begin);
        let before = self.looks.partition_point(|other| other.begin < look.begin);
        let before = self.looks[..before].iter().rev();
        let before = before.filter(|other| !is_another(other.runtime, look.runtime));
        let last = before.take(64).filter_map(|other| other.end).max();
        match last {
            Some(last) if !look.waits && told.saturating_sub(last) > SLACK => {
                let gap = time(told - last);
                let culprit = self.culprit(last, told, task);
                let culprit = culprit.map_or(String::new(), |text| format!(", because of {text}"));
                let text = format!("{text}; nobody had asked it for {gap}{culprit}");
                Due { at: last, text }
            }
            _ => Due { at: told, text },
        }
    }

    /// What the task of a poll waited for before it.
    fn waits_before(&self, index: usize) -> &[Wait] {
        let poll = &self.polls[index];
        let all = &self.tasks[&poll.task].polls;
        let position = all.partition_point(|&of_task| of_task < index);
        position.checked_sub(1).map_or(&[], |before| &self.polls[all[before]].waits)
    }

    /// The deadline of the timer that made a poll, if it was one and the clock was looked at then.
    ///
    /// A poll may have asked for a timer that was dropped before the poll ended, as by `select!`. A
    /// timer that is on time must not be taken for one that is late. So the latest deadline counts.
    pub(crate) fn deadline_before(&self, index: usize, told: u64) -> Option<u64> {
        let deadlines = self.waits_before(index).iter().filter_map(|wait| match wait {
            Wait::Time { deadline } if *deadline <= told => Some(*deadline),
            _ => None,
        });
        deadlines.max()
    }

    fn queue_text(&self, poll: &Poll) -> String {
        let Some(queued) = poll.queued else { return String::new() };
        let waited = time(poll.waited());
        let takers = self.takers(poll.task, queued.place, Some(poll.lane));
        let behind = self.behind(queued.at, poll.begin, &takers, poll.task);
        let place = match queued.place {
            Place::Worker(lane) if lane == poll.lane => "in its queue".to_owned(),
            Place::Worker(lane) => format!("in the queue of {}", self.lane_label(lane)),
            Place::Injector => "in the injector (for tasks from outside)".to_owned(),
            Place::Pool => "for a thread of the blocking pool".to_owned(),
        };
        let label = self.label(poll.task);
        format!("{label} waited {waited} {place}{}", self.behind_text(&behind))
    }

    /// The end of a sentence: behind what a task waited.
    fn behind_text(&self, behind: &Behind) -> String {
        let Some((longest, took)) = behind.longest else {
            let text = match behind.has_gap {
                true => ", and what ran meanwhile was left out",
                false => ", and no poll was under way",
            };
            return text.to_owned();
        };
        let longest = self.label(longest);
        match &behind.most {
            _ if behind.polls == 1 => format!(" behind one poll, of {longest}: {}", time(took)),
            Some((location, polls, time_of)) if *polls > 1 && *time_of > took => {
                let (all, all_time) = (behind.polls, time(behind.time));
                let time_of = time(*time_of);
                if behind.polls == *polls {
                    return format!(
                        " behind {polls} polls of tasks spawned at {location}: {time_of}"
                    );
                }
                format!(
                    " behind {all} polls ({all_time}), {polls} of them of tasks spawned at \
                     {location}: {time_of}"
                )
            }
            _ => {
                let (polls, all, took) = (behind.polls, time(behind.time), time(took));
                format!(" behind {polls} polls ({all}), the longest of {longest}: {took}")
            }
        }
    }

    /// Which threads take a task out of a queue, and whose polls hold it up there.
    fn takers(&self, task: u64, place: Place, polled_on: Option<usize>) -> Takers {
        let all = 0..self.lanes.len();
        let runtime = self.tasks.get(&task).and_then(|task| task.runtime);
        match place {
            Place::Worker(lane) => {
                let mut lanes = vec![lane];
                lanes.extend(polled_on.filter(|other| *other != lane));
                Takers { lanes, runtime }
            }
            Place::Injector => {
                let lanes = all.filter(|&lane| self.lanes[lane].works_for(runtime)).collect();
                Takers { lanes, runtime }
            }
            Place::Pool => {
                let lanes = all.filter(|&lane| self.lanes[lane].worker.is_none()).collect();
                Takers { lanes, runtime }
            }
        }
    }

    /// What ran on these threads between two times, except for one task.
    fn behind(&self, from: u64, to: u64, takers: &Takers, except: u64) -> Behind {
        let Takers { lanes, runtime } = takers;
        let has_gap = lanes.iter().any(|&lane| from < self.lanes[lane].complete_since);
        let mut behind = Behind { polls: 0, time: 0, longest: None, most: None, has_gap };
        let mut by_location: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
        for &lane in lanes {
            let polls = &self.lanes[lane].polls;
            let first = polls.partition_point(|&poll| self.polls[poll].begin < from);
            // The one before may go on beyond `from`.
            for &index in polls[first.saturating_sub(1)..].iter().take(BEHIND_MAX) {
                let poll = &self.polls[index];
                if poll.begin >= to {
                    break;
                }
                let end = poll.end.unwrap_or(self.end).min(to);
                let took = end.saturating_sub(poll.begin.max(from));
                let task = &self.tasks[&poll.task];
                let is_of_another = is_another(task.runtime, *runtime);
                if took == 0 || poll.task == except || task.is_main || is_of_another {
                    continue;
                }
                behind.polls += 1;
                behind.time += took;
                if behind.longest.is_none_or(|(_, longest)| took > longest) {
                    behind.longest = Some((poll.task, took));
                }
                let location = by_location.entry(&task.location).or_default();
                location.0 += 1;
                location.1 += took;
            }
        }
        let most = by_location.into_iter().max_by_key(|(_, (_, time))| *time);
        behind.most = most.map(|(location, (polls, time))| (location.to_owned(), polls, time));
        behind
    }

    /// The poll that took the most of some time on the workers of a task's runtime, for a sentence.
    fn culprit(&self, from: u64, to: u64, task: u64) -> Option<String> {
        let behind = self.behind(from, to, &self.takers(task, Place::Injector, None), 0);
        let (task, took) = behind.longest?;
        Some(format!("a poll of {}, which took {} of it", self.label(task), time(took)))
    }

    /// What stands out: panics first, then what cannot go on, and then what was the most expensive.
    /// What the system did comes last, in one line.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = self.polls_that_go_on();
        findings.extend(self.long_polls());
        findings.extend(self.waits_for_ever());
        findings.extend(self.wake_ups_for_nothing());
        findings.extend(self.waits_for_resources());
        findings.extend(self.self_wakers());
        findings.extend(self.starved_values());
        findings.extend(self.missed_notifications());
        findings.extend(self.unanswered());
        findings.extend(self.seen_again());
        findings.extend(self.piles_up());
        findings.extend(self.grows());
        findings.extend(self.full_channels());
        findings.extend(self.lost_values());
        let (of_program, of_system): (Vec<_>, Vec<_>) = self
            .late_polls()
            .into_iter()
            .chain(self.slept_while_work_waited())
            .partition(|(_, is_system)| !is_system);
        findings.extend(of_program.into_iter().map(|(finding, _)| finding));
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.cost));
        findings.splice(..0, self.stuck());
        findings.splice(..0, self.handed_over());
        findings.splice(..0, self.panics());
        findings.extend(system(of_system.into_iter().map(|(finding, _)| finding).collect()));
        findings
    }

    /// Tasks that panicked, those of one line together.
    fn panics(&self) -> Vec<Finding> {
        let mut by_location: BTreeMap<&str, (u64, u64, usize)> = BTreeMap::new();
        for (&id, task) in &self.tasks {
            let Some(at) = task.panicked else { continue };
            let (first, first_at, count) = by_location.entry(&task.location).or_insert((id, at, 0));
            *count += 1;
            if at < *first_at {
                (*first, *first_at) = (id, at);
            }
        }
        let finding = |(task, at, count): (u64, u64, usize)| {
            let mut text = format!("panic: {} panicked", self.label(task));
            if count > 1 {
                text += &format!("; with it, {count} tasks from this line did so");
            }
            Finding { cost: 0, at, task: Some(task), text }
        };
        by_location.into_values().map(finding).collect()
    }

    /// Polls that have not ended, and what waits behind them.
    fn polls_that_go_on(&self) -> Vec<Finding> {
        let open = self.polls.iter().filter(|poll| poll.end.is_none());
        let is_stuck = |poll: &&Poll| {
            let task = &self.tasks[&poll.task];
            poll.time(self.end) > LONG_POLL && !task.is_main && !task.is_job
        };
        let mut findings = Vec::new();
        for poll in open.filter(is_stuck) {
            let (lane, label) = (self.lane_label(poll.lane), self.label(poll.task));
            let alive = self.tasks.values().filter(|task| task.dropped.is_none());
            let waiting = alive.filter_map(|task| task.queued);
            let behind = waiting.filter(|queued| queued.place == Place::Worker(poll.lane)).count();
            let cost = poll.time(self.end);
            let mut text = format!("{lane} is stuck: it has polled {label} for {}", time(cost));
            if behind > 0 {
                text += &format!(", and {behind} of its queue wait for that");
            }
            findings.push(Finding { cost, at: poll.begin, task: Some(poll.task), text });
        }
        findings
    }

    /// Polls that took long, those of one line together.
    fn long_polls(&self) -> Vec<Finding> {
        let mut by_location: BTreeMap<&str, Vec<&Poll>> = BTreeMap::new();
        for poll in &self.polls {
            let task = &self.tasks[&poll.task];
            if poll.end.is_some()
                && poll.time(self.end) > LONG_POLL
                && !task.is_main
                && !task.is_job
            {
                by_location.entry(&task.location).or_default().push(poll);
            }
        }
        let finding = |polls: Vec<&Poll>| {
            let longest = polls.iter().max_by_key(|poll| poll.time(self.end))?;
            let cost = polls.iter().map(|poll| poll.time(self.end)).sum();
            let (label, took) = (self.label(longest.task), time(longest.time(self.end)));
            let lane = self.lane_label(longest.lane);
            let mut text = format!("long poll: {label} held {lane} up for {took}");
            if let Some(drops) = longest.drops {
                let dropped = longest.end.unwrap_or(self.end).saturating_sub(drops);
                if dropped > longest.time(self.end) / 2 {
                    text += &format!(
                        ", of which the drop of its future took {}: something in it computes or \
                         blocks in its `drop`",
                        time(dropped)
                    );
                }
            }
            if polls.len() > 1 {
                text += &format!(
                    "; with it, {} polls of tasks from this line took {}",
                    polls.len(),
                    time(cost)
                );
            }
            Some(Finding { cost, at: longest.begin, task: Some(longest.task), text })
        };
        by_location.into_values().filter_map(finding).collect()
    }

    /// The polls of each line that had waited the longest in a queue, or for a look at the clock,
    /// and whether that is the system's doing.
    fn late_polls(&self) -> Vec<(Finding, bool)> {
        let mut worst: BTreeMap<(&str, bool), (usize, u64)> = BTreeMap::new();
        for (index, poll) in self.polls.iter().enumerate() {
            let location = self.tasks[&poll.task].location.as_str();
            let waited = poll.waited();
            let timer = self.timer_lateness(index);
            for (is_timer, late) in [(false, waited), (true, timer)] {
                let entry = worst.entry((location, is_timer)).or_insert((index, 0));
                if late >= LATE && late > entry.1 {
                    *entry = (index, late);
                }
            }
        }
        let finding = |((_, is_timer), (index, cost)): ((&str, bool), (usize, u64))| {
            let poll = &self.polls[index];
            let (text, is_system) = match poll.queued?.by {
                _ if cost == 0 => return None,
                By::Look(look) if is_timer => {
                    // The thread waited for nothing but this, and was not run in time.
                    let is_system = self.looks[look].waits;
                    (format!("late timer: {}", self.due(index, look).text), is_system)
                }
                _ => {
                    let is_system = poll.queued.is_some_and(|queued| self.is_alone(poll, &queued));
                    (format!("late: {}", self.queue_text(poll)), is_system)
                }
            };
            let at = poll.begin.saturating_sub(cost);
            Some((Finding { cost, at, task: Some(poll.task), text }, is_system))
        };
        worst.into_iter().filter_map(finding).collect()
    }

    /// Whether a task waited for a thread that did nothing else.
    fn is_alone(&self, poll: &Poll, queued: &Queued) -> bool {
        let takers = self.takers(poll.task, queued.place, Some(poll.lane));
        let behind = self.behind(queued.at, poll.begin, &takers, poll.task);
        !behind.has_gap && behind.time < poll.waited() / 4
    }

    /// How long after its deadline the timer that caused a poll was found, in nanoseconds.
    fn timer_lateness(&self, index: usize) -> u64 {
        let Some(By::Look(look)) = self.polls[index].queued.map(|queued| queued.by) else {
            return 0;
        };
        let told = self.looks[look].end.unwrap_or(0);
        self.deadline_before(index, told).map_or(0, |deadline| told - deadline)
    }

    /// Tasks that waited in a queue while a worker slept, and whether that had been woken.
    fn slept_while_work_waited(&self) -> Vec<(Finding, bool)> {
        let late = self.polls.iter().filter(|poll| {
            let is_work = poll.queued.is_some_and(|queued| queued.place != Place::Pool);
            is_work && poll.waited() > LATE
        });
        let mut worst: Option<(u64, &Poll, usize, bool)> = None;
        for poll in late {
            let Some(queued) = poll.queued else { continue };
            let until = self.sleeps.partition_point(|sleep| sleep.begin < poll.begin);
            let runtime = self.tasks[&poll.task].runtime;
            let sleeps = self.sleeps[..until].iter().rev().take(256);
            for sleep in sleeps.filter(|sleep| !is_another(sleep.runtime, runtime)) {
                let end = sleep.end.unwrap_or(self.end).min(poll.begin);
                let slept = end.saturating_sub(sleep.begin.max(queued.at));
                if slept > LATE && worst.is_none_or(|(most, ..)| slept > most) {
                    // Until when nobody had woken the worker.
                    let woken = sleep.woken.map_or(end, |(woken, _)| woken.min(end));
                    let unwoken = woken.saturating_sub(sleep.begin.max(queued.at));
                    worst = Some((slept, poll, sleep.lane, unwoken < slept / 2));
                }
            }
        }
        let Some((cost, poll, lane, was_woken)) = worst else { return Vec::new() };
        let (lane, label) = (self.lane_label(lane), self.label(poll.task));
        let cost_text = time(cost);
        let text = format!("{lane} slept for {cost_text} while {label} waited in a queue");
        let at = poll.begin.saturating_sub(cost);
        vec![(Finding { cost, at, task: Some(poll.task), text }, was_woken)]
    }

    /// Tasks that wait at the end, or did when the end of their runtime dropped them: for a turn,
    /// or for nothing that arc knows of. Of those of one line, the one that has waited the longest.
    fn waits_for_ever(&self) -> Vec<Finding> {
        let mut worst: BTreeMap<(&str, For, bool), Waiting> = BTreeMap::new();
        for (&task, state) in &self.tasks {
            let Some((what, since)) = self.waits_since(task) else { continue };
            let cost = state.dropped.unwrap_or(self.end).saturating_sub(since);
            if what != For::Nothing && cost <= LATE {
                continue;
            }
            let key = (state.location.as_str(), what, state.dropped.is_some());
            let waiting =
                worst.entry(key).or_insert(Waiting { task, since, cost: 0, tasks_of_line: 0 });
            waiting.tasks_of_line += 1;
            if cost > waiting.cost {
                (waiting.task, waiting.since, waiting.cost) = (task, since, cost);
            }
        }
        let finding = |((_, what, was_dropped), waiting): ((&str, For, bool), Waiting)| Finding {
            cost: waiting.cost,
            at: waiting.since,
            task: Some(waiting.task),
            text: self.waiting_text(what, was_dropped, &waiting),
        };
        worst.into_iter().map(finding).collect()
    }

    /// What a task waits for at the end, and since when, if it is a turn or nothing that arc knows.
    fn waits_since(&self, id: u64) -> Option<(For, u64)> {
        let task = &self.tasks[&id];
        if let Some(queued) = task.queued {
            let what = match queued.place {
                Place::Pool => For::Pool,
                Place::Injector => For::Injector,
                Place::Worker(_) => For::Worker,
            };
            return Some((what, queued.at));
        }
        let (waits, since) = self.last_waits(id)?;
        (!task.is_job && waits.is_empty()).then_some((For::Nothing, since))
    }

    /// The last poll of a task that has not ended and is in no queue, and when that poll ended.
    /// None also if a later one may be among what was left out.
    pub(crate) fn waits_after(&self, task: &Task) -> Option<(&Poll, u64)> {
        let last = &self.polls[*task.polls.last()?];
        let end = last.end?;
        let is_over = task.ended.is_some() || last.is_last || task.queued.is_some();
        (!is_over && end >= self.complete_since).then_some((last, end))
    }

    fn waiting_text(&self, what: For, was_dropped: bool, waiting: &Waiting) -> String {
        let (label, took) = (self.label(waiting.task), time(waiting.cost));
        let place = match what {
            For::Nothing => "",
            For::Pool => "for a thread of the blocking pool",
            For::Injector => "in the injector",
            For::Worker => "in a queue",
        };
        let mut text = match self.tasks[&waiting.task].queued {
            None => format!(
                "{label} has waited for {took} for nothing that arc knows of: a lock, a channel or \
                 a future of another library, which nobody has woken"
            ),
            Some(queued) => {
                let takers = self.takers(waiting.task, queued.place, None);
                let end = waiting.since + waiting.cost;
                let behind = self.behind(waiting.since, end, &takers, waiting.task);
                let behind = self.behind_text(&behind);
                match was_dropped {
                    false => format!("{label} still waits {place}, for {took}{behind}"),
                    true => format!(
                        "{label} waited {place} until its runtime ended, for {took}{behind}"
                    ),
                }
            }
        };
        if waiting.tasks_of_line > 1 {
            let verb = if was_dropped { "did" } else { "do" };
            let tasks = waiting.tasks_of_line;
            text += &format!("; with it, {tasks} tasks from this line {verb} so");
        }
        text
    }

    /// What a task waits for that has not ended and is in no queue, and since when.
    pub(crate) fn last_waits(&self, id: u64) -> Option<(Vec<Wait>, u64)> {
        if let Some((last, end)) = self.waits_after(self.tasks.get(&id)?) {
            return Some((self.waits_of(last), end));
        }
        let (since, waits) = self.kept.get(&id)?;
        Some((self.open_waits(waits, Some(*since)), *since))
    }

    /// What a task waits for that has not ended and is in no queue: the end of a sentence, such as
    /// "for a timer that is due 1.00 s after the end".
    pub fn waits(&self, task: u64) -> Option<String> {
        let (waits, _) = self.last_waits(task)?;
        Some(self.text_of_waits(&waits, self.end))
    }

    /// What a task waits for after a poll: without what has happened since.
    pub(crate) fn waits_of(&self, poll: &Poll) -> Vec<Wait> {
        self.open_waits(&poll.waits, poll.end)
    }

    fn open_waits(&self, waits: &[Wait], since: Option<u64>) -> Vec<Wait> {
        let is_open = |wait: &&Wait| match wait {
            Wait::Task { task } => self.tasks.get(task).is_some_and(|task| task.ended.is_none()),
            Wait::Time { deadline } => since.is_none_or(|since| *deadline > since),
            Wait::Io { .. } | Wait::Turn | Wait::Resource { .. } => true,
        };
        waits.iter().filter(is_open).copied().collect()
    }

    /// A sentence's end: what a task waits for, and who has it at a time.
    pub(crate) fn text_of_waits(&self, waits: &[Wait], at: u64) -> String {
        let one = |wait: &Wait| match *wait {
            Wait::Io { source, write } => match (self.name_of(source), write) {
                (Some(name), _) => format!("for {name}"),
                (None, false) => format!("to read descriptor {source}"),
                (None, true) => format!("to write to descriptor {source}"),
            },
            Wait::Time { deadline } if deadline > self.end => {
                format!("for a timer that is due {} after the end", time(deadline - self.end))
            }
            Wait::Time { deadline } => {
                format!("for a timer that was due at {}", self.clock(deadline))
            }
            Wait::Task { task } => format!("for {} to end", self.label(task)),
            Wait::Turn => "for its next turn".to_owned(),
            Wait::Resource { resource, line, permits } => {
                self.resource_text(resource, line, permits, at)
            }
        };
        let waits: Vec<String> = waits.iter().map(one).collect();
        match waits.is_empty() {
            true => "for nothing that arc knows of".to_owned(),
            false => waits.join(", or "),
        }
    }

    /// A time since the first event.
    pub(crate) fn clock(&self, at: u64) -> String {
        format!("{:.3} ms", at.saturating_sub(self.begin) as f64 / 1e6)
    }
}

impl Why {
    /// From the first cause to the end of the poll, in nanoseconds.
    pub fn total(&self) -> u64 {
        let from = self.links.first().map_or(0, |link| link.from);
        let to = self.links.last().map_or(0, |link| link.to);
        to.saturating_sub(from)
    }
}

impl Link {
    /// How long it took, in nanoseconds.
    pub fn time(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

/// What the system did, in one line: it did not run threads that had something to do.
fn system(mut findings: Vec<Finding>) -> Option<Finding> {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.cost));
    let longest = findings.first()?;
    let more = match findings.len() {
        1 => String::new(),
        count => format!("; {count} such delays stand out"),
    };
    let text = format!(
        "the system did not run a thread that had work for {}, as on a busy machine{more}: {}",
        time(longest.cost),
        longest.text
    );
    Some(Finding { text, ..longest.clone() })
}

/// Whether two runtimes are known to differ.
fn is_another(runtime: Option<u64>, other: Option<u64>) -> bool {
    runtime.zip(other).is_some_and(|(runtime, other)| runtime != other)
}

/// A duration for a reader, with three digits.
pub(crate) fn time(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{} us", digits(nanos as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", digits(nanos as f64 / 1e6)),
        _ => format!("{} s", digits(nanos as f64 / 1e9)),
    }
}

fn digits(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
