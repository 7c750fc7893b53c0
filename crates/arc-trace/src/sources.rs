//! What descriptors are that are no sockets: a signal, or the end of a child process.

use crate::lock::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// So many names are kept. The oldest go first.
const NAMES_MAX: usize = 1_024;

/// A source has had a name, as the end of a sentence after "for": "the signal SIGTERM".
#[derive(Clone, Debug)]
pub struct Named {
    pub(crate) source: i64,
    pub(crate) from: u64,
    /// None: it has it still.
    pub(crate) to: Option<u64>,
    pub(crate) name: Arc<str>,
}

static NAMES: Mutex<VecDeque<Named>> = Mutex::new(VecDeque::new());

/// A source has a name from now on.
pub(crate) fn name(source: i64, name: &str, now: u64) {
    let named = Named { source, from: now, to: None, name: name.into() };
    let mut names = lock(&NAMES);
    // It is dropped when the lock is free again.
    let oldest = if names.len() >= NAMES_MAX { names.pop_front() } else { None };
    names.push_back(named);
    drop(names);

    drop(oldest);
}

/// A source is closed. Its number may be given to another one.
pub(crate) fn forget(source: i64, now: u64) {
    let mut names = lock(&NAMES);
    let is_it = |named: &&mut Named| named.source == source && named.to.is_none();
    if let Some(named) = names.iter_mut().find(is_it) {
        named.to = Some(now);
    }
}

/// All names, the oldest first.
pub(crate) fn names() -> Vec<Named> {
    lock(&NAMES).iter().cloned().collect()
}

/// A source with a name has its place among the names above these bits, from 1.
const NAME_BITS: u32 = 40;

/// The number of a source in a timeline. A descriptor may have had one name after the other, so one
/// with a name gets a number of its own for each.
pub(crate) fn number_in(names: &[Named], source: i64, at: u64) -> i64 {
    let is_it = |named: &Named| {
        named.source == source && named.from <= at && named.to.is_none_or(|to| at <= to)
    };
    // Of several the latest: a name is given up at the moment at which another one may come.
    match names.iter().rposition(is_it) {
        Some(place) => source | (place as i64 + 1) << NAME_BITS,
        None => source,
    }
}

/// The name of a source by its number in a timeline, if it has one.
pub(crate) fn name_in(names: &[Named], number: i64) -> Option<&str> {
    let place = usize::try_from(number >> NAME_BITS).ok()?.checked_sub(1)?;
    names.get(place).map(|named| &*named.name)
}

/// What a task waits for now that waits for a source: the end of a sentence.
pub(crate) fn text(source: i64, write: bool) -> String {
    let names = lock(&NAMES);
    let named = names.iter().find(|named| named.source == source && named.to.is_none());
    match named {
        Some(named) => format!("for {}", named.name),
        None => {
            let what = if write { "written" } else { "read" };
            format!("until descriptor {source} can be {what}")
        }
    }
}
