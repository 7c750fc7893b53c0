#[arc::main(workers)]
async fn main() {}

#[arc::main(crate =, workers = 1)]
async fn helper() {}
