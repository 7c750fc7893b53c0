#[arc::test]
#[test]
async fn works() {}

#[arc::test]
#[arc::test]
async fn works_too() {}

fn main() {}
