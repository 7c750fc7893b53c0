//! The last events of a simulation, and what happened in each of them: why a task was polled, what
//! it sent and received, which locks it got, what it waits for, and which branches it dropped.

use arc_sim_core::{Event, Log, What};
use arc_trace::{Event as Told, Recording, Timeline};

/// How many events are printed, and how much of each.
const EVENTS_SHOWN: usize = 40;
const DETAILS_SHOWN: usize = 8;

/// Prints the last events of the log.
pub(crate) fn print(log: &Log, recording: &Recording) {
    let events = log.last(EVENTS_SHOWN);
    let details = details(&events, recording);
    eprintln!("arc-sim: the last of {} events:", log.count());
    for (event, details) in events.iter().zip(details) {
        eprintln!("  {}", log.describe(event));

        // What it did last is what it waits for, most often: that stays.
        let cut = details.len().saturating_sub(DETAILS_SHOWN);
        let last = details.len() - DETAILS_SHOWN.min(details.len()) / 2;
        for (index, detail) in details.iter().enumerate() {
            if cut > 0 && index + cut == last {
                eprintln!("                      ({cut} more)");
            }
            if cut == 0 || index + cut < last || index >= last {
                eprintln!("                      {detail}");
            }
        }
    }
}

/// What the recording has of each of these events, which are the last ones of its log.
///
/// Each event of the log stands in the recording as well, as the step of a task or as a mark. They
/// come in the same order. So the last belongs to the last, and so on, as far as the recording has
/// kept them.
fn details(events: &[Event], recording: &Recording) -> Vec<Vec<String>> {
    let timeline = Timeline::new(recording);
    let mut all = vec![Vec::new(); events.len()];

    // A number that the program notes is not recorded.
    let is_marked = |index: &usize| !matches!(events[*index].what, What::Noted(_));
    let mut left: Vec<usize> = (0..events.len()).filter(is_marked).collect();

    // From the last to the first: what stands behind a step was done in it.
    let mut of_event = Vec::new();
    for record in recording.threads.iter().flat_map(|thread| &thread.records).rev() {
        let cause = match record.event {
            Told::Marked => None,
            Told::Step { task, number } if timeline.is_poll(task, number) => {
                timeline.cause(task, number)
            }
            event => {
                of_event.extend(deed(&timeline, event));
                continue;
            }
        };

        // Of events before the first one that is told, nothing is asked.
        let Some(index) = left.pop() else { break };
        of_event.extend(cause);
        of_event.reverse();
        all[index] = std::mem::take(&mut of_event);
    }
    all
}

/// Puts a text into the log of the simulation, if there is one.
pub(crate) fn tell(text: impl FnOnce() -> String) {
    if arc_sim_core::is_running() {
        arc_sim_core::tell(text);
        arc_trace::tell::marked();
    }
}

/// What a poll did, for a reader.
fn deed(timeline: &Timeline, event: Told) -> Option<String> {
    // What the runtime does by itself, as to queue a task, is told as the cause of a poll.
    let is_deed = matches!(
        event,
        Told::Spawned { .. }
            | Told::Ended { .. }
            | Told::Panicked { .. }
            | Told::WaitsForIo { .. }
            | Told::WaitsForTime { .. }
            | Told::WaitsForTask { .. }
            | Told::WaitsFor { .. }
            | Told::Holds { .. }
            | Told::Releases { .. }
            | Told::Sends { .. }
            | Told::Receives { .. }
            | Told::Chooses { .. }
            | Told::OutOfBudget
    );
    is_deed.then(|| timeline.describe(event))
}
