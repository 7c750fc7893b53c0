//! What happened in a simulation: two runs of the same seed must have the same log.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How many events a log keeps. Those that come later count only in its fingerprint.
const EVENTS_MAX: usize = 200_000;

/// How many tasks a log describes. To describe one goes through the list of all tasks.
const NAMES_MAX: usize = 1_000;

/// Something that happened, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds since the simulation began.
    pub nanos: u64,
    /// What happened.
    pub what: What,
}

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The main future was polled.
    PolledMain,
    /// A task was polled. Tasks are numbered in the order of their first polls, from 1.
    Polled(usize),
    /// A job of `spawn_blocking` was run.
    RanJob,
    /// The program noted a number.
    Noted(u64),
    /// The simulated network tells something, such as a packet that was sent. [`Log::describe`] has
    /// the text.
    Told(usize),
}

/// The events of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The first of them.
    events: Vec<Event>,
    count: u64,
    fingerprint: Fingerprint,
    has_sockets: bool,
    /// The numbers of the tasks. Their ids, which all runtimes of the process share, differ from
    /// run to run.
    numbers: BTreeMap<u64, usize>,
    names: BTreeMap<usize, String>,
    /// The texts of [`What::Told`].
    texts: Vec<String>,
    /// When the main future was polled last and, behind that, each task of these numbers.
    last_polls: Vec<u64>,
    /// The task that was described just now, before its first poll.
    named: Option<usize>,
}

impl Log {
    pub(crate) fn add(&mut self, nanos: u64, what: What) {
        let event = Event { nanos, what };
        // These numbers are part of the fingerprints that tests have written down.
        let (kind, number) = match what {
            What::PolledMain => (0, 0),
            What::Polled(task) => (1, task as u64),
            What::RanJob => (2, 0),
            What::Noted(number) => (3, number),
            What::Told(index) => (4, index as u64),
        };

        if let What::PolledMain | What::Polled(_) = what {
            let number = usize::try_from(number).unwrap_or(0);
            let length = self.last_polls.len().max(number + 1);
            self.last_polls.resize(length, 0);
            self.last_polls[number] = nanos;
        }
        self.named = None;

        for word in [nanos, kind, number] {
            self.fingerprint.add(&word.to_le_bytes());
        }
        self.count += 1;
        // A long run must not fill the memory.
        if self.events.len() < EVENTS_MAX {
            self.events.push(event);
        }
    }

    /// Adds a text. Later ones than are kept count in the fingerprint only.
    pub(crate) fn tell(&mut self, nanos: u64, text: String) {
        self.fingerprint.add(text.as_bytes());
        self.add(nanos, What::Told(self.texts.len()));
        if self.texts.len() < EVENTS_MAX {
            self.texts.push(text);
        }
    }

    pub(crate) fn note_sockets(&mut self, has_sockets: bool) {
        self.has_sockets |= has_sockets;
    }

    /// Whether the program has waited for a socket of the kernel, which no seed decides about.
    pub fn has_sockets(&self) -> bool {
        self.has_sockets
    }

    /// Whether a task is polled for the first time, and should be described.
    pub(crate) fn is_new(&mut self, task: u64) -> bool {
        let number = self.numbers.len() + 1;
        let known = *self.numbers.entry(task).or_insert(number);
        known == number && number <= NAMES_MAX
    }

    pub(crate) fn number_of(&self, task: u64) -> usize {
        self.numbers.get(&task).copied().unwrap_or(0)
    }

    pub(crate) fn name(&mut self, task: u64, name: String) {
        let number = self.number_of(task);
        self.fingerprint.add(name.as_bytes());
        self.names.insert(number, name);
        self.named = Some(number);
    }

    /// The description of the task whose first poll is noted next.
    pub(crate) fn new_name(&self) -> Option<&str> {
        self.names.get(&self.named?).map(String::as_str)
    }

    /// The number that the events give to the task of this id. `None` if it was never polled.
    pub fn number(&self, task: u64) -> Option<usize> {
        self.numbers.get(&task).copied()
    }

    /// When the task of this number was polled last; 0 is the main future. `None` if it never was.
    pub fn last_poll(&self, number: usize) -> Option<Duration> {
        self.last_polls.get(number).copied().map(Duration::from_nanos)
    }

    /// The events, but for those that came when there were too many.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// How many events there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// A number that is the same for equal logs, and most probably differs for others. It is the
    /// same in every process and on every machine.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint.0
    }

    /// Describes an event in words.
    pub fn describe(&self, event: &Event) -> impl fmt::Display {
        let time = Duration::from_nanos(event.nanos);
        let what = match event.what {
            What::PolledMain => "the main future is polled".to_owned(),
            What::RanJob => "a job of spawn_blocking runs".to_owned(),
            What::Noted(number) => format!("the program notes {number}"),
            What::Told(index) => self.texts.get(index).cloned().unwrap_or_default(),
            What::Polled(number) => {
                let name = self.names.get(&number).map_or("", String::as_str);
                format!("task {number} is polled{name}")
            }
        };

        // Zero would have the six digits as well.
        match event.nanos {
            0 => format!("{:>14}  {what}", "0ns"),
            _ => format!("{time:>14.6?}  {what}"),
        }
    }

    /// The position of the first event that differs from another log's. `None` if the logs are the
    /// same.
    pub fn first_difference(&self, other: &Self) -> Option<usize> {
        let length = self.events.len().max(other.events.len());
        let is_equal = |position: &usize| {
            // The numbers alone may be the same for different tasks and texts.
            let describe = |log: &Self| {
                let event = *log.events.get(*position)?;
                let text = match event.what {
                    What::Polled(number) => log.names.get(&number).cloned(),
                    What::Told(index) => log.texts.get(index).cloned(),
                    _ => None,
                };
                Some((event, text))
            };
            describe(self) == describe(other)
        };

        // If they differ in what was not kept, it is the first event that was not.
        let differs = self.fingerprint() != other.fingerprint() || self.count != other.count;
        (0..length).find(|position| !is_equal(position)).or(differs.then_some(length))
    }
}

/// The hash FNV-1a, which is the same on every machine.
#[derive(Clone, Copy, Debug)]
struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
