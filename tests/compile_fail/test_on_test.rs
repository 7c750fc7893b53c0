#[arc::test]
#[test]
async fn works() {}

#[arc::test]
#[::core::prelude::v1::test]
async fn works_too() {}

fn main() {}
