//! A server that grows: six programs, each of which is the one before and one idea.
//!
//! It speaks redis's protocol, so that redis-cli and redis-benchmark are its clients. Chapters 17
//! to 22 of the book (`docs/book/`) go with it.
//!
//! | chapter | module | what it adds | and where |
//! |---|---|---|---|
//! | 17 | `step17` | requests are cut out of a stream of bytes | `frame` |
//! | 18 | `step18` | all clients share a map | `store` |
//! | 19 | `step19` | nothing grows without limit; each change goes into a journal | `journal` |
//! | 20 | `step20` | nothing takes for ever; a client that tries again | `client` |
//! | 21 | `step21` | an end that loses nothing, and a start that reads the journal | |
//! | 22 | `step22` | three commands that somebody has added, each with a mistake | `faults` |
//!
//! Chapters 23 and 24 have programs that stand by themselves: `types` and `many`.
//!
//! What is in a step and not in the one before is short: `git diff --no-index src/step18.rs
//! src/step19.rs` prints it.

pub mod client;
pub mod faults;
pub mod frame;
pub mod journal;
pub mod many;
pub mod step17;
pub mod step18;
pub mod step19;
pub mod step20;
pub mod step21;
pub mod step22;
pub mod store;
pub mod types;

use arc::net::TcpListener;
use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Binds the port that the command line names as its first argument (6380 if it names none), and
/// says so.
///
/// # Errors
/// Somebody else has the port.
pub async fn listen() -> io::Result<TcpListener> {
    let port = env::args().nth(1).unwrap_or_else(|| "6380".to_owned());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    say(&format!("listening on {}", listener.local_addr()?));
    Ok(listener)
}

/// The file that the command line names as its second argument.
pub fn journal_file() -> PathBuf {
    env::args_os().nth(2).map_or_else(|| PathBuf::from("growing.journal"), PathBuf::from)
}

/// Prints a line. A server goes on without its terminal.
pub fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Locks a mutex, also if another thread has panicked while it held the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
