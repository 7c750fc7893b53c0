//! An echo server, on smol.

fn main() -> std::process::ExitCode {
    versus::on_smol::echo()
}
