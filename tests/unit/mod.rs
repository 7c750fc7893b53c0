//! The unit tests of the runtime's parts. They are compiled into the library, as they use what is
//! private to it. (Those of the wheel stand in its own module: nothing else sees its inside.)

mod driver;
mod idle;
mod queue;
mod reactor;
mod readiness;
mod share;
#[cfg(target_os = "linux")]
mod stuck;
mod timers;
mod worker;
