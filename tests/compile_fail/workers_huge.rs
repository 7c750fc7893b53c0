#[arc::main(workers = 65)]
async fn main() {}

#[arc::main(worker_threads = 99999999999999999999)]
async fn helper() {}
