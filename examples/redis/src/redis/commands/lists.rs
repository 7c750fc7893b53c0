//! Lists, and waiting for their elements.

use super::{Call, Done, Error, range};
use crate::redis::blocking::Blocked;
use crate::redis::client::Next;
use crate::redis::value::List;
use crate::rt::time::Instant;
use std::time::Duration;

pub fn lpush(call: &mut Call<'_>) -> Done {
    push(call, List::push_front)
}

pub fn rpush(call: &mut Call<'_>) -> Done {
    push(call, List::push_back)
}

fn push(call: &mut Call<'_>, push: fn(&mut List, Vec<u8>)) -> Done {
    let list = call.db.list(call.argument(1))?;
    for element in call.request.from(2) {
        push(list, element.to_owned());
    }
    call.reply.length(list.len());
    Ok(())
}

pub fn lpop(call: &mut Call<'_>) -> Done {
    pop(call, "lpop", List::pop_front)
}

pub fn rpop(call: &mut Call<'_>) -> Done {
    pop(call, "rpop", List::pop_back)
}

fn pop(call: &mut Call<'_>, name: &str, pop: fn(&mut List) -> Option<Vec<u8>>) -> Done {
    if call.request.len() > 3 {
        return Err(Error::arity(name));
    }
    let (key, count) = (call.argument(1), call.count(2)?);
    match (call.db.read::<List>(key)?, count) {
        (None, None) => call.reply.null(),
        (None, Some(_)) => call.reply.null_array(),
        (Some(list), None) => call.reply.bulk_or_null(pop(list).as_deref()),
        (Some(list), Some(count)) => {
            call.reply.array(count.min(list.len()));
            for _ in 0..count.min(list.len()) {
                call.reply.bulk_or_null(pop(list).as_deref());
            }
        }
    }
    call.db.tidy(key);
    Ok(())
}

pub fn lrange(call: &mut Call<'_>) -> Done {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    match call.db.read::<List>(call.argument(1))? {
        None => call.reply.array(0),
        Some(list) => {
            let range = range(start, stop, list.len());
            call.reply.bulks(list.range(range).map(Vec::as_slice));
        }
    }
    Ok(())
}

pub fn llen(call: &mut Call<'_>) -> Done {
    let length = call.db.read::<List>(call.argument(1))?.map_or(0, |list| list.len());
    call.reply.length(length);
    Ok(())
}

pub fn blpop(call: &mut Call<'_>) -> Done {
    let last = call.request.len() - 1;
    let deadline = deadline(call.argument(last))?;
    let keys = call.request.from(1).take(last - 1);
    for key in keys.clone() {
        let element = call.db.read::<List>(key)?.and_then(List::pop_front);
        if let Some(element) = element {
            call.db.tidy(key);
            call.reply.bulks([key, &element].into_iter());
            return Ok(());
        }
    }
    if call.is_queued {
        call.reply.null_array();
        return Ok(());
    }
    let waiter = call.db.waiting.enter(keys.map(<[u8]>::to_owned).collect());
    let blocked = Blocked::new(waiter, call.client.shared.clone(), deadline);
    call.client.next = Next::Block(blocked);
    Ok(())
}

/// None: there is none.
fn deadline(seconds: &[u8]) -> Result<Option<Instant>, Error> {
    let seconds = str::from_utf8(seconds).ok().and_then(|text| text.parse::<f64>().ok());
    let seconds = seconds.filter(|seconds| seconds.is_finite());
    let seconds = seconds.ok_or("ERR timeout is not a float or out of range")?;
    if seconds < 0.0 {
        return Err(Error::from("ERR timeout is negative"));
    }
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|it| !it.is_zero());
    match (seconds == 0.0, duration.and_then(|duration| Instant::now().checked_add(duration))) {
        (true, _) => Ok(None),
        (false, Some(deadline)) => Ok(Some(deadline)),
        (false, None) => Err(Error::from("ERR timeout is out of range")),
    }
}
