//! Strings, and numbers written as such.

use super::{Call, Done, Error, is};
use crate::redis::resp::{BULK_BYTES_MAX, integer};
use crate::redis::store::Db;
use crate::redis::value::{Text, Value};
use crate::rt::time::Instant;
use std::time::Duration;

pub fn get(call: &mut Call<'_>) -> Done {
    let text = call.db.read::<Text>(call.argument(1))?;
    call.reply.bulk_or_null(text.map(|text| &**text));
    Ok(())
}

/// What SET is told after the value.
#[derive(Default)]
struct Options {
    end: Option<Instant>,
    keeps_end: bool,
    only_new: bool,
    only_old: bool,
    gives_old: bool,
}

impl Options {
    fn read(call: &Call<'_>) -> Result<Self, Error> {
        let mut options = Self::default();
        let mut words = call.request.from(3);
        while let Some(word) = words.next() {
            match () {
                () if is(word, "nx") => options.only_new = true,
                () if is(word, "xx") => options.only_old = true,
                () if is(word, "get") => options.gives_old = true,
                () if is(word, "keepttl") => options.keeps_end = true,
                () if options.end.is_none() && (is(word, "ex") || is(word, "px")) => {
                    let count = words.next().ok_or(Error::SYNTAX)?;
                    let count = integer(count).ok_or(Error::NOT_INTEGER)?;
                    let milliseconds = if is(word, "ex") { 1000 } else { 1 };
                    options.end = Some(end(call.db, "set", count, milliseconds)?);
                }
                () => return Err(Error::SYNTAX),
            }
        }
        let contradicts =
            options.only_new && options.only_old || options.end.is_some() && options.keeps_end;
        if contradicts { Err(Error::SYNTAX) } else { Ok(options) }
    }
}

/// The end of a key that is to live for so many units of time.
pub fn end(db: &Db, command: &str, count: i64, milliseconds: i64) -> Result<Instant, Error> {
    let milliseconds = count.checked_mul(milliseconds).filter(|it| *it > 0);
    let milliseconds = milliseconds.map(|it| Duration::from_millis(it.unsigned_abs()));
    let end = milliseconds.and_then(|it| db.now().checked_add(it));
    end.ok_or_else(|| Error::expire_time(command))
}

pub fn set(call: &mut Call<'_>) -> Done {
    let options = Options::read(call)?;
    let key = call.argument(1);
    let is_there = match options.gives_old {
        true => {
            let old = call.db.read::<Text>(key)?;
            call.reply.bulk_or_null(old.as_ref().map(|text| &***text));
            old.is_some()
        }
        false => call.db.get(key).is_some(),
    };
    let is_refused = is_there && options.only_new || !is_there && options.only_old;
    if !is_refused {
        call.db.set(key, Value::Text(call.argument(2).to_owned()), options.keeps_end);
        if let Some(end) = options.end {
            call.db.set_end(key, Some(end));
        }
    }
    match (options.gives_old, is_refused) {
        (true, _) => {}
        (false, true) => call.reply.null(),
        (false, false) => call.reply.simple("OK"),
    }
    Ok(())
}

pub fn setnx(call: &mut Call<'_>) -> Done {
    let key = call.argument(1);
    let is_new = call.db.get(key).is_none();
    if is_new {
        call.db.set(key, Value::Text(call.argument(2).to_owned()), false);
    }
    call.reply.integer(is_new.into());
    Ok(())
}

pub fn getset(call: &mut Call<'_>) -> Done {
    get(call)?;
    call.db.set(call.argument(1), Value::Text(call.argument(2).to_owned()), false);
    Ok(())
}

pub fn mget(call: &mut Call<'_>) -> Done {
    let keys = call.request.from(1);
    call.reply.array(keys.len());
    for key in keys {
        // One of another type counts as none.
        let text = call.db.read::<Text>(key).ok().flatten();
        call.reply.bulk_or_null(text.map(|text| &**text));
    }
    Ok(())
}

pub fn mset(call: &mut Call<'_>) -> Done {
    if call.request.len().is_multiple_of(2) {
        return Err(Error::arity("mset"));
    }
    let mut arguments = call.request.from(1);
    while let (Some(key), Some(value)) = (arguments.next(), arguments.next()) {
        call.db.set(key, Value::Text(value.to_owned()), false);
    }
    call.reply.simple("OK");
    Ok(())
}

pub fn append(call: &mut Call<'_>) -> Done {
    let (key, more) = (call.argument(1), call.argument(2));
    let text = call.db.edit::<Text>(key)?;
    if text.len() + more.len() > BULK_BYTES_MAX {
        return Err(Error::TOO_LONG);
    }
    text.extend_from_slice(more);
    call.reply.length(text.len());
    Ok(())
}

pub fn strlen(call: &mut Call<'_>) -> Done {
    let length = call.db.read::<Text>(call.argument(1))?.map_or(0, |text| text.len());
    call.reply.length(length);
    Ok(())
}

pub fn incr(call: &mut Call<'_>) -> Done {
    add(call, 1)
}

pub fn decr(call: &mut Call<'_>) -> Done {
    add(call, -1)
}

pub fn incrby(call: &mut Call<'_>) -> Done {
    let number = call.integer(2)?;
    add(call, number)
}

pub fn decrby(call: &mut Call<'_>) -> Done {
    let number = call.integer(2)?.checked_neg().ok_or("ERR decrement would overflow")?;
    add(call, number)
}

fn add(call: &mut Call<'_>, number: i64) -> Done {
    let key = call.argument(1);
    let before = match call.db.read::<Text>(key)? {
        Some(text) => integer(text).ok_or(Error::NOT_INTEGER)?,
        None => 0,
    };
    let sum = before.checked_add(number);
    let sum = sum.ok_or("ERR increment or decrement would overflow")?;
    let text = call.db.edit::<Text>(key)?;
    *text = sum.to_string().into_bytes();
    call.reply.integer(sum);
    Ok(())
}
