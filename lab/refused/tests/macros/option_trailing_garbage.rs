#[arc::main(workers = 4 5)]
async fn main() {}

#[arc::main(workers = 4 crate = "::arc")]
async fn helper() {}

#[arc::main(workers = 4; 5)]
async fn third() {}
