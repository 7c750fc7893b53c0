//! A timeline as text: what stands out, the most delayed polls and why, and the tasks.

use crate::timeline::words::time;
use crate::timeline::{Timeline, Wait};
use crate::why::Why;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How much of each list is printed.
const FINDINGS_MAX: usize = 20;
const POLLS_MAX: usize = 10;
const WAITING_MAX: usize = 20;
const LINES_MAX: usize = 20;
const STEPS_MAX: usize = 40;

/// How many late polls are looked at for one of each line.
const LATE_MAX: usize = 10_000;

/// The contents of a `.txt` file.
pub(crate) fn render(timeline: &Timeline) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_all(&mut text, timeline);
    text
}

fn write_all(text: &mut String, timeline: &Timeline) -> std::fmt::Result {
    let Timeline { events, left_out, .. } = timeline;
    let took = time(timeline.end - timeline.begin);
    let (lanes, tasks) = (timeline.lanes.len(), timeline.tasks.len());
    writeln!(text, "{took} of a program: {events} events of {lanes} threads and {tasks} tasks.")?;
    if *left_out > 0 {
        writeln!(text, "{left_out} older events were left out, because there was no more room.")?;
    }

    // What most readers have come for.
    let findings = timeline.findings();
    writeln!(text, "\nWhat stands out")?;
    for finding in findings.iter().take(FINDINGS_MAX) {
        writeln!(text, "  at {}: {}", timeline.clock(finding.at), finding.text)?;
    }
    more(text, findings.len(), FINDINGS_MAX)?;

    last_steps(text, timeline)?;
    delayed_polls(text, timeline)?;

    writeln!(text, "\nWhat waited at the end")?;
    // Also what stands out above: here it is said of each task.
    let (waiting, count) = waiting(timeline);
    for line in waiting {
        writeln!(text, "  {line}")?;
    }
    more(text, count, WAITING_MAX)?;

    writeln!(text, "\nThe lines that spawned tasks, by the time of their polls")?;
    let lines = by_line(timeline);
    for line in lines.iter().take(LINES_MAX) {
        writeln!(text, "  {line}")?;
    }
    more(text, lines.len(), LINES_MAX)
}

/// The chains of causes of the polls that were delayed the most, with the share of each link.
fn delayed_polls(text: &mut String, timeline: &Timeline) -> std::fmt::Result {
    writeln!(text, "\nThe most delayed polls, and why")?;
    for (why, label) in most_delayed(timeline) {
        let total = time(why.total());
        writeln!(text, "  {label}: {total} from the first cause to the end")?;
        for link in &why.links {
            // A chain that took no time at all has no shares.
            let share = (link.time() * 100).checked_div(why.total()).unwrap_or(0);
            let took = time(link.time());
            writeln!(text, "    {share:>3} %  {took:>8}  {}", link.text)?;
        }
    }
    Ok(())
}

/// The last steps of a model: how it came to its failure.
fn last_steps(text: &mut String, timeline: &Timeline) -> std::fmt::Result {
    let schedule = &timeline.schedule;
    // It is no model that was recorded.
    if schedule.is_empty() {
        return Ok(());
    }

    writeln!(text, "\nThe last of {} steps of the schedule", schedule.len())?;
    let first = schedule.len().saturating_sub(STEPS_MAX);
    for (index, step) in schedule.iter().enumerate().skip(first) {
        let lane = timeline.lane_label(step.lane);
        let told = timeline.step_text(step);
        writeln!(text, "  {}: {lane} {told}", index + 1)?;
    }
    Ok(())
}

/// Says how much of a list was not printed.
fn more(text: &mut String, count: usize, max: usize) -> std::fmt::Result {
    match count {
        0 => writeln!(text, "  nothing"),
        _ if count > max => writeln!(text, "  and {} more", count - max),
        _ => Ok(()),
    }
}

/// The polls that were delayed the most, with their chains: those that had waited longest, one for
/// each line that spawned their tasks before a second one of any.
fn most_delayed(timeline: &Timeline) -> Vec<(Why, String)> {
    let waited = |index: &usize| Reverse(timeline.polls[*index].waited());
    let mut late: Vec<usize> = (0..timeline.polls.len()).collect();
    late.retain(|&index| timeline.polls[index].queued.is_some());
    late.sort_by_key(waited);

    // A burst delays a hundred tasks of one line, which all have the same story.
    let mut chosen: Vec<usize> = Vec::new();
    let mut rest = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for index in late.into_iter().take(LATE_MAX) {
        let task = timeline.polls[index].task;
        let is_first = seen.insert(&timeline.tasks[&task].location);
        let list = if is_first { &mut chosen } else { &mut rest };
        list.push(index);
    }
    chosen.extend(rest);
    chosen.truncate(POLLS_MAX);
    chosen.sort_by_key(waited);

    let explained = |index: usize| {
        let poll = &timeline.polls[index];
        let begin = timeline.clock(poll.begin);
        (timeline.why(index), format!("{} at {begin}", timeline.label(poll.task)))
    };
    chosen.into_iter().map(explained).collect()
}

/// The tasks that have waited the longest, and how many wait.
fn waiting(timeline: &Timeline) -> (Vec<String>, usize) {
    let mut waiting: Vec<(u64, u64, Vec<Wait>)> = Vec::new();
    for (&id, task) in &timeline.tasks {
        let Some((waits, begin)) = timeline.last_waits(id) else { continue };
        // What the end of its runtime has dropped waits no more.
        let since = task.dropped.unwrap_or(timeline.end).saturating_sub(begin);
        waiting.push((since, id, waits));
    }
    waiting.sort_by_key(|(since, ..)| Reverse(*since));

    // Hundreds of thousands may wait. A sentence is made for those that are printed.
    let line = |(since, id, waits): &(u64, u64, Vec<Wait>)| {
        let label = timeline.label(*id);
        let waits = timeline.text_of_waits(waits, timeline.end);
        format!("{label} has waited for {} {waits}", time(*since))
    };
    (waiting.iter().take(WAITING_MAX).map(line).collect(), waiting.len())
}

/// What the tasks did that one line has spawned. Times are nanoseconds.
#[derive(Default)]
struct Line {
    tasks: usize,
    polls: usize,
    time: u64,
    longest: u64,
    waited: u64,
}

/// For each line that spawned tasks, in the order of their time: how many, and what they did.
fn by_line(timeline: &Timeline) -> Vec<String> {
    let mut lines: BTreeMap<&str, Line> = BTreeMap::new();
    for task in timeline.tasks.values() {
        lines.entry(&task.location).or_default().tasks += 1;
    }
    for poll in &timeline.polls {
        let line = lines.entry(&timeline.tasks[&poll.task].location).or_default();
        let took = poll.time(timeline.end);
        line.polls += 1;
        line.time += took;
        line.longest = line.longest.max(took);
        line.waited = line.waited.max(poll.waited());
    }

    let mut lines: Vec<(&str, Line)> = lines.into_iter().collect();
    lines.sort_by_key(|(_, line)| Reverse(line.time));
    lines.into_iter().map(|(location, line)| line.text(location)).collect()
}

impl Line {
    fn text(&self, location: &str) -> String {
        // Who spawned a task is told once, and may have been left out.
        let location = if location.is_empty() { "(before the first event)" } else { location };
        let Self { tasks, polls, .. } = self;
        let took = time(self.time);
        let longest = time(self.longest);
        let waited = time(self.waited);
        format!(
            "{location}: tasks: {tasks}, polls: {polls}, {took}; the longest poll \
             {longest}, the longest wait in a queue {waited}"
        )
    }
}
