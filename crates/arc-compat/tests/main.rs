//! The scenarios: a file for each subject, all of them in one program. As programs of their own
//! they would take more than twice as long to build.
//!
//! `cargo test -p arc-compat --test adapters tls::` runs one file.
//!
//! Programs of their own are those that look at what the whole process has: the threads of its
//! tokio, and its subscriber.

#[path = "../../../tests/bad_input_common/mod.rs"]
mod bad_input_common;
mod common;
#[path = "../../../tests/this_program/mod.rs"]
mod this_program;
#[cfg(target_os = "linux")]
#[path = "../../../tests/thread_limit/mod.rs"]
mod thread_limit;

mod axum_server;
mod bad_input;
mod by_itself;
mod everywhere;
mod floods;
mod grpc;
mod hint;
mod http1;
mod http2;
mod in_tokio;
mod limits;
mod mock;
mod own_serve;
#[cfg(target_os = "linux")]
mod page;
mod server;
mod tls;
mod tokio_streams;
mod tower_stack;
mod websocket;

#[cfg(unix)]
#[test]
fn no_file_is_forgotten() {
    let programs = ["console", "tokio_threads", "tracing"];
    this_program::expect_all_files(env!("CARGO_MANIFEST_DIR"), include_str!("main.rs"), &programs);
}
