//! Sets.

use super::{Call, Done, Error};
use crate::redis::value::Set;

pub fn sadd(call: &mut Call<'_>) -> Done {
    let set = call.db.edit::<Set>(call.argument(1))?;
    let mut count = 0;
    for member in call.request.from(2) {
        // Most are there already, and need not be copied.
        count += i64::from(!set.contains(member) && set.insert(member.to_owned()));
    }
    call.reply.integer(count);
    Ok(())
}

pub fn srem(call: &mut Call<'_>) -> Done {
    let key = call.argument(1);
    let mut count = 0;
    if let Some(set) = call.db.read::<Set>(key)? {
        count = call.request.from(2).filter(|member| set.swap_remove(*member)).count();
        call.db.tidy(key);
    }
    call.reply.length(count);
    Ok(())
}

pub fn smembers(call: &mut Call<'_>) -> Done {
    match call.db.read::<Set>(call.argument(1))? {
        None => call.reply.array(0),
        Some(set) => call.reply.bulks(set.iter().map(Vec::as_slice)),
    }
    Ok(())
}

pub fn sismember(call: &mut Call<'_>) -> Done {
    let member = call.argument(2);
    let is_there = call.db.read::<Set>(call.argument(1))?.is_some_and(|set| set.contains(member));
    call.reply.integer(is_there.into());
    Ok(())
}

pub fn scard(call: &mut Call<'_>) -> Done {
    let length = call.db.read::<Set>(call.argument(1))?.map_or(0, |set| set.len());
    call.reply.length(length);
    Ok(())
}

/// Any of them, each as likely as the others.
pub fn spop(call: &mut Call<'_>) -> Done {
    if call.request.len() > 3 {
        return Err(Error::SYNTAX);
    }
    let (key, count) = (call.argument(1), call.count(2)?);
    let pop = |set: &mut Set| {
        let place = (!set.is_empty()).then(|| fastrand::usize(..set.len()))?;
        set.swap_remove_index(place)
    };
    match (call.db.read::<Set>(key)?, count) {
        (None, None) => call.reply.null(),
        (None, Some(_)) => call.reply.array(0),
        (Some(set), None) => call.reply.bulk_or_null(pop(set).as_deref()),
        (Some(set), Some(count)) => {
            call.reply.array(count.min(set.len()));
            for _ in 0..count.min(set.len()) {
                call.reply.bulk_or_null(pop(set).as_deref());
            }
        }
    }
    call.db.tidy(key);
    Ok(())
}
