//! A server on smol.

fn main() -> std::io::Result<()> {
    arc_benches::serve::main::<arc_benches::runtimes::Smol>()
}
