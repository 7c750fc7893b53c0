#[arc::main(workers = "two")]
async fn main() {}
