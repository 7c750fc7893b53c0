//! Keys, whatever their values are, and when they expire.

use super::strings::end;
use super::{Call, Done, Error, glob, is};
use crate::redis::resp::integer;

pub fn del(call: &mut Call<'_>) -> Done {
    let mut count = 0;
    for key in call.request.from(1) {
        // One that has expired does not count.
        count += i64::from(call.db.get(key).is_some() && call.db.remove(key).is_some());
    }
    call.reply.integer(count);
    Ok(())
}

pub fn exists(call: &mut Call<'_>) -> Done {
    let count = call.request.from(1).filter(|key| call.db.get(key).is_some()).count();
    call.reply.length(count);
    Ok(())
}

pub fn type_of(call: &mut Call<'_>) -> Done {
    let name = call.db.get(call.argument(1)).map_or("none", |value| value.name());
    call.reply.simple(name);
    Ok(())
}

pub fn dbsize(call: &mut Call<'_>) -> Done {
    call.reply.length(call.db.len());
    Ok(())
}

pub fn flush(call: &mut Call<'_>) -> Done {
    call.at_most(2)?;
    if call.request.get(1).is_some_and(|word| !is(word, "async") && !is(word, "sync")) {
        return Err(Error::SYNTAX);
    }
    call.db.clear();
    call.reply.simple("OK");
    Ok(())
}

pub fn keys(call: &mut Call<'_>) -> Done {
    let pattern = call.argument(1);
    let keys = call.db.keys().map(|(key, _)| key);
    let found: Vec<_> = keys.filter(|key| glob::matches(pattern, key)).collect();
    call.reply.bulks(found.into_iter());
    Ok(())
}

/// The cursor says how many keys are left, those at the front.
pub fn scan(call: &mut Call<'_>) -> Done {
    let cursor = call.argument(1);
    let cursor = str::from_utf8(cursor).ok().and_then(|text| text.parse::<usize>().ok());
    let cursor = cursor.ok_or("ERR invalid cursor")?;
    let (mut pattern, mut count, mut kind) = (&b"*"[..], 10, None);
    let mut words = call.request.from(2);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(Error::SYNTAX)?;
        match () {
            () if is(word, "match") => pattern = value,
            () if is(word, "type") => kind = Some(value),
            () if is(word, "count") => match integer(value).ok_or(Error::NOT_INTEGER)? {
                ..1 => return Err(Error::SYNTAX),
                number => count = number as usize,
            },
            () => return Err(Error::SYNTAX),
        }
    }
    // 0 begins, and it also says that there is no more.
    let end = if cursor == 0 { call.db.len() } else { cursor.min(call.db.len()) };
    let start = end.saturating_sub(count);
    let found = call.db.part(start, end).filter(|(key, value)| {
        glob::matches(pattern, key) && kind.is_none_or(|kind| is(kind, value.name()))
    });
    let found: Vec<_> = found.map(|(key, _)| key).collect();
    call.reply.array(2);
    call.reply.bulk(start.to_string().as_bytes());
    call.reply.bulks(found.into_iter());
    Ok(())
}

pub fn expire(call: &mut Call<'_>) -> Done {
    set_end(call, "expire", 1000)
}

pub fn pexpire(call: &mut Call<'_>) -> Done {
    set_end(call, "pexpire", 1)
}

fn set_end(call: &mut Call<'_>, command: &str, milliseconds: i64) -> Done {
    let (key, count) = (call.argument(1), call.integer(2)?);
    // What ends in the past is over.
    let end = match count {
        ..=0 if count.checked_mul(milliseconds).is_some() => None,
        count => Some(end(call.db, command, count, milliseconds)?),
    };
    let is_there = call.db.get(key).is_some();
    if is_there {
        match end {
            Some(_) => drop(call.db.set_end(key, end)),
            None => drop(call.db.remove(key)),
        }
    }
    call.reply.integer(is_there.into());
    Ok(())
}

pub fn persist(call: &mut Call<'_>) -> Done {
    let key = call.argument(1);
    let has_end = call.db.end(key).flatten().is_some();
    if has_end {
        call.db.set_end(key, None);
    }
    call.reply.integer(has_end.into());
    Ok(())
}

pub fn ttl(call: &mut Call<'_>) -> Done {
    time_to_live(call, 1000)
}

pub fn pttl(call: &mut Call<'_>) -> Done {
    time_to_live(call, 1)
}

fn time_to_live(call: &mut Call<'_>, milliseconds: u128) -> Done {
    let time = match call.db.end(call.argument(1)) {
        None => -2,
        Some(None) => -1,
        Some(Some(end)) => {
            let left = end.saturating_duration_since(call.db.now()).as_millis();
            ((left + milliseconds / 2) / milliseconds) as i64
        }
    };
    call.reply.integer(time);
    Ok(())
}
