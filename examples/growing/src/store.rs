//! What all clients share (chapter 18).

use crate::frame::{Reply, Request, number};
use crate::lock;
use std::collections::HashMap;
use std::sync::Mutex;

/// The keys and their values.
pub type Map = HashMap<Vec<u8>, Vec<u8>>;

/// The map, behind a lock.
#[derive(Default)]
pub struct Store(Mutex<Map>);

impl Store {
    /// Does something that nobody else comes in between of. `work` is no async function, so no
    /// `.await` can stand in it: the lock is held for a moment.
    pub fn with<R>(&self, work: impl FnOnce(&mut Map) -> R) -> R {
        work(&mut lock(&self.0))
    }
}

/// Whether a request changes something, if it succeeds.
pub fn changes(request: &Request) -> bool {
    let name = request.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default();
    matches!(name.as_slice(), b"SET" | b"DEL" | b"INCR")
}

/// Answers a request.
pub fn apply(map: &mut Map, request: &Request, reply: &mut Reply) {
    let Some((name, arguments)) = request.split_first() else { return };
    match (name.to_ascii_uppercase().as_slice(), arguments) {
        (b"PING", []) => reply.simple("PONG"),
        (b"ECHO" | b"PING", [text]) => reply.bulk(Some(text)),
        (b"GET", [key]) => reply.bulk(map.get(key).map(Vec::as_slice)),
        (b"SET", [key, value]) => {
            map.insert(key.clone(), value.clone());
            reply.simple("OK");
        }
        (b"DEL", [key]) => reply.integer(i64::from(map.remove(key).is_some())),
        (b"INCR", [key]) => increment(map.entry(key.clone()).or_default(), reply),
        (b"DBSIZE", []) => reply.integer(map.len() as i64),
        _ => reply.error("no such command, or other arguments"),
    }
}

fn increment(value: &mut Vec<u8>, reply: &mut Reply) {
    let old = if value.is_empty() { Some(0) } else { number::<i64>(value) };
    match old.and_then(|old| old.checked_add(1)) {
        Some(new) => {
            *value = new.to_string().into_bytes();
            reply.integer(new);
        }
        None => reply.error("value is not an integer or out of range"),
    }
}
