//! A redis server, written as one writes for tokio: all that it has of its runtime is in
//! `crate::rt`, which each of the two programs fills with `use` lines.
//!
//! | module | what is in it |
//! |---|---|
//! | `options` | the command line |
//! | `server` | accepts, limits how many there are, and ends |
//! | `connection` | one client: reads, has its requests answered, writes |
//! | `client` | what is remembered of a client; MULTI; who may call what |
//! | `commands` | what each command does |
//! | `shared` | what all clients share, and the clock that removes what expires |
//! | `pubsub` | who is subscribed to what |
//! | `blocking` | who waits for an element of a list |
//! | `lines` | who is first among those who wait for the same key |
//! | `store` | the keys, their values and when they expire |
//! | `value` | the types of values |
//! | `resp` | the protocol: requests are parsed, replies are written |
//! | `glob` | patterns of names |

mod blocking;
mod client;
mod commands;
mod connection;
mod glob;
mod lines;
mod options;
mod pubsub;
mod resp;
mod server;
mod shared;
mod store;
mod value;

pub use options::Options;
pub use server::run;
