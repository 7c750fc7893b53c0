//! The same servers on arc and on its peers, and what loads them. The programs in
//! `src/bin/` are one call each; `cargo xtask versus` starts and measures them.
//!
//! | file | purpose |
//! |---|---|
//! | `options.rs` | the servers' command line, and what each does before it serves |
//! | `work.rs` | what a request costs beyond its answer |
//! | `service.rs` | the hyper service |
//! | `on_*.rs` | the servers, on one runtime each |
//! | `client.rs` | the load generators' command line, and what they print |
//! | `load.rs`, `arrivals.rs`, `exchange.rs` | the load generators' loop |
//! | `../go/` | the same HTTP server with Go's net/http |
//!
//! All servers of a workload run the same handler and send the same bytes; what
//! differs is the runtime. Every accepted socket gets TCP_NODELAY.

pub mod options;
pub mod service;
pub mod work;

pub mod on_arc;
pub mod on_smol;
pub mod on_tokio;

#[cfg(target_os = "linux")]
pub mod arrivals;
#[cfg(target_os = "linux")]
pub mod client;
#[cfg(target_os = "linux")]
pub mod exchange;
#[cfg(target_os = "linux")]
pub mod load;
#[cfg(target_os = "linux")]
pub mod on_may;

/// Defines `main` for a program that only Linux can run.
#[macro_export]
macro_rules! main_on_linux {
    ($main:path) => {
        #[cfg(target_os = "linux")]
        fn main() -> std::process::ExitCode {
            $crate::options::exit_code($main())
        }

        #[cfg(not(target_os = "linux"))]
        fn main() -> std::process::ExitCode {
            eprintln!("Error: this program uses epoll, which only Linux has");
            std::process::ExitCode::FAILURE
        }
    };
}
