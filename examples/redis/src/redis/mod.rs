//! A redis server, written as one writes for tokio: all that it has of its runtime is in
//! `crate::rt`, which each of the two programs fills with `use` lines.
//!
//! | module | what is in it |
//! |---|---|
//! | `options` | the command line |
//! | `server` | accepts clients, and ends |
//! | `connection` | one client: reads, has its requests answered, writes |
//! | `client` | what is remembered of a client, and what it may call |
//! | `commands` | what each command does |
//! | `shared` | what all clients share, and the clock that removes what expires |
//! | `pubsub` | who is subscribed to what |
//! | `blocking` | who waits for an element of a list |
//! | `store` | the keys, their values and when they expire |
//! | `resp` | the protocol: requests are parsed, replies are written |

mod blocking;
mod client;
mod commands;
mod connection;
mod options;
mod pubsub;
mod resp;
mod server;
mod shared;
mod store;

pub use options::Options;
pub use server::run;
