//! An HTTP/1 server with hyper, on tokio's current-thread runtime.

use versus::on_tokio::{self, Flavour};

fn main() -> std::process::ExitCode {
    on_tokio::http(Flavour::CurrentThread)
}
