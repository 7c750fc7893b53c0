#[arc::main(worker_threads = 99999999999999999999)]
async fn main() {}
