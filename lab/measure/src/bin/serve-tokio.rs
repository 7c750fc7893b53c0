//! A server on tokio's multi-thread runtime.

fn main() -> std::io::Result<()> {
    arc_lab::serve::main::<arc_lab::runtimes::Tokio>()
}
