//! An echo server, on tokio's multi-thread runtime.

use versus::on_tokio::{self, Flavour};

fn main() -> std::process::ExitCode {
    on_tokio::echo(Flavour::MultiThread)
}
