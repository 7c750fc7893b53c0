//! Stage 10: arc.
//!
//! The same program, over the runtime that the stages have led up to. Nothing of an executor is
//! left here but its imports. What you have built is in `src/` under the same names:
//!
//! | stage | in arc |
//! |---|---|
//! | 01 `block_on`, and the flag beside `park` | `src/runtime/block_on.rs` |
//! | 03 waking is pushing, 05 four states | `src/task/spawn.rs`, and the crate async-task |
//! | 04 a result, a panic, somebody who waits | `src/task/join.rs`, `src/task/spawn.rs` |
//! | 06 timers | `src/driver/timers.rs`, and a wheel in `src/driver/wheel.rs` |
//! | 07 try, leave the waker, ask, wait | `src/driver/reactor.rs`, `src/io.rs` |
//! | 08 a queue for each worker, an injector, half | `src/scheduler/queue.rs` |
//! | 09 say that you sleep, then look again; the seat | `src/scheduler/sleep.rs`, `worker.rs` |
//!
//! # Break it
//!
//! arc itself, this time. In `Sleepers::all_asleep` of `src/scheduler/sleep.rs`, delete the line
//! `fence(Ordering::SeqCst);`, which is P2. This program will go on to work on your machine. Then
//! ask the model of the protocol:
//!
//! ```sh
//! cargo test -p arc-models --release --test loom injected_task
//! ```
//!
//! loom tries every order of the steps, and fails in the one in which a task is queued and all
//! workers sleep. `git checkout src` mends it. (`cargo xtask trust mutations` makes this bug and
//! many others, and sees a model fail for each.)

use inside::{client, ticker};
use std::time::Duration;

/// Asks a server over a new socket, and waits for its answers: 1 and 2.
async fn ask(milliseconds: u64) {
    let socket = inside::ask_server(milliseconds).expect("the system has two more sockets");
    let source = arc::io::Async::new(socket).expect("the runtime takes a socket");
    let mut answer = [0];
    while answer[0] != 2 {
        let received = source.read_with(|socket| socket.recv(&mut answer)).await;
        received.expect("the socket is connected");
    }
}

#[arc::main]
async fn main() {
    println!("main: The same on arc: nothing is left of the executor but its imports.");
    let tasks = [
        ("client 1", arc::spawn(client(1, || ask(20)))),
        ("client 2", arc::spawn(client(2, || ask(40)))),
        ("ticker", arc::spawn(ticker(|| arc::time::sleep(Duration::from_millis(10))))),
    ];
    for (name, task) in tasks {
        match task.await {
            Ok(output) => println!("main: {name} gave {output}."),
            Err(_) => println!("main: {name} panicked, and the others did not notice."),
        }
    }
}
