#[arc::main(with = 4)]
async fn main() {}

#[arc::main(with = "enter")]
async fn helper() {}
