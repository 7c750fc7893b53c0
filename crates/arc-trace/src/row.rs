//! What the page shows in a task's own row, beside its polls: what the task waited for between
//! them, and which locks it had.

use crate::quote;
use crate::resource::What;
use crate::timeline::{Hold, Task, Timeline, Wait};
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;

/// The kinds of waits, each of which the page draws in its own way: their places in `WAITS` there.
#[derive(Clone, Copy)]
enum Kind {
    Io,
    Timer,
    Task,
    Lock,
    Channel,
    Notify,
}

/// Collects what is waited for. Each thing is named once, and the waits give its number.
pub(crate) struct Waits<'a> {
    timeline: &'a Timeline,
    number_of: HashMap<Wait, usize>,
    /// For each number an array: its kind, its text, and its resource. Of a timer: its deadline.
    things: Vec<String>,
}

impl<'a> Waits<'a> {
    pub(crate) fn new(timeline: &'a Timeline) -> Self {
        Self { timeline, number_of: HashMap::new(), things: Vec::new() }
    }

    pub(crate) fn into_things(self) -> Vec<String> {
        self.things
    }

    /// For each poll the numbers of what its task waited for after it. Zero: it did not wait, or
    /// what it did then is not known.
    pub(crate) fn of_polls(&mut self) -> Vec<String> {
        let timeline = self.timeline;
        let mut all = vec!["0".to_owned(); timeline.polls.len()];
        // A job has a single poll, and waits in it for what it likes.
        for task in timeline.tasks.values().filter(|task| !task.is_job) {
            for (place, &index) in task.polls.iter().enumerate() {
                let poll = &timeline.polls[index];
                let Some(end) = poll.end.filter(|_| !poll.is_last) else { continue };

                let next = task.polls.get(place + 1).map(|&next| &timeline.polls[next]);
                let is_known = match next {
                    // Otherwise the polls between the two were left out.
                    Some(next) => next.step == poll.step + 2,
                    None => end >= timeline.complete_since,
                };
                if is_known {
                    all[index] = self.numbers(&poll.waits, end);
                }
            }
        }
        all
    }

    /// What a task waits for whose last poll was left out: since when, and the numbers of that.
    pub(crate) fn kept(&mut self, task: u64) -> String {
        let Some((since, waits)) = self.timeline.kept.get(&task) else { return "0".to_owned() };
        let numbers = self.numbers(waits, *since);
        format!("[{},{numbers}]", since.saturating_sub(self.timeline.begin))
    }

    /// An array of the numbers of what is waited for from a time on.
    fn numbers(&mut self, waits: &[Wait], since: u64) -> String {
        // What had happened by then is no wait: it was asked for early in the poll.
        let is_open = |wait: &&Wait| match wait {
            Wait::Time { deadline } => *deadline > since,
            Wait::Task { task } => {
                let ended = self.timeline.tasks.get(task).and_then(|task| task.ended);
                ended.is_none_or(|ended| ended > since)
            }
            // The wait for its next turn is one in a queue, which is shown.
            Wait::Turn => false,
            Wait::Io { .. } | Wait::Resource { .. } => true,
        };

        let open: Vec<Wait> = waits.iter().filter(is_open).copied().collect();
        let numbers = open.iter().map(|wait| self.number(wait).to_string());
        let numbers: Vec<String> = numbers.collect();
        format!("[{}]", numbers.join(","))
    }

    fn number(&mut self, wait: &Wait) -> usize {
        if let Some(&number) = self.number_of.get(wait) {
            return number;
        }

        // A thing that is new. Its text may be long, so it is written once.
        let thing = self.thing(wait);
        let number = self.things.len();
        self.things.push(thing);
        self.number_of.insert(*wait, number);
        number
    }

    /// What the page is to know of a thing.
    fn thing(&self, wait: &Wait) -> String {
        let timeline = self.timeline;
        let text = || quote::json(&timeline.text_of_waits(&[*wait], 0));
        match *wait {
            // The page says itself how long that is from where the reader looks.
            Wait::Time { deadline } => {
                let deadline = deadline.saturating_sub(timeline.begin);
                format!("[{},{deadline}]", Kind::Timer as u8)
            }
            Wait::Io { .. } | Wait::Turn => format!("[{},{}]", Kind::Io as u8, text()),
            Wait::Task { .. } => format!("[{},{}]", Kind::Task as u8, text()),
            Wait::Resource { resource, line, .. } => {
                let info = timeline.resources.get(&resource);
                let kind = info.map_or(Kind::Lock, |info| kind(info.what));
                // Who has it is another matter: that changes.
                let text = quote::json(&timeline.text_with_holders(resource, line, 0, &[]));
                format!("[{},{text},{resource}]", kind as u8)
            }
        }
    }
}

fn kind(what: What) -> Kind {
    match what {
        What::Mutex | What::RwLock | What::Semaphore => Kind::Lock,
        What::Room | What::Value | What::Oneshot | What::Watch | What::Broadcast => Kind::Channel,
        What::JoinSet | What::Select => Kind::Task,
        What::Notify | What::Barrier | What::Cell | What::Closed | What::Token => Kind::Notify,
    }
}

/// Until when a task waited after its last poll, and whether it is in a queue from then on.
pub(crate) fn last_wait(timeline: &Timeline, task: &Task) -> (u64, bool) {
    let over = task.ended.or(task.dropped).unwrap_or(timeline.end);
    let until = task.queued.map_or(over, |queued| queued.at);
    (until.saturating_sub(timeline.begin), task.queued.is_some())
}

/// Who had which lock, by which line, from when on and for how long. The lines come beside.
pub(crate) fn holds(
    timeline: &Timeline,
    index_of: &BTreeMap<u64, usize>,
) -> (Vec<String>, Vec<String>) {
    let mut lines: Vec<String> = Vec::new();
    let mut number_of: HashMap<&'static Location<'static>, usize> = HashMap::new();
    let mut arrays = Vec::new();
    for hold in &timeline.holds {
        let &Hold { resource, task, begin, end, .. } = hold;
        // A thread that polls no task may have a lock as well, and has no row of its own.
        let task = index_of.get(&task).map_or(-1, |task| *task as i64);

        let line = timeline.line(resource, hold.line).map(|line| {
            // A line stands in the page once, however many locks it has got.
            *number_of.entry(line).or_insert_with(|| {
                lines.push(quote::json(&line.to_string()));
                lines.len() - 1
            })
        });
        let line = line.map_or(-1, |line| line as i64);

        let time = end.unwrap_or(timeline.end).saturating_sub(begin);
        let goes_on = u8::from(end.is_none());
        let begin = begin.saturating_sub(timeline.begin);
        arrays.push(format!("[{resource},{task},{line},{begin},{time},{goes_on}]"));
    }
    (arrays, lines)
}
