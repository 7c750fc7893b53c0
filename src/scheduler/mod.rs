//! Who runs tasks, in which order, and who sleeps meanwhile.

pub(crate) mod budget;
pub(crate) mod context;
pub(crate) mod crew;
pub(crate) mod end;
pub(crate) mod monitor;
pub(crate) mod policy;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod root;
pub(crate) mod shared;
pub(crate) mod sleep;
pub(crate) mod threads;
pub(crate) mod worker;
