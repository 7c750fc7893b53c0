//! What stands out in a timeline: sentences that name a culprit.
//!
//! A reader believes a sentence, so each of these has a rule that says when it may be said, at the
//! function that says it. What only looks like a mistake is said with "perhaps", and with what it
//! depends on. What a busy machine causes is told apart from what the program does.
//!
//! | file | says |
//! |---|---|
//! | `polls.rs` | polls that panicked, took long, go on, or did nothing |
//! | `late.rs` | polls and timers that were late, and workers that slept meanwhile |
//! | `turns.rs` | tasks that wait for a turn at the end, or for nothing |
//! | `stuck.rs` | tasks that wait for each other, or that nobody is left to wake |
//! | `locks.rs` | locks that tasks waited for, and who had them |
//! | `channels.rs` | channels that grow, are full, or lose values |
//! | `missing.rs` | notifications and answers that do not come |
//! | `resource_waits.rs` | all waits for locks and channels, which the last three look at |

mod channels;
mod late;
mod locks;
mod missing;
mod polls;
mod resource_waits;
mod stuck;
mod turns;

use crate::timeline::Timeline;
use crate::timeline::words::time;
use std::cmp::Reverse;

/// A poll is long if it takes longer than this, in nanoseconds.
pub(crate) const LONG_POLL: u64 = 10_000_000;

/// Work that waits for less than this while a worker sleeps is nobody's fault: to wake a worker
/// takes some time, and on crowded cores it takes until the kernel lets it run. The same is true of
/// a timer: most of what it is late is slack then, and the rest a wake-up.
const LATE: u64 = 2_000_000;

/// A wait that may never end is told of after so many nanoseconds.
const LONG_WAIT: u64 = 50_000_000;

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

/// A delay, and whose doing it is.
struct Delay {
    finding: Finding,
    /// The system did not run a thread that had something to do.
    is_system: bool,
}

impl Timeline {
    /// What stands out: panics first, then what cannot go on, and then what was the most expensive.
    /// What the system did comes last, in one line.
    pub fn findings(&self) -> Vec<Finding> {
        let mut delays = self.late_polls();
        delays.extend(self.slept_while_work_waited());
        let (of_system, of_program): (Vec<Delay>, Vec<Delay>) =
            delays.into_iter().partition(|delay| delay.is_system);

        // What cost time, by how much.
        let mut expensive = self.polls_that_go_on();
        expensive.extend(self.long_polls());
        expensive.extend(self.waits_for_ever());
        expensive.extend(self.wake_ups_for_nothing());
        expensive.extend(self.waits_for_resources());
        expensive.extend(self.self_wakers());
        expensive.extend(self.starved_values());
        expensive.extend(self.missed_notifications());
        expensive.extend(self.unanswered());
        expensive.extend(self.seen_again());
        expensive.extend(self.piles_up());
        expensive.extend(self.grows());
        expensive.extend(self.full_channels());
        expensive.extend(self.lost_values());
        expensive.extend(of_program.into_iter().map(|delay| delay.finding));
        expensive.sort_by_key(|finding| Reverse(finding.cost));

        // What cannot go on has no price: it stands before all that has one.
        let mut findings = self.panics();
        findings.extend(self.handed_over());
        findings.extend(self.stuck());
        findings.extend(expensive);
        findings.extend(system(of_system));
        findings
    }
}

/// What the system did, in one line: it did not run threads that had something to do.
fn system(mut delays: Vec<Delay>) -> Option<Finding> {
    delays.sort_by_key(|delay| Reverse(delay.finding.cost));
    let longest = delays.first()?.finding.clone();
    // On a busy machine there may be thousands. They have one cause, which is not in the program.
    let more = match delays.len() {
        1 => String::new(),
        count => format!("; {count} such delays stand out"),
    };
    let text = format!(
        "the system did not run a thread that had work for {}, as on a busy \
         machine{more}: {}",
        time(longest.cost),
        longest.text
    );
    Some(Finding { text, ..longest })
}
