//! The files of src/driver that loom can compile as they stand.

#[path = "../../../../src/driver/kernel/event.rs"]
pub(crate) mod kernel;
#[path = "../../../../src/driver/readiness.rs"]
pub(crate) mod readiness;
#[path = "../../../../src/driver/timers.rs"]
pub(crate) mod timers;
#[path = "../../../../src/driver/wheel.rs"]
pub(crate) mod wheel;
