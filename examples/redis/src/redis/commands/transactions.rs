//! Requests that are run together: MULTI, EXEC, DISCARD.

use super::{Call, Done, Error};
use crate::redis::client::Transaction;

pub fn multi(call: &mut Call<'_>) -> Done {
    if call.client.transaction.is_some() {
        return Err(Error::from("ERR MULTI calls can not be nested"));
    }
    call.client.transaction = Some(Transaction::default());
    call.reply.simple("OK");
    Ok(())
}

pub fn discard(call: &mut Call<'_>) -> Done {
    let discarded = call.client.transaction.take();
    discarded.ok_or(Error::from("ERR DISCARD without MULTI"))?;
    call.reply.simple("OK");
    Ok(())
}

/// Nobody comes in between: the lock that this command is run under is held for all.
pub fn exec(call: &mut Call<'_>) -> Done {
    let transaction = call.client.transaction.take();
    let transaction = transaction.ok_or(Error::from("ERR EXEC without MULTI"))?;
    if transaction.is_spoilt {
        let text = "EXECABORT Transaction discarded because of previous errors.";
        return Err(Error::from(text));
    }
    call.reply.array(transaction.requests.len());
    for request in &transaction.requests {
        let request = request.request();
        let command = super::find(request)?;
        let (db, client, reply) = (&mut *call.db, &mut *call.client, &mut *call.reply);
        Call { db, client, request, reply, is_queued: true }.run(command);
    }
    Ok(())
}
