//! The server on tokio: `cargo run --release -p arc-redis --bin redis-tokio`.

#[cfg(unix)]
#[path = "../redis/mod.rs"]
mod redis;

/// What the server takes from its runtime.
#[cfg(unix)]
mod rt {
    pub use tokio::{io, net, select, signal, time};

    pub mod sync {
        pub use tokio::sync::{Notify, mpsc};
        pub use tokio_util::sync::CancellationToken;
    }

    pub mod task {
        pub use tokio_util::task::TaskTracker;
    }
}

/// What `#[tokio::main]` does; but that takes only a literal for the number of workers.
#[cfg(unix)]
fn main() -> std::io::Result<std::process::ExitCode> {
    let options = redis::Options::parse();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(options.workers).enable_all().build()?;
    Ok(runtime.block_on(redis::run(&options)))
}

/// The other one has signals on Unix alone.
#[cfg(not(unix))]
fn main() {
    eprintln!("this server runs on Unix only");
}
