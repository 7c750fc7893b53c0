//! An HTTP/1 server with hyper, on arc.

fn main() -> std::process::ExitCode {
    versus::on_arc::http()
}
