//! A server on arc.

fn main() -> std::io::Result<()> {
    arc_lab::serve::main::<arc_lab::runtimes::Arc>()
}
