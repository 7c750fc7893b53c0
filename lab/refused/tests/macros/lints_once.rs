//! What the compiler has against a function, it says once.

#![deny(deprecated, unused, nonstandard_style)]

#[deprecated]
struct Old;

#[arc::main]
async fn ReturnsOld(unused: u8) -> Result<(), Old> {
    Ok(())
}

#[arc::main]
async fn main() {
    drop(ReturnsOld(1));
}
