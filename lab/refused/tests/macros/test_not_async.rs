#[arc::test]
fn works() {}

fn main() {}
