//! An HTTP/1 server with httparse, on tokio's multi-thread runtime.

use versus::on_tokio::{self, Flavour};

fn main() -> std::process::ExitCode {
    on_tokio::tiny(Flavour::MultiThread)
}
