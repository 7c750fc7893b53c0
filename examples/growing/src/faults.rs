//! Three commands, each with a mistake that no compiler finds (chapter 22).
//!
//! Do not read on before you have looked for them with the tools: a seed, the timeline, the list.

use crate::frame::Reply;
use crate::journal::Journal;
use crate::store::Store;
use arc::time::sleep;
use std::io;
use std::time::Duration;

/// How often `wait_for` looks.
const LOOK: Duration = Duration::from_millis(20);

/// How often `digest` mixes each byte.
const ROUNDS: u64 = 4000;

/// Adds to the end of a value, and gives how long it is then.
///
/// # Errors
/// The journal cannot be written.
pub async fn append(
    store: &Store,
    journal: &Journal,
    key: &[u8],
    text: &[u8],
    reply: &mut Reply,
) -> io::Result<()> {
    let mut value = store.with(|map| map.get(key).cloned().unwrap_or_default());
    value.extend_from_slice(text);
    let length = value.len() as i64;

    let room = journal.reserve().await?;
    store.with(|map| {
        map.insert(key.to_vec(), value.clone());
        room.record(vec![b"SET".to_vec(), key.to_vec(), value]);
    });
    reply.integer(length);
    Ok(())
}

/// Gives a number that is another one if any value has changed.
///
/// # Errors
/// None.
pub async fn digest(store: &Store, reply: &mut Reply) -> io::Result<()> {
    let values: Vec<Vec<u8>> = store.with(|map| map.values().cloned().collect());
    let mut sum = 0_u64;
    for byte in values.iter().flatten() {
        let mut mixed = u64::from(*byte);
        for round in 0..ROUNDS {
            mixed = mixed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
        }
        sum = sum.wrapping_add(mixed);
    }
    reply.integer((sum >> 1) as i64);
    Ok(())
}

/// Waits until there is such a key.
///
/// # Errors
/// The journal cannot be written.
pub async fn wait_for(
    store: &Store,
    journal: &Journal,
    key: &[u8],
    reply: &mut Reply,
) -> io::Result<()> {
    // That somebody has waited is recorded. Room for that is there when it is needed.
    let room = journal.reserve().await?;
    while !store.with(|map| map.contains_key(key)) {
        sleep(LOOK).await;
    }
    room.record(vec![b"PING".to_vec()]);
    reply.simple("OK");
    Ok(())
}
