//! Chapter 22: the three mistakes are there, and the tools find them.

mod common;

use arc::sync::CancellationToken;
use common::{Client, Scratch, Server, until};
use growing::step20::Patience;
use growing::step22::serve;
use std::time::Duration;

fn start(scratch: &Scratch) -> Server {
    let file = scratch.path().to_owned();
    let stop = CancellationToken::new();
    Server::start(|listener| serve(listener, file, Patience::default(), stop))
}

#[test]
fn new_commands_do_what_they_say_to_a_single_client() {
    let scratch = Scratch::new();
    let server = start(&scratch);
    let mut client = server.connect();
    for (request, expected) in [
        ("APPEND a x", ":1"),
        ("APPEND a yz", ":3"),
        ("GET a", "$3 xyz"),
        ("AWAIT a", "+OK"),
        ("DIGEST now", "-ERR no such command, or other arguments"),
    ] {
        assert_eq!(client.ask(request), expected, "{request}");
    }
    assert_eq!(client.ask("DIGEST"), client.ask("DIGEST"));
    drop(client);
    server.serves_redis_tools("ping,set,get,incr", 2);
}

/// So many clients wait for a key.
fn waiting(server: &Server, count: usize) -> Vec<Client> {
    let mut waiting: Vec<Client> = (0..count).map(|_| server.connect()).collect();
    waiting.iter_mut().for_each(|client| client.send("AWAIT key"));
    server.has_tasks(count + 2);
    waiting
}

#[test]
fn one_place_is_enough_for_the_one_who_sets_the_key() {
    let scratch = Scratch::new();
    let server = start(&scratch);
    let mut waiting = waiting(&server, 63);
    assert_eq!(server.connect().ask("SET key value"), "+OK");
    waiting.iter_mut().for_each(|client| assert_eq!(client.reply().as_deref(), Some("+OK")));
}

#[test]
fn list_shows_where_all_wait_when_nothing_moves() {
    let scratch = Scratch::new();
    let server = start(&scratch);
    let _waiting = waiting(&server, 64);
    let mut setter = server.connect();
    setter.stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();

    // The 64 have all of the room in the journal. (It may take a moment until they do.)
    until("nobody can change anything", || {
        setter.send("SET other value");
        let is_stuck = setter.stream.peek(&mut [0]).is_err();
        if !is_stuck {
            setter.reply();
        }
        is_stuck
    });
    // Reading goes on.
    assert_eq!(server.connect().ask("GET key"), "$-1");

    #[cfg(feature = "waits")]
    {
        use arc::runtime::HandleExt;
        let dump = server.runtime.handle().dump().to_string();
        assert!(dump.contains("journal.rs"), "the line where one waits for room:\n{dump}");
        println!("{dump}");
    }
}
