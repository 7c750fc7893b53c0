#[arc::main(workers = 2.0)]
async fn main() {}

#[arc::main(workers = 'x')]
async fn helper() {}
