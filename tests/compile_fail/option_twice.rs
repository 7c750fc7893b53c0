#[arc::main(workers = 1, worker_threads = 2)]
async fn main() {}

#[arc::main(crate = "::arc", crate = "::arc")]
async fn helper() {}
