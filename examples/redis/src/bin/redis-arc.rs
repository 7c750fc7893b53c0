//! The server on arc: `cargo run --release -p arc-redis --bin redis-arc`.

#[cfg(unix)]
#[path = "../redis/mod.rs"]
mod redis;

/// What the server takes from its runtime.
#[cfg(unix)]
mod rt {
    pub use arc::{io, net, select, signal, sync, task, time};
}

#[cfg(unix)]
#[arc::main(workers = redis::Options::parse().workers)]
async fn main() -> std::process::ExitCode {
    redis::run(&redis::Options::parse()).await
}

/// arc has signals on Unix alone.
#[cfg(not(unix))]
fn main() {
    eprintln!("this server runs on Unix only");
}
