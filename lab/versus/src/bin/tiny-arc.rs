//! An HTTP/1 server with httparse, on arc.

fn main() -> std::process::ExitCode {
    versus::on_arc::tiny()
}
