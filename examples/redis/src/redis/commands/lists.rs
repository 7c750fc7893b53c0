//! Lists, and waiting for their elements.

use super::{Call, Done, Error};
use crate::redis::blocking::Blocked;
use crate::redis::client::Next;
use crate::redis::store::List;
use crate::rt::time::Instant;
use std::time::Duration;

pub fn push(call: &mut Call<'_>, push: fn(&mut List, Vec<u8>)) -> Done {
    let elements = &call.request[2..];
    let length = call.db.push(call.request[1], |list| {
        for element in elements {
            push(list, element.to_vec());
        }
    })?;
    call.reply.integer(length);
    Ok(())
}

pub fn pop(call: &mut Call<'_>, pop: fn(&mut List) -> Option<Vec<u8>>) -> Done {
    let key = call.request[1];
    let element = call.db.list(key)?.and_then(pop);
    call.db.tidy(key);
    call.reply.bulk_or_null(element.as_deref());
    Ok(())
}

pub fn llen(call: &mut Call<'_>) -> Done {
    let length = call.db.list(call.request[1])?.map_or(0, |list| list.len());
    call.reply.integer(length);
    Ok(())
}

/// From `start` to `stop`, both included, and counted from behind if they are negative.
pub fn lrange(call: &mut Call<'_>) -> Done {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let Some(list) = call.db.list(call.request[1])? else {
        call.reply.array(0);
        return Ok(());
    };
    let length = list.len() as i64;
    let from_front = |place: i64| if place < 0 { place.saturating_add(length) } else { place };
    let start = from_front(start).clamp(0, length);
    let end = from_front(stop).saturating_add(1).clamp(start, length);
    call.reply.bulks(list.range(start as usize..end as usize).map(Vec::as_slice));
    Ok(())
}

/// `BLPOP key [key ...] seconds`: 0 is for ever.
pub fn blpop(call: &mut Call<'_>) -> Done {
    let (seconds, keys) = call.request[1..].split_last().ok_or(Error::SYNTAX)?;
    let deadline = deadline(seconds)?;
    for key in keys {
        if let Some(element) = call.db.list(key)?.and_then(List::pop_front) {
            call.db.tidy(key);
            call.reply.bulks([*key, &*element].into_iter());
            return Ok(());
        }
    }
    let waiter = call.db.waiting.enter(keys.iter().map(|key| key.to_vec()).collect());
    let shared = call.client.shared.clone();
    call.client.next = Next::Block(Blocked { waiter, shared, deadline });
    Ok(())
}

/// None: there is none.
fn deadline(seconds: &[u8]) -> Result<Option<Instant>, Error> {
    let seconds = str::from_utf8(seconds).ok().and_then(|text| text.parse::<f64>().ok());
    if seconds == Some(0.0) {
        return Ok(None);
    }
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let deadline = duration.and_then(|duration| Instant::now().checked_add(duration));
    deadline.map(Some).ok_or_else(|| Error::new("ERR timeout is not a float or out of range"))
}
