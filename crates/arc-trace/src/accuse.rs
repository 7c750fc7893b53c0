//! When tasks are accused of a deadlock, and in which words: for a program that goes on, and for a
//! timeline alike.

use crate::cycle::{Blockers, Certainty, Cycle, Need};
use crate::resource::{Holder, What};
use std::panic::Location;

/// So many nanoseconds a task must have waited for a guard that may have been moved, before its
/// owner is suspected.
const PATIENCE: u64 = 10_000_000_000;

/// Of the tasks among which nobody is left, so many are named.
pub(crate) const NAMED_MAX: usize = 4;

/// A wait for a lock, a channel or the like, and what is known of that thing.
pub(crate) struct Wanted<'a> {
    pub(crate) what: What,
    /// Who has it.
    pub(crate) holders: &'a [Holder],
    /// Who has received from a channel last, and the step of that poll.
    pub(crate) receiver: Option<(u64, u64)>,
    /// Permits were added to it, or tasks that nothing is told of.
    pub(crate) is_refilled: bool,
    /// For how many nanoseconds the task has waited.
    pub(crate) age: u64,
    /// Whether a task has spawned or sent something since it got a thing by a poll. The thing may
    /// have gone along.
    pub(crate) has_moved: &'a dyn Fn(u64, u64) -> bool,
}

impl Wanted<'_> {
    /// Who has to act so that the wait ends.
    pub(crate) fn need(&self) -> Need {
        match self.what {
            // Each reader of an RwLock has to go before a writer comes in.
            What::Mutex | What::RwLock => self.need_of_holders(false),
            // Any holder's permit will do.
            What::Semaphore => self.need_of_holders(true),
            What::Room => self.need_of_receiver(),
            // Many may send or notify, so nobody is known to be the only one.
            _ => Blockers::default().with(Certainty::Anybody),
        }
    }

    fn need_of_holders(&self, one_is_enough: bool) -> Need {
        let tasks = self.holders.iter().map(|holder| holder.task).collect();
        Blockers { tasks, one_is_enough }.with(self.certainty_of_holders())
    }

    /// How certain it is that those who got the thing are those who can give it back.
    fn certainty_of_holders(&self) -> Certainty {
        // A lock that nobody has is on its way to somebody, and a permit that was added may be
        // followed by another one.
        if self.holders.is_empty() || self.is_refilled {
            return Certainty::Anybody;
        }

        // A guard that borrows its lock stays in the future that got it: this is proof.
        if !self.holders.iter().any(|holder| holder.may_move) {
            return Certainty::Known;
        }

        // An owned guard goes where its task sends it. While it has hardly been out, or if its task
        // has spawned or sent something since, it is as likely to be elsewhere.
        let may_be_elsewhere =
            |holder: &Holder| holder.may_move && (self.has_moved)(holder.task, holder.step);
        if self.age < PATIENCE || self.holders.iter().any(may_be_elsewhere) {
            Certainty::WereLast
        } else {
            Certainty::Perhaps
        }
    }

    /// A channel has one receiver. Who received last has it, unless it was moved since.
    fn need_of_receiver(&self) -> Need {
        let Some((task, step)) = self.receiver else {
            return Blockers::default().with(Certainty::Anybody);
        };
        let certainty = match (self.has_moved)(task, step) {
            true => Certainty::WereLast,
            false => Certainty::Perhaps,
        };
        Blockers::one(task).with(certainty)
    }
}

/// The end of one of some tasks. If there are others of which nothing is told, anybody may end.
pub(crate) fn joins(tasks: Vec<u64>, has_others: bool) -> Need {
    let certainty = if has_others { Certainty::Anybody } else { Certainty::Known };
    Blockers { tasks, one_is_enough: true }.with(certainty)
}

/// The end of a sentence: who waits for whom.
pub(crate) fn cycle_text(cycle: &Cycle, link: impl Fn(&(u64, usize)) -> String) -> String {
    let links: Vec<String> = cycle.iter().map(link).collect();
    let who = match links.len() {
        1 => "a task waits for itself",
        _ => "tasks wait for each other",
    };
    format!("{who}: {}", links.join("; and "))
}

/// The end of a sentence: on what it depends whether a cycle is a deadlock.
pub(crate) fn assumption(given_up: &[String]) -> String {
    match given_up {
        // The guards that these tasks have got are not known to be where they were.
        [] => "it is one if nobody has moved a guard or a receiver to another task".to_owned(),
        // A future that was given up and kept may be polled again, and end the wait.
        [first, ..] => format!(
            "it is one if no task still waits for what a select! or a timeout has given \
             up, such as {first}"
        ),
    }
}

/// A sentence about a program in which nothing goes on. Some of its tasks are named.
pub(crate) fn nobody_text(count: usize, named: Vec<String>) -> String {
    let more = if count > NAMED_MAX { "; and more" } else { "" };
    format!(
        "nobody is left who could wake it, but for a thread outside of the runtime: all \
         that has not ended ({count}) waits for locks, channels and tasks, and nothing \
         for a socket or a timer: {}{more}",
        named.join("; ")
    )
}

/// A task that has asked for a lock, by its label, and the line that did.
pub(crate) struct Asker<'a> {
    pub(crate) label: &'a str,
    pub(crate) line: Option<&'static Location<'static>>,
}

impl Asker<'_> {
    fn at(&self) -> String {
        self.line.map_or(String::new(), |line| format!(" at {line}"))
    }
}

/// A sentence about a lock that was given to a future which nobody polls. `first` has that future,
/// and `waiter` stands behind it.
pub(crate) fn handed_over_text(
    what: What,
    location: &Location<'_>,
    waiter: &Asker<'_>,
    first: &Asker<'_>,
) -> String {
    format!(
        "handed over: {} waits{} for {} made at {location}, which nobody has: it was \
         given to a future of {}, which has asked for it{} and is not polled any more, \
         since a `select!` or a timeout has given it up. Drop such a future before you \
         ask again",
        waiter.label,
        waiter.at(),
        what.name(),
        first.label,
        first.at(),
    )
}
