//! A server on arc-runtime alone.

fn main() -> std::io::Result<()> {
    arc_benches::serve::main::<arc_benches::runtimes::Core>()
}
