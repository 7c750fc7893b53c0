//! Sorted sets.

use super::{Call, Done, Error, is, range};
use crate::redis::value::SortedSet;

pub fn zadd(call: &mut Call<'_>) -> Done {
    let (mut only_new, mut only_old, mut counts_changes) = (false, false, false);
    let mut first = 2;
    loop {
        match call.argument(first) {
            word if is(word, "nx") => only_new = true,
            word if is(word, "xx") => only_old = true,
            word if is(word, "ch") => counts_changes = true,
            _ => break,
        }
        first += 1;
    }
    let arguments = call.request.from(first);
    if arguments.len() == 0 || arguments.len() % 2 == 1 {
        return Err(Error::SYNTAX);
    }
    if only_new && only_old {
        return Err(Error::from("ERR XX and NX options at the same time are not compatible"));
    }
    // All of them are read before one is put in.
    let (mut pairs, mut rest) = (Vec::with_capacity(arguments.len() / 2), arguments);
    while let (Some(score), Some(member)) = (rest.next(), rest.next()) {
        pairs.push((self::score(score)?, member));
    }
    let key = call.argument(1);
    let sorted = call.db.edit::<SortedSet>(key)?;
    let (mut added, mut changed) = (0, 0);
    for (score, member) in pairs {
        match sorted.score(member) {
            None if !only_old => added += 1,
            Some(before) if !only_new && before != score => changed += 1,
            _ => continue,
        }
        sorted.insert(member, score);
    }
    call.reply.integer(if counts_changes { added + changed } else { added });
    call.db.tidy(key);
    Ok(())
}

fn score(text: &[u8]) -> Result<f64, Error> {
    let score = str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    score.filter(|score| !score.is_nan()).ok_or(Error::NOT_FLOAT)
}

pub fn zcard(call: &mut Call<'_>) -> Done {
    let length = call.db.read::<SortedSet>(call.argument(1))?.map_or(0, |sorted| sorted.len());
    call.reply.length(length);
    Ok(())
}

pub fn zscore(call: &mut Call<'_>) -> Done {
    let member = call.argument(2);
    let sorted = call.db.read::<SortedSet>(call.argument(1))?;
    let score = sorted.and_then(|sorted| sorted.score(member)).map(|score| score.to_string());
    call.reply.bulk_or_null(score.as_deref().map(str::as_bytes));
    Ok(())
}

pub fn zrem(call: &mut Call<'_>) -> Done {
    let key = call.argument(1);
    let mut count = 0;
    if let Some(sorted) = call.db.read::<SortedSet>(key)? {
        count = call.request.from(2).filter(|member| sorted.remove(member)).count();
        call.db.tidy(key);
    }
    call.reply.length(count);
    Ok(())
}

pub fn zpopmin(call: &mut Call<'_>) -> Done {
    if call.request.len() > 3 {
        return Err(Error::arity("zpopmin"));
    }
    let (key, count) = (call.argument(1), call.count(2)?.unwrap_or(1));
    let Some(sorted) = call.db.read::<SortedSet>(key)? else {
        call.reply.array(0);
        return Ok(());
    };
    let count = count.min(sorted.len());
    call.reply.array(2 * count);
    for (member, score) in std::iter::from_fn(|| sorted.pop_first()).take(count) {
        call.reply.bulk(&member);
        call.reply.bulk(score.to_string().as_bytes());
    }
    call.db.tidy(key);
    Ok(())
}

pub fn zrange(call: &mut Call<'_>) -> Done {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    call.at_most(5)?;
    let with_scores = match call.request.get(4) {
        None => false,
        Some(word) if is(word, "withscores") => true,
        Some(_) => return Err(Error::SYNTAX),
    };
    let Some(sorted) = call.db.read::<SortedSet>(call.argument(1))? else {
        call.reply.array(0);
        return Ok(());
    };
    let range = range(start, stop, sorted.len());
    call.reply.array(range.len() * if with_scores { 2 } else { 1 });
    for (member, score) in sorted.iter().skip(range.start).take(range.len()) {
        call.reply.bulk(member);
        if with_scores {
            call.reply.bulk(score.to_string().as_bytes());
        }
    }
    Ok(())
}
