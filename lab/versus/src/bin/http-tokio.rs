//! An HTTP/1 server with hyper, on tokio's multi-thread runtime.

use versus::on_tokio::{self, Flavour};

fn main() -> std::process::ExitCode {
    on_tokio::http(Flavour::MultiThread)
}
