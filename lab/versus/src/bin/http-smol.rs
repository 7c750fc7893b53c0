//! An HTTP/1 server with hyper, on smol.

fn main() -> std::process::ExitCode {
    versus::on_smol::http()
}
