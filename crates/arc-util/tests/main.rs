//! The scenarios: a file for each subject, all of them in one program. As programs of their own
//! they would take more than twice as long to build. `cargo test --test util mpsc::` runs one file.
//!
//! Programs of their own are those that change what the whole process has: its signals, and what
//! is done with a panic.

#[path = "../../../tests/bad_input_common/mod.rs"]
mod bad_input_common;
mod common;
#[allow(unexpected_cfgs, unused_imports, reason = "the core's features are not this crate's")]
#[path = "../../../tests/common/mod.rs"]
mod core_common;
#[path = "../../../tests/net_common/mod.rs"]
mod net_common;
#[path = "../../../tests/this_program/mod.rs"]
mod this_program;
#[cfg(target_os = "linux")]
#[path = "../../../tests/thread_limit/mod.rs"]
mod thread_limit;
mod watched;

// Windows has no limit of descriptors.
#[cfg(unix)]
mod accept;
mod auto_traits;
mod bad_input;
mod buffers;
mod cancellation;
mod coop;
mod counts;
mod families;
mod fs;
mod inspect;
mod interval;
mod io;
mod io_traits;
mod join_set;
mod large;
mod local_set;
mod locks;
mod mpsc;
mod names;
mod nonblocking;
mod oneshot;
mod process;
mod runtime;
mod scope;
mod script;
mod select;
mod semaphore;
mod sockets;
mod split;
mod stdio;
mod sync;
mod task_local;
mod task_tracker;
mod tcp;
mod tcp_connect;
mod tokio_names;
mod udp;
mod unhandled_panic;
mod unix;
mod watch;

#[cfg(unix)]
#[test]
fn no_file_is_forgotten() {
    let programs = ["blame", "findings", "signal", "timeline", "waits"];
    this_program::expect_all_files(env!("CARGO_MANIFEST_DIR"), include_str!("main.rs"), &programs);
}
