//! A server on tokio's multi-thread runtime.

fn main() -> std::io::Result<()> {
    arc_benches::serve::main::<arc_benches::runtimes::Tokio>()
}
