//! Simulations of what builds on arc, with many seeds. All of them are in `tests/`:
//!
//! * `util.rs`: arc-util's channels, locks, task groups and intervals;
//! * `bugs.rs`: the same programs on copies of arc-util with a bug each, which some seed finds;
//! * `chat.rs`: the example of that name, over sockets of the kernel;
//! * `redis.rs`: the redis server, over a simulated network.
//!
//! The programs of the first two are in `tests/programs/mod.rs`. The servers are compiled into this
//! library as they stand in `examples/`.

#[path = "../../../examples/chat.rs"]
#[allow(missing_docs, dead_code, reason = "it is a program")]
pub mod chat;
#[path = "../../../examples/redis/src/redis/mod.rs"]
#[allow(missing_docs, dead_code, reason = "it is a program")]
pub mod redis;
pub mod rt;
