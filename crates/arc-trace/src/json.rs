//! A timeline in the JSON format of `chrome://tracing`, which Perfetto reads.
//!
//! All events are complete ones: each has a beginning and a length. Times are microseconds.

use crate::quote;
use crate::timeline::{By, Poll, Timeline};
use std::fmt::{Result, Write};

/// The numbers of the rows that are no threads.
const KERNEL: usize = 10_001;
const QUEUES: usize = 10_002;

/// The contents of a `.json` file.
pub(crate) fn render(timeline: &Timeline) -> String {
    let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    // Writing to a string does not fail.
    let _ = write_all(&mut text, timeline);
    text
}

fn write_all(text: &mut String, timeline: &Timeline) -> Result {
    for lane in 0..timeline.lanes.len() {
        row_name(text, lane, &timeline.lane_label(lane))?;
    }
    row_name(text, KERNEL, "the kernel")?;
    row_name(text, QUEUES, "waits in queues")?;

    // A sleep is drawn in the thread's row, between its polls. The looks of all threads share a
    // row, as a look may be inside of a sleep.
    for (index, poll) in timeline.polls.iter().enumerate() {
        write_poll(text, timeline, index, poll)?;
    }
    for sleep in &timeline.sleeps {
        let name = if sleep.in_seat { "waits for the kernel" } else { "parked" };
        let time = sleep.end.unwrap_or(timeline.end).saturating_sub(sleep.begin);
        let begin = sleep.begin - timeline.begin;
        complete(text, sleep.lane, quote::json(name), "sleep", begin, time)?;
        text.push_str("},\n");
    }
    for look in &timeline.looks {
        let name = if look.waits { "wait" } else { "look" };
        let time = look.end.unwrap_or(timeline.end).saturating_sub(look.begin);
        let begin = look.begin - timeline.begin;
        complete(text, KERNEL, quote::json(name), "kernel", begin, time)?;
        writeln!(text, ",\"args\":{{\"ready\":{}}}}},", look.ready.len())?;
    }

    // The last one has no comma behind it.
    let (events, left_out) = (timeline.events, timeline.left_out);
    let name = quote::json(&format!("{events} events, {left_out} left out"));
    complete(text, KERNEL, name, "about", 0, timeline.end - timeline.begin)?;
    text.push_str("}\n]}\n");
    Ok(())
}

fn write_poll(text: &mut String, timeline: &Timeline, index: usize, poll: &Poll) -> Result {
    let label = timeline.label(poll.task);
    let name = quote::json(&label);
    let begin = poll.begin - timeline.begin;
    complete(text, poll.lane, name.clone(), "poll", begin, poll.time(timeline.end))?;

    let woken = match poll.queued.map(|queued| queued.by) {
        Some(By::Poll(by)) if by == index => "itself".to_owned(),
        Some(By::Poll(by)) => timeline.label(timeline.polls[by].task),
        Some(By::Look(_)) => "the kernel or a timer".to_owned(),
        Some(By::Thread(lane)) => timeline.lane_label(lane),
        None => "nobody".to_owned(),
    };
    let woken = quote::json(&woken);
    let waited = poll.waited();
    let operations = poll.operations;
    let nothing = poll.did_nothing;
    let panicked = timeline.did_panic(poll);
    writeln!(
        text,
        ",\"args\":{{\"woken by\":{woken},\"waited ns\":{waited},\
         \"operations\":{operations},\"did nothing\":{nothing},\
         \"panicked\":{panicked}}}}},"
    )?;

    // The wait before it, in a row of its own: another poll was under way in that of the thread.
    if let Some(queued) = poll.queued {
        complete(text, QUEUES, name, "queue", queued.at - timeline.begin, waited)?;
        text.push_str("},\n");
    }
    Ok(())
}

/// The beginning of a complete event, without the brace that closes it. The name is quoted already.
fn complete(
    text: &mut String,
    row: usize,
    name: String,
    kind: &str,
    begin: u64,
    time: u64,
) -> Result {
    let (begin, time) = (begin as f64 / 1e3, time as f64 / 1e3);
    // "X" is a complete event, and a row is a thread of a process.
    write!(
        text,
        "{{\"ph\":\"X\",\"pid\":1,\"tid\":{row},\"name\":{name},\"cat\":\"{kind}\",\
         \"ts\":{begin:.3},\"dur\":{time:.3}"
    )
}

fn row_name(text: &mut String, row: usize, name: &str) -> Result {
    let name = quote::json(name);
    // "M" says something about a row, and has no time.
    writeln!(
        text,
        "{{\"ph\":\"M\",\"pid\":1,\"tid\":{row},\"name\":\"thread_name\",\
         \"args\":{{\"name\":{name}}}}},"
    )
}
