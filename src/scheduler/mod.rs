//! Run tasks: where they wait for their turn, which thread takes them, and when a thread
//! sleeps or wakes another one.

pub(crate) mod context;
pub(crate) mod coop;
pub(crate) mod end;
pub(crate) mod idle;
pub(crate) mod lease;
pub(crate) mod queue;
pub(crate) mod share;
pub(crate) mod shared;
pub(crate) mod threads;
pub(crate) mod worker;
