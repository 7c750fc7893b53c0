//! A server on smol.

fn main() -> std::io::Result<()> {
    arc_lab::serve::main::<arc_lab::runtimes::Smol>()
}
