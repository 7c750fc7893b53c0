//! Strings, and keys whatever their values are.

use super::{Call, Done, Error, is};
use crate::redis::resp::integer;
use crate::redis::store::Value;
use crate::rt::time::Instant;
use std::time::Duration;

pub fn get(call: &mut Call<'_>) -> Done {
    let text = call.db.text(call.request[1])?;
    call.reply.bulk_or_null(text.map(|text| &**text));
    Ok(())
}

/// `SET key value [EX seconds | PX milliseconds]`
pub fn set(call: &mut Call<'_>) -> Done {
    let (key, value) = (call.request[1], call.request[2]);
    let end = match call.request[3..] {
        [] => None,
        [word, count] if is(word, "ex") => Some(end("set", count, 1000)?),
        [word, count] if is(word, "px") => Some(end("set", count, 1)?),
        _ => return Err(Error::SYNTAX),
    };
    call.db.set(key, Value::Text(value.to_owned()));
    call.db.set_end(key, end);
    call.reply.simple("OK");
    Ok(())
}

/// The end of a key that is to live for so many units of time.
fn end(command: &str, count: &[u8], milliseconds: u64) -> Result<Instant, Error> {
    let count = integer(count).ok_or(Error::NOT_INTEGER)?;
    let count = u64::try_from(count).ok().filter(|count| *count > 0);
    let milliseconds = count.and_then(|count| count.checked_mul(milliseconds));
    let end = milliseconds.and_then(|it| Instant::now().checked_add(Duration::from_millis(it)));
    end.ok_or_else(|| Error::new(format!("ERR invalid expire time in '{command}' command")))
}

pub fn incr(call: &mut Call<'_>) -> Done {
    let key = call.request[1];
    let mut number = 1;
    match call.db.text(key)? {
        // It keeps its end.
        Some(text) => {
            let before = integer(text).ok_or(Error::NOT_INTEGER)?;
            number = before.checked_add(1).ok_or(Error::NOT_INTEGER)?;
            *text = number.to_string().into_bytes();
        }
        None => call.db.set(key, Value::Text(b"1".to_vec())),
    }
    call.reply.integer(number);
    Ok(())
}

pub fn del(call: &mut Call<'_>) -> Done {
    let mut count = 0;
    for key in &call.request[1..] {
        // One that has expired does not count.
        count += usize::from(call.db.get(key).is_some() && call.db.remove(key));
    }
    call.reply.integer(count);
    Ok(())
}

pub fn dbsize(call: &mut Call<'_>) -> Done {
    call.reply.integer(call.db.len());
    Ok(())
}

pub fn flush_all(call: &mut Call<'_>) -> Done {
    call.db.clear();
    call.reply.simple("OK");
    Ok(())
}

pub fn expire(call: &mut Call<'_>) -> Done {
    let key = call.request[1];
    let end = end("expire", call.request[2], 1000)?;
    let is_there = call.db.get(key).is_some() && call.db.set_end(key, Some(end));
    call.reply.integer(u8::from(is_there));
    Ok(())
}

/// In seconds; -1: it has no end; -2: there is no such key.
pub fn ttl(call: &mut Call<'_>) -> Done {
    let seconds = match call.db.end(call.request[1]) {
        None => -2,
        Some(None) => -1,
        Some(Some(end)) => {
            let left = end.saturating_duration_since(Instant::now());
            left.as_secs_f64().round() as i64
        }
    };
    call.reply.integer(seconds);
    Ok(())
}
