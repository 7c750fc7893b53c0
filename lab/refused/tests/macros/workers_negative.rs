#[arc::main(workers = -1)]
async fn main() {}
