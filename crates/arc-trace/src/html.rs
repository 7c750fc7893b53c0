//! A timeline as a page for the browser, in one file that needs no network.
//!
//! What is to be known is found out here, and handed to the page as columns of numbers. The script
//! only draws it. Times in the columns are nanoseconds since the first event.

use crate::findings::{Finding, LONG_POLL};
use crate::quote;
use crate::row::{self, Waits};
use crate::timeline::{By, Look, Place, Poll, ScheduleStep, Sleep, Task, Timeline, Wait};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write};

const SCRIPT: &str = include_str!("viewer.js");
const STYLE: &str = include_str!("viewer.css");
const BODY: &str = include_str!("viewer.html");

/// How many polls that a poll waited behind are looked at for the longest one.
const BEHIND_MAX: usize = 300;

/// How many findings the page lists.
const FINDINGS_MAX: usize = 50;

/// The contents of an `.html` file.
pub(crate) fn render(timeline: &Timeline) -> String {
    let mut page = String::from("<!doctype html>\n<html lang=\"en\">\n");
    page += "<meta charset=\"utf-8\">\n";
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    page += "<title>A timeline of arc</title>\n<style>\n";
    page += STYLE;
    page += "</style>\n";
    page += BODY;

    // The data first, as the script draws it as soon as it runs.
    page += "<script>\nconst DATA = ";
    page += &Page::new(timeline).data();
    page += ";\n";
    page += SCRIPT;
    page += "</script>\n</html>\n";
    page
}

struct Page<'a> {
    timeline: &'a Timeline,
    /// The tasks' places in the list that the page gets.
    index_of: BTreeMap<u64, usize>,
    /// The lines that spawned tasks, likewise.
    line_of: BTreeMap<&'a str, usize>,
    /// For each thread, how long its polls have taken before each of them.
    busy: Vec<Vec<u64>>,
}

impl<'a> Page<'a> {
    fn new(timeline: &'a Timeline) -> Self {
        // An id has many digits, and a line many letters. A page has hundreds of thousands of them,
        // so they are numbered.
        let ids = timeline.tasks.keys().enumerate();
        let index_of = ids.map(|(index, &id)| (id, index)).collect();
        let locations = timeline.tasks.values().map(|task| task.location.as_str());
        let lines: BTreeSet<&str> = locations.collect();
        let lines = lines.into_iter().enumerate();
        let line_of = lines.map(|(index, line)| (line, index)).collect();

        // Sums, so that the time between any two polls is one subtraction.
        let sums = |polls: &Vec<usize>| {
            let mut sum = 0;
            let mut sums = vec![0];
            for &poll in polls {
                sum += timeline.polls[poll].time(timeline.end);
                sums.push(sum);
            }
            sums
        };
        let busy = timeline.lanes.iter().map(|lane| sums(&lane.polls)).collect();
        Self { timeline, index_of, line_of, busy }
    }

    fn since_begin(&self, at: u64) -> u64 {
        at.saturating_sub(self.timeline.begin)
    }

    /// The object that the script reads.
    fn data(&self) -> String {
        let timeline = self.timeline;
        let mut data = String::from("{");
        // Writing to a string does not fail.
        let _ = write!(data, "span:{},", timeline.end - timeline.begin);
        let _ = write!(data, "events:{},leftOut:{},", timeline.events, timeline.left_out);
        self.rows(&mut data);
        list(&mut data, "lines", self.line_of.keys().map(|line| quote::json(line)));

        // What is waited for is numbered as it comes, so the list of it stands behind.
        let mut waits = Waits::new(timeline);
        self.tasks(&mut data, &mut waits);
        self.polls(&mut data);
        list(&mut data, "waits", waits.of_polls().into_iter());
        list(&mut data, "things", waits.into_things().into_iter());
        let (holds, hold_lines) = row::holds(timeline, &self.index_of);
        list(&mut data, "holds", holds.into_iter());
        list(&mut data, "holdLines", hold_lines.into_iter());

        self.sleeps_and_looks(&mut data);
        self.queue(&mut data);
        self.schedule(&mut data);
        self.findings(&mut data);
        data.push('}');
        data
    }

    /// The threads, and in which row each of them is drawn.
    fn rows(&self, data: &mut String) {
        let timeline = self.timeline;
        let lanes = 0..timeline.lanes.len();
        let mut rows: Vec<usize> = lanes.clone().collect();
        rows.sort_by_key(|&lane| timeline.lanes[lane].rank());
        let mut ranks = vec![0; rows.len()];
        for (row, lane) in rows.into_iter().enumerate() {
            // The page has the threads by their places, and asks for each in which row it is.
            ranks[lane] = row;
        }

        list(data, "lanes", lanes.map(|lane| quote::json(&timeline.lane_label(lane))));
        list(data, "ranks", ranks.iter());
    }

    fn tasks(&self, data: &mut String, waits: &mut Waits<'_>) {
        let timeline = self.timeline;
        let task = |(&id, task): (&u64, &Task)| {
            let name = quote::json(task.name.as_deref().unwrap_or_default());
            let line = self.line_of[task.location.as_str()];
            // 0: a task. 1: a job. 2: a `block_on`.
            let kind = if task.is_main { 2 } else { u8::from(task.is_job) };

            // A task that has ended waits for nothing, and has no such text.
            let at_end = match timeline.last_waits(id) {
                Some((waits, _)) => timeline.text_of_waits(&waits, timeline.end),
                None => String::new(),
            };
            let at_end = quote::json(&at_end);
            let (until, is_queued) = row::last_wait(timeline, task);
            let is_queued = u8::from(is_queued);
            let kept = waits.kept(id);
            format!("[{id},{name},{line},{kind},{at_end},{until},{is_queued},{kept}]")
        };
        list(data, "tasks", timeline.tasks.iter().map(task));
    }

    /// The polls, a column for each thing that is known of them.
    fn polls(&self, data: &mut String) {
        let timeline = self.timeline;
        let polls = &timeline.polls;
        list(data, "task", polls.iter().map(|poll| self.index_of[&poll.task]));
        list(data, "lane", polls.iter().map(|poll| poll.lane));

        // Of the times only what has passed since the poll before: these have fewer digits.
        let mut before = 0;
        let begins = polls.iter().map(|poll| {
            let begin = self.since_begin(poll.begin);
            begin - std::mem::replace(&mut before, begin)
        });
        list(data, "begin", begins);
        list(data, "time", polls.iter().map(|poll| poll.time(timeline.end)));
        list(data, "waited", polls.iter().map(Poll::waited));
        list(data, "flags", polls.iter().map(|poll| flags(timeline, poll)));
        list(data, "place", polls.iter().map(place));
        list(data, "by", polls.iter().map(by));
        list(data, "behind", polls.iter().map(|poll| self.behind(poll)));

        let polls = polls.iter().enumerate();
        list(data, "kernel", polls.filter_map(|(index, poll)| self.kernel(index, poll)));
    }

    /// How many polls a poll waited behind, for how long, and which task had the longest of them.
    fn behind(&self, poll: &Poll) -> String {
        let Some(queued) = poll.queued else { return "0".to_owned() };
        // From a queue that several threads take from, it is those of the one that took it.
        let lane = match queued.place {
            Place::Worker(lane) => lane,
            Place::Injector | Place::Pool => poll.lane,
        };
        let polls = &self.timeline.lanes[lane].polls;
        let begin = |index: &usize| self.timeline.polls[*index].begin;
        let first = polls.partition_point(|index| begin(index) < queued.at);
        let past = polls.partition_point(|index| begin(index) < poll.begin);

        // The one that was under way counts if it went on.
        let goes_on = |index: &usize| {
            let end = self.timeline.polls[*index].end.unwrap_or(self.timeline.end);
            end > queued.at
        };
        let first = first - usize::from(first > 0 && goes_on(&polls[first - 1]));
        if first >= past {
            return "0".to_owned();
        }

        let time = self.busy[lane][past] - self.busy[lane][first];
        // A burst of thousands is shown by its sum. The longest of all would take too long to find.
        let looked_at = polls[first..past].iter().take(BEHIND_MAX);
        let took = |index: &&usize| self.timeline.polls[**index].time(self.timeline.end);
        let longest = looked_at.max_by_key(took).map_or(0, |index| *index);
        format!("[{},{time},{longest}]", past - first)
    }

    /// The sentence about the look at the kernel that woke a poll's task, and how long before it
    /// was due.
    fn kernel(&self, index: usize, poll: &Poll) -> Option<String> {
        let By::Look(look) = poll.queued?.by else { return None };
        let (late, text) = self.timeline.due_text(index, look);
        Some(format!("[{index},{late},{}]", quote::json(&text)))
    }

    fn sleeps_and_looks(&self, data: &mut String) {
        let Timeline { sleeps, looks, end, .. } = self.timeline;
        let sleep = |sleep: &Sleep| {
            let begin = self.since_begin(sleep.begin);
            let time = sleep.end.unwrap_or(*end).saturating_sub(sleep.begin);
            let in_seat = u8::from(sleep.in_seat);
            format!("[{},{begin},{time},{in_seat}]", sleep.lane)
        };
        list(data, "sleeps", sleeps.iter().map(sleep));

        let look = |look: &Look| {
            let begin = self.since_begin(look.begin);
            // One that has not ended waits until the end.
            let time = look.end.unwrap_or(*end).saturating_sub(look.begin);
            let waits = u8::from(look.waits);
            format!("[{},{begin},{time},{waits},{}]", look.lane, look.ready.len())
        };
        list(data, "looks", looks.iter().map(look));
    }

    /// How many tasks are in queues, each time that it changes.
    fn queue(&self, data: &mut String) {
        let mut length = 0;
        let mut before = 0;
        let points = self.timeline.queue_changes().into_iter().map(|(at, change)| {
            length += change;
            // Times as those of polls: what has passed since the point before.
            let at = self.since_begin(at);
            let since = at - std::mem::replace(&mut before, at);
            format!("{since},{length}")
        });
        list(data, "queue", points);
    }

    fn schedule(&self, data: &mut String) {
        let step = |step: &ScheduleStep| {
            let text = quote::json(&self.timeline.step_text(step));
            format!("[{},{},{text}]", step.lane, self.since_begin(step.at))
        };
        list(data, "schedule", self.timeline.schedule.iter().map(step));
    }

    fn findings(&self, data: &mut String) {
        let finding = |Finding { cost, at, task, text }: Finding| {
            // A click on it leads to a poll, if there is one.
            let poll = task.and_then(|task| self.poll_at(task, at));
            let poll = poll.map_or(-1, |poll| poll as i64);
            format!("[{poll},{},{cost},{}]", self.since_begin(at), quote::json(&text))
        };
        let findings = self.timeline.findings().into_iter().take(FINDINGS_MAX);
        list(data, "findings", findings.map(finding));
    }

    /// The first poll of a task that ends after a time, or its last one.
    fn poll_at(&self, task: u64, at: u64) -> Option<usize> {
        let polls = &self.timeline.tasks.get(&task)?.polls;
        let end = self.timeline.end;
        let ends_after = |index: &&usize| self.timeline.polls[**index].end.unwrap_or(end) > at;
        // What stands out may be the time after its last poll.
        polls.iter().find(ends_after).or(polls.last()).copied()
    }
}

/// Adds `name:[a,b,c],`.
fn list<T: Display>(data: &mut String, name: &str, items: impl Iterator<Item = T>) {
    data.push_str(name);
    data.push_str(":[");
    for (index, item) in items.enumerate() {
        if index > 0 {
            data.push(',');
        }
        // Writing to a string does not fail.
        let _ = write!(data, "{item}");
    }
    data.push_str("],\n");
}

/// 1: long. 2: did nothing. 4: the task's last. 8: goes on. 16: out of budget. 32: panicked.
fn flags(timeline: &Timeline, poll: &Poll) -> u8 {
    let is_long = poll.end.is_some_and(|end| end - poll.begin > LONG_POLL);
    u8::from(is_long)
        | u8::from(poll.did_nothing) << 1
        | u8::from(poll.is_last) << 2
        | u8::from(poll.end.is_none()) << 3
        | u8::from(poll.waits.contains(&Wait::Turn)) << 4
        | u8::from(timeline.did_panic(poll)) << 5
}

/// The thread whose queue it was; -1: the injector, -2: the pool, -3: no queue.
fn place(poll: &Poll) -> i64 {
    match poll.queued.map(|queued| queued.place) {
        Some(Place::Worker(lane)) => lane as i64,
        Some(Place::Injector) => -1,
        Some(Place::Pool) => -2,
        None => -3,
    }
}

/// Who woke it: the poll; or -1: a look at the kernel; -2: nobody is known; -3 and below: a thread.
fn by(poll: &Poll) -> i64 {
    match poll.queued.map(|queued| queued.by) {
        Some(By::Poll(by)) => by as i64,
        Some(By::Look(_)) => -1,
        None => -2,
        Some(By::Thread(lane)) => -3 - lane as i64,
    }
}
