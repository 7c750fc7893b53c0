//! A timeline as text: what stands out, the most delayed polls and why, and the tasks.

use crate::timeline::words::time;
use crate::timeline::{Timeline, Wait};
use crate::why::Why;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How much of each list is printed.
const FINDINGS_MAX: usize = 20;
const POLLS_MAX: usize = 10;
const WAITING_MAX: usize = 20;
const LINES_MAX: usize = 20;
const STEPS_MAX: usize = 40;

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

    let findings = timeline.findings();
    writeln!(text, "\nWhat stands out")?;
    for finding in findings.iter().take(FINDINGS_MAX) {
        writeln!(text, "  at {}: {}", timeline.clock(finding.at), finding.text)?;
    }
    more(text, findings.len(), FINDINGS_MAX)?;

    last_steps(text, timeline)?;

    writeln!(text, "\nThe most delayed polls, and why")?;
    for (why, label) in most_delayed(timeline) {
        writeln!(text, "  {label}: {} from the first cause to the end", time(why.total()))?;
        for link in &why.links {
            let share = (link.time() * 100).checked_div(why.total()).unwrap_or(0);
            writeln!(text, "    {share:>3} %  {:>8}  {}", time(link.time()), link.text)?;
        }
    }

    writeln!(text, "\nWhat waited at the end")?;
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

/// The last steps of a model: how it came to its failure.
fn last_steps(text: &mut String, timeline: &Timeline) -> std::fmt::Result {
    let schedule = &timeline.schedule;
    if schedule.is_empty() {
        return Ok(());
    }
    writeln!(text, "\nThe last of {} steps of the schedule", schedule.len())?;
    let first = schedule.len().saturating_sub(STEPS_MAX);
    for (index, step) in schedule.iter().enumerate().skip(first) {
        let (lane, told) = (timeline.lane_label(step.lane), timeline.step_text(step));
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
    let mut late: Vec<usize> = (0..timeline.polls.len()).collect();
    late.retain(|&index| timeline.polls[index].queued.is_some());
    late.sort_by_key(|&index| std::cmp::Reverse(timeline.polls[index].waited()));

    let mut chosen: Vec<usize> = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rest = Vec::new();
    for index in late.into_iter().take(10_000) {
        let count = seen.entry(&timeline.tasks[&timeline.polls[index].task].location).or_default();
        *count += 1;
        if *count == 1 { chosen.push(index) } else { rest.push(index) }
    }
    chosen.extend(rest);
    chosen.truncate(POLLS_MAX);
    chosen.sort_by_key(|&index| std::cmp::Reverse(timeline.polls[index].waited()));

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
        let since = task.dropped.unwrap_or(timeline.end).saturating_sub(begin);
        waiting.push((since, id, waits));
    }
    waiting.sort_by_key(|(since, ..)| std::cmp::Reverse(*since));
    // Hundreds of thousands may wait. A sentence is made for those that are printed.
    let line = |(since, id, waits): &(u64, u64, Vec<Wait>)| {
        let (label, waits) = (timeline.label(*id), timeline.text_of_waits(waits, timeline.end));
        format!("{label} has waited for {} {waits}", time(*since))
    };
    (waiting.iter().take(WAITING_MAX).map(line).collect(), waiting.len())
}

#[derive(Default)]
struct Line {
    tasks: usize,
    polls: usize,
    time: u64,
    longest: u64,
    waited: u64,
}

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
    lines.sort_by_key(|(_, line)| std::cmp::Reverse(line.time));
    let text = |(location, line): (&str, Line)| {
        let location = if location.is_empty() { "(before the first event)" } else { location };
        let Line { tasks, polls, .. } = line;
        let (took, longest, waited) = (time(line.time), time(line.longest), time(line.waited));
        format!(
            "{location}: tasks: {tasks}, polls: {polls}, {took}; the longest poll {longest}, the \
             longest wait in a queue {waited}"
        )
    };
    lines.into_iter().map(text).collect()
}
