//! Hashes.

use super::{Call, Done, Error};
use crate::redis::value::Hash;

pub fn hset(call: &mut Call<'_>) -> Done {
    if call.request.len() % 2 == 1 {
        return Err(Error::arity("hset"));
    }
    let hash = call.db.edit::<Hash>(call.argument(1))?;
    let mut arguments = call.request.from(2);
    let mut count = 0;
    while let (Some(field), Some(value)) = (arguments.next(), arguments.next()) {
        match hash.get_mut(field) {
            Some(place) => *place = value.to_owned(),
            None => {
                hash.insert(field.to_owned(), value.to_owned());
                count += 1;
            }
        }
    }
    call.reply.integer(count);
    Ok(())
}

pub fn hget(call: &mut Call<'_>) -> Done {
    let field = call.argument(2);
    let value = call.db.read::<Hash>(call.argument(1))?.and_then(|hash| hash.get(field));
    call.reply.bulk_or_null(value.map(Vec::as_slice));
    Ok(())
}

pub fn hdel(call: &mut Call<'_>) -> Done {
    let key = call.argument(1);
    let mut count = 0;
    if let Some(hash) = call.db.read::<Hash>(key)? {
        let fields = call.request.from(2);
        count = fields.filter(|field| hash.swap_remove(*field).is_some()).count();
        call.db.tidy(key);
    }
    call.reply.length(count);
    Ok(())
}

pub fn hgetall(call: &mut Call<'_>) -> Done {
    match call.db.read::<Hash>(call.argument(1))? {
        None => call.reply.array(0),
        Some(hash) => {
            call.reply.array(2 * hash.len());
            for (field, value) in hash {
                call.reply.bulk(field);
                call.reply.bulk(value);
            }
        }
    }
    Ok(())
}

pub fn hlen(call: &mut Call<'_>) -> Done {
    let length = call.db.read::<Hash>(call.argument(1))?.map_or(0, |hash| hash.len());
    call.reply.length(length);
    Ok(())
}
