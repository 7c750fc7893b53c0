//! The unit tests of the runtime's parts. They are compiled into the library, as they use what is
//! private to it. (Those of the wheel stand in its own module: nothing else sees its inside.)

mod driver;
mod policy;
mod queue;
mod reactor;
mod readiness;
mod sleep;
mod timers;
