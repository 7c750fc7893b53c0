//! The unit tests of the runtime's parts. They are compiled into the library, as they use what is
//! private to it. (Those of the wheel stand in its own module: nothing else sees its inside.)

mod driver;
mod policy;
mod queue;
mod reactor;
mod sleep;
mod timers;

/// See what stands above it.
#[test]
#[cfg(target_pointer_width = "64")]
fn a_record_is_small() {
    assert!(size_of::<crate::scheduler::shared::Record>() + 2 * size_of::<usize>() <= 120);
}
