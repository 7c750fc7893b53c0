//! The connection, the server, and what clients publish.

use super::{Call, Done, Error, is};
use crate::redis::client::Next;
use crate::redis::pubsub::Message;
use crate::redis::resp::Reply;

pub fn ping(call: &mut Call<'_>) -> Done {
    let text = call.request.get(1).copied();
    match (call.client.channels.is_empty(), text) {
        (true, None) => call.reply.simple("PONG"),
        (true, Some(text)) => call.reply.bulk(text),
        // Where a reply would be taken for a message, it looks like one.
        (false, text) => call.reply.bulks([b"pong", text.unwrap_or_default()].into_iter()),
    }
    Ok(())
}

pub fn quit(call: &mut Call<'_>) -> Done {
    call.reply.simple("OK");
    call.client.next = Next::Close;
    Ok(())
}

/// Nothing is kept, so there is nothing to be saved; there is no reply.
pub fn shutdown(call: &mut Call<'_>) -> Done {
    call.client.shared.stop.cancel();
    call.client.next = Next::Close;
    Ok(())
}

/// redis-cli asks for the documentation of all commands. There is none.
pub fn command(call: &mut Call<'_>) -> Done {
    call.reply.array(0);
    Ok(())
}

/// redis-benchmark asks whether anything is written to a disk.
pub fn config(call: &mut Call<'_>) -> Done {
    let name = call.request[2];
    if !is(call.request[1], "get") || !(is(name, "save") || is(name, "appendonly")) {
        return Err(Error::SYNTAX);
    }
    let value = if is(name, "save") { "" } else { "no" };
    call.reply.bulks([name, value.as_bytes()].into_iter());
    Ok(())
}

pub fn info(call: &mut Call<'_>) -> Done {
    let (clients, blocked) = (call.db.connected, call.db.waiting.clients);
    let channels = call.db.hub.channels();
    let lines = format!(
        "connected_clients:{clients}\r\nblocked_clients:{blocked}\r\npubsub_channels:{channels}\r\n"
    );
    call.reply.bulk(lines.as_bytes());
    Ok(())
}

pub fn publish(call: &mut Call<'_>) -> Done {
    let (channel, text) = (call.request[1], call.request[2]);
    let mut message = Reply::default();
    message.bulks([b"message", channel, text].into_iter());
    let count = call.db.hub.publish(channel, &Message::from(message.bytes));
    call.reply.integer(count);
    Ok(())
}

pub fn subscribe(call: &mut Call<'_>) -> Done {
    let client = &mut *call.client;
    for channel in &call.request[1..] {
        call.db.hub.subscribe(channel, client.number, &mut client.feed);
        client.channels.insert(channel.to_vec());
        is_subscribed(call.reply, "subscribe", channel, client.channels.len());
    }
    Ok(())
}

/// Of all channels, if none is named.
pub fn unsubscribe(call: &mut Call<'_>) -> Done {
    let client = &mut *call.client;
    let named = call.request[1..].iter().map(|channel| channel.to_vec());
    let mut channels: Vec<Vec<u8>> = named.collect();
    if channels.is_empty() {
        channels.extend(client.channels.iter().cloned());
    }
    for channel in channels {
        if client.channels.remove(&channel) {
            call.db.hub.unsubscribe(&channel, client.number);
        }
        is_subscribed(call.reply, "unsubscribe", &channel, client.channels.len());
    }
    Ok(())
}

/// What has happened, to which channel, and to how many the client is subscribed now.
fn is_subscribed(reply: &mut Reply, what: &str, channel: &[u8], count: usize) {
    reply.array(3);
    reply.bulk(what.as_bytes());
    reply.bulk(channel);
    reply.integer(count);
}
