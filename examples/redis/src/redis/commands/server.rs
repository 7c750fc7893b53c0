//! The connection, the server, and what clients publish.

use super::{COMMANDS, Call, Done, Error, glob, is};
use crate::redis::client::Next;
use crate::redis::pubsub::{Feed, Message};
use crate::redis::resp::{BULK_BYTES_MAX, Reply, integer};
use crate::rt::time::Instant;

pub fn ping(call: &mut Call<'_>) -> Done {
    let text = call.request.get(1);
    match (call.client.channels.is_empty(), text) {
        _ if call.request.len() > 2 => return Err(Error::arity("ping")),
        (true, None) => call.reply.simple("PONG"),
        (true, Some(text)) => call.reply.bulk(text),
        // Where a reply would be taken for a message, it looks like one.
        (false, text) => call.reply.bulks([b"pong", text.unwrap_or_default()].into_iter()),
    }
    Ok(())
}

pub fn echo(call: &mut Call<'_>) -> Done {
    call.reply.bulk(call.argument(1));
    Ok(())
}

pub fn quit(call: &mut Call<'_>) -> Done {
    call.reply.simple("OK");
    call.client.next = Next::Close;
    Ok(())
}

pub fn reset(call: &mut Call<'_>) -> Done {
    call.client.reset();
    call.reply.simple("RESET");
    Ok(())
}

pub fn select(call: &mut Call<'_>) -> Done {
    match call.integer(1)? {
        0 => call.reply.simple("OK"),
        _ => return Err(Error::from("ERR DB index is out of range")),
    }
    Ok(())
}

/// Nothing is kept, so there is nothing to be saved; there is no reply.
pub fn shutdown(call: &mut Call<'_>) -> Done {
    for word in call.request.from(1) {
        if is(word, "abort") && call.request.len() == 2 {
            return Err(Error::from("ERR No shutdown in progress."));
        }
        if !["nosave", "save", "now", "force"].iter().any(|known| is(word, known)) {
            return Err(Error::SYNTAX);
        }
    }
    call.client.shared.stop.cancel();
    call.client.next = Next::Close;
    Ok(())
}

/// RESP2 is the protocol from the beginning.
pub fn hello(call: &mut Call<'_>) -> Done {
    match call.request.get(1) {
        None => {}
        Some(version) => match integer(version) {
            Some(2) => call.at_most(2)?,
            Some(_) => return Err(Error::from("NOPROTO unsupported protocol version")),
            None => {
                let text = "ERR Protocol version is not an integer or out of range";
                return Err(Error::from(text));
            }
        },
    }
    let reply = &mut *call.reply;
    reply.array(10);
    for (name, value) in [("server", "redis"), ("version", env!("CARGO_PKG_VERSION"))] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"proto");
    reply.integer(2);
    reply.bulk(b"id");
    reply.integer(call.client.number as i64);
    reply.bulk(b"mode");
    reply.bulk(b"standalone");
    Ok(())
}

pub fn client(call: &mut Call<'_>) -> Done {
    let (word, count) = (call.argument(1), call.request.len());
    match () {
        () if is(word, "id") && count == 2 => call.reply.integer(call.client.number as i64),
        () if is(word, "getname") && count == 2 => match &*call.client.name {
            b"" => call.reply.null(),
            name => call.reply.bulk(name),
        },
        () if is(word, "setname") && count == 3 => {
            let name = call.argument(2);
            if !name.iter().all(u8::is_ascii_graphic) {
                let text =
                    "ERR Client names cannot contain spaces, newlines or special characters.";
                return Err(Error::from(text));
            }
            call.client.name = name.to_owned();
            call.reply.simple("OK");
        }
        // What the client's library is called.
        () if is(word, "setinfo") && count == 4 => call.reply.simple("OK"),
        () => return Err(unknown_subcommand("CLIENT", word)),
    }
    Ok(())
}

fn unknown_subcommand(command: &str, word: &[u8]) -> Error {
    let word = String::from_utf8_lossy(&word[..word.len().min(128)]).into_owned();
    Error(format!("ERR unknown subcommand '{word}'. Try {command} HELP.").into())
}

pub fn command(call: &mut Call<'_>) -> Done {
    match call.request.get(1) {
        None => {
            call.reply.array(COMMANDS.len());
            for command in COMMANDS {
                call.reply.array(3);
                call.reply.bulk(command.name.as_bytes());
                call.reply.integer(command.arity);
                // Its flags: none is told.
                call.reply.array(0);
            }
        }
        Some(word) if is(word, "count") => call.reply.length(COMMANDS.len()),
        Some(word) if is(word, "docs") => call.reply.array(0),
        Some(word) => return Err(unknown_subcommand("COMMAND", word)),
    }
    Ok(())
}

pub fn config(call: &mut Call<'_>) -> Done {
    let word = call.argument(1);
    if !is(word, "get") {
        return Err(unknown_subcommand("CONFIG", word));
    }
    let shared = &call.client.shared;
    let settings = [
        ("appendonly", "no".to_owned()),
        ("databases", "1".to_owned()),
        ("maxclients", shared.clients_max.to_string()),
        ("maxmemory", "0".to_owned()),
        ("port", shared.port.to_string()),
        ("proto-max-bulk-len", BULK_BYTES_MAX.to_string()),
        ("save", String::new()),
        ("timeout", "0".to_owned()),
    ];
    let patterns = call.request.from(2).map(<[u8]>::to_ascii_lowercase);
    let patterns: Vec<_> = patterns.collect();
    let is_wanted = |name: &str| patterns.iter().any(|it| glob::matches(it, name.as_bytes()));
    let found: Vec<_> = settings.iter().filter(|(name, _)| is_wanted(name)).collect();
    call.reply.array(2 * found.len());
    for (name, value) in found {
        call.reply.bulk(name.as_bytes());
        call.reply.bulk(value.as_bytes());
    }
    Ok(())
}

pub fn info(call: &mut Call<'_>) -> Done {
    let shared = &call.client.shared;
    let uptime = Instant::now().saturating_duration_since(shared.started).as_secs();
    let mut keyspace = String::new();
    if call.db.len() > 0 {
        keyspace = format!("db0:keys={},expires={}\r\n", call.db.len(), call.db.expiring());
    }
    let sections = [
        (
            "Server",
            format!(
                "redis_version:{}\r\nredis_mode:standalone\r\nprocess_id:{}\r\ntcp_port:{}\r\n\
                 uptime_in_seconds:{uptime}\r\n",
                env!("CARGO_PKG_VERSION"),
                std::process::id(),
                shared.port
            ),
        ),
        (
            "Clients",
            format!(
                "connected_clients:{}\r\nmaxclients:{}\r\nblocked_clients:{}\r\n",
                shared.clients(),
                shared.clients_max,
                call.db.waiting.clients()
            ),
        ),
        ("Stats", format!("pubsub_channels:{}\r\n", shared.hub.channels_count())),
        ("Keyspace", keyspace),
    ];
    let is_wanted = |name: &str| {
        let mut words = call.request.from(1);
        let all = ["all", "default", "everything", name];
        words.len() == 0 || words.any(|word| all.iter().any(|name| is(word, name)))
    };
    let wanted = sections.iter().filter(|(name, _)| is_wanted(name));
    let text: Vec<_> = wanted.map(|(name, lines)| format!("# {name}\r\n{lines}")).collect();
    call.reply.bulk(text.join("\r\n").as_bytes());
    Ok(())
}

pub fn publish(call: &mut Call<'_>) -> Done {
    let (channel, text) = (call.argument(1), call.argument(2));
    let mut message = Reply::default();
    message.bulks([b"message", channel, text].into_iter());
    let message = Message::from(message.bytes);
    let count = call.client.shared.hub.publish(channel, &message);
    call.reply.length(count);
    Ok(())
}

pub fn subscribe(call: &mut Call<'_>) -> Done {
    let client = &mut *call.client;
    let feed = client.feed.get_or_insert_with(Feed::new);
    for channel in call.request.from(1) {
        client.shared.hub.subscribe(channel, client.number, feed);
        client.channels.insert(channel.to_owned());
        call.reply.array(3);
        call.reply.bulk(b"subscribe");
        call.reply.bulk(channel);
        call.reply.length(client.channels.len());
    }
    Ok(())
}

/// Of all channels, if none is named.
pub fn unsubscribe(call: &mut Call<'_>) -> Done {
    let client = &mut *call.client;
    let mut channels: Vec<Option<Vec<u8>>> =
        call.request.from(1).map(|channel| Some(channel.to_owned())).collect();
    if channels.is_empty() {
        channels.extend(client.channels.iter().cloned().map(Some));
    }
    if channels.is_empty() {
        channels.push(None);
    }
    for channel in channels {
        if let Some(channel) = &channel
            && client.channels.remove(channel)
        {
            client.shared.hub.unsubscribe(channel, client.number);
        }
        client.hear(call.reply);
        // Who has to leave has to leave all the same.
        let is_expelled = client.feed.as_ref().is_some_and(|it| it.expelled().is_cancelled());
        if client.channels.is_empty() && !is_expelled {
            client.feed = None;
        }
        call.reply.array(3);
        call.reply.bulk(b"unsubscribe");
        call.reply.bulk_or_null(channel.as_deref());
        call.reply.length(client.channels.len());
    }
    Ok(())
}
