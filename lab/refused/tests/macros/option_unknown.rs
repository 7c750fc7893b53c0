#[arc::main(threads = 4)]
async fn main() {}

#[arc::test(workers = 1, start_paused = true)]
async fn works() {}
