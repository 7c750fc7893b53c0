#[arc::main(threads = 4)]
async fn main() {}

#[arc::test(workers = 1, local = true)]
async fn works() {}
