//! The timeline of a server that does nothing wrong: nothing in it may look like a mistake.

#![cfg(all(unix, feature = "trace"))]

mod common;
#[path = "../../tests/common/timeline.rs"]
mod timeline;

use common::Server;
use std::{env, process, thread};
use timeline::nothing_waits_in_vain;

#[test]
fn timeline_of_redis_under_load_finds_no_mistake() {
    let path = env::temp_dir().join(format!("arc-redis-{}.txt", process::id()));
    let arguments = ["ARC_TRACE", path.to_str().expect("UTF-8")];
    let server = Server::start_in(env!("CARGO_BIN_EXE_redis-arc"), &[], Some(arguments));
    thread::scope(|scope| {
        for number in 0..8 {
            let mut client = server.connect();
            scope.spawn(move || {
                for _ in 0..100 {
                    client.check(&[(&format!("SET key{number} value"), "+OK")]);
                    client.check(&[("PING", "+PONG")]);
                }
            });
        }
    });
    server.signal("INT");
    server.ended(&["stopping", "stopped"]);
    nothing_waits_in_vain(path);
}
