//! A server on arc.

fn main() -> std::io::Result<()> {
    arc_benches::serve::main::<arc_benches::runtimes::Arc>()
}
