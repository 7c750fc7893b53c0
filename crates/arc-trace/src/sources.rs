//! What descriptors are that are no sockets: a signal, or the end of a child process.

use crate::recorder::clock;
use crate::resource::lock;
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
pub(crate) fn name(source: i64, name: &str) {
    let named = Named { source, from: clock(), to: None, name: name.into() };
    let mut names = lock(&NAMES);
    let oldest = if names.len() >= NAMES_MAX { names.pop_front() } else { None };
    names.push_back(named);
    drop(names);
    drop(oldest);
}

/// A source is closed. Its number may be given to another one.
pub(crate) fn forget(source: i64) {
    let now = clock();
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
