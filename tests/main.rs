//! The scenarios: a file for each subject, all of them in one program. As programs of their own
//! they would take more than twice as long to build.
//!
//! `cargo test --test scenarios time::` runs one file.

mod bad_input_common;
mod common;
mod net_common;
mod this_program;
#[cfg(target_os = "linux")]
mod thread_limit;

mod abort;
mod accept;
mod async_io;
mod auto_traits;
mod bad_input;
mod block_on;
mod blocking;
mod connect;
mod context;
mod coop;
mod current_thread;
mod descriptors;
mod ending;
mod fairness;
mod hooks;
mod net_of_scheduling;
#[cfg(feature = "observe")]
mod observe;
mod panics;
mod readiness;
mod scheduling;
mod shutdown;
mod tasks;
mod tcp;
mod time;
mod wakers;

#[cfg(unix)]
#[test]
fn no_file_is_forgotten() {
    this_program::expect_all_files(env!("CARGO_MANIFEST_DIR"), include_str!("main.rs"), &[]);
}
