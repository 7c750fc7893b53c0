//! An HTTP/1 server with httparse, on smol.

fn main() -> std::process::ExitCode {
    versus::on_smol::tiny()
}
