//! An echo server, on arc.

fn main() -> std::process::ExitCode {
    versus::on_arc::echo()
}
