//! Why a poll began when it did: the chain of its causes, back to the first one.

use crate::timeline::words::time;
use crate::timeline::{By, Look, Place, Poll, Timeline, Wait, is_another};

/// arc lets timers expire together, at the end of 131 us. See `SLACK` in `driver/timers.rs` of arc.
const SLACK: u64 = 1 << 17;

/// How many polls back a chain of causes goes.
const LINKS_MAX: usize = 8;

/// How many looks at the kernel are looked at for the one before.
const LOOKS_MAX: usize = 64;

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

/// When the work that a poll does was due, and why it was not found before it was queued.
pub(crate) struct Due {
    pub(crate) at: u64,
    pub(crate) text: String,
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

        // They were found backwards.
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

        // The future of a `block_on` was in no queue, and the record of another may be left out.
        let queued = poll.queued?;
        let text = self.queue_text(poll);
        links.push(Link { kind: LinkKind::Queue, from: queued.at, to: poll.begin, text });

        match queued.by {
            // A task that wakes itself in its poll is its own first cause.
            By::Poll(by) if by == index => None,
            By::Poll(by) => Some((by, queued.at)),
            By::Look(look) => {
                // Nothing in the program comes before what the kernel and the clock do.
                let Due { at, text } = self.due(index, look);
                links.push(Link { kind: LinkKind::Kernel, from: at, to: queued.at, text });
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
    pub(crate) fn due(&self, index: usize, look: usize) -> Due {
        let poll = &self.polls[index];
        let label = self.label(poll.task);
        let look = &self.looks[look];
        let told = look.end.unwrap_or(look.begin);

        // A socket that the kernel has reported is the cause, also if a timer is due at that time.
        let is_ready = |wait: &&Wait| {
            let Wait::Io { source, write } = **wait else { return false };
            look.ready.iter().any(|(of, ready)| *of == source && ready[usize::from(write)])
        };
        let ready = self.waits_before(index).iter().find(is_ready);
        if let Some(Wait::Io { source, write }) = ready {
            return self.unlooked(look, poll.task, self.ready_text(*source, *write));
        }

        // Another library may have asked, or the record of it was left out.
        let Some(deadline) = self.deadline_before(index, told) else {
            let text = format!("the kernel or a timer woke {label}");
            return Due { at: told, text };
        };

        let late = told - deadline;
        let mut text = format!("the timer of {label} was due {} before", time(late));
        text += ": up to 131 us of that are the timers' slack, in which those that are due share a \
                 wake-up";
        // A thread that waited for nothing but this would have been there. Any other one did
        // something else, and that is named.
        if late > SLACK && look.waits {
            text += "; for the rest the system did not run the thread that waited";
        } else if late > SLACK
            && let Some(culprit) = self.culprit(deadline, told, poll.task)
        {
            text += &format!("; for the rest nobody looked at the clock, because of {culprit}");
        }
        Due { at: deadline, text }
    }

    /// What the kernel has reported of a source.
    fn ready_text(&self, source: i64, write: bool) -> String {
        let what = if write { "be written to" } else { "be read" };
        match self.name_of(source) {
            // Its number in a timeline is not that of the descriptor.
            Some(name) => format!("the kernel told of {name}"),
            None => format!("the kernel said that descriptor {source} can {what}"),
        }
    }

    /// An event that was found by a look. If the thread had not waited for it, it may have come at
    /// any time since the look before.
    fn unlooked(&self, look: &Look, task: u64, text: String) -> Due {
        let told = look.end.unwrap_or(look.begin);
        let until = self.looks.partition_point(|other| other.begin < look.begin);
        let before = self.looks[..until].iter().rev();
        let before = before.filter(|other| !is_another(other.runtime, look.runtime));
        // Looks of several threads overlap: the one that began last need not have ended last.
        let last = before.take(LOOKS_MAX).filter_map(|other| other.end).max();

        match last {
            Some(last) if !look.waits && told.saturating_sub(last) > SLACK => {
                let gap = time(told - last);
                let culprit = self.culprit(last, told, task);
                let culprit = culprit.map_or(String::new(), |text| format!(", because of {text}"));
                let text = format!("{text}; nobody had asked it for {gap}{culprit}");
                Due { at: last, text }
            }
            // A thread has waited for it, or somebody has looked just before: it came now.
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

    /// A sentence: for how long a task waited in a queue before a poll, and behind what.
    pub(crate) fn queue_text(&self, poll: &Poll) -> String {
        let Some(queued) = poll.queued else { return String::new() };
        let waited = time(poll.waited());
        let takers = self.takers(poll.task, queued.place, Some(poll.lane));
        let behind = self.behind(queued.at, poll.begin, &takers, poll.task);

        let place = match queued.place {
            Place::Worker(lane) if lane == poll.lane => "in its queue".to_owned(),
            // The worker that polled the task has stolen it.
            Place::Worker(lane) => format!("in the queue of {}", self.lane_label(lane)),
            Place::Injector => "in the injector (for tasks from outside)".to_owned(),
            Place::Pool => "for a thread of the blocking pool".to_owned(),
        };
        let label = self.label(poll.task);
        format!("{label} waited {waited} {place}{}", self.behind_text(&behind))
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
