#[arc::main(workers 4)]
async fn main() {}

#[arc::main(workers(4))]
async fn helper() {}
