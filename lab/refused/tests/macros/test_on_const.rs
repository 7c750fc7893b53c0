#[arc::test]
const WORKS: fn() = || ();

fn main() {}
