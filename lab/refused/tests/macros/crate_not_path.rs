#[arc::main(crate = "my-crate")]
async fn main() {}

#[arc::main(crate = "")]
async fn helper() {}
